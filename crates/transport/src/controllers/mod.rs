//! The congestion controllers of window transports, one file each: the window's reaction to ACKs, marks and losses.

mod cubic;
mod d2tcp;
mod d2tcp_plus;
mod d2tcp_wait;
mod dcqcn;
pub(crate) mod dctcp;
mod deferral;
mod delay;
mod echo;
mod hull;
mod in_flight;
mod jit;
mod karuna;
pub(crate) mod mcp;
mod nscc;
mod pfabric;
pub mod plugin;
pub(crate) mod rate;
mod reno;
mod swift;
mod tcppr;
pub(crate) mod telemetry;
mod timely;
mod xdctcp;

pub use tcppr::Priorities;

use std::collections::VecDeque;

use units::{Bytes, Instant, Span};

use crate::{Descriptor, Message, Observation, Pacing, Site};

/// A congestion controller with a window.
pub trait Window {
    /// Returns the use of ECN.
    fn ecn(&self) -> Ecn;
    /// Handles an acknowledgement of new data. Returns true when it has cut the window because of a mark.
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool;
    /// Handles the arrival of `bytes` beyond a gap; `marked` if the ACK has an echo.
    fn on_beyond(&mut self, _bytes: u64, _marked: bool) {}
    /// Handles an acknowledgement of data beyond a gap, with nothing newly acknowledged: `segments` is 0. Controllers
    /// that use each [sample](Acked::sample) implement it; for others it is [`on_beyond`](Window::on_beyond).
    #[inline(always)]
    fn on_gap(&mut self, _window: &mut Cwnd, ack: &Acked) {
        self.on_beyond(ack.bytes, ack.marked);
    }
    /// Handles the news that a switch has trimmed a packet, which will be sent again. Returns true if that was all: other
    /// controllers handle the first such news of a window as a [loss](Window::on_loss).
    fn on_trimmed(&mut self, _window: &mut Cwnd, _state: &Acked) -> bool {
        false
    }
    /// Handles a loss: sets `ssthresh`; the connection sets cwnd.
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost);
    /// Handles a retransmission timeout, after which everything is sent again: sets cwnd, to `loss_window` at most.
    fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, _loss: &Lost) {
        window.cwnd = window.cwnd.min(loss_window);
    }
    /// Returns the time before which nothing may be sent, whatever the window. Used only where it [may
    /// pace](Window::paces).
    fn blocked_until(&self) -> Instant {
        Instant::ZERO
    }
    /// Returns the size of a probe if the next packet only probes: at most a segment, and nothing more until it is
    /// answered.
    fn asks(&self) -> Option<Bytes> {
        None
    }
    /// Sets a number that no other connection has, for the random numbers of the controller.
    fn identify(&mut self, _identity: u64) {}
    /// Returns true if it may pace its packets even where the shared parameters do not require that.
    fn paces(&self) -> bool {
        false
    }
    /// Returns the pacing rate, in segments per round trip; none: packets are sent as the window opens. A window below
    /// one segment is paced in any case, without this function.
    fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
        pacing.gain(window).map(|gain| gain * window.cwnd)
    }
    /// Handles a new message: `idle` if everything before it is acknowledged. Used only where the controller
    /// [paces](Window::paces). `state` is the content of an acknowledgement of nothing.
    fn on_message(&mut self, _window: &mut Cwnd, _state: &Acked, _idle: bool, _site: Site) {}
    /// Returns the sending rate at `now`, in bit/s with headers, whatever the window and the round trip; none: the window
    /// decides. `highest` is the position before which everything was sent. Used only where the controller
    /// [paces](Window::paces).
    fn rate(&mut self, _now: Instant, _highest: u64) -> Option<f64> {
        None
    }
    /// Handles a time without data to send.
    fn on_idle(&mut self, _: Span) {}
    /// Handles the end of a message: it is acknowledged, and the next one is being sent.
    fn on_next(&mut self) {}
    /// Reports the signals of its descriptor.
    fn observe(&self, _window: &Cwnd, _ack: &Acked, _seen: &mut Observation) {}
    /// Returns the division of messages into switch priorities, if there is one.
    fn priorities(&self) -> Option<&Priorities> {
        None
    }
    /// Returns the number of priorities into which it divides its packets itself, with [`rank`](Window::rank), if it
    /// does.
    fn levels(&self) -> Option<u8> {
        None
    }
    /// Returns true if it detects losses by the retransmission timer only, not by duplicate ACKs.
    fn repairs_by_timer_alone(&self) -> bool {
        false
    }
    /// Returns true if after a timeout it probes the path with a byte, and sends no more until that is acknowledged.
    fn probes(&self) -> bool {
        false
    }
    /// Returns true if the message that is being sent is aborted now.
    fn aborts(&self, _message: &Message, _now: Instant) -> bool {
        false
    }
    /// Returns true if [`rank`](Window::rank) is not the rank of the message.
    fn ranks(&self) -> bool {
        false
    }
    /// Returns the rank of a packet of this message that begins at `seq`, where ports send the lowest rank first. Used
    /// only where the controller [ranks](Window::ranks).
    fn rank(&self, message: &Current, _seq: u64) -> u32 {
        message.message.rank
    }
}

