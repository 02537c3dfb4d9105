//! Plans of requests for tests, by hand.

use super::plan::{Action, Pairs, Pick, Plan, Role, Stage, Told};
use units::{Distribution, HostId, OfRequest};

/// Returns a size or time that is the same in every request.
pub(crate) fn drawn(value: f64) -> OfRequest {
    OfRequest::Drawn(Distribution::Constant(value))
}

/// Returns messages from each host of a role to each of another.
pub(crate) fn send(from: usize, to: usize, size: OfRequest, share: f64) -> Action {
    Action::Send { from, to, pairs: Pairs::All, size, share }
}

/// Returns works of a role that wait for no server.
pub(crate) fn work(at: usize, time: OfRequest) -> Action {
    Action::Work { at, time, servers: None }
}

/// Returns a role of these hosts, of which each request takes `count`.
pub(crate) fn role(hosts: &[u32], count: u32, pick: Pick) -> Role {
    Role { name: String::new(), hosts: hosts.iter().copied().map(HostId).collect(), count, pick }
}

/// Returns a plan of these stages, each with those before it, without goals, barriers and quorums.
pub(crate) fn plan(roles: Vec<Role>, stages: impl IntoIterator<Item = (Action, Vec<usize>)>) -> Plan {
    let stage = |(written, (action, after))| Stage { written, action, after, barrier: false, quorum: 1.0 };
    let stages = Vec::from_iter(stages.into_iter().enumerate().map(stage));
    Plan {
        roles,
        names: vec![String::new(); stages.len()],
        stages,
        goals: Vec::new(),
        told: Told::Nothing,
        abandons: false,
        keeps_pieces: false,
    }
}

/// Returns a plan of stages one after the other.
pub(crate) fn chain(roles: Vec<Role>, actions: impl IntoIterator<Item = Action>) -> Plan {
    let after = |(index, action): (usize, Action)| (action, Vec::from_iter(index.checked_sub(1)));
    plan(roles, actions.into_iter().enumerate().map(after))
}
