//! The main loop: a run, from the first message to the [`Outcome`].

mod agenda;
pub(crate) mod oracle;
mod part;
mod requests;
pub(crate) mod stock;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use transport::Packet;
use transport::registry::Config;
use units::{ClassId, ConnectionId, Instant, LinkId, MessageId, Span, Table};

use crate::class::Framing;
use crate::class::{Class, Transport};
use crate::control_message::{ControlMessage, Opening};
use crate::cool_down::CoolDown;
use crate::empty_network::set_deadlines;
use crate::fabric::network::HostQueue;
use crate::fabric::{EndOf, Net, Next, Prefetch, Segments, Upcoming};
use crate::flow::{Flow, Incarnation};
use crate::hosts::{Figure, Hosts, NewConnection, Progress, Way};
use crate::observe::{RateWatch, Sampler};
use crate::priorities::Priorities;
use crate::record::message_log::{MessageLog, Of};
use crate::record::outcome::{Counters, Message, Outcome, Query, Taken};
use crate::record::packet_log::PacketLog;
use crate::record::rest::Rest;
use crate::requests::plan::Plan;
use crate::requests::{self as of_stages, Requests};
use crate::run::Run;
use crate::scenario::{Scenario, largest_packet};
use crate::schedule::events::Event;
use crate::topology::latency::Latency;
use crate::traffic::{Arrival, Asked, Batch, Departure, Request};
use agenda::Agenda;
use oracle::Transfers;
use stock::Measured;

/// A run in progress.
pub struct World {
    title: String,
    transport: String,
    run: Run,
    priorities: Priorities,
    net: Net,
    hosts: Hosts,
    /// Transport configurations of all classes.
    configs: Vec<Config>,
    names: Vec<&'static str>,
    sources: Table<ClassId, TrafficSource>,
    message_log: MessageLog,
    sampler: Option<Sampler>,
    /// The least times of messages, where some class has requests.
    latency: Option<Latency>,
    /// Watches requests for rates, when a transport makes them.
    rates: Option<RateWatch>,
    before_warm_up: Counters,
    /// End of the run, as currently known.
    until: Instant,
    /// The transfers that a caller hands over, if it does.
    transfers: Option<Transfers>,
    /// The measurement, once it has ended, and the messages for which the run continues.
    measured: Option<Box<(Measured, CoolDown)>>,
}

/// A traffic class and its pending messages.
struct TrafficSource {
    class: Class,
    framing: Framing,
    /// The batch for which a [`Event::Generate`] is pending.
    batch: Option<Batch>,
    /// Messages of earlier batches before their start, and works of requests before their end.
    waiting: Agenda<Waiting>,
    /// An [`Event::Start`] is pending for this instant.
    announced: Option<Instant>,
    numbered: u64,
    /// Messages of its list that start after the end of the measurement.
    too_late: u64,
    /// Its requests of several stages, if each batch is the arrival of one.
    requests: Option<Box<Requests>>,
}

impl TrafficSource {
    /// Returns whether something is due at this time.
    fn has_one_at(&self, at: Instant) -> bool {
        self.waiting.first().is_some_and(|next| next.start == at)
    }

    /// Removes and returns the next that is due at this time, if there is one.
    fn starts(&mut self, at: Instant) -> Option<Waiting> {
        if self.has_one_at(at) { self.waiting.pop() } else { None }
    }
}

/// Something of a class that is due later; ordered by its time and ordinal.
struct Waiting {
    start: Instant,
    /// For a message its number in its class, in the order of generation. For an effect of arrivals (an answer
    /// in a tree of several levels, a piece of a request), its query or request and its place there.
    ordinal: u64,
    due: Due,
}

/// The event of a class that is due.
enum Due {
    /// A message that its transport gets then.
    Message {
        request: Request,
        /// Its number, from 1, among the answers of its query; 0 in a tree of several levels, and without a query.
        asked: u32,
    },
    /// A work of a request ends.
    WorkEnds { request: u64, piece: u32 },
    /// A client asks again.
    RequestArrives,
}

