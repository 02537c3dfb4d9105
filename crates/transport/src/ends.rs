//! The two ends of a connection, whatever its transport: matched, not called through a pointer.

use units::Time;

use crate::laws::Window;
use crate::registry::{Config, Control};
use crate::{Extension, Message, Observation, Output, Packet, connection, explicit};

/// The sending end of a connection.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is the common one")]
pub enum Sender {
    /// A window decides how much it sends.
    Window(connection::Sender),
    /// The network grants it a rate.
    Explicit(Box<explicit::Sender>),
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// It acknowledges.
    Window(connection::Receiver),
    /// It acknowledges and returns what the network has granted.
    Explicit(explicit::Receiver),
}

impl Sender {
    /// Nothing to send yet.
    pub fn new(config: &Config) -> Sender {
        match &config.control {
            Control::Window(law) => Sender::Window(connection::Sender::new(&config.connection, law)),
            Control::Explicit(own) => Sender::Explicit(Box::new(explicit::Sender::new(&config.connection, own))),
        }
    }
    /// Takes a message; it follows those handed over before.
    pub fn hand_over(&mut self, config: &Config, now: Time, message: Message, out: &mut impl Output) {
        match self {
            Sender::Window(sender) => sender.hand_over(&config.connection, now, message, out),
            Sender::Explicit(sender) => sender.hand_over(&config.connection, now, message, out),
        }
    }
    /// Whether everything handed over is acknowledged.
    #[inline]
    pub fn is_idle(&self) -> bool {
        match self {
            Sender::Window(sender) => sender.is_idle(),
            Sender::Explicit(sender) => sender.is_idle(),
        }
    }
    /// Takes an acknowledgement with what it carries beside its header, which it may take out.
    #[inline]
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        match self {
            Sender::Window(sender) => sender.on_packet(&config.connection, now, packet, extension.as_deref(), out),
            Sender::Explicit(sender) => sender.on_packet(&config.connection, now, packet, extension, out),
        }
    }
    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        match self {
            Sender::Window(sender) => sender.on_timer(&config.connection, now, out),
            Sender::Explicit(sender) => sender.on_timer(&config.connection, now, out),
        }
    }
    /// What can be observed now.
    pub fn observe(&self, config: &Config, now: Time) -> Observation {
        match self {
            Sender::Window(sender) => sender.observe(&config.connection, now),
            Sender::Explicit(sender) => sender.observe(),
        }
    }
}

impl Receiver {
    /// Nothing received yet.
    pub fn new(config: &Config) -> Receiver {
        match &config.control {
            Control::Window(law) => Receiver::Window(connection::Receiver::new(law.ecn())),
            Control::Explicit(_) => Receiver::Explicit(explicit::Receiver::new()),
        }
    }
    /// Everything before this position has arrived.
    #[inline]
    pub fn next(&self) -> u64 {
        match self {
            Receiver::Window(receiver) => receiver.next(),
            Receiver::Explicit(receiver) => receiver.next(),
        }
    }
    /// Takes a packet from the sender with what it carries beside its header, which it may take out.
    #[inline]
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        extension: Option<&mut Extension>,
        out: &mut impl Output,
    ) {
        match self {
            Receiver::Window(receiver) => receiver.on_packet(&config.connection, now, packet, out),
            Receiver::Explicit(receiver) => receiver.on_packet(&config.connection, now, packet, extension, out),
        }
    }
    /// The time for which the timer was armed has come.
    pub fn on_timer(&mut self, config: &Config, now: Time, out: &mut impl Output) {
        match self {
            Receiver::Window(receiver) => receiver.on_timer(&config.connection, now, out),
            Receiver::Explicit(receiver) => receiver.on_timer(&config.connection, now, out),
        }
    }
}
