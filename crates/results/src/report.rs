//! The JSON contract: one object per run.

use std::io;

use sim::Outcome;
use sim::outcome::{self, Counters, FaultCounts, Link, LinkPauses, Requests};

use crate::book::RunStatistics;
use crate::by_name::by_name;
use crate::limit::{self, Limits};
use crate::summary::{Summary, mbps};

const IN_MEMORY: &str = "everything is in memory";

/// The output of `duetime run --json`, key by key in this order.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    /// The title of the scenario.
    pub title: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The name of `[transport]`.
    pub transport: String,
    /// Measured time, warm-up included, in seconds.
    pub simulated_s: f64,
    /// Time after the measured time until all counted messages were decided, in seconds.
    pub cool_down_s: f64,
    /// Wall-clock time of the event loop, in seconds: the only figure that two equal runs do not share.
    pub wall_s: f64,
    /// Data packets that reached receivers.
    pub packets_delivered: u64,
    /// Link crossings of all packets.
    pub packet_hops: u64,
    /// Events that the engine processed.
    pub events: u64,
    /// Packets dropped at switches after the warm-up.
    pub drops: u64,
    /// Packets whose payload alone was dropped at switches after the warm-up; left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trims: Option<u64>,
    /// Packets marked at switches after the warm-up.
    pub marks: u64,
    /// Retransmission timeouts after the warm-up.
    pub timeouts: u64,
    /// The timers behind these timeouts.
    pub timers: Timers,
    /// Data packets retransmitted after the warm-up.
    pub retransmits: u64,
    /// All packets over the whole run, ACKs included.
    pub packets: Packets,
    /// The switch port with the largest mean queue.
    pub busiest_queue: Option<BusiestQueue>,
    /// Requests for rates; none where no transport makes them.
    pub rate_requests: Option<RateRequests>,
    /// Effects of faults after the warm-up; left out where the scenario has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<Faults>,
    /// Pauses of links after the warm-up; left out unless the network is lossless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Summary over all classes.
    pub summary: Summary,
    /// The minimum of deadlines that any schedule of the same messages misses; none without deadlines.
    pub bound: Option<Limits>,
    /// Each class by its name, in the scenario's order.
    #[serde(serialize_with = "by_name")]
    pub classes: Vec<(String, ClassReport)>,
    /// Each set of classes by its name, in the order of their first classes; left out without sets.
    #[serde(serialize_with = "by_name", skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<(String, Summary)>,
}

/// The numbers of packets. Packets that were sent and are neither received nor in flight were dropped or lost to
/// faults, which may also have duplicated some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Packets {
    /// Enqueued in the queues of network cards.
    pub sent: u64,
    /// Received by their host.
    pub received: u64,
    /// Queued or on a wire at the end of the run.
    pub in_flight: u64,
}

/// Queued packets at a switch port, over time after the warm-up.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct BusiestQueue {
    /// The switch, by name.
    pub src: String,
    /// The node at the far end of its port's link.
    pub dst: String,
    /// Mean over time, in packets.
    pub mean: f64,
    /// 5th percentile over time.
    pub p5: u64,
    /// Median over time, in packets.
    pub p50: u64,
    /// 99th percentile over time.
    pub p99: u64,
    /// Largest number of packets.
    pub max: u64,
}

/// Requests for a rate above zero by flows with a deadline, each counted once over the whole run; shares are of all
/// requests, and of all such flows.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RateRequests {
    /// Number of such requests.
    pub requests: u64,
    /// Granted less than requested by a switch's port.
    pub denied: u64,
    /// 100 x denied / requests.
    pub denied_percent: Option<f64>,
    /// Denied while a flow with a later deadline held its whole request at the same port.
    pub inverted: u64,
    /// 100 x inverted / requests.
    pub inverted_percent: Option<f64>,
    /// Inverted by a flow that had requested a rate of the port earlier (in the order of requests).
    pub overtaken: u64,
    /// 100 x overtaken / requests.
    pub overtaken_percent: Option<f64>,
    /// Denied while flows with later deadlines or none held together at least the lacking rate.
    pub displaceable: u64,
    /// 100 x displaceable / requests.
    pub displaceable_percent: Option<f64>,
    /// Not covered by the rest of a port's capacity; the base rate may have been enough all the same.
    pub refused: u64,
    /// 100 x refused / requests.
    pub refused_percent: Option<f64>,
    /// Refused while a flow with a later deadline held at the same port a grant that had been covered.
    pub passed_over: u64,
    /// 100 x passed_over / requests.
    pub passed_over_percent: Option<f64>,
    /// Flows that made such requests.
    pub flows: u64,
    /// Of these, flows with an inverted request.
    pub inverted_flows: u64,
    /// 100 x inverted_flows / flows.
    pub inverted_flows_percent: Option<f64>,
}

