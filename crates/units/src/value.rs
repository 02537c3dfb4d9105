//! The values that keys take once a scenario has been read and checked.

use crate::{Amount, Bytes, Distribution, HostId, Instant, Rate, Span};

/// The value of a key. The variant follows from the key's [`Kind`](crate::Kind).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a key of [`Kind::Bool`](crate::Kind::Bool).
    Bool(bool),
    /// The value of a key of [`Kind::Count`](crate::Kind::Count).
    Count(u64),
    /// The value of a key of [`Kind::Number`](crate::Kind::Number) and [`Kind::Share`](crate::Kind::Share).
    Number(f64),
    /// The value of a key of [`Kind::Shares`](crate::Kind::Shares).
    Shares(Vec<f64>),
    /// The value of a key of [`Kind::Load`](crate::Kind::Load).
    Load(Load),
    /// The value of a key of [`Kind::Time`](crate::Kind::Time).
    Time(Span),
    /// The value of a key of [`Kind::Times`](crate::Kind::Times).
    Times(Vec<Span>),
    /// The value of a key of [`Kind::Size`](crate::Kind::Size).
    Size(Bytes),
    /// The value of a key of [`Kind::Rate`](crate::Kind::Rate).
    Rate(Rate),
    /// The value of a key of [`Kind::Amount`](crate::Kind::Amount).
    Amount(Amount),
    /// The value of a key of [`Kind::AmountBySwitch`](crate::Kind::AmountBySwitch), if it is a table: names of
    /// switches with their amounts. One amount for all is [`Value::Amount`].
    AmountBySwitch(Vec<(String, Amount)>),
    /// The value of a key of [`Kind::MatrixFile`](crate::Kind::MatrixFile), read: as many rows as columns.
    Matrix(Vec<Vec<f64>>),
    /// The value of a key of [`Kind::Marks`](crate::Kind::Marks).
    Marks(Marks),
    /// The value of a key of [`Kind::Choice`](crate::Kind::Choice).
    Choice(&'static str),
    /// The value of a key of [`Kind::Choices`](crate::Kind::Choices).
    Choices(Vec<&'static str>),
    /// The value of a key of [`Kind::Text`](crate::Kind::Text).
    Text(String),
    /// The value of a key of [`Kind::TimeFormula`](crate::Kind::TimeFormula), in picoseconds.
    Formula(Formula),
    /// The value of a key of [`Kind::TimeDistribution`](crate::Kind::TimeDistribution) (picoseconds) and
    /// [`Kind::SizeDistribution`](crate::Kind::SizeDistribution) (bytes).
    Distribution(Distribution),
    /// The value of a key of [`Kind::Deadline`](crate::Kind::Deadline).
    Deadline(Deadline),
    /// The value of a key of [`Kind::Hosts`](crate::Kind::Hosts), expanded.
    Hosts(Vec<HostId>),
    /// The value of a key of [`Kind::Flows`](crate::Kind::Flows), expanded, or
    /// [`Kind::FlowFile`](crate::Kind::FlowFile), read.
    Flows(Vec<FlowSpec>),
    /// The value of a key of [`Kind::Names`](crate::Kind::Names) and [`Kind::NamesOf`](crate::Kind::NamesOf).
    Names(Vec<String>),
    /// The value of a key of [`Kind::Nodes`](crate::Kind::Nodes).
    Nodes(Nodes),
    /// The value of a key of [`Kind::Links`](crate::Kind::Links), the values of each.
    Links(Vec<Values>),
    /// The value of a key of [`Kind::Tables`](crate::Kind::Tables), or [`Kind::Named`](crate::Kind::Named): the values
    /// of each table. The name of a named one is its [`Value::Text`] `name`.
    Tables(Vec<Values>),
    /// The value of a key of [`Kind::RequestTime`](crate::Kind::RequestTime) (picoseconds) and
    /// [`Kind::RequestSize`](crate::Kind::RequestSize) (bytes).
    OfRequest(OfRequest),
    /// The value of a key of [`Kind::Allowed`](crate::Kind::Allowed).
    Allowed(Allowed),
    /// The value of a key of [`Kind::RequestFile`](crate::Kind::RequestFile), read.
    Requests(RequestTrace),
}

/// An amount that each request draws, or computes from its columns.
#[derive(Clone, Debug, PartialEq)]
pub enum OfRequest {
    /// Drawn anew for each message or work, in base units.
    Drawn(Distribution),
    /// Computed from the request's columns, in base units.
    Formula(Formula),
}

/// The time in which a goal must be reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// A time, in picoseconds.
    Time(OfRequest),
    /// A multiple of the time that the same request takes in an empty network, drawn for each request.
    TimesAlone(Distribution),
}

