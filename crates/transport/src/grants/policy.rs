//! The policy of a receiving host: which data it grants, in which order, and how much. It has all the differences
//! between the family's transports.

use units::{Bytes, Instant, Rate, Span, Transmission};

use super::limits::Rule;
use crate::Packet;
use crate::connection::ENDLESS;

/// The parameters of a transport of this family. Sizes are in bytes of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The order in which messages are granted.
    pub order: Order,
    /// The rate of a host's link for which the amounts below were computed.
    pub rate: Rate,
    /// The amounts that follow from that rate.
    pub follows: Follows,
    /// Maximum of the data in flight to a host.
    pub budget: u64,
    /// Maximum of it while the host's link is busy, and the time without a pause for which it counts as such.
    pub busy: Option<(u64, Span)>,
    /// The amount that is granted at once; beyond that, grants are as far apart as their packets on the host's link.
    pub at_once: u64,
    /// Maximum of one connection's data in flight.
    pub window: u64,
    /// Maximum number of connections that are granted at a time.
    pub active: usize,
    /// The unscheduled bytes of a message,
    pub unscheduled: u64,
    /// if it is no longer than this,
    pub unscheduled_up_to: u64,
    /// the unscheduled bytes of all messages that were requested together with it are no more than this,
    pub together: u64,
    /// and it has no more laxity than this,
    pub within: Span,
    /// and fewer of a message that its receiver has requested together with many others, if that is limited.
    pub incast: Option<Incast>,
    /// The limits of data in flight from one host, if there are any.
    pub limits: Option<Rule>,
    /// Marks count only while the host's own link is not full.
    pub own_link_apart: bool,
    /// A sending host orders shorter messages first, by their rest instead of their size.
    pub by_rest: bool,
    /// Only messages from different senders are granted at a time.
    pub one_per_sender: bool,
    /// A sending host signals a backlog above this.
    pub backlog: u64,
    /// The division of packets into priorities by size and order, if there is one.
    pub levels: Option<Levels>,
    /// The division of packets into priorities by laxity, if there is one.
    pub classes: Option<Classes>,
    /// One grant in this number is for messages without a deadline, if both kinds are expected; 0: none.
    pub background_every: u64,
    /// A grant includes all data before it in its stream that its sender was not granted: those grants are lost.
    pub cumulative: bool,
    /// Late data is granted again only after a probe of its sender has shown that it is lost.
    pub probes: bool,
    /// Number of later segments whose arrival shows that a segment is lost; none: only time does.
    pub overtaken: Option<u32>,
    /// The time by which the echo of a probe may be ahead of data that was sent before it.
    pub reordering: Span,
    /// The time after its grant at which data that has not arrived is granted again,
    pub resend_after: Span,
    /// and with this only if nothing of its message has arrived for as long, and it cannot be queued in front of the
    /// host's own link.
    pub by_silence: bool,
    /// A request is repeated after this time, then after twice as long,
    pub ask_again: Span,
    /// and so on up to this.
    pub ask_limit: Span,
    /// The order is computed again after this time at the latest.
    pub review: Span,
    /// Size of a request and of a grant, in bytes.
    pub control: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// Size of its headers, in bytes.
    pub header: u32,
}

/// Returns the laxity of a message whose rest takes this time; none if it cannot be in time.
pub(super) fn laxity(now: Instant, takes: Span, due: Instant) -> Option<Span> {
    let over = now.saturating_add(takes);
    (over <= due).then(|| due.saturating_sub(over))
}

/// A link on which data is sent in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wire {
    transmission: Transmission,
    mss: u64,
    /// The bytes that each segment takes beside its data.
    overhead: u64,
    /// More data than any run sends: a message without an end takes this.
    most: u64,
}

impl Wire {
    /// Returns a link of this rate, for segments of at most `mss` bytes with this overhead, all in bytes.
    pub(super) fn new(rate: Rate, mss: u32, overhead: u64) -> Wire {
        const LONGEST_SECONDS: u64 = 1_000_000;
        let most = (rate.0 / 8).saturating_mul(LONGEST_SECONDS);
        Wire { transmission: rate.transmission(), mss: mss.into(), overhead, most }
    }

