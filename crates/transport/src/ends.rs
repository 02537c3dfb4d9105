//! The two ends of a connection, and what the connections of a host share, whatever their family: matched, not called
//! through a pointer, so that they are inlined per packet.

use units::Instant;

use crate::control::{Config, Control};
use crate::families::families;
use crate::host::{AtHost, HostOutput, HostState};
use crate::laws::Window;
use crate::{Extension, Message, Observation, Packet, connection};

macro_rules! ends {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// What the connections of one host share, family by family.
        #[derive(Debug, Default)]
        pub struct Shared { $($(#[$doc])* pub(crate) $module: crate::$module::Host),* }

        impl Shared {
            /// A time has come for which some family's state was to be woken.
            pub fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput) {
                $(HostState::on_timer(&mut self.$module, now, out);)*
            }
        }

        /// The sending end of a connection.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "the large one is the common one")]
        pub enum Sender {
            /// A window decides how much it sends.
            Window(connection::Sender),
            $($(#[$doc])* $Family(Box<crate::$module::Sender>)),*
        }

        /// The receiving end of a connection.
        #[derive(Clone, Debug)]
        pub enum Receiver {
            /// It acknowledges.
            Window(connection::Receiver),
            $($(#[$doc])* $Family(crate::$module::Receiver)),*
        }

        impl Sender {
            /// Nothing to send yet.
            pub fn new(config: &Config) -> Sender {
                match &config.control {
                    Control::Window(law) => Sender::Window(connection::Sender::new(&config.connection, law)),
                    $(Control::$Family(own) => {
                        Sender::$Family(Box::new(crate::$module::Sender::new(&config.connection, own)))
                    })*
                }
            }
            /// Takes a number that no other connection has, for what it draws.
            pub fn identify(&mut self, identity: u64) {
                if let Sender::Window(sender) = self {
                    sender.identify(identity);
                }
            }
            /// Takes a message; it follows those handed over before.
            pub fn hand_over(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.hand_over(&config.connection, now, message, out),
                    $(Sender::$Family(sender) => sender.hand_over(&config.connection, now, message, out)),*
                }
            }
            /// Whether everything handed over is acknowledged.
            #[inline]
            pub fn is_idle(&self) -> bool {
                match self {
                    Sender::Window(sender) => sender.is_idle(),
                    $(Sender::$Family(sender) => sender.is_idle()),*
                }
            }
            /// Everything before this position is acknowledged.
            pub fn acknowledged(&self) -> u64 {
                match self {
                    Sender::Window(sender) => sender.acknowledged(),
                    $(Sender::$Family(sender) => sender.acknowledged()),*
                }
            }
            /// Takes an acknowledgement with what it carries beside its fields, which it may take out; gives whether
            /// everything handed over is acknowledged now. A function of its own, into which the laws are inlined:
            /// within what handles events they would not be.
            #[inline(never)]
            pub fn on_packet(
                &mut self,
                config: &Config,
                now: Instant,
                packet: &Packet,
                extension: Option<&mut Extension>,
                out: &mut impl AtHost,
            ) -> bool {
                match self {
                    Sender::Window(sender) => {
                        sender.on_packet(&config.connection, now, packet, extension.as_deref(), out);
                        sender.is_idle()
                    }
                    $(Sender::$Family(sender) => {
                        sender.on_packet(&config.connection, now, packet, extension, out);
                        sender.is_idle()
                    })*
                }
            }
            /// The time for which the timer was armed has come.
            pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.on_timer(&config.connection, now, out),
                    $(Sender::$Family(sender) => sender.on_timer(&config.connection, now, out)),*
                }
            }
            /// The host's queue has room, for which this end has waited.
            pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.on_room(&config.connection, now, out),
                    $(Sender::$Family(sender) => sender.on_room(&config.connection, now, out)),*
                }
            }
            /// The connection is closed here, whatever became of it.
            pub fn on_close(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(_) => {}
                    $(Sender::$Family(sender) => sender.on_close(&config.connection, now, out)),*
                }
            }
            /// Shows what can be observed now: the signals of its transport, but for those that have no value yet.
            pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
                match self {
                    Sender::Window(sender) => sender.observe(&config.connection, now, seen),
                    $(Sender::$Family(sender) => sender.observe(&config.connection, now, seen)),*
                }
            }
        }

        impl Receiver {
            /// Nothing received yet.
            pub fn new(config: &Config) -> Receiver {
                match &config.control {
                    Control::Window(law) => Receiver::Window(connection::Receiver::new(law.ecn())),
                    $(Control::$Family(own) => Receiver::$Family(crate::$module::Receiver::new(own))),*
                }
            }
            /// Everything before this position has arrived.
            #[inline]
            pub fn next(&self) -> u64 {
                match self {
                    Receiver::Window(receiver) => receiver.next(),
                    $(Receiver::$Family(receiver) => receiver.next()),*
                }
            }
            /// Returns how many bytes before a position have arrived, in order or not, each counted once.
            pub fn arrived_below(&self, position: u64) -> u64 {
                match self {
                    Receiver::Window(receiver) => receiver.arrived_below(position),
                    $(Receiver::$Family(receiver) => receiver.arrived_below(position)),*
                }
            }
            /// Takes a packet from the sender with what it carries beside its fields, which it may take out; gives
            /// [`next`](Receiver::next) after it.
            #[inline]
            pub fn on_packet(
                &mut self,
                config: &Config,
                now: Instant,
                packet: &Packet,
                extension: Option<&mut Extension>,
                out: &mut impl AtHost,
            ) -> u64 {
                match self {
                    Receiver::Window(receiver) => {
                        receiver.on_packet(&config.connection, now, packet, out);
                        receiver.next()
                    }
                    $(Receiver::$Family(receiver) => {
                        receiver.on_packet(&config.connection, now, packet, extension, out);
                        receiver.next()
                    })*
                }
            }
            /// The time for which the timer was armed has come.
            pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Receiver::Window(receiver) => receiver.on_timer(&config.connection, now, out),
                    $(Receiver::$Family(receiver) => receiver.on_timer(&config.connection, now, out)),*
                }
            }
            /// The connection is closed here, whatever became of it.
            pub fn on_close(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Receiver::Window(_) => {}
                    $(Receiver::$Family(receiver) => receiver.on_close(&config.connection, now, out)),*
                }
            }
        }
    };
}

families!(ends);
