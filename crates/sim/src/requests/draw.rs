//! The random parts of a request: its hosts, its sizes and its times.

use std::sync::Arc;

use units::{Bytes, HostId, Instant, RequestTrace, Span, Stream};

use super::graph::{Graph, Piece};
use super::plan::{Action, Pick, Plan, Role, bytes_of, time_of};
use super::row::Window;

/// The draws of a class's requests, each from a stream of its own.
pub(crate) struct Draws<'a> {
    /// Roles, stages and goals.
    pub plan: &'a Plan,
    /// The columns of each request, if they are of a trace.
    pub trace: Option<Arc<RequestTrace>>,
    /// Name of the class.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
}

/// The random parts of one request.
pub(crate) struct Drawn {
    /// The hosts of each role.
    pub members: Vec<Vec<HostId>>,
    /// Its messages and works.
    pub graph: Graph,
    /// The values of its columns, if it is of a trace.
    pub row: Vec<f64>,
    /// The stream from which the rest is drawn.
    pub stream: Stream,
}

impl Draws<'_> {
    /// Draws a request by its number; `idlest` returns the hosts of a role that are the least loaded ones.
    pub(crate) fn draw(&self, number: u64, mut idlest: impl FnMut(usize) -> Vec<HostId>) -> Drawn {
        let mut stream = Stream::new(self.seed, &self.name, number);
        let row: Vec<f64> = self.trace.as_ref().map_or_else(Vec::new, |trace| trace.row(number as usize).to_vec());
        let roles = self.plan.roles.iter().enumerate();
        let members = roles.map(|(index, role)| match role.pick {
            Pick::LeastLoaded => idlest(index),
            _ => role.pick(number, &mut stream),
        });
        let members: Vec<Vec<HostId>> = members.collect();
        let graph = Graph::new(self.plan, &members, |stage| match &stage.action {
            Action::Send { size, share, .. } => bytes_of(size, *share, &row, &mut stream).0,
            Action::Work { time, .. } => time_of(time, &row, &mut stream).0,
        });
        Drawn { members, graph, row, stream }
    }

    /// Returns the messages of a request that arrives at `at`, never due, as they would start if the network took no time and each
    /// host had enough servers. The least loaded hosts are taken in turns.
    pub(crate) fn messages(&self, number: u64, at: Instant) -> Vec<Window> {
        let in_turn = |role: usize| self.plan.roles[role].in_turn(number);
        let Drawn { graph, .. } = self.draw(number, in_turn);
        let works =
            graph.pieces.iter().map(|piece| if self.plan.is_work(piece) { Span(piece.amount) } else { Span::ZERO });
        let starts = graph.earliest(self.plan, &works.collect::<Vec<Span>>());
        let sent =
            graph.pieces.iter().zip(starts).filter(|(piece, _)| !self.plan.is_work(piece) && piece.from != piece.to);
        let message = |(piece, start): (&Piece, Span)| {
            let &Piece { from, to, amount, .. } = piece;
            Window { from, to, bytes: Bytes(amount), start: at.saturating_add(start), due: Instant::MAX }
        };
        sent.map(message).collect()
    }
}

impl Role {
    /// Returns the hosts that a request takes, unless they are the least loaded ones.
    fn pick(&self, number: u64, stream: &mut Stream) -> Vec<HostId> {
        let (all, count) = (self.hosts.len() as u32, self.count);
        match self.pick {
            _ if count == all => self.hosts.clone(),
            Pick::Random => stream.distinct(count, all).into_iter().map(|index| self.hosts[index as usize]).collect(),
            Pick::RoundRobin | Pick::LeastLoaded => self.in_turn(number),
        }
    }

    /// Returns the next hosts in turn.
    pub(super) fn in_turn(&self, number: u64) -> Vec<HostId> {
        let (all, count) = (self.hosts.len() as u64, u64::from(self.count));
        let first = number.wrapping_mul(count) % all;
        (0..count).map(|i| self.hosts[((first + i) % all) as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{chain, drawn, role, send, work};
    use super::*;

    fn numbers(hosts: &[HostId]) -> Vec<u32> {
        hosts.iter().map(|host| host.0).collect()
    }

    #[test]
    fn requests_take_the_hosts_of_a_role_in_turn() {
        let mut stream = Stream::new(1, "requests", 0);
        let role = role(&[10, 11, 12, 13, 14], 2, Pick::RoundRobin);
        let taken = [0, 1, 2, 3].map(|number| numbers(&role.pick(number, &mut stream)));
        assert_eq!(taken, [[10, 11], [12, 13], [14, 10], [11, 12]]);
    }

    /// Nothing is drawn for a role of which each request takes all hosts, in the order of the scenario.
    #[test]
    fn all_hosts_of_a_role_are_taken_in_their_order() {
        let role = role(&[7, 3, 9, 1, 5, 8], 6, Pick::Random);
        let mut stream = Stream::new(1, "requests", 0);
        assert!((0..20).all(|number| numbers(&role.pick(number, &mut stream)) == [7, 3, 9, 1, 5, 8]));
        assert_eq!(stream.below(1000), Stream::new(1, "requests", 0).below(1000));
    }

    /// Host 1 works for 20 us (in ps), then sends to itself and to host 0: a single message is sent, when the work has ended.
    #[test]
    fn messages_are_sent_between_hosts_after_the_work_before_them() {
        let roles = vec![role(&[1], 1, Pick::Random), role(&[0, 1], 2, Pick::Random)];
        let plan = chain(roles, [work(0, drawn(20e6)), send(0, 1, drawn(1000.0), 1.0)]);
        let draws = Draws { plan: &plan, trace: None, name: String::new(), seed: 1 };
        let at = Instant::from_micros(50);
        let sent: Vec<_> =
            draws.messages(3, at).iter().map(|sent| (sent.from.0, sent.to.0, sent.bytes, sent.start)).collect();
        assert_eq!(sent, [(1, 0, Bytes(1000), at + Span::from_micros(20))]);
    }
}