    /// Returns the time that it takes for this number of bytes of data.
    pub(super) fn takes(&self, bytes: u64) -> Span {
        if bytes <= self.mss && bytes > 0 {
            return self.transmission.of(Bytes(bytes + self.overhead));
        }
        let bytes = bytes.min(self.most);
        let overheads = bytes.div_ceil(self.mss).saturating_mul(self.overhead);
        self.transmission.of(Bytes(bytes.saturating_add(overheads)))
    }

    /// Returns the time that it takes for a byte.
    pub(super) fn transmission(&self) -> Transmission {
        self.transmission
    }
}

/// The amounts that follow from the network, as they were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follows {
    /// [`Policy::budget`] follows from the network.
    pub budget: bool,
    /// [`Policy::window`] follows from the network.
    pub window: bool,
    /// [`Rule::most`] of [`Policy::limits`] follows from the network.
    pub limit: bool,
    /// [`Policy::backlog`] follows from the network.
    pub backlog: bool,
    /// [`Levels::unscheduled`] follows from the traffic, once that is known,
    pub unscheduled_levels: bool,
    /// and [`Policy::active`] follows from the levels that it leaves,
    pub active: bool,
    /// and [`Incast::after`] from that.
    pub incast: bool,
}

impl Policy {
    /// Returns the time that a link of this policy's rate takes for this number of bytes of data.
    pub fn takes(&self, bytes: u64) -> Span {
        Wire::new(self.rate, self.mss, self.header.into()).takes(bytes)
    }

    /// Returns the time at which a message that is sent now should be complete; [`Instant::MAX`] if it has only the rest.
    pub fn due(&self, now: Instant, bytes: u64, deadline: Instant) -> Instant {
        match self.order {
            Order::Deadline { undated, .. } if deadline == Instant::MAX && bytes < ENDLESS / 2 && undated.times > 0 => {
                let alone = undated.one_way.saturating_add(self.takes(bytes));
                now.saturating_add(Span(alone.0.saturating_mul(undated.times)))
            }
            _ => deadline,
        }
    }

    /// Returns whether packets of this priority have granted data, where priorities follow from sizes.
    pub(super) fn is_scheduled(&self, rank: u32) -> bool {
        self.levels.is_some_and(|levels| rank >= levels.unscheduled)
    }

    /// Returns the priority of requests, grants and what else has no data.
    pub fn control_rank(&self) -> u32 {
        if self.levels.is_some() || self.classes.is_some() { Levels::CONTROL } else { Packet::UNTAGGED }
    }

    /// Returns the number of priorities of its packets, if they have any.
    pub fn priorities(&self) -> Option<u8> {
        self.levels.map(|levels| levels.count as u8).or(self.classes.map(|classes| classes.lowest() as u8 + 1))
    }

    /// Returns the same for a host whose link has another rate, with a proportional bandwidth-delay product. The amount
    /// of unscheduled data stays: a sender does not know the link of its receiver.
    pub fn at(&self, rate: Rate) -> Policy {
        if rate == self.rate {
            return *self;
        }
        let mss = u64::from(self.mss);
        // The amount granted at once is the minimum of all.
        let least = if self.at_once < u64::MAX { self.at_once } else { mss };
        let at = |follows: bool, bytes: u64| {
            let times = u128::from(bytes) * u128::from(rate.0) / u128::from(self.rate.0);
            let packets = u64::try_from(times).unwrap_or(u64::MAX).div_ceil(mss).saturating_mul(mss);
            if follows { packets.max(least) } else { bytes }
        };
        let Follows { budget, window, limit, backlog, .. } = self.follows;
        Policy {
            rate,
            budget: at(budget, self.budget),
            busy: self.busy.map(|(bytes, pause)| (at(budget, bytes), pause)),
            window: at(window, self.window),
            limits: self.limits.map(|rule| Rule { most: at(limit, rule.most), ..rule }),
            backlog: at(backlog, self.backlog),
            ..*self
        }
    }

