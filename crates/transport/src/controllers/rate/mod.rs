//! The common part of controllers that pace at a rate for a deadline. It has the needed rate, and the law that follows
//! it against the state of the network. Messages without a deadline are sent as by DCTCP.

mod estimate;
pub(crate) mod keys;
mod law;

pub(crate) use law::price;

use units::{Instant, Span, Values, mix64};

use estimate::{Marks, Round};
use law::{Law, State};

use super::dctcp::{ALPHA, Marking};
use super::{Acked, Current, Cwnd, Lost};
use crate::connection::{self, RATE};
use crate::{Message, Observation, Signal, Site};

/// The rate that deadlines need.
pub(crate) const GAMMA: Signal =
    Signal { name: "gamma", help: "the rate that the deadline asks for, with headers (MCP's family)", unit: "Mbit/s" };
/// Z, the backlog of the flow.
pub(crate) const BACKLOG: Signal =
    Signal { name: "backlog", help: "Z, what the flow is behind, in C tau (MCP's family)", unit: "" };
/// The network term, from queues and prices of the path.
pub(crate) const NETWORK: Signal = Signal {
    name: "network_term",
    help: "queues and prices of the path, as reported or estimated, in C tau (MCP's family)",
    unit: "",
};
/// Q, the estimate of the queue.
pub(crate) const QUEUE_ESTIMATE: Signal = Signal {
    name: "queue_estimate",
    help: "the queue at the bottleneck as marks tell of it (mcp, karuna)",
    unit: "packets",
};

/// The source of the network term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// No feedback: the rate is gamma.
    None,
    /// Estimates from ECN marks.
    Ecn,
    /// The sum in a header to which each hop adds.
    Header,
}

/// A sender that paces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paced {
    rules: Rules,
    /// The state for messages without a deadline.
    marking: Marking,
    /// C, the rate of the link, in bit/s.
    capacity: f64,
    /// A random number from 0 to 1, drawn once.
    draw: f64,
    /// The state while there is a message with a deadline.
    flow: Option<Flow>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rules {
    feedback: Feedback,
    aim: f64,
    lead: f64,
    margin_rtts: f64,
    expired: Expired,
    capacity: Option<f64>,
    base_rtt: Span,
    least: f64,
    in_flight: f64,
    /// Bits of a full segment with its header.
    segment_bits: f64,
    /// Payload bytes of a full segment.
    segment_payload: f64,
    /// The law, and the rules of marks; none: the rate is gamma.
    law: Option<(Law, Abort)>,
    marks: Option<Marks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expired {
    Neutral,
    Urgent,
    Abort,
}

/// The conditions for aborting a message (MCP 4.2).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Abort {
    backlog: Option<f64>,
    relative: bool,
    hold_off: f64,
    spread: f64,
}

/// A stream of messages of which at least one has a deadline to meet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flow {
    state: State,
    gamma: f64,
    network: f64,
    /// The time at which the law was last applied.
    at: Instant,
    /// Bytes that have arrived since, and the part of them with an echo.
    arrived: u64,
    marked: u64,
    /// The sum of the headers' sums since.
    heard: f64,
    /// Number of headers since.
    headers: u32,
    /// The estimated queue, in full segments.
    queue: f64,
    /// The largest link of the path, in C.
    largest: f64,
    /// The time since when Z has been above its limit.
    over_since: Option<Instant>,
    hopeless: bool,
}

impl Paced {
    /// Reads the checked values of [`keys`], as far as `feedback` needs them.
    pub(crate) fn from_values(values: &Values, connection: &connection::Config, feedback: Feedback) -> Paced {
        let segment = f64::from(connection.mss + connection.header) * 8.0;
        let law = (feedback != Feedback::None).then(|| {
            let abort = Abort {
                backlog: values.number_if_set("abort_backlog"),
                relative: values.choice("abort_measure") == "relative",
                hold_off: values.number("hold_off"),
                spread: values.number("hold_off_spread"),
            };
            (Law::from_values(values), abort)
        });
        let rules = Rules {
            feedback,
            aim: values.number("aim"),
            lead: values.number("lead"),
            margin_rtts: values.number("margin_rtts"),
            expired: match values.choice("expired") {
                "urgent" => Expired::Urgent,
                "abort" => Expired::Abort,
                _ => Expired::Neutral,
            },
            capacity: values.rate_if_set("capacity").map(|rate| rate.as_bps_f64()),
            base_rtt: values.time("base_rtt"),
            least: values.number("least_rate"),
            in_flight: values.number("in_flight"),
            segment_bits: segment,
            segment_payload: f64::from(connection.mss),
            law,
            marks: (feedback == Feedback::Ecn).then(|| Marks::from_values(values)),
        };
        Paced { rules, marking: Marking::from_values(values), capacity: 0.0, draw: 0.0, flow: None }
    }