macro_rules! controllers {
    (
        inlined { $($module:ident::$law:ident),* $(,)? }
        boxed { $($rare_module:ident::$rare:ident),* $(,)? }
        unlisted { $($own_module:ident::$own:ident),* $(,)? }
    ) => {
        /// THE list of window transports, in the order of `duetime transports`.
        pub(crate) const DESCRIPTORS: &[Descriptor<Controller>] =
            &[$(described!($module::$law),)* $(described!($rare_module::$rare)),*];

        /// Any congestion controller of a window transport: matched, not called through a pointer, so that it is
        /// inlined per packet.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Controller {
            $($law($module::$law),)*
            Boxed(Box<Boxed>),
        }

        /// A congestion controller that is called for each packet, so that packets of others do not pay for it.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Boxed {
            $($rare($rare_module::$rare),)*
            $($own($own_module::$own)),*
        }

        $(impl From<$module::$law> for Controller {
            fn from(law: $module::$law) -> Controller {
                Controller::$law(law)
            }
        })*
        boxed! { $($rare_module::$rare,)* $($own_module::$own),* }

        impl Controller {
            /// As [`on_ack`](Window::on_ack), with a function for the description of the acknowledgement. Each
            /// inlined controller has its own instance of it, so that values that it does not use are not computed.
            #[inline(always)]
            pub(crate) fn answer<'a>(&mut self, window: &mut Cwnd, ack: impl Fn() -> Acked<'a>) -> bool {
                match self {
                    $(Controller::$law(law) => law.on_ack(window, &ack()),)*
                    Controller::Boxed(law) => law.on_ack(window, &ack()),
                }
            }
            /// As [`on_gap`](Window::on_gap), with a function for the description of the acknowledgement.
            #[inline(always)]
            pub(crate) fn answer_gap<'a>(&mut self, window: &mut Cwnd, ack: impl Fn() -> Acked<'a>) {
                match self {
                    $(Controller::$law(law) => law.on_gap(window, &ack()),)*
                    Controller::Boxed(law) => law.on_gap(window, &ack()),
                }
            }
        }

        matched! { Controller: $($law,)* Boxed }
        matched! { Boxed: $($rare,)* $($own),* }
    };
}

/// The entry of a controller in the list of window transports.
macro_rules! described {
    ($module:ident::$law:ident) => {
        Descriptor {
            name: $module::DESCRIPTOR.name,
            help: $module::DESCRIPTOR.help,
            source: $module::DESCRIPTOR.source,
            aliases: $module::DESCRIPTOR.aliases,
            groups: $module::DESCRIPTOR.groups,
            needs: $module::DESCRIPTOR.needs,
            signals: $module::DESCRIPTOR.signals,
            build: |values, connection| ($module::DESCRIPTOR.build)(values, connection).map(Controller::from),
        }
    };
}

macro_rules! boxed {
    ($($module:ident::$law:ident),*) => {
        $(impl From<$module::$law> for Controller {
            fn from(law: $module::$law) -> Controller {
                Controller::Boxed(Box::new(Boxed::$law(law)))
            }
        })*
    };
}

