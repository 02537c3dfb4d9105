//! The shared state of a host's connections: expected data, and data to send.

use units::Instant;

use super::Policy;
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use crate::host::{AtHost, HostOutput, HostState};

/// A host's part in the transports of this family that end at it, for each of its ports: usually one.
#[derive(Debug, Default)]
pub struct Host {
    desks: Vec<Desk>,
}

/// A host's part in one transport, at one of its ports.
#[derive(Debug)]
pub(super) struct Desk {
    pub policy: Policy,
    port: u32,
    /// The policy for its own link.
    own: Policy,
    /// The data that the host expects.
    pub incoming: Incoming,
    /// The data that the host may send.
    pub outgoing: Outgoing,
}

impl Host {
    /// Returns the index of the host's part in the transport with this policy.
    #[cold]
    fn index_of(&mut self, policy: &Policy, out: &impl AtHost) -> usize {
        let port = out.port();
        self.desks.iter().position(|desk| desk.policy == *policy && desk.port == port).unwrap_or_else(|| {
            let site = out.site();
            let incoming = Incoming::new(*policy, out.incoming_rate(), site.frame_overhead);
            self.desks.push(Desk {
                policy: *policy,
                port,
                own: policy.at(site.rate),
                incoming,
                outgoing: Outgoing::default(),
            });
            self.desks.len() - 1
        })
    }
}

/// The way of an end to its host's part in its transport.
#[derive(Clone, Debug)]
pub(super) struct ToDesk {
    policy: Policy,
    /// The index of that part, once it is known.
    index: Option<usize>,
}

impl ToDesk {
    /// Returns the way to the part with this policy.
    pub(super) fn new(policy: &Policy) -> ToDesk {
        ToDesk { policy: *policy, index: None }
    }

    /// Returns the transport's policy.
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Runs `act` with the host's part in the transport and the output for its packets.
    pub(super) fn at_desk<O: AtHost, T>(&mut self, out: &mut O, act: impl FnOnce(&mut Desk, &mut O) -> T) -> T {
        let mut host = std::mem::take(&mut out.shared().grants);
        let index = *self.index.get_or_insert_with(|| host.index_of(&self.policy, out));
        let result = act(&mut host.desks[index], out);
        out.shared().grants = host;
        result
    }
}

impl Desk {
    /// Sends the grants and the data that are due.
    pub(super) fn work(&mut self, now: Instant, out: &mut impl HostOutput) {
        self.incoming.look_for_late(now);
        while let Some((end, packet, extension)) = self.incoming.probe() {
            out.send_from(end, packet, Some(extension));
        }
        while let Some((end, packet, extension)) = self.incoming.grant(now) {
            out.send_from(end, packet, Some(extension));
        }
        self.outgoing.send(now, &self.own, out);
        let wake = self.incoming.wake_at();
        if wake != Instant::MAX {
            out.arm_host(wake);
        }
    }
}

impl HostState for Host {
    fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput) {
        for desk in &mut self.desks {
            desk.work(now, out);
        }
    }
}
