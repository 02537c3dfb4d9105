//! Requests of several stages in a run: their arrival, and what they start.

use std::sync::Arc;

use transport::registry::Config;
use units::{Bytes, ClassId, HostId, Instant, MessageId, Span};

use super::{Due, TrafficSource, Waiting, World};
use crate::class::Framing;
use crate::fabric::{Net, Segments};
use crate::flow::Flow;
use crate::record::message_log::MessageLog;
use crate::requests::{Occupied, RequestRow, Requests, Sending, Step, Wire, ordinal};
use crate::topology::latency::Latency;
use crate::traffic::{Planned, Request};

impl TrafficSource {
    /// Returns the requests of the class, which has some.
    fn requests(&mut self) -> &mut Requests {
        self.requests.as_mut().expect("a class whose batches are requests has them")
    }
}

impl World {
    /// Prepares the requests of all classes whose batches are requests.
    pub(super) fn prepare_requests(&mut self) {
        if self.sources.iter().all(|source| source.class.generator.plan().is_none()) {
            return;
        }
        let rates = Arc::new(self.net.graph.host_rates());
        self.latency = Some(Latency::new(&self.net.graph));
        let seed = self.run.seed;
        for (id, source) in (0..).map(ClassId).zip(self.sources.iter_mut()) {
            let Some(Planned { plan, trace }) = source.class.generator.plan() else { continue };
            source.requests = Some(Box::new(Requests::new(id, &source.class.name, seed, plan, trace, rates.clone())));
        }
    }

    /// Calls `each` with every request of the classes that are known before their run, class by class: with its goals
    /// and windows, and nothing of its run. The generators of the other classes [depend on the
    /// run](crate::traffic::Generator::depends_on_run). Nothing has been sent yet.
    pub fn foresee_requests(mut self, mut each: impl FnMut(RequestRow)) {
        let end = self.run.duration.after_start();
        for class in 0..self.sources.len() {
            let class = ClassId::from_index(class);
            let source = &mut self.sources[class];
            if source.requests.is_none() || source.class.generator.depends_on_run().is_some() {
                continue;
            }
            let mut next = source.batch.take();
            for number in 0.. {
                let Some(batch) = next.filter(|batch| batch.at < end) else { break };
                let (mut wire, requests, _) = self.wire_of(class);
                each(requests.ahead(number, batch.at, &mut wire));
                next = self.sources[class].class.generator.next();
            }
        }
    }

    /// Handles the arrival of a request.
    pub(super) fn request_arrives(&mut self, class: ClassId) {
        let now = self.net.now;
        let (mut wire, requests, message_log) = self.wire_of(class);
        let mut steps = Vec::new();
        requests.arrive(now, &mut wire, |is_here| message_log.reserve(is_here), &mut steps);
        self.carry_out(class, steps);
    }

    /// Returns the network as the messages of a class find it when it is empty, the requests of the class, and the log.
    fn wire_of(&mut self, class: ClassId) -> (ClassWire<'_>, &mut Requests, &mut MessageLog) {
        let World { net, sources, message_log, configs, latency, .. } = self;
        let TrafficSource { class: source, requests, .. } = &mut sources[class];
        let transport = &configs[source.transport];
        let wire = ClassWire {
            net,
            name: &source.name,
            persistent: source.persistent,
            transport,
            latency: latency.as_mut().expect("it is prepared with the requests"),
        };
        (wire, requests.as_mut().expect("a class whose batches are requests has them"), message_log)
    }

    /// Handles the end of a message or work of a request.
    pub(super) fn piece_ended(&mut self, class: ClassId, request: u64, piece: u32) {
        let mut steps = Vec::new();
        let now = self.net.now;
        self.sources[class].requests().ended(request, piece, now, &mut steps);
        self.carry_out(class, steps);
    }

    /// Handles a message of a request that its sender has aborted.
    pub(super) fn piece_lost(&mut self, class: ClassId, request: u64, piece: u32) {
        let mut steps = Vec::new();
        self.sources[class].requests().lost(request, piece, &mut steps);
        self.carry_out(class, steps);
    }

    /// Schedules the pieces that requests start now, and closes requests that are over.
    fn carry_out(&mut self, class: ClassId, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Send { request, piece } => {
                    let now = self.net.now;
                    let Sending { from, to, bytes, due, .. } = self.sources[class].requests().sending(request, piece);
                    let message = Request {
                        start: now,
                        from,
                        to,
                        bytes: Some(bytes),
                        // A message that is late from the start is due at once.
                        deadline: due.map(|due| due.saturating_sub(now).max(Span(1))),
                        query: Some(request),
                        place: None,
                        piece: Some(piece),
                    };
                    self.announce(class, message, 0);
                }
                Step::Work { request, piece, until } => {
                    let due = Due::WorkEnds { request, piece };
                    self.wait(class, Waiting { start: until, ordinal: ordinal(request, piece), due });
                }
                Step::Over { request, arrival, due } => self.request_over(class, request, (arrival, due)),
            }
        }
    }

    /// Handles the end of a request, complete or not.
    fn request_over(&mut self, class: ClassId, request: u64, (arrival, due): (Instant, Instant)) {
        let now = self.net.now;
        let source = &mut self.sources[class];
        source.requests().take_unsent().into_iter().for_each(|message| self.message_log.drop_unsent(message));
        if let Some((_, cool_down)) = self.measured.as_deref_mut() {
            cool_down.request_over(arrival, due);
            self.see_until();
        }
        if let Some(at) = self.sources[class].class.generator.asks_again(now) {
            let due = Due::RequestArrives;
            self.wait(class, Waiting { start: at, ordinal: ordinal(request, u32::MAX), due });
        }
    }

    /// Returns the id of a message, if it is a piece of a request.
    pub(super) fn id_of_piece(&mut self, class: ClassId, message: &Request) -> Option<MessageId> {
        let requests = self.sources[class].requests.as_ref()?;
        let (request, piece) = message.query.zip(message.piece)?;
        Some(requests.sending(request, piece).id)
    }
}

/// The network as the messages of one class find it when it is empty.
struct ClassWire<'a> {
    net: &'a mut Net,
    name: &'a str,
    persistent: bool,
    transport: &'a Config,
    latency: &'a mut Latency,
}

impl Wire for ClassWire<'_> {
    fn alone(&mut self, ordinal: u64, from: HostId, to: HostId, bytes: Bytes) -> (Span, Occupied) {
        let flow = if self.persistent { Flow::of_pair(from, to) } else { Flow::of_message(self.name, ordinal) };
        self.net.alone(from, to, flow, Segments::of(self.transport, bytes))
    }

    fn least(&mut self, from: HostId, to: HostId, bytes: Bytes) -> Span {
        let connection = &self.transport.connection;
        let overhead = connection.header + self.net.frame_overhead().0 as u32;
        let framing = Framing { mss: connection.mss, overhead, shared: self.persistent };
        self.latency.of_message(&self.net.graph, (from, to), bytes, &framing).unwrap_or_default()
    }
}
