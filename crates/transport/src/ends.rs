//! The two ends of a connection, and the shared state of a host's connections, for all families. They are matched, not
//! called through a pointer, so that they are inlined per packet.

use units::Instant;

use crate::control::{Config, Control};
use crate::controllers::Window;
use crate::families::families;
use crate::host::{AtHost, HostOutput, HostState};
use crate::{Extension, Message, Observation, Packet, connection};

macro_rules! ends {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// The shared state of the connections of one host, family by family.
        #[derive(Debug, Default)]
        pub struct Shared { $($(#[$doc])* pub(crate) $module: crate::$module::Host),* }

        impl Shared {
            /// Wakes the families' states at a time that one of them has armed.
            pub fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput) {
                $(HostState::on_timer(&mut self.$module, now, out);)*
            }
        }

        /// The sending end of a connection.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "the large one is the common one")]
        pub enum Sender {
            /// A window limits the amount in flight.
            Window(connection::Sender),
            $($(#[$doc])* $Family(Box<crate::$module::Sender>)),*
        }

        /// The receiving end of a connection.
        #[derive(Clone, Debug)]
        pub enum Receiver {
            /// A receiver that acknowledges the data of a window transport.
            Window(connection::Receiver),
            $($(#[$doc])* $Family(crate::$module::Receiver)),*
        }

        impl Sender {
            /// Returns a sender without data.
            pub fn new(config: &Config) -> Sender {
                match &config.control {
                    Control::Window(law) => Sender::Window(connection::Sender::new(&config.connection, law)),
                    $(Control::$Family(own) => {
                        Sender::$Family(Box::new(crate::$module::Sender::new(&config.connection, own)))
                    })*
                }
            }
            /// Sets a number that no other connection has, for the random numbers of the controller.
            pub fn identify(&mut self, identity: u64) {
                match self {
                    Sender::Window(sender) => sender.identify(identity),
                    Sender::Receive(sender) => sender.identify(identity),
                    _ => {}
                }
            }
            /// Enqueues a message after the earlier ones.
            pub fn enqueue_message(&mut self, config: &Config, now: Instant, message: Message, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.enqueue_message(&config.connection, now, message, out),
                    $(Sender::$Family(sender) => sender.enqueue_message(&config.connection, now, message, out)),*
                }
            }
            /// Returns true if all enqueued data is acknowledged.
            #[inline]
            pub fn is_idle(&self) -> bool {
                match self {
                    Sender::Window(sender) => sender.is_idle(),
                    $(Sender::$Family(sender) => sender.is_idle()),*
                }
            }
            /// Returns the position before which all data is acknowledged.
            pub fn acknowledged(&self) -> u64 {
                match self {
                    Sender::Window(sender) => sender.acknowledged(),
                    $(Sender::$Family(sender) => sender.acknowledged()),*
                }
            }
            /// Processes an acknowledgement and its extension, which it may take out. Returns true if all enqueued data
            /// is acknowledged now. The congestion controllers are inlined into this function; within the event handler
            /// they would not be.
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
            /// Handles the news that a switch has removed the payload of a packet.
            pub fn on_trimmed(&mut self, config: &Config, now: Instant, packet: &Packet, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.on_trimmed(&config.connection, now, packet, out),
                    $(Sender::$Family(sender) => sender.on_trimmed(&config.connection, now, packet, out)),*
                }
            }
            /// Handles the armed timer.
            pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.on_timer(&config.connection, now, out),
                    $(Sender::$Family(sender) => sender.on_timer(&config.connection, now, out)),*
                }
            }
            /// Continues sending when the host's queue has room again.
            pub fn on_room(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(sender) => sender.on_room(&config.connection, now, out),
                    $(Sender::$Family(sender) => sender.on_room(&config.connection, now, out)),*
                }
            }
            /// Handles the close of the connection at this host, for any reason.
            pub fn on_close(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Sender::Window(_) => {}
                    $(Sender::$Family(sender) => sender.on_close(&config.connection, now, out)),*
                }
            }
            /// Reports the signals of the transport that have a value now.
            pub fn observe(&self, config: &Config, now: Instant, seen: &mut Observation) {
                match self {
                    Sender::Window(sender) => sender.observe(&config.connection, now, seen),
                    $(Sender::$Family(sender) => sender.observe(&config.connection, now, seen)),*
                }
            }
        }

        impl Receiver {
            /// Returns the state in which nothing has been received.
            pub fn new(config: &Config) -> Receiver {
                match &config.control {
                    Control::Window(law) => Receiver::Window(connection::Receiver::new(law.ecn())),
                    $(Control::$Family(own) => Receiver::$Family(crate::$module::Receiver::new(own))),*
                }
            }
            /// Returns the position before which all data has arrived.
            #[inline]
            pub fn next(&self) -> u64 {
                match self {
                    Receiver::Window(receiver) => receiver.next(),
                    $(Receiver::$Family(receiver) => receiver.next()),*
                }
            }
            /// Returns the number of bytes before a position that have arrived, in order or not, each counted once.
            pub fn arrived_below(&self, position: u64) -> u64 {
                match self {
                    Receiver::Window(receiver) => receiver.arrived_below(position),
                    $(Receiver::$Family(receiver) => receiver.arrived_below(position)),*
                }
            }
            /// Processes a packet from the sender and its extension, which it may take out; returns
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
            /// Handles a packet whose payload a switch has removed.
            pub fn on_trimmed(
                &mut self,
                config: &Config,
                now: Instant,
                packet: &Packet,
                extension: Option<&mut Extension>,
                out: &mut impl AtHost,
            ) {
                match self {
                    Receiver::Window(receiver) => receiver.on_trimmed(&config.connection, packet, out),
                    $(Receiver::$Family(receiver) => {
                        receiver.on_trimmed(&config.connection, now, packet, extension, out);
                    })*
                }
            }
            /// Handles the armed timer.
            pub fn on_timer(&mut self, config: &Config, now: Instant, out: &mut impl AtHost) {
                match self {
                    Receiver::Window(receiver) => receiver.on_timer(&config.connection, now, out),
                    $(Receiver::$Family(receiver) => receiver.on_timer(&config.connection, now, out)),*
                }
            }
            /// Handles the close of the connection at this host, for any reason.
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