    /// Returns the expected unscheduled bytes of messages. Of the answers to one query that [`Policy::incast`] shortens,
    /// each counts with what it sends.
    fn unscheduled_of(&self, expected: &Expected) -> f64 {
        let whole = expected.size.min(self.unscheduled) as f64;
        let short = self.incast.map_or(whole, |incast| whole.min(incast.unscheduled as f64));
        let answers = expected.answers.max(1);
        let whole_ones = answers.min(self.incast.map_or(u64::MAX, |incast| incast.after.into()));
        (whole * whole_ones as f64 + short * (answers - whole_ones) as f64) / answers as f64 * expected.count
    }

    /// Learns from the expected traffic (Homa 3.4). The share of unscheduled data in all bytes is its share of the
    /// levels, and each of these has as many unscheduled bytes. Returns their cut-offs, or none where there are no such
    /// bytes.
    pub fn learn(&mut self, mut messages: Vec<Expected>) -> Option<Vec<u64>> {
        messages.sort_by_key(|message| message.size);
        let all: f64 = messages.iter().map(|message| message.size as f64 * message.count).sum();
        let mut levels = self.levels.filter(|_| all > 0.0)?;
        if self.follows.unscheduled_levels {
            // The more levels this leaves for granted data, the more answers are sent whole: the first number that is
            // enough for its own share.
            for number in 1..levels.count {
                levels.unscheduled = number;
                self.set_levels(levels);
                let sent: f64 = messages.iter().map(|message| self.unscheduled_of(message)).sum();
                if (sent / all * f64::from(levels.count)).round() <= f64::from(number) {
                    break;
                }
            }
        }
        let sent: Vec<(u64, f64)> =
            messages.iter().map(|message| (message.size, self.unscheduled_of(message))).collect();
        let ends = levels.equal_cutoffs(&sent)?;
        levels.set_cutoffs(&ends);
        self.levels = Some(levels);
        Some(ends)
    }

    /// Sets the levels, and the amounts that follow from them.
    fn set_levels(&mut self, levels: Levels) {
        self.levels = Some(levels);
        if self.follows.active {
            self.active = levels.scheduled() as usize;
        }
        if let Some(incast) = self.incast.as_mut().filter(|_| self.follows.incast) {
            incast.after = self.active as u32;
        }
    }
}

/// The unscheduled data of messages of which many are requested at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incast {
    /// The number of these that are treated as any other message.
    pub after: u32,
    /// The unscheduled bytes of each of the others.
    pub unscheduled: u64,
}

/// The order in which messages are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The earliest deadline is first. With `sheds`, as few messages as possible are late, and those are last.
    Deadline {
        /// Messages that cannot be in time make room for others.
        sheds: bool,
        /// The place of messages without a deadline.
        undated: Undated,
    },
    /// The earliest deadline is first, of equal ones the fewest missing bytes. Messages without a deadline are last.
    Due,
    /// The message with the fewest missing bytes is first.
    Remaining,
}

/// The time at which messages without a deadline are due: a multiple of the time that they take alone. They are shed
/// before any with a deadline. With a multiple of 0 they have only the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undated {
    /// The time in multiples of the time alone.
    pub times: u64,
    /// Half of the network's longest round trip.
    pub one_way: Span,
}

/// Priorities by laxity: control packets first, then classes of laxity, then messages that are late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Number of classes for messages that can be in time.
    pub count: u32,
    /// The largest laxity of the first class; each ends at [`Classes::RATIO`] times the end of the one above it.
    pub first: Span,
}

impl Classes {
    /// The ratio of the ends of two classes.
    pub const RATIO: u64 = 4;

    /// Returns the priority of data of a message with this laxity, or of a late one.
    pub fn of(&self, laxity: Option<Span>) -> u32 {
        let Some(laxity) = laxity else { return self.lowest() };
        let (mut class, mut end) = (1, self.first.0);
        while class < self.count && laxity.0 > end {
            (class, end) = (class + 1, end.saturating_mul(Classes::RATIO));
        }
        class
    }

    /// Returns the priority of late messages.
    pub fn lowest(&self) -> u32 {
        self.count + 1
    }
}

/// Messages that are expected to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Payload bytes of each.
    pub size: u64,
    /// Number of messages of this size.
    pub count: f64,
    /// Number of answers to a query that they are requested with; 0: they are no answers.
    pub answers: u64,
}

