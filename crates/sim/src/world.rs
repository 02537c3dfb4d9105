//! The main loop: a run, from the first message to the [`Outcome`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use transport::Flags;
use transport::registry::Config;
use units::Time;

use crate::connections::{Connections, Expected, Progress};
use crate::cool_down::CoolDown;
use crate::event::Event;
use crate::flow::Flow;
use crate::ledger::Ledger;
use crate::net::{Net, Port, Watch};
use crate::observe::{RateWatch, Sampler};
use crate::outcome::{
    ClassOutcome, Counters, Framing, Link, LinkRates, Message, Outcome, Paths, Query, Queue, Requests, Sample,
};
use crate::priorities::Priorities;
use crate::run::Run;
use crate::scenario::{Class, Scenario, Transport};
use crate::topology::LinkSpec;
use crate::traffic::{Arrival, Asked, Batch, Request};

/// A run in progress.
pub struct World {
    title: String,
    transport: String,
    run: Run,
    priorities: Priorities,
    net: Net,
    connections: Connections,
    /// The transports' configurations.
    configs: Vec<Config>,
    names: Vec<&'static str>,
    sources: Vec<TrafficSource>,
    ledger: Ledger,
    sampler: Option<Sampler>,
    /// Watches requests for rates, when a transport makes them.
    rates: Option<RateWatch>,
    /// When the run ends, as things are.
    until: Time,
    /// What was measured, once the window has closed, and what the run goes on for.
    measured: Option<Box<(Measured, CoolDown)>>,
}

/// What is measured from the warm-up to the end of the duration.
struct Measured {
    at: Time,
    counters: Counters,
    classes: Vec<ClassOutcome>,
    requests: Option<Requests>,
    links: Vec<Link>,
    trace: Vec<Sample>,
}

/// A traffic class with what it has in store.
struct TrafficSource {
    class: Class,
    framing: Framing,
    /// The batch for which a [`Event::Generate`] is pending.
    batch: Option<Batch>,
    /// Messages of earlier batches that wait for their start.
    waiting: BinaryHeap<Waiting>,
    numbered: u64,
    /// Messages of its list that start too late to be counted.
    too_late: u64,
}

/// A message that waits for its start; ordered by start and ordinal, the earliest greatest, as
/// [`BinaryHeap`] wants it.
struct Waiting {
    request: Request,
    /// Its number in its class, in the order in which the class made its messages; for an answer in a tree of
    /// several levels, which may be made when others have arrived, its query and its place there.
    ordinal: u64,
}