macro_rules! matched {
    ($any:ident: $($law:ident),*) => {
        impl Window for $any {
            #[inline]
            fn ecn(&self) -> Ecn {
                match self { $($any::$law(law) => law.ecn()),* }
            }
            #[inline(never)]
            fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
                match self { $($any::$law(law) => law.on_ack(window, ack)),* }
            }
            #[inline(never)]
            fn on_gap(&mut self, window: &mut Cwnd, ack: &Acked) {
                match self { $($any::$law(law) => law.on_gap(window, ack)),* }
            }
            fn on_beyond(&mut self, bytes: u64, marked: bool) {
                match self { $($any::$law(law) => law.on_beyond(bytes, marked)),* }
            }
            fn on_trimmed(&mut self, window: &mut Cwnd, state: &Acked) -> bool {
                match self { $($any::$law(law) => law.on_trimmed(window, state)),* }
            }
            fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
                match self { $($any::$law(law) => law.on_loss(window, loss)),* }
            }
            fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, loss: &Lost) {
                match self { $($any::$law(law) => law.on_timeout(window, loss_window, loss)),* }
            }
            fn blocked_until(&self) -> Instant {
                match self { $($any::$law(law) => law.blocked_until()),* }
            }
            fn asks(&self) -> Option<Bytes> {
                match self { $($any::$law(law) => law.asks()),* }
            }
            fn identify(&mut self, identity: u64) {
                match self { $($any::$law(law) => law.identify(identity)),* }
            }
            fn paces(&self) -> bool {
                match self { $($any::$law(law) => law.paces()),* }
            }
            fn pacing_rate(&self, pacing: &Pacing, window: &Cwnd) -> Option<f64> {
                match self { $($any::$law(law) => law.pacing_rate(pacing, window)),* }
            }
            fn on_idle(&mut self, time: Span) {
                match self { $($any::$law(law) => law.on_idle(time)),* }
            }
            fn on_next(&mut self) {
                match self { $($any::$law(law) => law.on_next()),* }
            }
            fn observe(&self, window: &Cwnd, ack: &Acked, seen: &mut Observation) {
                match self { $($any::$law(law) => law.observe(window, ack, seen)),* }
            }
            fn priorities(&self) -> Option<&Priorities> {
                match self { $($any::$law(law) => law.priorities()),* }
            }
            fn levels(&self) -> Option<u8> {
                match self { $($any::$law(law) => law.levels()),* }
            }
            fn repairs_by_timer_alone(&self) -> bool {
                match self { $($any::$law(law) => law.repairs_by_timer_alone()),* }
            }
            fn probes(&self) -> bool {
                match self { $($any::$law(law) => law.probes()),* }
            }
            #[inline]
            fn aborts(&self, message: &Message, now: Instant) -> bool {
                match self { $($any::$law(law) => law.aborts(message, now)),* }
            }
            fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
                match self { $($any::$law(law) => law.on_message(window, state, idle, site)),* }
            }
            fn rate(&mut self, now: Instant, highest: u64) -> Option<f64> {
                match self { $($any::$law(law) => law.rate(now, highest)),* }
            }
            fn ranks(&self) -> bool {
                match self { $($any::$law(law) => law.ranks()),* }
            }
            fn rank(&self, message: &Current, seq: u64) -> u32 {
                match self { $($any::$law(law) => law.rank(message, seq)),* }
            }
        }
    };
}

controllers! {
    inlined {
        reno::Reno,
        tcppr::Tcppr,
        cubic::Cubic,
        dctcp::Dctcp,
        d2tcp::D2tcp,
        d2tcp_plus::D2tcpPlus,
        d2tcp_wait::D2tcpWait,
        xdctcp::Xdctcp,
        hull::Hull,
        pfabric::Pfabric,
        mcp::Mcp,
    }
    boxed {
        karuna::Karuna,
        jit::Jit,
        swift::Swift,
        timely::Timely,
        dcqcn::Dcqcn,
        nscc::Nscc,
    }
    unlisted {
        plugin::Plugin,
        telemetry::Telemetry,
    }
}

/// The use of ECN by a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// No ECN: its packets cannot be marked.
    Off,
    /// RFC 3168: one echo per window, latched by the receiver until the sender has reacted.
    Classic,
    /// RFC 8257: the receiver echoes each packet's mark.
    Exact,
}

/// The congestion window, in segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Cwnd {
    /// Congestion window (cwnd), in segments.
    pub cwnd: f64,
    /// Slow-start threshold (ssthresh), in segments.
    pub ssthresh: f64,
    /// Minimum of the window after a cut.
    pub floor: f64,
    /// Maximum of the window after growth.
    pub limit: f64,
}

impl Cwnd {
    /// Grows the window (RFC 5681 3.1): slow start below ssthresh, then one segment per window. Below one segment that
    /// is a segment per ACK, of which there is one in 1/cwnd round trips (Swift, SIGCOMM 2020, algorithm 1).
    #[inline]
    pub fn grow(&mut self, segments: f64) {
        let room = self.ssthresh - self.cwnd;
        if room >= segments {
            self.cwnd += segments;
        } else {
            let slow_start = room.max(0.0);
            self.cwnd += slow_start;
            self.cwnd += (segments - slow_start) / self.cwnd.max(1.0);
        }
        self.cwnd = self.cwnd.min(self.limit);
    }
    /// Multiplies the window and leaves slow start.
    #[inline]
    pub fn cut(&mut self, factor: f64) {
        // A floor is a floor: a window that started below it is lifted to it, as Linux's least ssthresh
        // of 2 does. With an initial window of 1, as in the D2TCP paper's regime, that decides results.
        self.cwnd = (self.cwnd * factor).max(self.floor);
        self.ssthresh = self.cwnd;
    }
    /// Sets ssthresh to half of the segments in flight (RFC 5681 eq. 4).
    pub fn halve(&mut self, loss: &Lost) {
        self.ssthresh = (loss.flight / 2.0).max(self.floor);
    }
}

/// Converts a number of bytes below 2^63: a signed number becomes a float in one instruction.
#[inline]
pub(crate) fn float(bytes: u64) -> f64 {
    bytes as i64 as f64
}