/// Priorities of packets, 0 the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Number of priorities in all.
    pub count: u32,
    /// Number of these for unscheduled data: the others are for granted data.
    pub unscheduled: u32,
    /// Maximum size of messages with the first priority.
    pub first: u64,
    /// The end of each priority is this multiple of the end of the one above it.
    pub ratio: u64,
    /// The rule for their ends; [`Levels::first`] and [`Levels::ratio`] count for [`Cutoffs::Geometric`] only.
    pub cutoffs: Cutoffs,
}

/// The rule by which sizes of messages divide the priorities of unscheduled data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cutoffs {
    /// At [`Levels::first`] and its multiples.
    Geometric,
    /// Each priority has as many unscheduled bytes, once the traffic is known; until then as [`Geometric`](Cutoffs::Geometric).
    ByTraffic,
    /// At these sizes of messages, the last of them again and again.
    At([u32; MAX_CUTOFFS]),
}

/// The largest number of cut-offs: one fewer than there can be priorities of unscheduled data.
const MAX_CUTOFFS: usize = 30;

impl Levels {
    /// The priority of requests and grants.
    pub const CONTROL: u32 = 0;

    /// Returns the number of priorities for granted data.
    pub fn scheduled(&self) -> u32 {
        self.count - self.unscheduled
    }

    /// Returns the largest messages of each priority but the last, so that each has as many bytes that are sent without a
    /// grant. `sent` has these bytes by the size of messages, in ascending order. A size that
    /// fills more than one priority leaves those below it empty. None where there are no such bytes.
    pub fn equal_cutoffs(&self, sent: &[(u64, f64)]) -> Option<Vec<u64>> {
        let all: f64 = sent.iter().map(|(_, bytes)| bytes).sum();
        let (mut ends, mut below) = (Vec::new(), 0.0);
        for &(size, bytes) in sent.iter().filter(|_| all > 0.0) {
            below += bytes;
            // Less by a possible rounding error of the sum.
            while (ends.len() as u32) + 1 < self.unscheduled
                && below * f64::from(self.unscheduled) >= all * (ends.len() + 1) as f64 * (1.0 - 1e-9)
            {
                ends.push(size);
            }
        }
        (all > 0.0).then_some(ends)
    }

    /// Sets the largest messages of the priorities of unscheduled data.
    pub fn set_cutoffs(&mut self, ends: &[u64]) {
        let end = |place: usize| ends.get(place).or(ends.last()).copied().unwrap_or(u64::MAX);
        self.cutoffs = Cutoffs::At(std::array::from_fn(|place| u32::try_from(end(place)).unwrap_or(u32::MAX)));
    }

    /// Returns the priority of unscheduled data of a message of this size.
    pub fn of_unscheduled(&self, size: u64) -> u32 {
        if let Cutoffs::At(ends) = self.cutoffs {
            let above = (self.unscheduled as usize - 1).min(MAX_CUTOFFS);
            return ends[..above].partition_point(|end| u64::from(*end) < size) as u32;
        }
        let (mut level, mut end) = (0, self.first);
        while level + 1 < self.unscheduled && size > end {
            (level, end) = (level + 1, end.saturating_mul(self.ratio));
        }
        level
    }