/// Requests of a file, in order of their arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTrace {
    /// The names of the columns that formulas may use.
    pub columns: Vec<String>,
    /// The arrival of each request, from the beginning of the run.
    pub arrivals: Vec<Instant>,
    /// The values of all requests, one after the other: as many for each as there are columns.
    pub values: Vec<f64>,
}

impl RequestTrace {
    /// Returns the values of one request, by column.
    pub fn row(&self, request: usize) -> &[f64] {
        let columns = self.columns.len();
        &self.values[request * columns..(request + 1) * columns]
    }
}

/// The ends of links.
#[derive(Clone, Debug, PartialEq)]
pub enum Nodes {
    /// Some hosts, each of them.
    Hosts(Vec<HostId>),
    /// A switch, by its name.
    Switch(String),
}

/// The checked values of one table: every declared key that is present or has a default.
///
/// The accessors panic when a key was not declared with that kind: that is our own bug, never
/// the user's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    name: &'static str,
    value: Value,
    /// True for a written value, false for the key's default.
    given: bool,
}

/// Equal values are equal, written or default.
impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.name == other.name && self.value == other.value
    }
}

impl Values {
    /// Sets a key, replacing an earlier value.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.put(Entry { name, value, given: true });
    }
    /// Sets a key that was left out to its default.
    pub fn set_default(&mut self, name: &'static str, value: Value) {
        self.put(Entry { name, value, given: false });
    }
    /// Sets a key that has no value to one that follows from the others.
    pub fn follow(&mut self, name: &'static str, value: impl FnOnce(&Values) -> Value) {
        if self.find(name).is_none() {
            self.set_default(name, value(self));
        }
    }
    fn put(&mut self, entry: Entry) {
        match self.0.iter_mut().find(|other| other.name == entry.name) {
            Some(slot) => *slot = entry,
            None => self.0.push(entry),
        }
    }
    /// Returns true if the key was written, even with the default's value.
    pub fn is_given(&self, name: &str) -> bool {
        self.0.iter().any(|entry| entry.name == name && entry.given)
    }
    /// Returns the value of a key, if there is one.
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|entry| entry.name == name).map(|entry| &entry.value)
    }
    fn expect<T>(&self, name: &str, pick: impl Fn(&Value) -> Option<T>) -> T {
        match self.find(name) {
            Some(value) => {
                pick(value).unwrap_or_else(|| panic!("key `{name}` holds {value:?}, another kind was asked for"))
            }
            None => panic!("key `{name}` was asked for but is neither set nor has it a default"),
        }
    }
    fn optional<T>(&self, name: &str, pick: impl Fn(&Value) -> Option<T>) -> Option<T> {
        self.find(name).is_some().then(|| self.expect(name, pick))
    }
    /// Returns a [`Value::Bool`] that must be present.
    pub fn bool(&self, name: &str) -> bool {
        self.expect(name, |v| if let Value::Bool(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Count`] that must be present.
    pub fn count(&self, name: &str) -> u64 {
        self.expect(name, |v| if let Value::Count(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Count`] that may be absent.
    pub fn count_if_set(&self, name: &str) -> Option<u64> {
        self.optional(name, |v| if let Value::Count(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Count`] that may be absent, or be a word instead: then it is none.
    pub fn count_or_word(&self, name: &str) -> Option<Option<u64>> {
        self.optional(name, |v| match v {
            Value::Count(x) => Some(Some(*x)),
            Value::Choice(_) => Some(None),
            _ => None,
        })
    }
    /// Returns a [`Value::Number`] that must be present.
    pub fn number(&self, name: &str) -> f64 {
        self.expect(name, |v| if let Value::Number(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Time`] that must be present.
    pub fn time(&self, name: &str) -> Span {
        self.expect(name, |v| if let Value::Time(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Time`] that may be absent.
    pub fn time_if_set(&self, name: &str) -> Option<Span> {
        self.optional(name, |v| if let Value::Time(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Text`] that may be absent.
    pub fn text_if_set(&self, name: &str) -> Option<String> {
        self.optional(name, |v| if let Value::Text(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Number`] that may be absent.
    pub fn number_if_set(&self, name: &str) -> Option<f64> {
        self.optional(name, |v| if let Value::Number(x) = v { Some(*x) } else { None })
    }
    /// Returns [`Value::Shares`] that may be absent.
    pub fn shares_if_set(&self, name: &str) -> Option<Vec<f64>> {
        self.optional(name, |v| if let Value::Shares(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Distribution`] that may be absent.
    pub fn distribution_if_set(&self, name: &str) -> Option<Distribution> {
        self.optional(name, |v| if let Value::Distribution(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Times`] that may be absent.
    pub fn times_if_set(&self, name: &str) -> Option<Vec<Span>> {
        self.optional(name, |v| if let Value::Times(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Load`] that must be present.
    pub fn load(&self, name: &str) -> Load {
        self.expect(name, |v| if let Value::Load(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Size`] that must be present.
    pub fn size(&self, name: &str) -> Bytes {
        self.expect(name, |v| if let Value::Size(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Rate`] that must be present.
    pub fn rate(&self, name: &str) -> Rate {
        self.expect(name, |v| if let Value::Rate(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Rate`] that may be absent.
    pub fn rate_if_set(&self, name: &str) -> Option<Rate> {
        self.optional(name, |v| if let Value::Rate(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Amount`] that must be present.
    pub fn amount(&self, name: &str) -> Amount {
        self.expect(name, |v| if let Value::Amount(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Amount`] that may be absent.
    pub fn amount_if_set(&self, name: &str) -> Option<Amount> {
        self.optional(name, |v| if let Value::Amount(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::AmountBySwitch`] with the names of switches; [`Value::Amount`] is one without a name.
    pub fn amount_by_switch(&self, name: &str) -> Vec<(Option<String>, Amount)> {
        self.expect(name, |v| match v {
            Value::Amount(amount) => Some(vec![(None, *amount)]),
            Value::AmountBySwitch(named) => {
                Some(named.iter().map(|(name, amount)| (Some(name.clone()), *amount)).collect())
            }
            _ => None,
        })
    }
    /// Returns a [`Value::Marks`] that may be absent.
    pub fn marks_if_set(&self, name: &str) -> Option<Marks> {
        self.optional(name, |v| if let Value::Marks(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Choice`] that must be present.
    pub fn choice(&self, name: &str) -> &'static str {
        self.expect(name, |v| if let Value::Choice(x) = v { Some(*x) } else { None })
    }
    /// Returns a [`Value::Choice`] that may be absent.
    pub fn choice_if_set(&self, name: &str) -> Option<&'static str> {
        self.optional(name, |v| if let Value::Choice(x) = v { Some(*x) } else { None })
    }
    /// Returns [`Value::Choices`] that must be present.
    pub fn choices(&self, name: &str) -> Vec<&'static str> {
        self.expect(name, |v| if let Value::Choices(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Text`] that must be present.
    pub fn text(&self, name: &str) -> String {
        self.expect(name, |v| if let Value::Text(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Formula`] in picoseconds.
    pub fn formula(&self, name: &str) -> Formula {
        self.expect(name, |v| if let Value::Formula(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Distribution`] that must be present.
    pub fn distribution(&self, name: &str) -> Distribution {
        self.expect(name, |v| if let Value::Distribution(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Deadline`] that may be absent.
    pub fn deadline_if_set(&self, name: &str) -> Option<Deadline> {
        self.optional(name, |v| if let Value::Deadline(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Matrix`] that may be absent.
    pub fn matrix_if_set(&self, name: &str) -> Option<Vec<Vec<f64>>> {
        self.optional(name, |v| if let Value::Matrix(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Hosts`] that must be present.
    pub fn hosts(&self, name: &str) -> Vec<HostId> {
        self.expect(name, |v| if let Value::Hosts(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Hosts`] that may be absent.
    pub fn hosts_if_set(&self, name: &str) -> Option<Vec<HostId>> {
        self.optional(name, |v| if let Value::Hosts(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Names`] that must be present.
    pub fn names(&self, name: &str) -> Vec<String> {
        self.expect(name, |v| if let Value::Names(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Nodes`] that must be present.
    pub fn nodes(&self, name: &str) -> Nodes {
        self.expect(name, |v| if let Value::Nodes(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Links`] that must be present.
    pub fn links(&self, name: &str) -> Vec<Values> {
        self.expect(name, |v| if let Value::Links(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Tables`], none if the key is absent.
    pub fn tables(&self, name: &str) -> Vec<Values> {
        self.optional(name, |v| if let Value::Tables(x) = v { Some(x.clone()) } else { None }).unwrap_or_default()
    }
    /// Returns [`Value::Names`] that may be absent.
    pub fn names_if_set(&self, name: &str) -> Option<Vec<String>> {
        self.optional(name, |v| if let Value::Names(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::OfRequest`] that may be absent.
    pub fn of_request_if_set(&self, name: &str) -> Option<OfRequest> {
        self.optional(name, |v| if let Value::OfRequest(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns a [`Value::Allowed`] that must be present.
    pub fn allowed(&self, name: &str) -> Allowed {
        self.expect(name, |v| if let Value::Allowed(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Requests`] that may be absent.
    pub fn requests_if_set(&self, name: &str) -> Option<RequestTrace> {
        self.optional(name, |v| if let Value::Requests(x) = v { Some(x.clone()) } else { None })
    }
    /// Returns [`Value::Flows`] that must be present.
    pub fn flows(&self, name: &str) -> Vec<FlowSpec> {
        self.expect(name, |v| if let Value::Flows(x) = v { Some(x.clone()) } else { None })
    }
}

/// The offered load of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The links that it is a share of: one of the words of its key.
    pub of: &'static str,
    /// The share of these links.
    pub share: f64,
}

/// ECN marking thresholds: at ports towards hosts, and at ports between switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// At ports towards hosts; none: no marking there.
    pub host: Option<Amount>,
    /// At ports between switches; none: no marking there.
    pub uplink: Option<Amount>,
}

/// An allowed time for a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Deadline {
    /// A base, and each message's own draw in addition.
    Time {
        /// The base, in picoseconds.
        base: Distribution,
        /// Drawn for each message and added to the base.
        vary: Option<Vary>,
    },
    /// A multiple of the time that the same message takes in an empty network, drawn for each message.
    TimesAlone(Distribution),
}

impl Deadline {
    /// Returns the deadline `factor` times as long; a share of the base stays that share.
    pub fn scaled(self, factor: f64) -> Deadline {
        match self {
            Deadline::Time { base, vary } => {
                let vary = match vary {
                    Some(Vary::Absolute(distribution)) => Some(Vary::Absolute(distribution.scaled(factor))),
                    other => other,
                };
                Deadline::Time { base: base.scaled(factor), vary }
            }
            Deadline::TimesAlone(times) => Deadline::TimesAlone(times.scaled(factor)),
        }
    }
}

/// The addition of `vary` to a deadline's base.
#[derive(Clone, Debug, PartialEq)]
pub enum Vary {
    /// A time of its own, in picoseconds.
    Absolute(Distribution),
    /// A share of the base: `uniform(0, 50%)` is `Uniform(0.0, 0.5)`, a bare `exponential` is `Exponential(1.0)`.
    Relative(Distribution),
}

/// One message of the pattern `flows`, with its hosts expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// The host that sends it.
    pub from: HostId,
    /// The host that receives it.
    pub to: HostId,
    /// Distribution of the size, in bytes.
    pub size: Distribution,
    /// The time at which it starts.
    pub start: Instant,
    /// The allowed time, if any.
    pub deadline: Option<Deadline>,
}

/// Arithmetic over `index`, `parent` and columns, in base units; units were checked when it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A constant, in base units.
    Constant(f64),
    /// The position in the class's expanded list, from 0.
    Index,
    /// The parent's number, from 0.
    Parent,
    /// The value of the request's column of that index.
    Column(usize),
    /// The sum of two formulas.
    Add(Box<(Formula, Formula)>),
    /// The difference of two formulas.
    Subtract(Box<(Formula, Formula)>),
    /// The product of two formulas.
    Multiply(Box<(Formula, Formula)>),
    /// The quotient of two formulas.
    Divide(Box<(Formula, Formula)>),
}

impl Formula {
    /// Returns its value for one element of a list and one parent, where there are no columns.
    pub fn at(&self, index: u64, parent: u64) -> f64 {
        self.value([index, parent], &[])
    }

    /// Returns its value for a request with these columns, where there is neither `index` nor `parent`.
    pub fn of_row(&self, row: &[f64]) -> f64 {
        self.value([0, 0], row)
    }

    fn value(&self, [index, parent]: [u64; 2], row: &[f64]) -> f64 {
        let value = |formula: &Formula| formula.value([index, parent], row);
        match self {
            Formula::Constant(x) => *x,
            Formula::Index => index as f64,
            Formula::Parent => parent as f64,
            Formula::Column(column) => row[*column],
            Formula::Add(pair) => value(&pair.0) + value(&pair.1),
            Formula::Subtract(pair) => value(&pair.0) - value(&pair.1),
            Formula::Multiply(pair) => value(&pair.0) * value(&pair.1),
            Formula::Divide(pair) => value(&pair.0) / value(&pair.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_know_index_and_parent() {
        // 5 ms + parent * 1 ms
        let start = Formula::Add(Box::new((
            Formula::Constant(5e9),
            Formula::Multiply(Box::new((Formula::Parent, Formula::Constant(1e9)))),
        )));
        assert_eq!(start.at(0, 3), 8e9);
    }

    #[test]
    fn a_later_value_replaces_an_earlier_one() {
        let mut values = Values::default();
        values.set("mss", Value::Size(Bytes(1460)));
        values.set("mss", Value::Size(Bytes(536)));
        assert_eq!(values.size("mss"), Bytes(536));
        assert_eq!(values.time_if_set("deadline"), None);
    }
}
