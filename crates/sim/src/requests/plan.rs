//! The plan of a class's requests: roles, stages and goals, the same for every request.

use units::{Allowed, Bytes, HostId, OfRequest, Span, Stream};

/// Maximum size drawn from heavy tails, so that sums of draws fit into 64 bits.
pub(crate) const MAX_BYTES: Bytes = Bytes(1_000_000_000_000_000);
/// As [`MAX_BYTES`], for times: 30 days.
pub(crate) const MAX_TIME: Span = Span(30 * 86_400_000_000_000_000);

/// The roles, stages and goals of a class's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The roles, by which stages name hosts.
    pub roles: Vec<Role>,
    /// The stages, each after all that it follows.
    pub stages: Vec<Stage>,
    /// The stages as they are written, by name: [`Stage::written`] is an index of these.
    pub names: Vec<String>,
    /// The goals. The deadline of the whole request is the first, if there is one.
    pub goals: Vec<Goal>,
    /// The deadline that transports are told.
    pub told: Told,
    /// Work and messages that can no longer be in time do not start.
    pub abandons: bool,
    /// The times of all messages and works are results.
    pub keeps_pieces: bool,
}

/// Hosts by the part that they take in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// The name by which stages refer to it.
    pub name: String,
    /// The hosts of which each request takes some.
    pub hosts: Vec<HostId>,
    /// Number of hosts that a request takes.
    pub count: u32,
    /// The choice of these.
    pub pick: Pick,
}

/// The choice of a role's hosts for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Different hosts, drawn at random.
    Random,
    /// The next ones in turn.
    RoundRobin,
    /// Those with the fewest open requests.
    LeastLoaded,
}

/// A stage, after `repeat` and collectives were expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The index of its name.
    pub written: usize,
    /// The messages or the work.
    pub action: Action,
    /// The stages that it follows.
    pub after: Vec<usize>,
    /// It begins when these have ended at all hosts.
    pub barrier: bool,
    /// Share of its pieces that end at a host with which the stage has ended there.
    pub quorum: f64,
}

/// The messages or the work of a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Messages between the hosts of two roles.
    Send {
        /// The role that sends.
        from: usize,
        /// The role that receives.
        to: usize,
        /// The pairs of their members.
        pairs: Pairs,
        /// The bytes of each message, before they are multiplied by `share`.
        size: OfRequest,
        /// Part of the size that each message has, in a collective.
        share: f64,
    },
    /// Work at each host of a role.
    Work {
        /// The role that works.
        at: usize,
        /// The duration at each host.
        time: OfRequest,
        /// The servers, if their number is limited.
        servers: Option<Servers>,
    },
}

/// The pairs of senders and receivers of a stage, by their indices in the two roles.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairs {
    /// Each sender with each receiver.
    All,
    /// These, in order of the sender.
    These(Vec<(u32, u32)>),
}

/// The servers of a stage at each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The number of them.
    pub count: u32,
    /// Works that wait are begun in order of their requests' due times, and not in that of arrival.
    pub by_deadline: bool,
}

/// An allowed time from the arrival of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The name by which results refer to it.
    pub name: String,
    /// The written stage that must have ended; none: all.
    pub stage: Option<usize>,
    /// The allowed time, from the arrival of the request.
    pub within: Allowed,
}

/// The deadline that the transport of a message is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The due time of its request.
    Request,
    /// As [`Told::Request`], less the shortest time of the pieces that follow.
    Remaining,
    /// The end of the stage's equal share.
    Split,
    /// Messages have no deadlines.
    Nothing,
}

impl Plan {
    /// Returns the number of pieces (messages and works) of a request.
    pub fn pieces(&self) -> u64 {
        self.stages.iter().map(|stage| self.pieces_of(stage)).sum()
    }

    /// Returns the number of messages and works of one stage.
    pub fn pieces_of(&self, stage: &Stage) -> u64 {
        let count = |role: usize| u64::from(self.roles[role].count);
        match &stage.action {
            Action::Send { from, to, pairs: Pairs::All, .. } => count(*from).saturating_mul(count(*to)),
            Action::Send { pairs: Pairs::These(pairs), .. } => pairs.len() as u64,
            Action::Work { at, .. } => count(*at),
        }
    }

    /// Returns the number of messages of a request; fewer are sent where a host has several roles.
    pub fn messages(&self) -> u64 {
        let sends = |stage: &&Stage| matches!(stage.action, Action::Send { .. });
        self.stages.iter().filter(sends).map(|stage| self.pieces_of(stage)).sum()
    }

    /// Returns the reason why hosts cannot be simulated apart from each other, if there is one.
    pub fn indivisible(&self) -> Option<&'static str> {
        if self.roles.iter().any(|role| role.pick == Pick::LeastLoaded) {
            return Some("a class picks the least loaded hosts");
        }
        self.stages.iter().any(|stage| stage.barrier).then_some("a stage waits for all hosts (barrier)")
    }

    /// Returns whether every stage ends only when all of it has, and no work waits for a server.
    pub fn is_plain(&self) -> bool {
        let waits = |action: &Action| matches!(action, Action::Work { servers: Some(_), .. });
        self.stages.iter().all(|stage| stage.quorum >= 1.0 && !waits(&stage.action))
    }

    /// Returns whether any message is told a deadline.
    pub fn tells(&self) -> bool {
        self.told != Told::Nothing && !self.goals.is_empty()
    }
}

