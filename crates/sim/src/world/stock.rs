//! Collects the measurements of one world, or of several partitions of one.

use std::collections::BTreeMap;

use transport::{Flags, Packet};
use units::{Bytes, ClassId, Instant, LinkId, MessageId, Span};

use super::{Due, TrafficSource, Waiting, World};
use crate::cool_down::CoolDown;
use crate::fabric::Net;
use crate::fabric::partition::add;
use crate::observe::RateWatch;
use crate::record::message_log::{Left, MessageLog, Of};
use crate::record::outcome::{
    self, ClassOutcome, Counters, FaultCounts, Link, LinkRates, Message, Outcome, Paths, Queue, RequestRow, Sample,
};
use crate::record::rest::Rest;
use crate::requests::{OpenRequest, Requests};

/// The measurements from the warm-up to the end of the duration.
pub(crate) struct Measured {
    at: Instant,
    pub(crate) counters: Counters,
    classes: Vec<ClassOutcome>,
    requests: Option<outcome::Requests>,
    faults: Option<FaultCounts>,
    links: Vec<Link>,
    pub(crate) trace: Vec<Sample>,
}

/// Returns the measurements up to now.
pub(crate) fn take(worlds: &mut [World]) -> Measured {
    worlds.iter_mut().for_each(World::catch_up);
    record_packets_at_receivers(worlds);
    // Control messages are no events of the network, but they are counted by now.
    let counted = |world: &World| {
        let counters = world.totals();
        Counters { events: counters.events - world.hosts.control_messages.arrived(), ..counters }
    };
    let mut counters = sum(worlds, counted);
    let everywhere = worlds[0].net.part.as_ref().map_or(0, |part| part.everywhere);
    counters.events -= everywhere * (worlds.len() as u64 - 1);
    let links = (0..worlds[0].net.graph.links.len()).map(LinkId::from_index);
    let links = links.map(|link| row(&worlds[owner(worlds, link)], link)).collect();
    worlds.iter_mut().for_each(|world| world.message_log.close());
    let watches: Vec<&RateWatch> = worlds.iter().filter_map(|world| world.rates.as_ref()).collect();
    let requests = (!watches.is_empty()).then(|| RateWatch::total(watches.into_iter()));
    let (first, others) = worlds.split_first_mut().expect("a run has at least one world");
    others.iter_mut().for_each(|other| first.message_log.take_sums(&mut other.message_log));
    let classes = first.sources.entries().map(|(id, TrafficSource { class, framing, too_late, .. })| {
        let outcome = first.message_log.class(id, class, first.names[class.transport], *framing);
        ClassOutcome { too_late: *too_late, ..outcome }
    });
    Measured {
        at: first.net.now,
        counters,
        classes: classes.collect(),
        requests,
        faults: first.net.fault_counts(),
        links,
        trace: first.sampler.take().map_or_else(Vec::new, |mut sampler| sampler.take_samples()),
    }
}

/// Returns the messages for which a run continues whose measurement ends now. All partitions of a run know the same
/// messages. Only the sending host's partition knows the request of a message, and only its hosts' partitions know
/// whether it is decided.
pub(crate) fn awaits(worlds: &[World], is_decided: impl Fn(MessageId) -> bool) -> CoolDown {
    let world = &worlds[0];
    let messages = worlds.iter().flat_map(|world| world.message_log.messages());
    let undecided = messages.filter(|(message, _)| !is_decided(*message)).map(|(_, row)| row);
    let of_class = |(class, source): (_, &'_ TrafficSource)| {
        let request = |waiting: &Waiting| match waiting.due {
            Due::Message { request, .. } => Some((class, request)),
            Due::WorkEnds { .. } | Due::RequestArrives => None,
        };
        source.waiting.iter().filter_map(request).collect::<Vec<_>>()
    };
    let waiting: Vec<_> = world.sources.entries().flat_map(of_class).collect();
    let waiting = waiting.iter().map(|(class, request)| (*class, request));
    let mut cool_down = CoolDown::new(&world.run, world.message_log.counted_queries().clone(), undecided, waiting);
    for (_, OpenRequest { arrival, due, .. }) in open_requests(worlds) {
        cool_down.expect_request(arrival, due);
    }
    cool_down
}

/// Returns the requests that are not over, by class and number, with the number of pieces under way in any partition.
pub(crate) fn open_requests(worlds: &[World]) -> BTreeMap<(ClassId, u64), OpenRequest> {
    let mut open: BTreeMap<(ClassId, u64), OpenRequest> = BTreeMap::new();
    for (class, source) in worlds.iter().flat_map(|world| world.sources.entries()) {
        for (number, found) in source.requests.iter().flat_map(|requests| requests.open()) {
            open.entry((class, number)).or_insert(OpenRequest { outstanding: 0, ..found }).outstanding +=
                found.outstanding;
        }
    }
    open.retain(|_, request| request.outstanding > 0);
    open
}

