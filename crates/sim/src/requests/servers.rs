//! The servers of stages: at each host, as many works at a time as it has servers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use units::{HostId, Instant};

/// A work of a request, by its place in the queue for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queued {
    /// The time by which works are ordered: of its arrival, or when its request is due.
    pub by: Instant,
    /// The number of its request.
    pub request: u64,
    /// Its piece of the request.
    pub piece: u32,
}

/// The servers of all stages at all hosts, each with its queue.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerPools {
    pools: BTreeMap<(usize, HostId), Pool>,
}

/// The servers of one stage at one host.
#[derive(Clone, Debug, Default)]
struct Pool {
    busy: u32,
    queue: BinaryHeap<Reverse<Queued>>,
}

impl ServerPools {
    /// Returns whether a work of a stage begins at once; if all of `servers` are busy, it is queued.
    pub(super) fn begins(&mut self, stage: usize, host: HostId, servers: u32, work: Queued) -> bool {
        let pool = self.pools.entry((stage, host)).or_default();
        let begins = pool.busy < servers;
        match begins {
            true => pool.busy += 1,
            false => pool.queue.push(Reverse(work)),
        }
        begins
    }

    /// Frees a server; it takes the first work that waits.
    pub(super) fn ends(&mut self, stage: usize, host: HostId) -> Option<Queued> {
        let pool = self.pools.get_mut(&(stage, host)).expect("a work that ends has a server");
        let next = pool.queue.pop().map(|Reverse(next)| next);
        if next.is_none() {
            pool.busy -= 1;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_wait_in_their_order_while_all_servers_are_busy() {
        let mut pools = ServerPools::default();
        let work = |by, request| Queued { by: Instant(by), request, piece: 0 };
        assert!(pools.begins(0, HostId(3), 2, work(9, 0)) && pools.begins(0, HostId(3), 2, work(8, 1)));
        assert!(!pools.begins(0, HostId(3), 2, work(7, 2)) && !pools.begins(0, HostId(3), 2, work(5, 3)));
        assert!(pools.begins(0, HostId(4), 2, work(1, 4)), "each host has its own");
        assert!(pools.begins(1, HostId(3), 2, work(1, 5)), "and so has each stage");
        assert_eq!(pools.ends(0, HostId(3)), Some(work(5, 3)));
        assert_eq!(pools.ends(0, HostId(3)), Some(work(7, 2)));
        assert_eq!(pools.ends(0, HostId(3)), None);
        assert!(pools.begins(0, HostId(3), 2, work(10, 6)));
        assert!(!pools.begins(0, HostId(3), 2, work(10, 7)));
    }
}