    /// Returns the priority of the message at a place, from 0, among the granted ones. They are the lowest ones, so
    /// that a later and shorter message finds a higher one free.
    pub fn of_scheduled(&self, place: usize, active: usize) -> u32 {
        let lowest = self.count - 1;
        let used = self.scheduled().min(active as u32).max(1);
        (self.count - used + place as u32).min(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: Levels = Levels { count: 8, unscheduled: 4, first: 100, ratio: 10, cutoffs: Cutoffs::Geometric };

    /// 900 KB of messages of 1 KB and 100 KB of longer ones. Of four priorities each has 250 KB, so three end with the
    /// short messages.
    #[test]
    fn each_priority_has_as_many_unscheduled_bytes() {
        let ends = LEVELS.equal_cutoffs(&[(1000, 900e3), (100_000, 100e3)]).unwrap();
        assert_eq!(ends, [1000, 1000, 1000]);
        let mut levels = LEVELS;
        levels.set_cutoffs(&ends);
        assert_eq!([1, 1000, 1001, 100_000].map(|size| levels.of_unscheduled(size)), [0, 0, 3, 3]);
        // 250 KB of 1 KB, 250 KB of 5 KB and 500 KB of long ones: the third priority ends with these.
        let ends = LEVELS.equal_cutoffs(&[(1000, 250e3), (5000, 250e3), (100_000, 500e3)]).unwrap();
        assert_eq!(ends, [1000, 5000, 100_000]);
        levels.set_cutoffs(&ends);
        assert_eq!([1000, 1001, 5001, 100_001].map(|size| levels.of_unscheduled(size)), [0, 1, 2, 3]);
        // As all of one size.
        assert_eq!(LEVELS.equal_cutoffs(&[(7, 7.0)]), Some(vec![7; 3]));
        assert_eq!(LEVELS.equal_cutoffs(&[]), None);
    }

    /// Returns the levels for unscheduled data, the overcommitment and the number of answers that are sent whole.
    fn learnt(keys: &[(&str, &str)], messages: &[(u64, f64, u64)]) -> (u32, usize, u32) {
        let keys = [&[("rtt_bytes", "10 KB"), ("cutoffs", "by-traffic")], keys].concat();
        let homa = crate::registry::find("homa").unwrap().with(&keys).unwrap();
        let crate::registry::Control::Grants(mut policy) = homa.control else { panic!() };
        let expected = messages.iter().map(|&(size, count, answers)| Expected { size, count, answers });
        policy.learn(expected.collect());
        (policy.levels.unwrap().unscheduled, policy.active, policy.incast.unwrap().after)
    }

    /// Homa 3.4: as many of the levels as unscheduled data is of all bytes; 3.5: the others are for as many messages.
    #[test]
    fn levels_for_unscheduled_data_follow_its_share() {
        // 10 KB of 100 are a tenth, 0.8 of eight levels; all of 10 KB are eight, of which one is for granted data.
        assert_eq!(learnt(&[], &[(100_000, 9.0, 0)]), (1, 7, 7));
        assert_eq!(learnt(&[], &[(10_000, 9.0, 0)]), (7, 1, 1));
        // 10 of 11 KB, and 10 of 100: 20 of 111 KB are 1.44; and 100 of 190 KB are 4.2.
        assert_eq!(learnt(&[], &[(11_000, 1.0, 0), (100_000, 1.0, 0)]).0, 1);
        assert_eq!(learnt(&[], &[(10_000, 9.0, 0), (100_000, 1.0, 0)]).0, 4);
        // Written ones stay.
        assert_eq!(learnt(&[("unscheduled_levels", "2")], &[(10_000, 9.0, 0)]), (2, 6, 6));
        assert_eq!(learnt(&[("overcommitment", "3")], &[(10_000, 9.0, 0)]), (7, 3, 3));
        assert_eq!(learnt(&[("incast_after", "5")], &[(10_000, 9.0, 0)]), (7, 1, 5));
    }

    /// Of 100 answers of 10 KB, 7 are sent whole where one level is for unscheduled data. Of each other 300 B are sent:
    /// 98 of 1000 KB in all, less than one of eight levels.
    #[test]
    fn answers_that_are_shortened_count_with_what_they_send() {
        assert_eq!(learnt(&[], &[(10_000, 100.0, 100)]), (1, 7, 7));
        // With 4 levels 4 of 10 are whole, and 1.8 KB of the others: 41.8 %, 3.3 of eight levels. With 3, 51.5 %.
        assert_eq!(learnt(&[], &[(10_000, 10.0, 10)]), (4, 4, 4));
    }

    #[test]
    fn short_messages_have_the_higher_priorities() {
        let of = |size| LEVELS.of_unscheduled(size);
        assert_eq!([1, 100, 101, 1000, 10_000, 10_001, u64::MAX].map(of), [0, 0, 1, 1, 2, 3, 3]);
    }

    #[test]
    fn granted_messages_use_the_lowest_priorities() {
        let of = |active| (0..active).map(|place| LEVELS.of_scheduled(place, active)).collect::<Vec<_>>();
        assert_eq!(of(1), [7]);
        assert_eq!(of(3), [5, 6, 7]);
        assert_eq!(of(6), [4, 5, 6, 7, 7, 7]);
    }
}