    /// Handles an acknowledgement of new data; returns true when it has cut the window of a message without a deadline.
    pub(crate) fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        let Some(flow) = &mut self.flow else {
            return self.marking.on_ack(window, ack, |_, alpha| alpha / 2.0);
        };
        flow.count(ack.bytes, ack.marked);
        let at = flow.at;
        if ack.now.saturating_sub(at) >= self.tau(ack) {
            self.apply(window, ack);
        }
        if let Some(flow) = &self.flow {
            window.cwnd = self.window(flow.state.rate, window, ack);
        }
        false
    }

    /// Counts bytes that have arrived beyond a gap, with an echo or without.
    pub(crate) fn on_beyond(&mut self, bytes: u64, marked: bool) {
        match &mut self.flow {
            Some(flow) => flow.count(bytes, marked),
            None => self.marking.count(bytes, marked),
        }
    }

    /// Handles a loss, which is repaired at the rate at which the data was sent.
    pub(crate) fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.marking.on_loss();
        match self.flow {
            Some(_) => window.ssthresh = window.cwnd,
            None => window.halve(loss),
        }
    }

    /// Handles a timeout: its retransmissions are sent at the same rate.
    pub(crate) fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64) {
        if self.flow.is_none() {
            window.cwnd = window.cwnd.min(loss_window);
        }
    }

    /// Handles a new message: the first rate is gamma (MCP 4.1).
    pub(crate) fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
        self.capacity = self.rules.capacity.unwrap_or(site.rate.as_bps_f64());
        self.draw = (mix64(site.own) >> 11) as f64 / (1u64 << 53) as f64;
        let Some(gamma) = self.demand(state, state.next) else {
            self.leave(window, state);
            return;
        };
        let first = gamma.max(self.rules.least);
        match &mut self.flow {
            Some(flow) if !idle => {
                flow.gamma = gamma;
                flow.state.rate = flow.state.rate.max(first);
            }
            flow => *flow = Some(Flow::starts(state.now, first)),
        }
        if let Some(flow) = &self.flow {
            window.cwnd = self.window(flow.state.rate, window, state);
        }
    }

    /// Returns the rate in force, in bit/s; none for messages without a deadline.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.flow.map(|flow| flow.state.rate * self.capacity)
    }

    /// Handles a header echo: the sum of the hops' terms, and the rate of the largest of their links, in bit/s.
    pub(crate) fn hear(&mut self, sum: f64, largest: u64) {
        if let Some(flow) = &mut self.flow {
            flow.heard += sum;
            flow.headers += 1;
            flow.largest = (largest as f64 / self.capacity).max(1.0);
        }
    }

    /// Returns true if a message is aborted: it cannot be in time any more, or is not likely to be.
    pub(crate) fn aborts(&self, message: &Message, now: Instant) -> bool {
        let missed = self.rules.expired == Expired::Abort && message.deadline.is_some_and(|deadline| deadline < now);
        missed || self.flow.is_some_and(|flow| flow.hopeless)
    }

    /// Reports the present values of its signals.
    pub(crate) fn observe(&self, seen: &mut Observation) {
        let Some(flow) = &self.flow else {
            seen.add(&ALPHA, self.marking.alpha);
            return;
        };
        let mbps = |share: f64| share * self.capacity / 1e6;
        seen.add(&RATE, mbps(flow.state.rate));
        seen.add(&GAMMA, mbps(flow.gamma));
        if self.rules.law.is_some() {
            seen.add(&BACKLOG, flow.state.backlog);
            seen.add(&NETWORK, flow.network);
        }
        if self.rules.marks.is_some() {
            seen.add(&QUEUE_ESTIMATE, flow.queue);
        }
    }

    /// Applies the law, once per round trip.
    fn apply(&mut self, window: &mut Cwnd, ack: &Acked) {
        // Lost data is still to be sent; while it is repaired, all unacknowledged bytes count.
        let Some(gamma) = self.demand(ack, if ack.may_cut { ack.next } else { ack.una }) else {
            self.leave(window, ack);
            return;
        };
        let tau = self.tau(ack);
        let Paced { rules, capacity, draw, flow: Some(flow), .. } = self else { return };
        let rounds = ack.now.saturating_sub(flow.at).0 as f64 / tau.0 as f64;
        if gamma > 0.0 {
            flow.gamma = gamma;
            match &rules.law {
                None => flow.state.rate = gamma.max(rules.least),
                Some((law, abort)) => {
                    let product = *capacity * tau.as_secs_f64() / rules.segment_bits;
                    flow.network = flow.listen(rules, product, rounds);
                    flow.state = law.step(flow.state, gamma, flow.network, rounds, rules.least);
                    flow.judge(abort, *draw, ack.now, tau);
                }
            }
        }
        flow.at = ack.now;
        (flow.arrived, flow.marked, flow.heard, flow.headers) = (0, 0, 0.0, 0);
    }

    /// Continues as DCTCP, from the window that follows from the rate.
    fn leave(&mut self, window: &mut Cwnd, state: &Acked) {
        if let Some(flow) = self.flow.take() {
            let segments = self.segments(flow.state.rate, state.srtt.unwrap_or(self.rules.base_rtt));
            window.cwnd = segments.max(window.floor).min(window.limit);
            window.ssthresh = window.cwnd;
        }
    }

    /// Returns gamma, as a share of C: the largest rate that a queued message with a deadline needs, with all data to
    /// be sent before it, from position `sent` on. None without any; 0 when all of them are sent.
    fn demand(&self, ack: &Acked, sent: u64) -> Option<f64> {
        let margin = ack.srtt.unwrap_or(self.rules.base_rtt).0 as f64 * self.rules.margin_rtts;
        let of = |current: &Current| self.demand_of(current, ack.now, Span::from_ps_f64(margin), sent);
        ack.later.iter().filter_map(of).chain(of(&ack.message)).reduce(f64::max)
    }

    fn demand_of(&self, current: &Current, now: Instant, margin: Span, sent: u64) -> Option<f64> {
        let Message { bytes: Some(bytes), deadline: Some(deadline), .. } = current.message else { return None };
        if deadline <= now && self.rules.expired == Expired::Neutral {
            return None;
        }
        let left = current.end.saturating_sub(sent);
        if left == 0 {
            return Some(0.0);
        }
        let time = deadline.saturating_sub(now).saturating_sub(margin).as_secs_f64();
        let lead = if left < bytes.0 { self.rules.lead } else { 0.0 };
        let bits = (left as f64 / self.rules.segment_payload + lead) * self.rules.segment_bits;
        Some(if time > 0.0 { (self.rules.aim * bits / (time * self.capacity)).min(1.0) } else { 1.0 })
    }

    fn tau(&self, ack: &Acked) -> Span {
        ack.min_rtt.unwrap_or(self.rules.base_rtt)
    }

    /// Returns the window of a rate, in segments.
    fn segments(&self, rate: f64, rtt: Span) -> f64 {
        rate * self.capacity * rtt.as_secs_f64() / self.rules.segment_bits
    }

    /// Returns the maximum data in flight at a rate, in segments.
    fn window(&self, rate: f64, window: &Cwnd, ack: &Acked) -> f64 {
        let segments = self.segments(rate, ack.srtt.unwrap_or(self.rules.base_rtt));
        (self.rules.in_flight * segments + 10.0).min(window.limit)
    }
}

