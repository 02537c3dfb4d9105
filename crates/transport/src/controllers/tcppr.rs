//! `tcppr`: TCP whose messages switches serve by strict priority, in classes by deadline.

use std::sync::Arc;

use units::{Default, Key, Kind, Problem, Range, Span, Value, Values, counted};

use super::reno::{self, Reno};
use super::{Acked, Cwnd, Ecn, Lost, Window};
use crate::{Descriptor, Needs};

/// TCP with switch priorities.
pub(super) const DESCRIPTOR: Descriptor<Tcppr> = Descriptor {
    name: "tcppr",
    help: "TCPpr: tcp over switches with strict priorities, classes by deadline; messages without one come last",
    source: "TCPpr of Wilson et al. (D3), SIGCOMM 2011, 6.1.1: two priority classes",
    aliases: &[],
    groups: &[reno::KEYS, KEYS],
    needs: Needs::of("strict priorities", "deadlines from the application, a priority on each packet")
        .discipline("priority"),
    signals: &[],
    build: |values, _| build(values),
};

/// Maximum number of classes with a deadline.
const MAX_CLASSES: f64 = 32.0;

/// Parameters of its own, beside TCP's.
pub(super) const KEYS: &[Key] = &[
    Key {
        name: "classes",
        kind: Kind::Count,
        default: Default::Is("2"),
        range: Range::between(1.0, MAX_CLASSES),
        help: "priorities for messages with a deadline; those without have one more, the lowest",
        source: "D3 6.1.1: two, and four, the most that its switch had, did not help",
    },
    Key {
        name: "limits",
        kind: Kind::Times,
        default: Default::Absent,
        range: Range::POSITIVE,
        help: "longest deadline of each class but the last, ascending; when left out, equal shares of the range of \
               the deadlines that this transport's messages can have, where a distribution without an end ends at \
               its 90th percentile",
        source: "D3 6.1.1 maps short deadlines to the higher class and does not say where they end: equal shares",
    },
];

fn build(values: &mut Values) -> Result<Tcppr, Problem> {
    let limits: Option<Arc<[Span]>> = values.times_if_set("limits").map(Arc::from);
    if let Some(limits) = &limits {
        let (parted, asked) = (limits.len() as u64 + 1, values.count("classes"));
        if values.is_given("classes") && asked != parted {
            let limits = counted(limits.len() as u64, "limit");
            let problem = Problem::new("classes", format!("{limits} would make {parted} classes, not {asked}"));
            return Err(problem.hint("leave it out: it follows from `limits`"));
        }
        values.set_default("classes", Value::Count(parted));
    }
    let priorities = Priorities { classes: values.count("classes") as u8, limits };
    Ok(Tcppr { reno: Reno::from_values(values), priorities })
}

/// The division of messages into priorities.
#[derive(Clone, Debug, PartialEq)]
pub struct Priorities {
    /// Number of priorities for messages with a deadline.
    pub classes: u8,
    /// The longest deadline of each of them but the last; none: equal shares of the deadlines' range.
    pub limits: Option<Arc<[Span]>>,
}

/// The controller of `tcp`, with priorities.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcppr {
    reno: Reno,
    priorities: Priorities,
}

impl Window for Tcppr {
    fn ecn(&self) -> Ecn {
        self.reno.ecn()
    }
    #[inline]
    fn on_ack(&mut self, window: &mut Cwnd, ack: &Acked) -> bool {
        self.reno.on_ack(window, ack)
    }
    fn on_loss(&mut self, window: &mut Cwnd, loss: &Lost) {
        self.reno.on_loss(window, loss);
    }
    fn priorities(&self) -> Option<&Priorities> {
        Some(&self.priorities)
    }
}