/// Returns the whole segments of a window, fewer than 2^32: a larger number takes more instructions.
#[inline]
pub(crate) fn whole(window: f64) -> u64 {
    u64::from(window as u32)
}

/// An acknowledgement of new data.
#[derive(Clone, Debug)]
pub struct Acked<'q> {
    /// The present simulated time.
    pub now: Instant,
    /// Bytes whose arrival it is the first to report: newly acknowledged ones that were not counted beyond a gap, and
    /// newly SACKed ones. (Linux counts `delivered` and `delivered_ce` in this way. RFC 8257 3.3 would count data
    /// beyond a gap only when the gap is filled, with the echo of the segment that filled it.)
    pub bytes: u64,
    /// Newly acknowledged data, in segments.
    pub segments: f64,
    /// It has an ECN echo.
    pub marked: bool,
    /// The window may grow: no loss is being repaired and the window limits the sender.
    pub may_grow: bool,
    /// A mark may cut the window: no loss is being repaired, and more is acknowledged than was sent before the last one
    /// was detected. That one has cut the window.
    pub may_cut: bool,
    /// The position before which all data is acknowledged.
    pub una: u64,
    /// The next position to send.
    pub next: u64,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// Smoothed RTT, once there is a sample.
    pub srtt: Option<Span>,
    /// Smallest RTT sample so far.
    pub min_rtt: Option<Span>,
    /// The RTT sample of this acknowledgement: of the first packet that it answers. None if that was sent again, since
    /// the acknowledgement may be of either (Karn's rule). It includes the queue of the sender's own port.
    pub sample: Option<Span>,
    /// The present message, which is being sent.
    pub message: Current,
    /// The messages behind it, in order.
    pub later: &'q VecDeque<Current>,
}

/// No messages behind the one that is being sent.
pub static NO_MORE: VecDeque<Current> = VecDeque::new();

/// The message that is being sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Current {
    /// The position of its end in the stream.
    pub end: u64,
    /// The message as enqueued; the deadline as a point in time.
    pub message: Message,
}

/// A detected loss of data.
#[derive(Clone, Debug)]
pub struct Lost<'q> {
    /// The present simulated time.
    pub now: Instant,
    /// The content of an acknowledgement of nothing at this time.
    pub state: Acked<'q>,
    /// Data that is sent and not acknowledged, in segments.
    pub flight: f64,
    /// The retransmission timer detected it.
    pub timeout: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cwnd(cwnd: f64) -> Cwnd {
        Cwnd { cwnd, ssthresh: 1.0, floor: 2.0, limit: f64::INFINITY }
    }

    /// An ACK of one segment at `una` (counted in segments) with a window of ten behind it.
    pub(crate) fn acked(una: u64, marked: bool) -> Acked<'static> {
        Acked {
            now: Instant::from_micros(una * 10),
            bytes: 1000,
            segments: 1.0,
            marked,
            may_grow: true,
            may_cut: true,
            una: una * 1000,
            next: (una + 10) * 1000,
            mss: 1000.0,
            srtt: Some(Span::from_micros(100)),
            min_rtt: Some(Span::from_micros(80)),
            sample: None,
            message: Current { end: 1_000_000, message: Message::of(units::Bytes(1_000_000)) },
            later: &NO_MORE,
        }
    }

    /// Returns the values that a controller reports under these names.
    pub(crate) fn reported<const N: usize>(law: &impl Window, window: &Cwnd, names: [&str; N]) -> [Option<f64>; N] {
        let mut seen = Observation::default();
        law.observe(window, &acked(1, false), &mut seen);
        names.map(|name| seen.get(name))
    }

    #[test]
    fn a_cut_ends_at_the_floor_from_both_sides() {
        for start in [1.0, 2.1] {
            let mut window = cwnd(start);
            window.cut(0.5);
            assert_eq!((window.cwnd, window.ssthresh), (2.0, 2.0));
        }
    }

    #[test]
    fn below_one_segment_an_ack_adds_no_more_than_a_segment() {
        let mut window = Cwnd { floor: 0.01, ssthresh: 0.01, ..cwnd(0.1) };
        window.grow(1.0);
        assert_eq!(window.cwnd, 1.1);
        window.grow(1.0);
        assert_eq!(window.cwnd, 1.1 + 1.0 / 1.1);
    }

    #[test]
    fn growth_is_exponential_then_one_segment_per_window() {
        let mut window = Cwnd { ssthresh: 20.0, ..cwnd(10.0) };
        (0..10).for_each(|_| window.grow(1.0));
        assert_eq!(window.cwnd, 20.0);
        (0..20).for_each(|_| window.grow(1.0));
        assert!((window.cwnd - 21.0).abs() < 0.05);
    }
}