impl Flow {
    fn starts(now: Instant, gamma: f64) -> Flow {
        Flow {
            state: State { rate: gamma, backlog: 0.0 },
            gamma,
            network: 0.0,
            at: now,
            arrived: 0,
            marked: 0,
            heard: 0.0,
            headers: 0,
            queue: 0.0,
            largest: 1.0,
            over_since: None,
            hopeless: false,
        }
    }

    fn count(&mut self, bytes: u64, marked: bool) {
        self.arrived += bytes;
        self.marked += if marked { bytes } else { 0 };
    }

    /// Returns the network term after `rounds` round trips, if the product of C and tau has `product` segments. Without
    /// new feedback it is the last one.
    fn listen(&mut self, rules: &Rules, product: f64, rounds: f64) -> f64 {
        match (&rules.marks, self.headers) {
            (Some(marks), _) if self.arrived > 0 => {
                let marked = self.marked as f64 / self.arrived as f64;
                let round = Round { marked, window: self.state.rate * product, product, rounds };
                let before = std::mem::replace(&mut self.queue, marks.queue(&round));
                marks.network(&round, self.queue, before)
            }
            (None, 1..) => self.heard / f64::from(self.headers),
            _ => self.network,
        }
    }

    /// Decides on an abort (MCP 4.2).
    fn judge(&mut self, abort: &Abort, draw: f64, now: Instant, tau: Span) {
        let Some(limit) = abort.backlog else { return };
        let backlog = self.state.backlog / if abort.relative { self.gamma } else { 1.0 };
        if backlog <= limit * self.largest {
            self.over_since = None;
            return;
        }
        let since = *self.over_since.get_or_insert(now);
        let hold_off = Span::from_ps_f64(tau.0 as f64 * (abort.hold_off + abort.spread * draw));
        self.hopeless = now.saturating_sub(since) >= hold_off;
    }
}

/// The methods of [`Window`](super::Window) by which a law with a field `paced` is a [`Paced`] sender.
macro_rules! by_paced {
    () => {
        fn ecn(&self) -> Ecn {
            Ecn::Exact
        }
        fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
            self.paced.on_ack(window, ack)
        }
        fn on_beyond(&mut self, bytes: u64, marked: bool) {
            self.paced.on_beyond(bytes, marked);
        }
        fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
            self.paced.on_loss(window, loss);
        }
        fn on_timeout(&mut self, window: &mut Cwnd, loss_window: f64, _: &Lost) {
            self.paced.on_timeout(window, loss_window);
        }
        fn paces(&self) -> bool {
            true
        }
        fn on_message(&mut self, window: &mut Cwnd, state: &Acked, idle: bool, site: Site) {
            self.paced.on_message(window, state, idle, site);
        }
        fn rate(&mut self, _: Instant, _: u64) -> Option<f64> {
            self.paced.rate()
        }
        fn aborts(&self, message: &Message, now: Instant) -> bool {
            self.paced.aborts(message, now)
        }
        fn observe(&self, _: &Cwnd, _: &Acked, seen: &mut Observation) {
            self.paced.observe(seen);
        }
    };
}
pub(super) use by_paced;
