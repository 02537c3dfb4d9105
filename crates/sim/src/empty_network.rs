//! The times of messages in an empty network, before a run.

use transport::connection;
use units::{HostId, Span};

use crate::class::Class;
use crate::fabric::{Router, Segments, ideal_along, in_order, routes_salt};
use crate::flow::Flow;
use crate::scenario::Scenario;
use crate::topology::Graph;
use crate::traffic::Batch;

/// The network of a scenario without traffic and faults.
pub struct EmptyNetwork<'a> {
    scenario: &'a Scenario,
    graph: Graph,
    router: Router,
}

impl EmptyNetwork<'_> {
    /// Returns the network of a scenario, with the routes that its seed draws.
    pub fn of(scenario: &Scenario) -> EmptyNetwork<'_> {
        let mut graph = scenario.network.graph.clone();
        in_order(&mut graph);
        let router = Router::new(&graph, routes_salt(scenario.run.seed));
        EmptyNetwork { scenario, graph, router }
    }

    /// Sets the deadlines of a batch that are multiples of the times of its messages here, as a run does. The class, by
    /// its index, has generated `numbered` messages before.
    pub fn set_deadlines(&mut self, class: usize, numbered: u64, batch: &mut Batch) {
        let EmptyNetwork { scenario, graph, router } = self;
        let class = &scenario.classes[class];
        let connection = &scenario.transports[class.transport].config.connection;
        set_deadlines(batch, class, numbered, connection, |from, to, flow, message| {
            let links = router.find(from, to, flow).iter().map(|link| &graph.links[link.index()]);
            ideal_along(links, scenario.network.frame_overhead.0 as u16, message)
        });
    }
}

/// Sets the deadlines of a batch that are multiples of its messages' times alone, which `ideal` returns. Their class has
/// generated `numbered` messages before.
pub(crate) fn set_deadlines(
    batch: &mut Batch,
    class: &Class,
    numbered: u64,
    connection: &connection::Config,
    mut ideal: impl FnMut(HostId, HostId, Flow, Segments) -> Span,
) {
    batch.set_deadlines(|position, request| {
        let flow = class.flow_of(request, numbered + position as u64);
        let payload = request.bytes.expect("a message with a deadline has a size");
        let message = Segments { payload, mss: connection.mss, header: connection.header };
        ideal(request.from, request.to, flow, message)
    });
}