/// Effects of faults. `drops` of the run and of links do not count packets lost to faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Faults {
    /// Packets that were lost on links, or at the ports of links that were down.
    pub drops: u64,
    /// Packets that arrived a second time.
    pub duplicates: u64,
    /// Packets that were delayed.
    pub held_back: u64,
    /// Number of times that an end of a connection changed its route.
    pub rerouted: u64,
}

/// Pauses of links in a lossless network.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Pauses {
    /// Pause frames that ports heeded.
    pub frames: u64,
    /// Links that were paused.
    pub links: u64,
    /// The time in which they were, summed over links, in seconds.
    pub paused_s: f64,
    /// Links that paused each other for ever at the end of the run, cool-down included; none mostly.
    pub deadlock: Option<Deadlock>,
}

/// Links that pause each other for ever.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Deadlock {
    /// The time of the last pause of its cycle, in seconds.
    pub since_s: f64,
    /// Number of links that are paused for ever, with the links of the cycle.
    pub stuck: u64,
    /// The switches along the links of the cycle, each of which waits for the next.
    pub cycle: String,
}

/// Number of expiries of each retransmission timer after the warm-up; all but the probes together are the timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Timers {
    /// The RTO before the first sample of the round-trip time (`rto_initial`).
    pub initial: u64,
    /// The RTO at its lower limit (`rto_min`).
    pub minimum: u64,
    /// The RTO that followed from the samples, above its lower limit.
    pub estimated: u64,
    /// An RTO that was doubled since it last expired.
    pub backed_off: u64,
    /// A time of the transport's own, such as `resend_after`.
    pub own: u64,
    /// Tail-loss probes, which are no timeouts.
    pub probes: u64,
}

impl Timers {
    fn of(counts: outcome::Timers) -> Timers {
        let outcome::Timers { initial, minimum, estimated, backed_off, own, probes } = counts;
        Timers { initial, minimum, estimated, backed_off, own, probes }
    }
}

/// The figures of one class.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ClassReport {
    /// Summary of its messages.
    #[serde(flatten)]
    pub summary: Summary,
    /// Mean over its flows of their packets' mean wait in the queue of the receiver's port, in us.
    pub bottleneck_delay_us: Option<f64>,
    /// Wire bytes of its data packets at the receivers' ports over the simulated time.
    pub bottleneck_mbps: Option<f64>,
    /// Messages of its list that start after the measured time and are not counted.
    pub too_late: u64,
}

impl Report {
    /// Returns the report of a run; `wall_s` is the time that its event loop took.
    ///
    /// # Panics
    /// When the run missed fewer deadlines, or goals of requests, than any schedule can: the simulator or the bound has a bug, and neither's
    /// figures should be believed.
    pub fn new(outcome: &Outcome, wall_s: f64) -> Report {
        Report::of_book(outcome, &mut RunStatistics::of(outcome), wall_s).expect(IN_MEMORY)
    }

    /// Returns the report of a run from its book; the messages in the outcome itself are not used.
    ///
    /// # Errors
    /// When the file that the book keeps values in cannot be written or read.
    ///
    /// # Panics
    /// As [`new`](Report::new).
    pub fn of_book(outcome: &Outcome, book: &mut RunStatistics, wall_s: f64) -> io::Result<Report> {
        book.sort();
        let bound = Limits::of(outcome, book)?;
        let mut report = Report { bound, ..Report::without_bound(outcome, book, wall_s)? };
        limit::of_requests(outcome, book, &mut report)?;
        if let Some(bound) = &report.bound {
            let classes = report.classes.iter().map(|(_, class)| &class.summary);
            bound.check(&report.summary, classes, &outcome.transport);
        }
        Ok(report)
    }

