//! `karuna`: MCP's law in the highest priority, and all other messages below, by size or by bytes sent.

use units::{Default, Instant, Key, Kind, Range, Values};

use super::dctcp::{self, ALPHA};
use super::rate::{BACKLOG, Feedback, GAMMA, NETWORK, Paced, QUEUE_ESTIMATE, by_paced, keys};
use super::{Acked, Current, Cwnd, Ecn, Lost, Window, mcp};
use crate::connection::RATE;
use crate::{Descriptor, Message, Needs, Observation, Site};

/// The descriptor of Karuna.
pub(super) const DESCRIPTOR: Descriptor<Karuna> = Descriptor {
    name: "karuna",
    help: "Karuna: messages with a deadline as mcp in the highest switch priority, others as dctcp in priorities below, by \
           size or by bytes sent",
    source: "Chen, Chen, Bai, Alizadeh, SIGCOMM 2016, of which the abstract and what it says of MCP were at hand",
    aliases: mcp::ALIASES,
    groups: &[KEYS, keys::DEMAND, keys::LAW, keys::ECN, dctcp::KEYS, &dctcp::AS_RFC.keys()],
    needs: Needs::of("strict priorities, and ECN marks above a threshold", "as for mcp, and a priority on each packet")
        .discipline("priority"),
    signals: &[RATE, GAMMA, BACKLOG, NETWORK, QUEUE_ESTIMATE, ALPHA],
    build: |values, connection| {
        let paced = Box::new(Paced::from_values(values, connection, Feedback::Ecn));
        Ok(Karuna { paced, levels: Levels::from_values(values) })
    },
};

/// Parameters of its own.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "order",
        kind: Kind::Choice(&["size", "bytes-sent"]),
        default: Default::Is("size"),
        range: Range::ANY,
        help: "what divides messages without a deadline into priorities: their size, or what of them was sent before, \
               where sizes are not known; a flow without end goes by what it has sent",
        source: "Karuna: shortest first where sizes are known, as PIAS (NSDI 2015) where not",
    },
    Key {
        name: "levels",
        kind: Kind::Count,
        default: Default::Is("7"),
        range: Range::between(1.0, 32.0),
        help: "priorities for messages without a deadline, below that of deadlines",
        source: "commodity switches have eight queues per port",
    },
    Key {
        name: "first_level",
        kind: Kind::Size,
        default: Default::Is("20 KB"),
        range: Range::POSITIVE,
        help: "where the first of these priorities ends",
        source: "open: Karuna fits thresholds to its traffic; MCP's queries end at 20 KB",
    },
    Key {
        name: "level_ratio",
        kind: Kind::Number,
        default: Default::Is("4"),
        range: Range::above(1.0, 1000.0),
        help: "each of these priorities ends at so many times the end of the one above it",
        source: "open; with 4 the last of seven begins at 20 MB",
    },
];

/// MCP over switches with priorities.
#[derive(Clone, Debug, PartialEq)]
pub struct Karuna {
    paced: Box<Paced>,
    levels: Levels,
}

/// The division of messages without a deadline.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Levels {
    by_size: bool,
    count: u8,
    first: f64,
    ratio: f64,
}

impl Levels {
    fn from_values(values: &Values) -> Levels {
        Levels {
            by_size: values.choice("order") == "size",
            count: values.count("levels") as u8,
            first: values.size("first_level").as_f64(),
            ratio: values.number("level_ratio"),
        }
    }

    /// Returns the priority, from 0, of a message of this size, or with this number of bytes sent.
    fn of(&self, bytes: u64) -> u8 {
        let (mut level, mut end) = (0, self.first);
        while level + 1 < self.count && bytes as f64 > end {
            (level, end) = (level + 1, end * self.ratio);
        }
        level
    }
}

impl Window for Karuna {
    by_paced!();

    fn levels(&self) -> Option<u8> {
        Some(self.levels.count + 1)
    }

    fn ranks(&self) -> bool {
        true
    }
    fn rank(&self, current: &Current, seq: u64) -> u32 {
        let Message { bytes, deadline, .. } = current.message;
        if deadline.is_some() {
            return 0;
        }
        // A message that was aborted before its end is shorter than planned.
        let sent = bytes.map_or(seq, |bytes| seq.saturating_sub(current.end.saturating_sub(bytes.0)));
        1 + u32::from(self.levels.of(bytes.filter(|_| self.levels.by_size).map_or(sent, |bytes| bytes.0)))
    }
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    fn karuna(order: &str) -> Karuna {
        let settings = [("order", order), ("levels", "3"), ("first_level", "10 KB"), ("level_ratio", "10")];
        let config = crate::registry::find("karuna").unwrap().with(&settings).unwrap();
        let crate::registry::Control::Window(crate::controllers::Controller::Boxed(law)) = config.control else {
            unreachable!()
        };
        let crate::controllers::Boxed::Karuna(law) = *law else { unreachable!() };
        law
    }

    /// A message behind 1 MB of others.
    fn rank(law: &Karuna, bytes: u64, sent: u64, deadline: Option<Instant>) -> u32 {
        let message = Message { deadline, ..Message::of(Bytes(bytes)) };
        law.rank(&Current { end: 1_000_000 + bytes, message }, 1_000_000 + sent)
    }

    #[test]
    fn deadlines_come_first_then_small_messages() {
        let law = karuna("size");
        assert_eq!(rank(&law, 50_000_000, 0, Some(Instant::from_millis(9))), 0);
        for (bytes, expected) in [(1, 1), (10_000, 1), (10_001, 2), (100_000, 2), (100_001, 3), (50_000_000, 3)] {
            assert_eq!(rank(&law, bytes, 0, None), expected, "{bytes}");
            assert_eq!(rank(&law, bytes, bytes - 1, None), expected, "{bytes}");
        }
        assert_eq!(law.levels(), Some(4));
    }

    /// Found by `make fuzz`: an aborted message ends before its size.
    #[test]
    fn a_message_that_was_cut_short_has_a_rank() {
        let message = Message::of(Bytes(100_000));
        assert_eq!(karuna("bytes-sent").rank(&Current { end: 20_000, message }, 15_000), 2);
    }

    #[test]
    fn where_sizes_are_not_known_a_message_sinks_as_it_is_sent() {
        let law = karuna("bytes-sent");
        for (sent, expected) in [(0, 1), (10_000, 1), (10_001, 2), (100_000, 2), (100_001, 3), (49_000_000, 3)] {
            assert_eq!(rank(&law, 50_000_000, sent, None), expected, "{sent}");
        }
    }
}