impl Waiting {
    fn key(&self) -> (Instant, u64) {
        (self.start, self.ordinal)
    }
}
impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl World {
    /// Returns a run in which nothing has been sent yet.
    pub fn new(scenario: Scenario) -> World {
        let priorities = Priorities::of(&scenario.transports, &scenario.classes);
        let service = scenario.network.service(&scenario.transports, &priorities);
        let Scenario { title, run, network, faults, transport, mut transports, classes } = scenario;
        let (frame_overhead, host_queue) = (network.frame_overhead, network.host_queue);
        if let HostQueue::Fifo(_) = host_queue {
            transports.iter_mut().for_each(|transport| transport.config.connection.limit_small_queue());
        }
        let mut net = Net::new(network, run.seed, service);
        net.inject_faults(faults, run.seed);
        if run.warm_up > Span::ZERO {
            net.events.push(run.warm_up.after_start(), Event::WarmedUp);
        }
        if let Some(trace) = &run.trace {
            net.events.push(trace.every.after_start(), Event::Sample);
        }
        let mut families: Vec<transport::Agents> = Vec::new();
        for agents in transports.iter().filter_map(Transport::agents) {
            if !families.contains(&agents) {
                families.push(agents);
            }
        }
        net.install_agents(&families);
        let largest = largest_packet(&transports);
        net.bound_hosts(host_queue, largest);
        net.divide_buffers(largest);
        net.defer_enqueues(largest);
        net.omit_departures();
        let sources = classes
            .into_iter()
            .map(|class| {
                let framing = class.framing(&transports[class.transport], frame_overhead);
                let too_late = class.generator.listed(run.duration.after_start()).too_late;
                TrafficSource {
                    requests: None,
                    class,
                    framing,
                    batch: None,
                    waiting: Agenda::new(),
                    announced: None,
                    numbered: 0,
                    too_late,
                }
            })
            .collect::<Table<ClassId, TrafficSource>>();
        let mut world = World {
            title,
            transport,
            sampler: run.trace.clone().map(Sampler::new),
            rates: families.iter().any(transport::Agents::count_requests).then(|| RateWatch::new(net.leave_switches())),
            message_log: MessageLog::new(sources.len(), run.warm_up == Span::ZERO),
            run,
            priorities,
            hosts: Hosts::new(net.graph.hosts, sources.len() + transports.len()),
            net,
            names: transports.iter().map(|transport| transport.name).collect(),
            configs: transports.into_iter().map(|transport| transport.config).collect(),
            sources,
            latency: None,
            before_warm_up: Counters::default(),
            until: Instant::ZERO,
            transfers: None,
            measured: None,
        };
        world.prepare_requests();
        world.until = world.run.duration.after_start();
        (0..world.sources.len()).for_each(|class| world.next_batch(ClassId::from_index(class)));
        world
    }

    /// Processes up to `events` events; returns false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        if !self.net.defers_enqueues() {
            return self.process::<false, false>(events);
        }
        let before = self.net.counters.events;
        let more = self.process::<false, true>(events);
        // Where a fault has begun, ports no longer defer enqueueing.
        let rest = events.saturating_sub(self.net.counters.events - before);
        if more && !self.net.defers_enqueues() { self.process::<false, false>(rest) } else { more }
    }

    /// As [`advance`](World::advance), logging the events of packets until the log of `log_packets` is complete.
    // Inlined where it is called, so that a program that logs nothing has one event loop.
    #[inline]
    pub fn advance_logging(&mut self, events: u64) -> bool {
        match self.net.log.as_deref().is_some_and(|log| log.wants_more(self.net.now)) {
            true => self.process::<true, false>(events),
            false => self.advance(events),
        }
    }

    /// Makes [`advance_logging`](World::advance_logging) log packets from now on. Must be called before anything is
    /// sent.
    pub fn log_packets(&mut self, log: PacketLog) {
        self.net.defer_nothing();
        self.net.log = Some(Box::new(log));
    }

    /// Takes the log of packets until now.
    pub fn take_packet_log(&mut self) -> Option<PacketLog> {
        self.net.log.take().map(|log| *log)
    }

    /// Runs the event loop, with or without deferred enqueue.
    fn process<const LOGS: bool, const DEFERS: bool>(&mut self, events: u64) -> bool {
        // One buffer for all arriving packets.
        let mut packet = Packet::BLANK;
        let mut ahead = Prefetch::EMPTY;
        self.net.look_until(self.until);
        for done in 0..events {
            let mut arrival = match self.net.next_arrival::<DEFERS>(&mut ahead) {
                Some(arrival) => arrival,
                None => match self.net.another::<DEFERS>(&mut ahead, self.until) {
                    Next::Arrival(arrival) => arrival,
                    Next::Other(at, event) => {
                        if let Event::Fault(_) | Event::Pressure = event {
                            self.net.leave(&mut ahead);
                        }
                        self.other::<LOGS>(at, event);
                        if DEFERS && !self.net.defers_enqueues() {
                            self.net.counters.events += done + 1;
                            return true;
                        }
                        continue;
                    }
                    Next::Nothing => {
                        self.net.leave(&mut ahead);
                        self.net.counters.events += done;
                        self.net.now = self.until;
                        return self.goes_on();
                    }
                },
            };
            debug_assert!(arrival.at >= self.net.now, "time runs back");
            self.net.now = arrival.at;
            self.hosts.stage.begins();
            if LOGS {
                self.net.log_arrival(arrival.link);
            }
            if DEFERS {
                if !self.net.arrives(&mut arrival) {
                    continue;
                }
            } else {
                self.net.take(arrival.link, arrival.number);
            }
            self.arrival(arrival, &mut packet);
            if !self.net.agents.decided.is_empty() {
                self.watch_rates();
            }
        }
        self.net.leave(&mut ahead);
        self.net.counters.events += events;
        true
    }

    /// Handles any event but an arrival in a network without faults. Not inlined, so that the loop is small.
    #[inline(never)]
    fn other<const LOGS: bool>(&mut self, at: Instant, event: Event) {
        debug_assert!(at >= self.net.now, "time runs back");
        self.net.now = at;
        self.hosts.stage.begins();
        match event {
            Event::Arrival(link) => {
                if LOGS {
                    self.net.log_arrival(link);
                }
                self.arrival_through_faults(link);
            }
            Event::Held(link) => {
                if self.net.release(link) {
                    self.arrival_through_faults(link);
                }
            }
            Event::SenderTimer(id) => {
                let progress = self.hosts.on_sender_timer(&mut self.net, &self.configs, id);
                self.follow_up(id, progress);
            }
            Event::ReceiverTimer(id) => {
                self.hosts.on_receiver_timer(&mut self.net, &self.configs, id);
            }
            Event::HostTimer(host) => self.hosts.on_host_timer(&mut self.net, host),
            Event::HostTurn(host) => self.hosts.on_host_turn(&mut self.net, &self.configs, host),
            Event::Generate(class) => self.generate(class),
            Event::Start(class) => self.start_all(class),
            Event::Departure(link) => self.net.depart(link),
            Event::PauseFrame(link) => {
                if let Some(queue) = self.net.heed_frame(link) {
                    self.hosts.on_resume(&mut self.net, &self.configs, queue);
                }
            }
            Event::ControlMessage(id) => {
                self.net.in_control_message = true;
                self.noticed(id);
                self.net.in_control_message = false;
            }
            Event::Fault(change) => self.change(change),
            Event::Pressure => self.net.heed_pressure(),
            Event::WarmedUp => self.warmed_up(),
            Event::Sample => self.sample(),
        }
        if !self.net.agents.decided.is_empty() {
            self.watch_rates();
        }
    }

    /// Ends the measurement if `until` was its end, after all events until then. Returns false when the run is over.
    #[cold]
    fn goes_on(&mut self) -> bool {
        // One partition of several continues when all have advanced this far, and an oracle when it is told to.
        if self.measured.is_some() || self.net.part.is_some() || self.transfers.is_some() {
            return false;
        }
        let measured = stock::take(std::slice::from_mut(self));
        let cool_down = stock::awaits(std::slice::from_ref(self), |message| self.message_log.is_decided(message));
        self.until = cool_down.until(self.net.now);
        self.measured = Some(Box::new((measured, cool_down)));
        self.until > self.net.now
    }

    /// Returns the interval in which counted messages start: after the warm-up, before the end of the measurement.
    pub fn counted(&self) -> Range<Instant> {
        self.run.warm_up.after_start()..self.run.duration.after_start()
    }

    /// Returns the names of the classes, in the scenario's order.
    pub fn class_names(&self) -> impl Iterator<Item = String> {
        self.sources.iter().map(|source| source.class.name.clone())
    }

    /// Returns the stages and goals of the requests of each class, in the order of [`Outcome::plans`].
    pub fn plans(&self) -> Vec<Option<Arc<Plan>>> {
        self.sources.iter().map(|source| Some(source.class.generator.plan()?.plan)).collect()
    }

    /// Returns the names of the links, in the order of [`Outcome::links`].
    pub fn link_names(&self) -> impl Iterator<Item = String> {
        let graph = &self.net.graph;
        graph.links.iter().map(|link| format!("{} -> {}", graph.name(link.from), graph.name(link.to)))
    }

    /// Returns the simulated time reached.
    pub fn now(&self) -> Instant {
        self.net.now
    }

    /// Returns the end of the measurement; the run may continue until its messages are decided.
    pub fn duration(&self) -> Span {
        self.run.duration
    }

    /// Returns the number of counted data packets that have reached receivers so far.
    pub fn packets_delivered(&self) -> u64 {
        self.measured.as_deref().map_or(&self.net.counters, |(measured, _)| &measured.counters).packets_delivered
    }

    /// Handles a packet at the end of a link: a switch forwards it, a host passes it to its connection.
    #[inline(always)]
    fn arrival(&mut self, arrival: Upcoming, packet: &mut Packet) {
        match arrival.to() {
            Some(link) => self.net.forward(arrival.number, link),
            None => {
                self.net.counters.packets_received += 1;
                self.net.collect(arrival.number, packet);
                self.deliver(packet);
            }
        }
    }

    /// As [`arrival`](World::arrival), in a network with faults.
    fn arrival_through_faults(&mut self, link: LinkId) {
        if let Some(packet) = self.net.arrive_with_care(link) {
            self.deliver(&packet);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, packet: &Packet) {
        let progress = self.hosts.deliver(&mut self.net, &self.configs, packet);
        if progress != Progress::None {
            self.follow_up(packet.connection, progress);
        }
    }

    /// Applies the start or end of a fault, or its detection by routing.
    #[cold]
    fn change(&mut self, number: u32) {
        if self.net.change(number) {
            self.hosts.reroute(&mut self.net);
        }
    }

    fn generate(&mut self, class: ClassId) {
        self.happens_everywhere();
        let source = &mut self.sources[class];
        let mut batch = source.batch.take().expect("a batch was announced");
        if !batch.times_alone.is_empty() {
            self.set_deadlines(class, &mut batch);
        }
        let source = &mut self.sources[class];
        if let Some(Asked { number, parent, answers, children, deadline }) = batch.query {
            let query = Query { class, number, parent, start: batch.at, deadline, answers, children };
            self.message_log.ask(query, self.run.counts(batch.at));
        }
        if source.requests.is_some() {
            self.request_arrives(class);
        }
        for (place, request) in (1..).zip(batch.messages) {
            let answers = request.query.is_some() && request.place.is_none();
            self.announce(class, request, if answers { place } else { 0 });
        }
        self.next_batch(class);
    }

    /// Sets the deadlines of a batch that are multiples of the times of its messages alone, as the log has these.
    fn set_deadlines(&mut self, class: ClassId, batch: &mut Batch) {
        let World { net, sources, configs, .. } = self;
        let source = &sources[class];
        set_deadlines(
            batch,
            &source.class,
            source.numbered,
            &configs[source.class.transport],
            |from, to, flow, message| net.ideal_of(from, to, flow, message),
        );
    }

    /// Schedules the start of a message.
    fn announce(&mut self, class: ClassId, request: Request, asked: u32) {
        if let Some((_, cool_down)) = self.measured.as_deref_mut() {
            cool_down.expect(class, &request);
            self.see_until();
        }
        let source = &mut self.sources[class];
        let ordinal = match (request.query, request.place.map(|place| place.node).or(request.piece)) {
            (Some(query), Some(place)) => of_stages::ordinal(query, place),
            _ => source.numbered,
        };
        source.numbered += 1;
        self.wait(class, Waiting { start: request.start, ordinal, due: Due::Message { request, asked } });
    }

    /// Schedules something of a class.
    fn wait(&mut self, class: ClassId, waiting: Waiting) {
        let source = &mut self.sources[class];
        let start = waiting.start;
        source.waiting.push(waiting);
        // The answers of a query often start together.
        if source.announced != Some(start) {
            source.announced = Some(start);
            self.net.events.push(start, Event::Start(class));
        }
    }

    fn next_batch(&mut self, class: ClassId) {
        let source = &mut self.sources[class];
        source.batch = source.class.generator.next();
        if let Some(batch) = &source.batch {
            self.net.events.push(batch.at, Event::Generate(class));
        }
    }

    /// Starts the messages of a class that are due now, and ends its works, as if each had an event of its own.
    fn start_all(&mut self, class: ClassId) {
        let now = self.net.now;
        let source = &mut self.sources[class];
        source.announced.take_if(|announced| *announced == now);
        // They may all have been started with others.
        let Some(mut waiting) = source.starts(now) else { return self.net.nothing_happened() };
        loop {
            self.start(class, waiting);
            let source = &mut self.sources[class];
            if self.net.events.has_more_by(now) {
                // Events caused by this message may precede the next.
                if source.has_one_at(now) {
                    source.announced = Some(now);
                    self.net.events.push(now, Event::Start(class));
                }
                return;
            }
            match source.starts(now) {
                Some(next) => waiting = next,
                None => return,
            }
            self.net.counters.events += 1;
            self.hosts.stage.begins();
            if !self.net.agents.decided.is_empty() {
                self.watch_rates();
            }
        }
    }

    /// Handles an event of a class that is due now.
    fn start(&mut self, class: ClassId, Waiting { ordinal, due, .. }: Waiting) {
        match due {
            Due::Message { request, asked } => self.start_message(class, request, ordinal, asked),
            Due::WorkEnds { request, piece } => self.piece_ended(class, request, piece),
            Due::RequestArrives => self.request_arrives(class),
        }
    }

    /// Passes a message to its connection.
    fn start_message(&mut self, class: ClassId, mut request: Request, ordinal: u64, asked: u32) {
        if request.place.is_some() {
            let announced = request;
            let departure = self.sources[class].class.generator.departs(&mut request);
            if departure != Departure::Now {
                if let Some((_, cool_down)) = self.measured.as_deref_mut() {
                    cool_down.forget(class, &announced);
                    self.see_until();
                }
                if departure == Departure::Later {
                    self.announce(class, request, 0);
                }
                return;
            }
        }
        // What a request starts is announced only where it is.
        if self.net.part.is_some() && self.sources[class].requests.is_none() && !self.starts_here(&request) {
            return;
        }
        let Request { start, from, to, bytes, deadline, .. } = request;
        let source = &self.sources[class].class;
        let rank = self.priorities.of_message(source, deadline);
        let &Class { transport, persistent, short, .. } = source;
        let config = &self.configs[transport];
        let open = if persistent { self.hosts.state(from).persistent(transport as u32, to) } else { None };
        let (id, opening) = match open {
            Some(id) => (id, None),
            None => {
                let flow = self.flow_of(class, &request, ordinal);
                let path = self.net.path(from, to, flow);
                let way = Way { path, to, delay: self.net.propagation(path, to) };
                let group = if persistent { self.sources.len() + transport } else { class.index() };
                let transport = transport as u32;
                let new = NewConnection { group, transport, flow, from, way, closes: !persistent };
                let id = self.hosts.senders.open(self.net.now, config, new);
                if persistent {
                    self.hosts.state(from).keep(transport, to, id);
                }
                let generation = self.hosts.senders.at(id).generation();
                if config.control.agents().is_some() {
                    self.net.keep_path(Incarnation { id, generation }, EndOf::Sending);
                }
                (id, Some(Opening { config: transport, flow, generation }))
            }
        };
        let path = self.hosts.senders.at(id).path();
        let number = self.enter(class, path, &request);
        if opening.is_none() {
            self.record_sent(id);
        }
        let end = self.hosts.senders.at(id).starts(number, bytes);
        self.hosts.notify(
            &mut self.net,
            id,
            ControlMessage::Starts { message: number, of: Of { class, from, to }, end, opening },
        );
        let deadline = deadline.map(|allowed| start + allowed);
        let message = transport::Message { bytes, deadline, short, rank, asked };
        self.hosts.enqueue_message(&mut self.net, &self.configs, id, message);
    }

    /// Adds a message that starts on a route to the log.
    fn enter(&mut self, class: ClassId, path: u32, request: &Request) -> MessageId {
        let transport = &self.configs[self.sources[class].class.transport];
        let ideal = request.bytes.map(|bytes| self.net.ideal(path, request.to, Segments::of(transport, bytes)));
        let message = Message { ideal, ..Message::new(class, request) };
        match self.id_of_piece(class, request) {
            None => self.message_log.start(path, message),
            Some(id) => {
                self.message_log.send_reserved(id, path, message);
                id
            }
        }
    }

    /// Returns the flow of a message, which determines its route.
    fn flow_of(&self, class: ClassId, request: &Request, ordinal: u64) -> Flow {
        self.sources[class].class.flow_of(request, ordinal)
    }

    /// Returns all messages up to the end of the measurement, with their routes, without sending any. The error is the
    /// name of a class whose messages depend on the run.
    pub fn foreseen(mut self) -> Result<Outcome, String> {
        if let Some(source) = self.sources.iter().find(|source| source.requests.is_some()) {
            return Err(source.class.name.clone());
        }
        while let Some((at, event)) = self.net.events.pop(self.until) {
            self.net.now = at;
            match event {
                Event::Generate(class) => self.generate(class),
                Event::Start(class) => {
                    self.sources[class].announced = None;
                    while let Some(Waiting { due, ordinal, .. }) = self.sources[class].starts(at) {
                        let Due::Message { request, .. } = due else { continue };
                        if request.place.is_some() {
                            return Err(self.sources[class].class.name.clone());
                        }
                        let flow = self.flow_of(class, &request, ordinal);
                        let path = self.net.path(request.from, request.to, flow);
                        self.enter(class, path, &request);
                    }
                }
                // Nothing is in flight that could be sampled.
                _ => {}
            }
        }
        Ok(self.finish())
    }

    /// Passes the decisions of agents to the watch.
    #[cold]
    fn watch_rates(&mut self) {
        let watch = self.rates.as_mut().expect("where agents decide on requests there is a watch");
        let now = self.net.now;
        self.net.agents.decided.drain(..).for_each(|(link, decision)| watch.decided(now, link, &decision));
    }

    /// Records the results of a packet or timer.
    #[cold]
    fn follow_up(&mut self, id: ConnectionId, progress: Progress) {
        match progress {
            Progress::None => {}
            Progress::Arrived => self.arrived(id),
            Progress::GivenUp => self.gave_up(id),
            Progress::Finished => self.close(id),
        }
        self.see_until();
    }

    /// Handles a control message at the receiving host of a connection.
    #[cold]
    fn noticed(&mut self, id: ConnectionId) {
        match self.hosts.control_messages.take(self.net.now, id) {
            ControlMessage::Starts { message, of, end, opening } => {
                if let Some(opening) = opening {
                    let back = self.net.path(of.to, of.from, opening.flow);
                    self.hosts.receivers.open(&self.configs, id, of.to, &opening, back);
                    if self.configs[opening.config as usize].control.agents().is_some() {
                        let Opening { generation, .. } = opening;
                        self.net.keep_path(Incarnation { id, generation }, EndOf::Receiving);
                    }
                }
                self.message_log.expect(message, of);
                self.hosts.receivers.at(id).expect(message, end);
            }
            ControlMessage::GivenUp { message, unsent } => {
                self.hosts.receivers.at(id).given_up(message, unsent);
                // Its bytes may have arrived already.
                self.arrived(id);
            }
            ControlMessage::Closes => self.close_receiver(id),
        }
        self.see_until();
    }

    /// Updates the end of the run.
    fn see_until(&mut self) {
        if let Some((_, cool_down)) = self.measured.as_deref() {
            self.until = cool_down.until(self.net.now);
            // Prefetched arrivals may be later than that.
            self.net.look_no_further(self.until);
        }
    }

    /// Records messages that are complete at their receiving host.
    fn arrived(&mut self, id: ConnectionId) {
        self.record_until_now(id);
        while let Some(over) = self.hosts.receivers.at(id).take_over() {
            self.message_log.deliver(over.message, over.uncounted);
            if let Some(sampler) = &mut self.sampler {
                sampler.keep(over.message, over.unsampled);
            }
            if over.given_up {
                continue;
            }
            self.decide(over.message);
            self.message_log.complete(over.message, self.net.now);
            self.follow_from(over.message);
        }
    }

    /// Starts the effects of the arrival of a message.
    fn follow_from(&mut self, message: MessageId) {
        if self.transfers.is_some()
            && let Some(&message) = self.message_log.find(message)
        {
            self.note_transfer(&message, false);
        }
        let class = self.message_log.of(message).class;
        if let Some(requests) = &self.sources[class].requests {
            if let Some((request, piece)) = requests.of_message(message) {
                self.piece_ended(class, request, piece);
            }
        } else if let Some(&Message { query: Some(query), place: Some(place), bytes: Some(bytes), .. }) =
            self.message_log.find(message)
        {
            let arrival = Arrival { query, place, at: self.net.now, bytes };
            if let Some(request) = self.sources[class].class.generator.arrived(arrival) {
                self.announce(class, request, 0);
            }
        }
    }

    /// Records that the sender has aborted its current message: the stream is shorter by the unsent bytes.
    fn gave_up(&mut self, id: ConnectionId) {
        let sending = self.hosts.senders.at(id);
        let Some((message, unsent)) = sending.journal().take_given_up() else { return };
        let closes = sending.closes();
        self.decide(message);
        self.message_log.give_up(message);
        self.lose(message);
        self.hosts.notify(&mut self.net, id, ControlMessage::GivenUp { message, unsent });
        if closes {
            self.close(id);
        }
    }

    /// Ends an aborted message for its request and its caller.
    fn lose(&mut self, message: MessageId) {
        let sent = *self.message_log.sent(message);
        self.note_transfer(&sent, true);
        let class = self.message_log.sent(message).class;
        let piece = self.sources[class].requests.as_ref().and_then(|requests| requests.of_message(message));
        if let Some((request, piece)) = piece {
            self.piece_lost(class, request, piece);
        }
    }

    /// Decides a message that is about to arrive or to be aborted; the opposite may have happened to it already.
    fn decide(&mut self, message: MessageId) {
        if let Some(decided) = self.net.part.as_mut().and_then(|part| part.decided.as_mut()) {
            decided.push(message);
        }
        if let Some((_, cool_down)) = self.measured.as_deref_mut()
            && !self.message_log.is_decided(message)
        {
            cool_down.decided(self.message_log.sent(message));
        }
    }

    /// Records the counts of a sending end since the last call, for the messages that caused them.
    fn record_sent(&mut self, id: ConnectionId) {
        self.hosts
            .senders
            .at(id)
            .journal()
            .book(|sent| self.message_log.record_sent(sent.message, sent.timeouts, sent.retransmits));
    }

    /// Records the counts of a receiving end since the last call, for the message that is arriving.
    fn record_arrivals(&mut self, id: ConnectionId) {
        let receiving = self.hosts.receivers.at(id);
        let dropped = self.net.take_dropped_at_receiver(receiving.incarnation());
        self.message_log.record_arrivals(receiving.message(), &mut receiving.arrivals, dropped);
    }

    /// As [`record_arrivals`](World::record_arrivals), after the arrival of a packet or a control message at that end.
    fn record_until_now(&mut self, id: ConnectionId) {
        let receiving = self.hosts.receivers.at(id);
        self.net.account_deferred_drops(receiving.host(), receiving.incarnation(), receiving.message());
        self.record_arrivals(id);
    }

    /// Enqueues all pending arrivals up to now, and records their drops.
    fn enqueue_all_pending(&mut self) {
        self.net.enqueue_all_pending();
        for (message, bytes) in self.net.take_known_late() {
            self.message_log.record_at_port(self.message_log.of(message), bytes);
        }
    }

    /// Counts the payload received of messages that are not complete.
    fn count_arrived(&mut self, id: ConnectionId) {
        let message_log = &mut self.message_log;
        self.hosts.receivers.at(id).take_arrived(Figure::Goodput, |message, bytes| message_log.deliver(message, bytes));
    }

    /// Closes a sending end, and notifies its receiving host.
    fn close(&mut self, id: ConnectionId) {
        self.record_sent(id);
        self.hosts.notify(&mut self.net, id, ControlMessage::Closes);
        self.hosts.close_sender(&mut self.net, &self.configs, id);
    }

    fn close_receiver(&mut self, id: ConnectionId) {
        self.record_until_now(id);
        self.count_arrived(id);
        if let Some(sampler) = &mut self.sampler {
            let receiving = self.hosts.receivers.at(id);
            receiving.take_arrived(Figure::Throughput, |message, bytes| sampler.keep(message, bytes));
        }
        self.hosts.close_receiver(&mut self.net, &self.configs, id);
    }

    /// Records the counts of all sending ends.
    fn record_senders(&mut self) {
        for id in self.hosts.senders.open_ones() {
            self.record_sent(id);
        }
    }

    /// Records and counts all arrivals everywhere.
    fn record_receivers(&mut self) {
        for id in self.hosts.receivers.open_ones() {
            self.record_arrivals(id);
            self.count_arrived(id);
        }
    }

    fn warmed_up(&mut self) {
        self.happens_everywhere();
        self.catch_up();
        self.before_warm_up = self.totals();
        self.message_log.warmed_up();
        self.net.warmed_up();
    }

    /// Records everything up to now, so that it can be examined.
    fn catch_up(&mut self) {
        self.hosts.stage.watched();
        self.enqueue_all_pending();
        self.record_receivers();
        self.record_senders();
        self.net.advance_ports();
    }

    /// Ends the run at the present time.
    pub fn finish(self) -> Outcome {
        let (outcome, rest) = self.finish_taken();
        outcome.with(rest)
    }

    /// Ends the run at the present time; returns the results, and the rows not taken until now, which the outcome
    /// lacks.
    pub fn finish_taken(self) -> (Outcome, Rest) {
        let (measured, now, until) = (self.measured, self.net.now, self.until);
        let measured = measured.map(|both| both.0);
        stock::finish(vec![World { measured: None, ..self }], measured, now, until)
    }

    /// Returns the totals until now. The counts of the connections must have been recorded.
    fn totals(&self) -> Counters {
        let mut counters = self.net.counted();
        counters.packets_in_flight = self.net.packets_in_flight();
        counters.marks = self.net.ports().iter().map(|port| port.watch().marks).sum();
        let repairs = self.message_log.repairs();
        (counters.timeouts, counters.retransmits) = (repairs.timeouts, repairs.retransmits);
        counters
    }

    fn sample(&mut self) {
        self.hosts.stage.watched();
        if let Some(sampler) = &mut self.sampler {
            self.net.advance_ports();
            sampler.take(&self.net, &mut self.hosts, &self.configs, &self.message_log);
            let next = self.net.now + sampler.every();
            self.net.events.push(next, Event::Sample);
        }
    }

    /// Makes [`take`](World::take) return messages in blocks of `rows` rows, a power of two. Must be called before any
    /// event.
    pub fn blocks_of(&mut self, rows: usize) {
        self.message_log.blocks_of(rows);
    }

    /// Returns the number of rows of messages in memory.
    pub fn rows_held(&self) -> usize {
        self.message_log.rows_held()
    }

    /// Takes all final results: they are removed from here, and from the outcome. Called now and then, it keeps the
    /// memory of a run from growing with the run's length.
    pub fn take(&mut self) -> Taken {
        let samples = match (&mut self.sampler, &mut self.measured) {
            (Some(sampler), _) => sampler.take_samples(),
            (None, Some(measured)) => std::mem::take(&mut measured.0.trace),
            (None, None) => Vec::new(),
        };
        let blocks = match self.message_log.has_filled() {
            true => {
                let hosts = self.hosts.in_use();
                self.message_log.take_over(hosts.chain(self.sampler.iter().flat_map(Sampler::in_use)))
            }
            false => Vec::new(),
        };
        let requests = self.sources.iter_mut().filter_map(|source| source.requests.as_mut());
        let requests = requests.flat_map(|requests| requests.take_rows()).collect();
        Taken { blocks, queries: self.message_log.take_queries(), requests, samples }
    }
}
