//! Buffer policies: how a switch divides its buffer over its queues.

mod abm;
mod dynamic;
mod equal;
mod per_port;

use units::{Default, Key, Kind, LinkId, Range, Values};

use crate::listed::listed;

/// A policy's description: its name, its keys in `[network]`, and its way to limit a queue.
pub(crate) struct Descriptor {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub help: &'static str,
    /// The way to limit a queue, from the checked values of `[network]`.
    pub sharing: fn(&Values) -> Sharing,
}

/// All policies, the default first.
pub(crate) const POLICIES: &[Descriptor] =
    &[dynamic::DESCRIPTOR, equal::DESCRIPTOR, per_port::DESCRIPTOR, abm::DESCRIPTOR];

/// The key `sharing` of `[network]`.
pub(crate) const KEY: Key = Key {
    name: "sharing",
    kind: Kind::Choice(&NAMES),
    default: Default::Is("dynamic"),
    range: Range::ANY,
    help: HELP,
    source: "Choudhury and Hahne 1998 (dynamic); Addanki et al., SIGCOMM 2022 (abm); open in the papers",
};

listed!(POLICIES, "how a switch divides its buffer: ", "");

/// The key `dynamic_alpha` of `[network]`.
pub(crate) const ALPHA: Key = Key {
    name: "dynamic_alpha",
    kind: Kind::Number,
    default: Default::Is("1"),
    range: Range::above(0.0, 1024.0),
    help: "a port may hold up to this times the free part of the shared pool",
    source: "Choudhury and Hahne 1998; 1 is a common setting",
};

/// How a switch divides its buffer over its ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// A shared buffer; a queue may hold up to this factor times the free part.
    Dynamic(f64),
    /// A shared buffer with [limits](Limits) that also depend on other queues; alone, a queue may hold up to this factor
    /// times the free part.
    Limited(f64, MakeLimits),
    /// An equal part for each port.
    Static,
    /// The whole `buffer` for each port.
    PerPort,
}

/// Creates the limits of one switch's queues.
#[derive(Clone, Copy, Debug)]
pub struct MakeLimits(fn(f64) -> Box<dyn Limits>);

/// There is one way for each factor.
impl PartialEq for MakeLimits {
    fn eq(&self, other: &MakeLimits) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Sharing {
    /// Returns the policy of the checked values of `[network]`.
    pub(crate) fn from_values(values: &Values) -> Sharing {
        let named = values.choice(KEY.name);
        let policy = POLICIES.iter().find(|policy| policy.name == named);
        (policy.expect("the key has only names of the list").sharing)(values)
    }

    /// Returns the factor of a shared buffer's free part that a queue may hold while the others are empty; none if
    /// ports share none.
    pub fn alpha(self) -> Option<f64> {
        match self {
            Sharing::Dynamic(alpha) | Sharing::Limited(alpha, _) => Some(alpha),
            Sharing::Static | Sharing::PerPort => None,
        }
    }

    /// Returns the limits of one switch's queues, if they depend on more than the free part.
    pub(crate) fn limits(self) -> Option<Box<dyn Limits>> {
        match self {
            Sharing::Limited(alpha, MakeLimits(make)) => Some(make(alpha)),
            _ => None,
        }
    }
}

/// A queue of a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueueState {
    /// The port that sends it.
    pub port: LinkId,
    /// The class whose packets it holds: 0 where a port has one queue.
    pub class: usize,
    /// The share of the link's rate at which it is sent.
    pub drain: f64,
    /// Its length, in the unit of the buffer.
    pub length: u64,
}

/// The limits of the queues of one shared buffer.
pub(crate) trait Limits: Send {
    /// Returns the limit of a queue, given the free memory in the unit of the buffer.
    fn limit(&self, queue: &QueueState, free: u64) -> u64;
    /// Records the state of a queue that a packet has joined or left.
    fn changed(&mut self, queue: &QueueState, free: u64);
    /// Updates the index of a port.
    fn moves(&mut self, from: LinkId, to: LinkId);
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Value;

    #[test]
    fn names_are_those_of_the_list() {
        for name in NAMES {
            let mut values = Values::default();
            values.set(KEY.name, Value::Choice(name));
            values.set("dynamic_alpha", Value::Number(3.0));
            let sharing = Sharing::from_values(&values);
            assert_eq!(sharing.alpha(), ["dynamic", "abm"].contains(&name).then_some(3.0), "{name}");
            assert_eq!(sharing.limits().is_some(), name == "abm");
        }
        assert_eq!(NAMES[0], "dynamic");
    }

    #[test]
    fn limits_are_the_same_if_they_are_made_alike() {
        let abm = |alpha| {
            let mut values = Values::default();
            values.set(KEY.name, Value::Choice("abm"));
            values.set("dynamic_alpha", Value::Number(alpha));
            Sharing::from_values(&values)
        };
        let other = MakeLimits(|_| unreachable!("they are only compared"));
        assert_eq!(abm(3.0), abm(3.0));
        assert!(abm(3.0) != abm(2.0) && abm(3.0) != Sharing::Limited(3.0, other));
    }
}
