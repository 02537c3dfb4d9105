//! The receiving host: one schedule of the windows of its connections.

use std::collections::{BTreeMap, VecDeque};

use receive::{Claim, Flow, Parameters, UNLIMITED, plan};
use units::{Bytes, Instant, Rate};

use super::{Header, Known, NUDGE, Schedule};
use crate::connection;
use crate::host::{AtHost, End, HostOutput, HostState};
use crate::{Extension, Flags, Packet};

/// A host's schedules: one for each set of parameters and port, usually one.
#[derive(Debug, Default)]
pub struct Host {
    desks: Vec<Desk>,
}

/// A host's connections under one schedule.
#[derive(Debug)]
pub(super) struct Desk {
    schedule: Schedule,
    port: u32,
    parameters: Parameters,
    /// The scale of the window field.
    scale: u32,
    /// The header bytes of an acknowledgement.
    header: u32,
    /// The open connections, by the order of their flows.
    connections: BTreeMap<u64, Connection>,
    /// The next time at which the schedule is due, whatever arrives.
    due: Instant,
}

/// A connection at its receiving host.
#[derive(Debug)]
struct Connection {
    end: End,
    /// The position before which all data has arrived.
    received: u64,
    /// The position that was last acknowledged.
    acknowledged: u64,
    /// The advertised right edge.
    granted: u64,
    /// The position beyond which the edge may not move.
    limit: u64,
    /// The window that follows the received bytes; 0 holds the edge at its limit.
    window: u64,
    /// The position at whose receipt the schedule is due.
    wake: u64,
    /// The time of the last byte, or of the last movement of the edge.
    moved: Instant,
    /// The bytes received without a deadline, by which such connections take turns.
    served: u64,
    /// The messages that are known and have not arrived, by their ends.
    messages: VecDeque<Known>,
    /// The rank of the latest data, which acknowledgements have too.
    rank: u32,
}

/// News of the connection that calls.
pub(super) struct Arrival {
    /// The position before which all data has arrived.
    pub next: u64,
    /// The message of the packet.
    pub message: Option<Known>,
    /// The rank of the packet.
    pub rank: u32,
}

/// Runs `act` with the host's schedule.
pub(super) fn at_desk<O: AtHost, T>(
    schedule: &Schedule,
    config: &connection::Config,
    out: &mut O,
    act: impl FnOnce(&mut Desk, &mut O) -> T,
) -> T {
    let mut host = std::mem::take(&mut out.shared().receive);
    let desk = host.desk(schedule, config, out);
    let result = act(desk, out);
    out.shared().receive = host;
    result
}

impl Host {
    fn desk(&mut self, schedule: &Schedule, config: &connection::Config, out: &impl AtHost) -> &mut Desk {
        let port = out.port();
        let is_it = |desk: &Desk| desk.schedule == *schedule && desk.port == port;
        let place = self.desks.iter().position(is_it).unwrap_or_else(|| {
            let desk = Desk::new(schedule, config, out.incoming_rate(), out.site().frame_overhead);
            self.desks.push(Desk { port, ..desk });
            self.desks.len() - 1
        });
        &mut self.desks[place]
    }
}

impl Desk {
    fn new(schedule: &Schedule, config: &connection::Config, rate: Rate, frame_overhead: Bytes) -> Desk {
        let mss = u64::from(config.mss);
        let frame = mss + u64::from(config.header) + frame_overhead.0;
        let parameters = Parameters {
            rate: (u128::from(rate.0) / 8 * u128::from(mss) / u128::from(frame)) as u64,
            credit: schedule.credit,
            window: (schedule.credit / 2).max(2 * mss),
            step: 2 * mss,
            first: mss,
            floor_permille: schedule.floor_permille,
            patience_ns: schedule.patience.0 / 1000,
            nudge_ns: NUDGE.0 / 1000,
        };
        let scale = schedule.scale(config.mss);
        let header = config.header;
        let (schedule, connections) = (*schedule, BTreeMap::new());
        Desk { schedule, port: 0, parameters, scale, header, connections, due: Instant::ZERO }
    }

