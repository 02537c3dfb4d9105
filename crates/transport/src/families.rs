//! The families of transports, and the two ends of a connection whatever its family: matched, not called
//! through a pointer, so that they are inlined per packet.

use units::{Bytes, Instant, Problem, Rate, Values};

use crate::agent::Agent;
use crate::descriptor::{Build, Descriptor};
use crate::host::{AtHost, HostOutput, HostState};
use crate::laws::{self, Law, Window};
use crate::registry::{Config, Entry};
#[cfg(feature = "trial")]
use crate::trial;
use crate::{Extension, Message, Observation, Packet, connection, d3, grants, mcp, pdq};

macro_rules! families {
    ($($(#[$doc:meta])* $Family:ident($module:ident)),* $(,)?) => {
        /// How many transports there are.
        pub(crate) const COUNT: usize = laws::DESCRIPTORS.len() $(+ $module::DESCRIPTORS.len())*;

        /// The transports of all families.
        pub(crate) const fn entries() -> [Entry; COUNT] {
            const fn window(i: usize) -> Entry {
                let own = &laws::DESCRIPTORS[i];
                Entry::of(own, connection::SIGNALS, Builder::Window(own.build))
            }
            let mut all = [window(0); COUNT];
            let mut at = laws::DESCRIPTORS.len();
            let mut i = 0;
            while i < at {
                all[i] = window(i);
                i += 1;
            }
            $(
                let own: &[Descriptor<$module::Config>] = $module::DESCRIPTORS;
                let mut i = 0;
                while i < own.len() {
                    all[at + i] = Entry::of(&own[i], &[], Builder::$Family(own[i].build));
                    i += 1;
                }
                at += own.len();
            )*
            assert!(at == COUNT);
            all
        }

        /// What builds a transport, by its family.
        #[derive(Clone, Copy)]
        pub(crate) enum Builder {
            Window(Build<Law>),
            $($Family(Build<$module::Config>)),*
        }

        impl Builder {
            pub(crate) fn build(self, values: &mut Values, shared: &connection::Config) -> Result<Control, Problem> {
                match self {
                    Builder::Window(build) => build(values, shared).map(Control::Window),
                    $(Builder::$Family(build) => build(values, shared).map(Control::$Family)),*
                }
            }
        }

        /// What decides how fast a connection sends.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Control {
            /// A window law in its first state, with its parameters.
            Window(Law),
            $($(#[$doc])* $Family($module::Config)),*
        }

        /// What a family adds to a packet for the agents at its ports; opaque to everybody else.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Header { $($(#[$doc])* $Family(Box<$module::Header>)),* }

        /// What a family's agents are built from; one set for all connections of a run.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Agents { $($(#[$doc])* $Family($module::Agents)),* }

        impl Control {
            /// What this family keeps at ports, if anything.
            pub fn agents(&self) -> Option<Agents> {
                match self {
                    Control::Window(_) => None,
                    $(Control::$Family(own) => own.agents().map(Agents::$Family)),*
                }
            }
        }

        impl Control {
            /// Whether the numbers of connections decide who of equals comes first, somewhere in this family.
            pub fn goes_by_numbers(&self) -> bool {
                match self {
                    Control::Window(_) => false,
                    $(Control::$Family(_) => $module::GOES_BY_NUMBERS),*
                }
            }
        }

        impl Agents {
            /// Whether these are of the same family, which has one set of parameters in a run.
            pub fn same_family(&self, other: &Agents) -> bool {
                std::mem::discriminant(self) == std::mem::discriminant(other)
            }
            /// Whether what they answer is to be counted as requests for rates.
            pub fn count_requests(&self) -> bool {
                match self { $(Agents::$Family(_) => $module::Agents::COUNTS_REQUESTS),* }
            }
            /// The agent at a port with a link of this rate, each of whose frames costs `frame_overhead`
            /// beside its packet.
            pub fn at(&self, rate: Rate, frame_overhead: Bytes) -> Box<dyn Agent> {
                match self { $(Agents::$Family(own) => own.at(rate, frame_overhead)),* }
            }
        }

        /// What the connections of one host share, family by family.
        #[derive(Debug, Default)]
        pub struct Shared { $($(#[$doc])* pub(crate) $module: $module::Host),* }

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
            $($(#[$doc])* $Family(Box<$module::Sender>)),*
        }

        /// The receiving end of a connection.
        #[derive(Clone, Debug)]
        pub enum Receiver {
            /// It acknowledges.
            Window(connection::Receiver),
            $($(#[$doc])* $Family($module::Receiver)),*
        }

        impl Sender {
            /// Nothing to send yet.
            pub fn new(config: &Config) -> Sender {
                match &config.control {
                    Control::Window(law) => Sender::Window(connection::Sender::new(&config.connection, law)),
                    $(Control::$Family(own) => {
                        Sender::$Family(Box::new($module::Sender::new(&config.connection, own)))
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
                    $(Control::$Family(own) => Receiver::$Family($module::Receiver::new(own))),*
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

// THE list of families beside the window laws: those that talk to switches, or keep state at hosts. A family is a
// folder with its `Config`, `Header`, `Agents`, `Host`, `Sender`, `Receiver` and the `DESCRIPTORS` of its transports.
macro_rules! list {
    ($($trial:tt)*) => {
        families! {
            /// The network grants rates on request (D3).
            D3(d3),
            /// Receiving hosts grant what is sent to them.
            Grants(grants),
            /// The network adds up what a path costs (MCP).
            Mcp(mcp),
            /// Ports let the most urgent flows send and pause the others (PDQ).
            Pdq(pdq),
            $($trial)*
        }
    };
}

#[cfg(not(feature = "trial"))]
list! {}
#[cfg(feature = "trial")]
list! {
    /// Receiving hosts grant, in the order of deadlines.
    Trial(trial),
}