    /// Returns the report of measurements of a real network, without a bound: its rates and delays are not exactly the
    /// scenario's.
    pub fn measured(outcome: &Outcome, wall_s: f64) -> Report {
        Report::without_bound(outcome, &RunStatistics::of(outcome), wall_s).expect(IN_MEMORY)
    }

    fn without_bound(outcome: &Outcome, book: &RunStatistics, wall_s: f64) -> io::Result<Report> {
        let Counters {
            packets_sent,
            packets_received,
            packets_delivered,
            packets_in_flight,
            packet_hops,
            events,
            drops,
            trims,
            marks,
            timeouts,
            timers,
            retransmits,
        } = outcome.counters;
        let before = &outcome.before_warm_up;
        let summary = Summary::of_all(outcome, book)?;
        let classes = (0..outcome.classes.len())
            .map(|class| Ok((outcome.classes[class].name.clone(), ClassReport::of(outcome, book, class)?)))
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Report {
            title: outcome.title.clone(),
            seed: outcome.seed,
            transport: outcome.transport.clone(),
            simulated_s: outcome.simulated.as_secs_f64(),
            cool_down_s: outcome.ended.saturating_sub(outcome.simulated).as_secs_f64(),
            wall_s,
            packets_delivered,
            packet_hops,
            events,
            drops: drops - before.drops,
            trims: Some(trims - before.trims).filter(|trims| *trims > 0),
            marks: marks - before.marks,
            timeouts: timeouts - before.timeouts,
            timers: Timers::of(timers.since(before.timers)),
            retransmits: retransmits - before.retransmits,
            packets: Packets { sent: packets_sent, received: packets_received, in_flight: packets_in_flight },
            busiest_queue: BusiestQueue::among(&outcome.links),
            rate_requests: outcome.requests.map(RateRequests::of),
            faults: outcome.faults.map(Faults::of),
            pauses: Pauses::of(outcome),
            summary,
            bound: None,
            classes,
            sets: sets(outcome, book)?,
        })
    }

    /// Returns one JSON object on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain numbers and text always become JSON")
    }
}

impl RateRequests {
    fn of(counted: Requests) -> RateRequests {
        let Requests {
            requests,
            denied,
            inverted,
            overtaken,
            displaceable,
            refused,
            passed_over,
            flows,
            inverted_flows,
        } = counted;
        let percent = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
        RateRequests {
            requests,
            denied,
            denied_percent: percent(denied, requests),
            inverted,
            inverted_percent: percent(inverted, requests),
            overtaken,
            overtaken_percent: percent(overtaken, requests),
            displaceable,
            displaceable_percent: percent(displaceable, requests),
            refused,
            refused_percent: percent(refused, requests),
            passed_over,
            passed_over_percent: percent(passed_over, requests),
            flows,
            inverted_flows,
            inverted_flows_percent: percent(inverted_flows, flows),
        }
    }
}

impl Pauses {
    fn of(outcome: &Outcome) -> Option<Pauses> {
        let pauses: Vec<LinkPauses> = outcome.links.iter().map(|link| link.pauses).collect::<Option<_>>()?;
        let all = |paused: &LinkPauses| paused.paused.as_secs_f64();
        (!pauses.is_empty()).then(|| Pauses {
            frames: pauses.iter().map(|link| link.frames).sum(),
            links: pauses.iter().filter(|link| link.paused > units::Span::ZERO).count() as u64,
            paused_s: pauses.iter().map(all).sum(),
            deadlock: outcome.deadlock.as_ref().map(|deadlock| Deadlock::of(deadlock, &outcome.links)),
        })
    }
}

impl Deadlock {
    fn of(found: &outcome::Deadlock, links: &[Link]) -> Deadlock {
        let of_cycle = || found.cycle.iter().map(|link| &links[link.index()]);
        let starts = of_cycle().map(|link| link.from.as_str());
        let nodes: Vec<&str> = starts.chain(of_cycle().next_back().map(|link| link.to.as_str())).collect();
        Deadlock { since_s: found.since.as_secs_f64(), stuck: found.stuck, cycle: nodes.join(" -> ") }
    }
}

impl Faults {
    fn of(counted: FaultCounts) -> Faults {
        let FaultCounts { drops, duplicates, held_back, rerouted } = counted;
        Faults { drops, duplicates, held_back, rerouted }
    }
}