/// Ends a run at `now` that would have ended at `until`; `measured` is `None` if the measurement has not ended. Returns
/// its results, and the remaining rows, which the outcome lacks.
pub(crate) fn finish(
    mut worlds: Vec<World>,
    measured: Option<Measured>,
    now: Instant,
    until: Instant,
) -> (Outcome, Rest) {
    let (measured, decided_until) = match measured {
        Some(measured) => {
            for world in &mut worlds {
                world.hosts.stage.watched();
                world.enqueue_all_pending();
                world.record_receivers();
                world.record_senders();
            }
            // A run that ends earlier has decided all messages that it waits for.
            (measured, if now >= until { worlds[0].run.latest() } else { now })
        }
        None => (take(&mut worlds), now),
    };
    let before_warm_up = sum(&worlds, |world| world.before_warm_up);
    let mut message_logs: Vec<MessageLog> =
        worlds.iter_mut().map(|world| std::mem::replace(&mut world.message_log, MessageLog::new(0, false))).collect();
    let mut first = worlds.swap_remove(0);
    let partition = first.net.part.take().map(|part| part.partition().clone());
    let plans = first.plans();
    let requests_of = |(class, source): (ClassId, &mut TrafficSource)| {
        let own = source.requests.take()?;
        let others = worlds.iter_mut().filter_map(|world| world.sources[class].requests.take());
        Some(Requests::finish(std::iter::once(own).chain(others).map(|requests| *requests).collect()))
    };
    let stage_requests: Vec<RequestRow> =
        (0..).map(ClassId).zip(first.sources.iter_mut()).filter_map(requests_of).flatten().collect();
    let Measured { at, counters, classes, requests, faults, links, trace } = measured;
    let (queries, blocks) = (message_logs[0].take_queries(), Left::of(message_logs, partition));
    let outcome = Outcome {
        title: first.title,
        seed: first.run.seed,
        transport: first.transport,
        simulated: at,
        ended: now,
        decided_until,
        warm_up: first.run.warm_up.after_start(),
        counters,
        before_warm_up,
        requests,
        faults,
        deadlock: first.net.deadlock(),
        paths: Paths { of_messages: Vec::new(), links: first.net.take_paths() },
        classes,
        messages: Vec::new(),
        queries: Vec::new(),
        stage_requests: Vec::new(),
        plans,
        links,
        graph: first.net.graph,
        trace: Vec::new(),
    };
    (outcome, Rest::of(queries, stage_requests, trace, blocks))
}

fn sum(worlds: &[World], counters: impl Fn(&World) -> Counters) -> Counters {
    worlds.iter().map(counters).reduce(|one, other| add(&one, &other)).unwrap_or_default()
}

/// Returns the index of the partition that has a link's port.
fn owner(worlds: &[World], link: LinkId) -> usize {
    worlds[0].net.part.as_ref().map_or(0, |part| part.partition().of_port[link] as usize)
}

/// Counts packets queued at receivers' ports or on their wires as arrived there.
fn record_packets_at_receivers(worlds: &mut [World]) {
    for at in 0..worlds.len() {
        let packets = worlds[at].net.packets_to_hosts();
        let data: Vec<Packet> = packets.filter(|packet| !packet.flags.has(Flags::ACK)).copied().collect();
        for packet in data {
            let of = worlds.iter().find_map(|world| {
                let &Message { class, from, to, .. } = world.message_log.sent(world.hosts.senders.message_of(&packet)?);
                Some(Of { class, from, to })
            });
            // Its host may not have received the control message about it.
            if let Some(of) = of {
                worlds[at].message_log.record_at_port(of, Bytes::from(packet.size));
            }
        }
    }
}

fn row(world: &World, link: LinkId) -> Link {
    let (net, rates): (&Net, _) = (&world.net, world.rates.as_ref());
    let warm_up = world.run.warm_up.after_start();
    let (spec, port) = (&net.graph.links[link.index()], &net.ports()[net.port_of(link)]);
    let (watch, watched_for) = (port.watch(), net.now.saturating_sub(warm_up));
    Link {
        from: net.graph.name(spec.from),
        to: net.graph.name(spec.to),
        rate_bps: spec.rate.0,
        packets: port.packets,
        bytes: Bytes(port.bytes),
        drops: watch.drops,
        fault_drops: net.fault_drops(link),
        marks: watch.marks,
        pauses: net.pauses_of(link),
        utilisation: net.utilisation(link, warm_up),
        queue: queue(&watch.levels, watched_for, watch.max_waiting),
        rates: rates
            .and_then(|rates| Some(LinkRates { requests: rates.at(link), counters: net.agents.allocation(link)? })),
    }
}

/// Returns the distribution over time from the time spent with 1, 2, ... queued packets.
fn queue(levels: &[u64], watched_for: Span, max: u64) -> Queue {
    let total = watched_for.0 as f64;
    if total == 0.0 || levels.is_empty() {
        return Queue::default();
    }
    let empty = total - levels.iter().map(|&time| time as f64).sum::<f64>();
    let percentile = |share: f64| {
        let mut passed = empty;
        for (i, &time) in levels.iter().enumerate() {
            if passed >= share * total {
                return i as u64;
            }
            passed += time as f64;
        }
        max
    };
    let weighted: f64 = levels.iter().enumerate().map(|(i, &time)| (i + 1) as f64 * time as f64).sum();
    Queue { mean: weighted / total, p5: percentile(0.05), p50: percentile(0.5), p99: percentile(0.99), max }
}