    /// Records news of the calling end, decides anew if that is due, and sends its acknowledgements.
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        acknowledgements: Vec<(Packet, Extension)>,
        out: &mut impl AtHost,
    ) {
        let own = out.site().own;
        let first = self.parameters.first;
        let end = out.end();
        let connection = self.connections.entry(own).or_insert_with(|| Connection::new(end, first));
        (connection.end, connection.rank) = (end, arrival.rank);
        let due = connection.take(now, arrival, first);
        let opened = if due { self.decide(now) } else { Vec::new() };
        self.acknowledge(acknowledgements, out);
        self.tell(now, opened, out);
    }

    /// Sends acknowledgements of the calling end, with its window.
    pub(super) fn acknowledge(&mut self, acknowledgements: Vec<(Packet, Extension)>, out: &mut impl AtHost) {
        let own = out.site().own;
        for (packet, mut extension) in acknowledgements {
            if let Some(connection) = self.connections.get_mut(&own) {
                connection.acknowledged = connection.acknowledged.max(packet.seq);
                connection.advertise(packet.seq, self.scale).put(&mut extension);
            }
            out.send_extended(packet, extension);
        }
    }

    /// Forgets the calling end.
    pub(super) fn close(&mut self, now: Instant, out: &mut impl AtHost) {
        self.connections.remove(&out.site().own);
        let opened = self.decide(now);
        self.tell(now, opened, out);
    }

    /// Decides anew. Returns the connections whose senders wait for a window that has opened.
    fn decide(&mut self, now: Instant) -> Vec<u64> {
        let now_ns = now.0 / 1000;
        let flows: Vec<Flow> =
            self.connections.iter().filter_map(|(own, connection)| connection.flow(*own, now)).collect();
        let mut opened = Vec::new();
        for grant in plan(&self.parameters, now_ns, &flows) {
            let connection = self.connections.get_mut(&grant.id).expect("it was planned");
            (connection.limit, connection.window, connection.wake) = (grant.limit, grant.window, grant.wake);
            if connection.edge() > connection.granted {
                connection.moved = now;
                // A sender that can send two segments gets the window with their acknowledgement.
                if connection.granted < connection.received + self.parameters.step {
                    opened.push(grant.id);
                }
            }
        }
        opened
    }

    /// Sends windows that no acknowledgement has carried, and arms the host's timer while messages are arriving.
    fn tell(&mut self, now: Instant, opened: Vec<u64>, out: &mut impl HostOutput) {
        for own in opened {
            let Some(connection) = self.connections.get_mut(&own) else { continue };
            if connection.edge() <= connection.granted {
                continue;
            }
            let mut packet = Packet::ack(connection.acknowledged, self.header, Instant::MAX, Flags::NONE);
            packet.rank = connection.rank;
            let mut extension = Extension::default();
            connection.advertise(packet.seq, self.scale).put(&mut extension);
            out.send_from(connection.end, packet, Some(extension));
        }
        if self.due <= now && self.connections.values().any(Connection::is_busy) {
            self.due = now + self.schedule.patience;
            out.arm_host(self.due);
        }
    }
}

impl HostState for Host {
    fn on_timer(&mut self, now: Instant, out: &mut impl HostOutput) {
        for desk in self.desks.iter_mut().filter(|desk| desk.due <= now) {
            let opened = desk.decide(now);
            desk.tell(now, opened, out);
        }
    }
}

impl Connection {
    fn new(end: End, first: u64) -> Connection {
        Connection {
            end,
            received: 0,
            acknowledged: 0,
            granted: first,
            limit: first,
            window: 0,
            wake: UNLIMITED,
            moved: Instant::ZERO,
            served: 0,
            messages: VecDeque::new(),
            rank: Packet::UNTAGGED,
        }
    }

    /// Returns true if the rest of a message is expected.
    fn is_busy(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Records news; returns true if the schedule is due.
    fn take(&mut self, now: Instant, arrival: &Arrival, first: u64) -> bool {
        let before = self.messages.front().copied();
        if let Some(message) = arrival.message.filter(|message| message.end > arrival.next) {
            let place = self.messages.partition_point(|known| known.end < message.end);
            if self.messages.get(place).is_none_or(|known| known.end != message.end) {
                self.messages.insert(place, message);
            }
        }
        let grown = arrival.next - self.received;
        if grown > 0 {
            self.moved = now;
            if before.is_some_and(|message| message.deadline.is_none()) {
                self.served += grown;
            }
        }
        self.received = arrival.next;
        while self.messages.front().is_some_and(|message| message.end <= self.received) {
            self.messages.pop_front();
        }
        if self.messages.is_empty() {
            // The first segment of the next message shows that its sender is ready.
            (self.limit, self.window) = (self.granted.max(self.received + first), 0);
            return before.is_some();
        }
        before != self.messages.front().copied() || self.received >= self.wake
    }

    fn flow(&self, own: u64, now: Instant) -> Option<Flow> {
        let message = self.messages.front()?;
        let claim = match message.deadline {
            Some(deadline) => Claim::Message { end: message.end, deadline_ns: deadline.0 / 1000 },
            None => Claim::Bulk { weight: 1, served: self.served },
        };
        let idle_ns = now.saturating_sub(self.moved).0 / 1000;
        Some(Flow { id: own, received: self.received, granted: self.granted, idle_ns, claim })
    }

    /// Returns the right edge as it is decided now.
    fn edge(&self) -> u64 {
        let wanted = match self.window {
            0 => self.limit,
            window => self.limit.min(self.received + window),
        };
        wanted.max(self.granted)
    }

    /// Moves the advertised edge; returns its field in an acknowledgement of `seq`. It is rounded up, so that the edge
    /// never moves back, by less than a unit.
    fn advertise(&mut self, seq: u64, scale: u32) -> Header {
        self.granted = self.edge();
        let units = (self.granted - seq).div_ceil(1 << scale);
        Header::Window(units.min(u16::MAX.into()) as u16)
    }
}