impl ClassReport {
    fn of(outcome: &Outcome, book: &RunStatistics, class: usize) -> io::Result<ClassReport> {
        let measured = &outcome.classes[class];
        Ok(ClassReport {
            summary: Summary::of_class(outcome, book, class)?,
            bottleneck_delay_us: measured.bottleneck_delay_us,
            bottleneck_mbps: mbps(measured.bottleneck_bytes, outcome.simulated.since_start()),
            too_late: measured.too_late,
        })
    }
}

impl BusiestQueue {
    /// Returns the busiest among the ports of switches; of equals the first, so that the choice never wavers.
    fn among(links: &[Link]) -> Option<BusiestQueue> {
        let at_switches = links.iter().filter(|link| !link.from.starts_with("host "));
        let busiest = at_switches.reduce(|best, link| if link.queue.mean > best.queue.mean { link } else { best })?;
        let queue = busiest.queue;
        Some(BusiestQueue {
            src: busiest.from.clone(),
            dst: busiest.to.clone(),
            mean: queue.mean,
            p5: queue.p5,
            p50: queue.p50,
            p99: queue.p99,
            max: queue.max,
        })
    }
}

fn sets(outcome: &Outcome, book: &RunStatistics) -> io::Result<Vec<(String, Summary)>> {
    let mut sets: Vec<(String, Summary)> = Vec::new();
    for set in outcome.classes.iter().filter_map(|class| class.set.as_ref()) {
        if sets.iter().all(|(known, _)| known != set) {
            sets.push((set.clone(), Summary::of_set(outcome, book, set)?));
        }
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{at_ms, link, message, ms, outcome};

    fn keys(json: &str) -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        // Their order depends on other crates' features of serde_json.
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    }

    const SUMMARY: [&str; 13] = [
        "messages",
        "completed",
        "unfinished",
        "censored",
        "with_deadline",
        "missed",
        "undecided",
        "missed_percent",
        "goodput_mbps",
        "goodput_in_time_mbps",
        "fct_us",
        "slowdown",
        "deadline_ratio",
    ];
    const FAN_IN: [&str; 4] = ["queries", "complete_queries_percent", "answers_in_time_percent", "query_us"];

    fn sorted(keys: &[&str]) -> Vec<String> {
        let mut keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_contract_has_exactly_these_keys() {
        let report = Report::new(&outcome(&["poisson"], vec![]), 0.5);
        let expected = sorted(&[
            "title",
            "seed",
            "transport",
            "simulated_s",
            "cool_down_s",
            "wall_s",
            "packets_delivered",
            "packet_hops",
            "events",
            "drops",
            "marks",
            "timeouts",
            "timers",
            "retransmits",
            "packets",
            "busiest_queue",
            "rate_requests",
            "summary",
            "bound",
            "classes",
        ]);
        assert_eq!(keys(&report.to_json()), expected);
        assert_eq!(keys(&serde_json::to_string(&report.summary).unwrap()), sorted(&SUMMARY));
        let class = [&SUMMARY[..], &["bottleneck_delay_us", "bottleneck_mbps", "too_late"]].concat();
        assert_eq!(keys(&serde_json::to_string(&report.classes[0].1).unwrap()), sorted(&class));
    }

    #[test]
    fn fan_in_adds_its_keys_to_its_class_and_to_the_summary() {
        let report = Report::new(&outcome(&["fan-in", "long"], vec![]), 0.5);
        let with_queries = [&SUMMARY[..], &FAN_IN].concat();
        assert_eq!(keys(&serde_json::to_string(&report.summary).unwrap()), sorted(&with_queries));
        let [(_, fan_in), (_, long)] = &report.classes[..] else { panic!("two classes") };
        assert!(fan_in.summary.fan_in.is_some() && long.summary.fan_in.is_none());
    }

    #[test]
    fn sets_sum_up_their_classes() {
        let mut run = outcome(&["poisson", "poisson", "fan-in"], vec![message().build(), message().class(1).build()]);
        run.classes[0].set = Some("B".into());
        run.classes[2].set = Some("A".into());
        run.classes[1].set = Some("B".into());
        let report = Report::new(&run, 0.5);
        let sums: Vec<(&str, u64)> = report.sets.iter().map(|(name, sum)| (&name[..], sum.messages)).collect();
        assert_eq!(sums, [("B", 2), ("A", 0)]);
        assert!(report.to_json().contains(r#""sets":{"B":{"messages":2,"#));
    }

    #[test]
    fn the_object_reads_as_promised() {
        let mut run = outcome(&["poisson"], vec![message().end(at_ms(12)).deadline(ms(4)).build()]);
        run.classes[0].bottleneck_bytes = units::Bytes(12_500); // 100 000 bit in 100 ms
        run.counters.packets_sent = 9;
        let text = Report::new(&run, 0.25).to_json();
        assert!(text.starts_with(
            r#"{"title":"by hand","seed":7,"transport":"dctcp","simulated_s":0.1,"cool_down_s":0.0,"wall_s":0.25,"packets_delivered":0,"#
        ));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["packets"], serde_json::json!({"sent": 9, "received": 0, "in_flight": 0}));
        assert_eq!(value["busiest_queue"], serde_json::Value::Null);
        assert_eq!(value["classes"]["class 0"]["bottleneck_mbps"], 1.0);
        assert_eq!(value["classes"]["class 0"]["fct_us"]["p99"], 2000.0);
        assert_eq!(value["summary"]["missed_percent"], 0.0);
    }

    #[test]
    fn what_was_counted_in_the_warm_up_is_left_out() {
        let mut run = outcome(&[], vec![]);
        run.counters = Counters { drops: 9, marks: 8, timeouts: 7, retransmits: 6, ..Counters::default() };
        run.before_warm_up = Counters { drops: 1, marks: 2, timeouts: 3, retransmits: 4, ..Counters::default() };
        let report = Report::new(&run, 0.0);
        assert_eq!((report.drops, report.marks, report.timeouts, report.retransmits), (8, 6, 4, 2));
    }

    /// Links 0 and 1 wait for each other.
    #[test]
    fn pauses_are_summed_over_links_and_deadlocks_named() {
        let mut run = outcome(&[], vec![]);
        run.links = vec![link("left", "right", 0.0), link("right", "left", 0.0), link("host 0", "left", 0.0)];
        assert_eq!(Report::new(&run, 0.0).pauses, None);
        for (link, (frames, millis)) in run.links.iter_mut().zip([(2, 30), (0, 0), (5, 20)]) {
            link.pauses = Some(LinkPauses { frames, paused: ms(millis) });
        }
        let pauses = Report::new(&run, 0.0).pauses.unwrap();
        assert_eq!((pauses.frames, pauses.links, pauses.deadlock), (7, 2, None));
        assert!((pauses.paused_s - 0.05).abs() < 1e-9);
        let cycle = vec![units::LinkId(0), units::LinkId(1)];
        run.deadlock = Some(outcome::Deadlock { since: at_ms(4), cycle, stuck: 3 });
        let deadlock = Report::new(&run, 0.0).pauses.and_then(|pauses| pauses.deadlock).unwrap();
        let expected = Deadlock { since_s: 0.004, stuck: 3, cycle: "left -> right -> left".into() };
        assert_eq!(deadlock, expected);
    }

    #[test]
    fn shares_of_requests_are_of_those_that_there_were() {
        let mut run = outcome(&[], vec![]);
        assert_eq!(Report::new(&run, 0.0).rate_requests, None);
        run.requests = Some(Requests { requests: 8, denied: 4, inverted: 2, flows: 0, ..Requests::default() });
        let requests = Report::new(&run, 0.0).rate_requests.unwrap();
        assert_eq!((requests.denied_percent, requests.inverted_percent), (Some(50.0), Some(25.0)));
        assert_eq!((requests.overtaken_percent, requests.inverted_flows_percent), (Some(0.0), None));
    }

    #[test]
    fn the_busiest_queue_is_a_switch_port() {
        let mut run = outcome(&[], vec![]);
        run.links = vec![link("host 1", "switch", 9.0), link("switch", "host 0", 2.0), link("switch", "host 1", 2.0)];
        let busiest = Report::new(&run, 0.0).busiest_queue.unwrap();
        assert_eq!((busiest.src.as_str(), busiest.dst.as_str(), busiest.mean), ("switch", "host 0", 2.0));
    }

    #[test]
    fn equal_outcomes_give_equal_bytes() {
        let run = outcome(&["fan-in"], vec![message().query(1).end(at_ms(12)).build()]);
        assert_eq!(Report::new(&run, 0.0).to_json(), Report::new(&run.clone(), 0.0).to_json());
    }
}
