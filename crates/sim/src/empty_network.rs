//! The times of messages in an empty network, before a run.

use transport::registry::Config;
use units::{HostId, Span};

use crate::class::Class;
use crate::fabric::{Router, Segments, Spraying, ideal_of, in_order, routes_salt};
use crate::flow::Flow;
use crate::scenario::Scenario;
use crate::topology::Graph;
use crate::traffic::Batch;

/// The network of a scenario without traffic and faults.
pub struct EmptyNetwork<'a> {
    scenario: &'a Scenario,
    graph: Graph,
    router: Router,
    spraying: Option<Spraying>,
}

impl EmptyNetwork<'_> {
    /// Returns the network of a scenario, with the routes that its seed draws.
    pub fn of(scenario: &Scenario) -> EmptyNetwork<'_> {
        let mut graph = scenario.network.graph.clone();
        in_order(&mut graph);
        let router = Router::new(&graph, routes_salt(scenario.run.seed));
        let spraying = Spraying::of(&scenario.network.settings, &graph);
        EmptyNetwork { scenario, graph, router, spraying }
    }

    /// Sets the deadlines of a batch that are multiples of the times of its messages here, as a run does. The class, by
    /// its index, has generated `numbered` messages before.
    pub fn set_deadlines(&mut self, class: usize, numbered: u64, batch: &mut Batch) {
        let EmptyNetwork { scenario, graph, router, spraying } = self;
        let class = &scenario.classes[class];
        let transport = &scenario.transports[class.transport].config;
        let frame_overhead = scenario.network.frame_overhead.0 as u16;
        set_deadlines(batch, class, numbered, transport, |from, to, flow, message| {
            ideal_of(router, graph, *spraying, frame_overhead, (from, to, flow), message)
        });
    }
}

/// Sets the deadlines of a batch that are multiples of its messages' times alone, which `ideal` returns. Their class has
/// generated `numbered` messages before.
pub(crate) fn set_deadlines(
    batch: &mut Batch,
    class: &Class,
    numbered: u64,
    transport: &Config,
    mut ideal: impl FnMut(HostId, HostId, Flow, Segments) -> Span,
) {
    batch.set_deadlines(|position, request| {
        let flow = class.flow_of(request, numbered + position as u64);
        let payload = request.bytes.expect("a message with a deadline has a size");
        let message = Segments::of(transport, payload);
        ideal(request.from, request.to, flow, message)
    });
}