impl Waiting {
    fn key(&self) -> Reverse<(Time, u64)> {
        Reverse((self.request.start, self.ordinal))
    }
}
impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl World {
    /// Everything in place, nothing sent yet.
    pub fn new(scenario: Scenario) -> World {
        let priorities = Priorities::of(&scenario.transports, &scenario.classes);
        let discipline = scenario.network.discipline(&priorities);
        let Scenario { title, run, network, transport, transports, classes } = scenario;
        let frame_overhead = network.frame_overhead;
        let mut net = Net::new(network, run.seed, discipline, priorities.levels());
        if run.warm_up > Time::ZERO {
            net.events.push(run.warm_up, Event::WarmedUp);
        }
        if let Some(trace) = &run.trace {
            net.events.push(trace.every, Event::Sample);
        }
        let mut families: Vec<transport::Agents> = Vec::new();
        for agents in transports.iter().filter_map(Transport::agents) {
            if !families.contains(&agents) {
                families.push(agents);
            }
        }
        net.station(&families);
        let sources = classes
            .into_iter()
            .map(|class| {
                let framing = class.framing(&transports[class.transport], frame_overhead);
                let too_late = class.generator.listed(run.duration).too_late;
                TrafficSource { class, framing, batch: None, waiting: BinaryHeap::new(), numbered: 0, too_late }
            })
            .collect::<Vec<_>>();
        let mut world = World {
            title,
            transport,
            sampler: run.trace.clone().map(Sampler::new),
            rates: (!families.is_empty()).then(|| RateWatch::new(net.leave_switches())),
            run,
            priorities,
            net,
            connections: Connections::default(),
            names: transports.iter().map(|transport| transport.name).collect(),
            configs: transports.into_iter().map(|transport| transport.config).collect(),
            ledger: Ledger::new(sources.len()),
            sources,
            until: Time::ZERO,
            measured: None,
        };
        world.until = world.run.duration;
        (0..world.sources.len() as u32).for_each(|class| world.next_batch(class));
        world
    }

    /// Processes up to `events` events; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        for done in 0..events {
            let Some((at, event)) = self.net.events.pop(self.until) else {
                self.net.counters.events += done;
                self.net.now = self.until;
                return self.goes_on();
            };
            debug_assert!(at >= self.net.now, "time runs back");
            self.net.now = at;
            match event {
                Event::Arrival(link) => self.arrival(link),
                Event::SenderTimer(connection) => {
                    let progress = self.connections.sender_timer(&mut self.net, &self.configs, connection);
                    self.follow_up(connection, progress);
                }
                Event::ReceiverTimer(connection) => {
                    self.connections.receiver_timer(&mut self.net, &self.configs, connection);
                }
                Event::Generate(class) => self.generate(class),
                Event::Start(class) => {
                    let waiting = self.sources[class as usize].waiting.pop();
                    self.start(class, waiting.expect("each start has its message"));
                }
                Event::Departure(link) => self.net.depart(link),
                Event::WarmedUp => self.warmed_up(),
                Event::Sample => self.sample(),
            }
            if !self.net.agents.decided.is_empty() {
                self.watch_rates();
            }
        }
        self.net.counters.events += events;
        true
    }

    /// Nothing more happens until `until`: closes the window if that was its end. False when the run is over.
    #[cold]
    fn goes_on(&mut self) -> bool {
        if self.measured.is_some() {
            return false;
        }
        let measured = self.take_stock();
        let waiting = self
            .sources
            .iter()
            .zip(0..)
            .flat_map(|(source, class)| source.waiting.iter().map(move |waiting| (class, &waiting.request)));
        let cool_down = CoolDown::new(&self.run, self.sources.len(), &self.ledger, waiting);
        self.until = cool_down.until(self.net.now);
        self.measured = Some(Box::new((measured, cool_down)));
        self.until > self.net.now
    }

    /// The simulated time reached.
    pub fn now(&self) -> Time {
        self.net.now
    }

    /// When what is measured ends; the run may go on until that is decided.
    pub fn duration(&self) -> Time {
        self.run.duration
    }

    /// Data packets that have reached receivers so far, of those that count.
    pub fn packets_delivered(&self) -> u64 {
        self.measured.as_deref().map_or(&self.net.counters, |(measured, _)| &measured.counters).packets_delivered
    }

    /// A packet reaches the end of a link: a switch sends it on, a host hands it to its connection.
    #[inline]
    fn arrival(&mut self, link: u32) {
        if let Some(packet) = self.net.arrive(link) {
            let progress = self.connections.deliver(&mut self.net, &self.configs, &packet);
            if progress != Progress::None {
                self.follow_up(packet.connection, progress);
            }
        }
    }

    fn generate(&mut self, class: u32) {
        let source = &mut self.sources[class as usize];
        let batch = source.batch.take().expect("a batch was announced");
        if let Some(Asked { number, parent, answers, children, deadline }) = batch.query {
            self.ledger.queries.push(Query { class, number, parent, start: batch.at, deadline, answers, children });
        }
        batch.messages.into_iter().for_each(|request| self.announce(class, request));
        self.next_batch(class);
    }

    /// A message is to start at its time.
    fn announce(&mut self, class: u32, request: Request) {
        if let Some((_, cool_down)) = self.measured.as_deref_mut() {
            cool_down.expect(class, &request);
            self.until = cool_down.until(self.net.now);
        }
        let source = &mut self.sources[class as usize];
        let ordinal = match (request.query, request.place) {
            (Some(query), Some(place)) => query << 32 | u64::from(place.node),
            _ => source.numbered,
        };
        source.numbered += 1;
        source.waiting.push(Waiting { request, ordinal });
        self.net.events.push(request.start, Event::Start(class));
    }

    fn next_batch(&mut self, class: u32) {
        let source = &mut self.sources[class as usize];
        source.batch = source.class.generator.next();
        if let Some(batch) = &source.batch {
            self.net.events.push(batch.at, Event::Generate(class));
        }
    }

    /// A message is handed to its connection.
    fn start(&mut self, class: u32, Waiting { mut request, ordinal }: Waiting) {
        if request.place.is_some() && !self.sources[class as usize].class.generator.departs(&mut request) {
            if let Some((_, cool_down)) = self.measured.as_deref_mut() {
                cool_down.forget(class, &request);
                self.until = cool_down.until(self.net.now);
            }
            return;
        }
        let Request { start, from, to, bytes, deadline, query, place } = request;
        let source = &self.sources[class as usize].class;
        let priority = self.priorities.of_message(source, deadline);
        let &Class { transport, persistent, short, .. } = source;
        let (config, net) = (&self.configs[transport], &mut self.net);
        let number = self.connections.find_or_open((transport as u32, from, to), persistent, |connections| {
            let flow = if persistent { Flow::of_pair(from, to) } else { Flow::of_message(&source.name, ordinal) };
            let paths = (net.path(from, to, flow), net.path(to, from, flow));
            connections.open(transport as u32, config, flow, paths, !persistent)
        });
        let path = self.connections.sending(number).path();
        let connection = &config.connection;
        let ideal = bytes.map(|bytes| self.net.ideal(path, to, bytes, connection.mss, connection.header));
        let row = self.ledger.start(
            path,
            Message {
                class,
                from,
                to,
                query,
                place,
                bytes,
                start,
                end: None,
                ideal,
                deadline,
                aborted: false,
                timeouts: 0,
                retransmits: 0,
                marks: 0,
            },
        );
        let receiving = self.connections.receiving(number);
        let stream_end = receiving.expected.back().map_or(receiving.counted.max(receiving.receiver.next()), |m| m.end);
        let end = stream_end.saturating_add(bytes.unwrap_or(u64::MAX));
        receiving.expected.push_back(Expected { row, end, abandoned: false });
        receiving.boundary = receiving.expected[0].end;
        let message = transport::Message { bytes, deadline: deadline.map(|allowed| start + allowed), short, priority };
        if let Some(watch) = &mut self.rates {
            watch.started(number, self.connections.sending(number).generation(), message.deadline);
        }
        self.connections.hand_over(&mut self.net, &self.configs, number, message);
    }

    /// Shows the watch what agents have decided.
    #[cold]
    fn watch_rates(&mut self) {
        let watch = self.rates.as_mut().expect("where there are agents there is a watch");
        let now = self.net.now;
        self.net.agents.decided.drain(..).for_each(|(link, decision)| watch.decided(now, link, &decision));
    }

    /// Writes down what a packet or timer has brought about.
    #[cold]
    fn follow_up(&mut self, number: u32, progress: Progress) {
        match progress {
            Progress::None => {}
            Progress::Arrived => self.arrived(number),
            Progress::Abandoned => self.abandoned(number),
            Progress::Finished => {
                self.book(number);
                self.close(number);
            }
        }
        if let Some((_, cool_down)) = self.measured.as_deref() {
            self.until = cool_down.until(self.net.now);
        }
    }

    /// One message or more has arrived completely.
    fn arrived(&mut self, number: u32) {
        self.book(number);
        let mut answers = Vec::new();
        let receiving = self.connections.receiving(number);
        let next = receiving.receiver.next();
        while let Some(&Expected { row, end, abandoned }) = receiving.expected.front()
            && end <= next
        {
            receiving.expected.pop_front();
            receiving.last_row = row;
            self.ledger.deliver(row, end - receiving.counted);
            receiving.counted = end;
            if abandoned {
                continue;
            }
            let message = self.ledger.complete(row, self.net.now);
            if let Some((_, cool_down)) = self.measured.as_deref_mut() {
                cool_down.decided(message);
            }
            if let &Message { class, query: Some(query), place: Some(place), .. } = message {
                answers.push((class, Arrival { query, place, at: self.net.now }));
            }
        }
        receiving.boundary = receiving.expected.front().map_or(u64::MAX, |expected| expected.end);
        for (class, arrival) in answers {
            if let Some(request) = self.sources[class as usize].class.generator.arrived(arrival) {
                self.announce(class, request);
            }
        }
    }

    /// The sender has given its current message up: the stream is shorter by what it never sent.
    fn abandoned(&mut self, number: u32) {
        let sending = self.connections.sending(number);
        let Some((end, unsent)) = sending.doings.abandoned.take() else { return };
        let closes = sending.closes();
        let receiving = self.connections.receiving(number);
        // It may have arrived in the meantime. Those before it, given up too, end where they ended.
        for expected in receiving.expected.iter_mut().filter(|expected| expected.end >= end) {
            if expected.end == end && !expected.abandoned {
                expected.abandoned = true;
                let message = self.ledger.abandon(expected.row);
                if let Some((_, cool_down)) = self.measured.as_deref_mut() {
                    cool_down.decided(message);
                }
            }
            expected.end -= unsent;
        }
        if closes {
            self.book(number);
            self.close(number);
        } else {
            // What was sent of it may have arrived already.
            self.arrived(number);
        }
    }

    /// Books on the current message what its ends have done since this was last called.
    fn book(&mut self, number: u32) {
        let dropped = self.net.take_dropped_at_receiver((number, self.connections.generation(number)));
        let receiving = self.connections.receiving(number);
        let row = receiving.row();
        self.ledger.book_arrivals(row, &mut receiving.arrivals, dropped);
        self.ledger.book_doings(row, &mut self.connections.sending(number).doings);
    }

    /// Counts what has arrived of a message that is not complete.
    fn count_partial(&mut self, number: u32) {
        let receiving = self.connections.receiving(number);
        let (row, next) = (receiving.row(), receiving.receiver.next());
        self.ledger.deliver(row, next - receiving.counted);
        receiving.counted = next;
    }

    fn close(&mut self, number: u32) {
        if let Some(sampler) = &mut self.sampler {
            let receiving = self.connections.receiving(number);
            sampler.keep(receiving.row(), receiving.unsampled);
        }
        self.count_partial(number);
        self.connections.close(number);
    }

    fn warmed_up(&mut self) {
        for number in self.connections.open_ones() {
            self.book(number);
            self.count_partial(number);
        }
        self.ledger.warmed_up();
        self.net.warmed_up();
    }

    fn sample(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            self.net.settle();
            sampler.take(&self.net, &mut self.connections, &self.configs);
            let next = self.net.now + sampler.every();
            self.net.events.push(next, Event::Sample);
        }
    }

    /// What was measured up to now.
    fn take_stock(&mut self) -> Measured {
        for number in self.connections.open_ones() {
            self.book(number);
            self.count_partial(number);
        }
        self.net.settle();
        self.book_packets_at_receivers();
        let mut counters = self.net.counters;
        let packets = |link| self.net.packets(link).count() as u64;
        counters.packets_in_flight = (0..self.net.ports().len()).map(packets).sum();
        counters.marks = self.net.ports().iter().filter_map(Port::watch).map(|watch| watch.marks).sum();
        counters.timeouts = self.ledger.messages.iter().map(|message| u64::from(message.timeouts)).sum();
        counters.retransmits = self.ledger.messages.iter().map(|message| u64::from(message.retransmits)).sum();
        let classes = self.sources.iter().enumerate().map(|(i, TrafficSource { class, framing, too_late, .. })| {
            let outcome = self.ledger.class(i as u32, class, self.names[class.transport], *framing);
            ClassOutcome { too_late: *too_late, ..outcome }
        });
        Measured {
            at: self.net.now,
            counters,
            classes: classes.collect(),
            requests: self.rates.as_ref().map(RateWatch::total),
            links: links(&self.net, self.rates.as_ref(), self.run.warm_up),
            trace: self.sampler.take().map_or_else(Vec::<Sample>::new, Sampler::into_samples),
        }
    }

    /// Ends the run here.
    pub fn finish(mut self) -> Outcome {
        let (measured, decided_until) = match self.measured.take().map(|both| both.0) {
            Some(measured) => {
                for number in self.connections.open_ones() {
                    self.book(number);
                }
                // A run that ends before has decided all that it waits for.
                let over = self.net.now >= self.until;
                (measured, if over { self.run.latest() } else { self.net.now })
            }
            None => (self.take_stock(), self.net.now),
        };
        let Measured { at, counters, classes, requests, links, trace } = measured;
        Outcome {
            title: self.title,
            seed: self.run.seed,
            transport: self.transport,
            simulated: at,
            ended: self.net.now,
            decided_until,
            warm_up: self.run.warm_up,
            counters,
            requests,
            paths: Paths { of_messages: self.ledger.paths, links: self.net.take_paths() },
            classes,
            messages: self.ledger.messages,
            queries: self.ledger.queries,
            links,
            graph: self.net.graph,
            trace,
        }
    }

    /// What waits or travels behind the receivers' ports has arrived there.
    fn book_packets_at_receivers(&mut self) {
        let to_hosts = self.net.ports().iter().enumerate().filter(|(_, port)| port.to_host);
        for (link, _) in to_hosts {
            for packet in self.net.packets(link).filter(|packet| !packet.flags.has(Flags::ACK)) {
                if self.connections.is_current(packet) {
                    let row = self.connections.receiving(packet.connection).row();
                    self.ledger.book_waiting(row, u64::from(packet.size));
                }
            }
        }
    }
}

fn links(net: &Net, rates: Option<&RateWatch>, warm_up: Time) -> Vec<Link> {
    let watched_for = net.now.saturating_sub(warm_up);
    let nothing = Watch::default();
    let row = |(i, (spec, port)): (usize, (&LinkSpec, &Port))| {
        let watch = port.watch().unwrap_or(&nothing);
        Link {
            from: net.graph.name(spec.from),
            to: net.graph.name(spec.to),
            rate_bps: spec.rate.0,
            packets: port.packets,
            bytes: port.bytes,
            drops: watch.drops,
            marks: watch.marks,
            utilisation: net.utilisation(i, warm_up),
            queue: queue(&watch.levels, watched_for, watch.most_waiting),
            rates: rates
                .and_then(|rates| Some(LinkRates { requests: rates.at(i), counters: net.agents.allocation(i)? })),
        }
    };
    net.graph.links.iter().zip(net.ports()).enumerate().map(row).collect()
}

/// The distribution over time from the time spent with 1, 2, ... waiting packets.
fn queue(levels: &[u64], watched_for: Time, max: u64) -> Queue {
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