impl Pairs {
    /// Calls `each` with the pairs of roles with these numbers of members.
    pub fn for_each(&self, senders: u32, receivers: u32, mut each: impl FnMut(u32, u32)) {
        match self {
            Pairs::All => (0..senders).for_each(|from| (0..receivers).for_each(|to| each(from, to))),
            Pairs::These(pairs) => pairs.iter().for_each(|&(from, to)| each(from, to)),
        }
    }
}

/// Returns a size of a request with these columns: `share` of it, at least one byte.
pub fn bytes_of(size: &OfRequest, share: f64, row: &[f64], stream: &mut Stream) -> Bytes {
    let bytes = amount(size, row, stream) * share;
    Bytes(bytes.round() as u64).clamp(Bytes(1), MAX_BYTES)
}

/// Returns a time of a request with these columns.
pub fn time_of(time: &OfRequest, row: &[f64], stream: &mut Stream) -> Span {
    Span::from_ps_f64(amount(time, row, stream).max(0.0)).min(MAX_TIME)
}

fn amount(amount: &OfRequest, row: &[f64], stream: &mut Stream) -> f64 {
    match amount {
        OfRequest::Drawn(distribution) => stream.sample(distribution),
        OfRequest::Formula(formula) => formula.of_row(row),
    }
}

/// Returns the mean of an amount over the rows of a trace, in base units.
pub fn mean_of(amount: &OfRequest, rows: impl Iterator<Item = impl AsRef<[f64]>>) -> f64 {
    match amount {
        OfRequest::Drawn(distribution) => distribution.mean(),
        OfRequest::Formula(formula) => {
            let (count, sum) =
                rows.fold((0_u64, 0.0), |(count, sum), row| (count + 1, sum + formula.of_row(row.as_ref())));
            sum / count.max(1) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{chain, drawn, role, work};
    use super::*;
    use units::Formula;

    /// Works of a role of two hosts.
    fn plan() -> Plan {
        chain(vec![role(&[0, 1], 1, Pick::RoundRobin)], [work(0, drawn(1.0))])
    }

    #[test]
    fn barriers_and_loads_are_of_all_hosts() {
        assert_eq!(plan().indivisible(), None);
        let mut by_load = plan();
        by_load.roles[0].pick = Pick::LeastLoaded;
        assert!(by_load.indivisible().is_some_and(|reason| reason.contains("least loaded")));
        let mut with_barrier = plan();
        with_barrier.stages[0].barrier = true;
        assert!(with_barrier.indivisible().is_some_and(|reason| reason.contains("barrier")));
    }

    #[test]
    fn stages_are_plain_without_quorum_and_servers() {
        assert!(plan().is_plain());
        let mut with_quorum = plan();
        with_quorum.stages[0].quorum = 0.99;
        assert!(!with_quorum.is_plain());
        let mut with_servers = plan();
        let Action::Work { servers, .. } = &mut with_servers.stages[0].action else { panic!("it is work") };
        *servers = Some(Servers { count: 1, by_deadline: false });
        assert!(!with_servers.is_plain());
    }

    #[test]
    fn message_has_a_byte_and_a_work_no_negative_time() {
        let stream = &mut Stream::new(1, "request", 0);
        assert_eq!([0.2, 1.4, 1.6].map(|size| bytes_of(&drawn(size), 1.0, &[], stream).0), [1, 1, 2]);
        assert_eq!([-3.0, 0.0, 0.4, 2.0].map(|time| time_of(&drawn(time), &[], stream).0), [0, 0, 0, 2]);
    }

    #[test]
    fn mean_of_a_column_is_that_of_its_rows() {
        let column = OfRequest::Formula(Formula::Column(1));
        assert_eq!(mean_of(&column, [[9.0, 2.0], [9.0, 5.0]].iter()), 3.5);
        assert_eq!(mean_of(&column, [[9.0, 2.0]].iter()), 2.0);
        assert_eq!(mean_of(&column, [[0.0; 2]; 0].iter()), 0.0);
        assert_eq!(mean_of(&drawn(7.0), [[0.0; 2]; 0].iter()), 7.0);
    }

    /// Two hosts of a role of two send to each other, and each works: four pieces, two of them messages.
    #[test]
    fn pieces_are_messages_and_works() {
        let mut plan = plan();
        plan.roles[0].count = 2;
        let pairs = Pairs::These(vec![(0, 1), (1, 0)]);
        let action = Action::Send { from: 0, to: 0, pairs, size: drawn(1.0), share: 1.0 };
        let mut stage = plan.stages[0].clone();
        stage.action = action;
        plan.stages.push(stage);
        assert_eq!((plan.pieces(), plan.messages()), (4, 2));
        if let Action::Send { pairs, .. } = &mut plan.stages[1].action {
            *pairs = Pairs::All;
        }
        assert_eq!((plan.pieces(), plan.messages()), (6, 4));
    }
}
