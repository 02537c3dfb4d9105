//! The declaration of a parameter: once, as data.

/// One parameter of a transport, topology, traffic pattern or section of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in a scenario file.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// The value when the key is left out.
    pub default: Default,
    /// The allowed values, in base units (s, B, bit/s, 1).
    pub range: Range,
    /// One sentence about its effect.
    pub help: &'static str,
    /// The source of the default: a paper's section, an RFC, or the reason for our choice.
    pub source: &'static str,
}

/// Another word for a name or key, and that name or key: `("bandwidth", "rate")`.
pub type Alias = (&'static str, &'static str);

/// The value when a key is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Leaving it out is an error.
    Required,
    /// The key has no value then (no deadline, no marking, no limit).
    Absent,
    /// This value, written as in a scenario file (without the quotes of a string).
    Is(&'static str),
}

/// The kind of a key's values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A truth value: `true` or `false`.
    Bool,
    /// A whole number, as `10`.
    Count,
    /// A whole number, or this word.
    CountOr(&'static str),
    /// A plain number, as `0.5`.
    Number,
    /// A share: `0.3` or `"30%"`.
    Share,
    /// A list of shares that add up to 1: `[0.25, 0.75]`, `["25%", "75%"]`.
    Shares,
    /// A share, or `{ of = .., share = .. }` with one of these words.
    Load(&'static [&'static str]),
    /// A time span: `"20 us"`.
    Time,
    /// A list of ascending time spans: `["20 ms", "40 ms"]`.
    Times,
    /// A size in bytes: `"14 KB"`.
    Size,
    /// A rate: `"10 Gbps"`.
    Rate,
    /// Packets or bytes: `"65 packets"`, `"94900 B"`.
    Amount,
    /// An [`Amount`](crate::Amount), or `{ host = .., uplink = .. }`.
    Marks,
    /// An [`Amount`](crate::Amount), or one for each switch by its name: `{ left = "50 KB", others = "4 MB" }`.
    AmountBySwitch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of these words.
    Choices(&'static [&'static str]),
    /// Any text in quotes.
    Text,
    /// A time span that may use `index` and `parent`: `"5 ms + parent * 1 ms"`.
    TimeFormula,
    /// A distribution of time spans: `"exponential(5 ms)"`.
    TimeDistribution,
    /// A distribution of sizes: `"uniform(2 KB, 50 KB)"`, `"cdf(websearch)"`.
    SizeDistribution,
    /// A time span, or `{ base = .., vary = .. }`.
    Deadline,
    /// A host, a list of hosts, or a range `"0..40"` without its end.
    Hosts,
    /// A list of `{ from, to, size, deadline, start }`.
    Flows,
    /// A list of names: `["left", "right"]`.
    Names,
    /// A list of names of such things that are declared elsewhere, perhaps empty: `["question"]`.
    NamesOf(&'static str),
    /// [`Hosts`](Kind::Hosts), or the name of a switch.
    Nodes,
    /// A list of `{ from, to, rate, delay, buffer, mark }`.
    Links,
    /// The path of a file of messages, relative to the scenario's folder, or a table with it. The file is CSV or JSON with
    /// the columns start, src, dst, bytes, deadline, or a flow file of the HPCC simulator.
    FlowFile,
    /// The path of a file with as many lines of as many numbers: `"matrix.txt"`.
    MatrixFile,
    /// A list of tables with these keys: `[[traffic.stage]]`.
    Tables(&'static Nested),
    /// Tables with these keys, each below a name of its own: `[traffic.roles]`.
    Named(&'static Nested),
    /// A time span that each request draws or computes: a distribution, or a formula of its columns,
    /// `"10 ms + 35 us * $input"`.
    RequestTime,
    /// As [`RequestTime`](Kind::RequestTime), a size.
    RequestSize,
    /// As [`RequestTime`](Kind::RequestTime), or a multiple of the request's own time in an empty network,
    /// `"1.6 * alone"`, `"uniform(2, 4) * alone"`.
    Allowed,
    /// A file of requests, with its columns: `{ file = "trace.csv", format = "azure-llm" }`.
    RequestFile,
}

/// The keys of tables inside a table.
#[derive(Debug)]
pub struct Nested {
    /// The noun for one of them: "stage".
    pub what: &'static str,
    /// The keys of each.
    pub keys: &'static [Key],
    /// The key that is meant where a plain value is written instead of the table.
    pub shorthand: Option<&'static str>,
    /// One of them, as it is written inside a list or below its name.
    pub example: &'static str,
}

/// Tables of the same name are equal.
impl PartialEq for Nested {
    fn eq(&self, other: &Nested) -> bool {
        self.what == other.what
    }
}

impl Kind {
    /// Returns a value of that kind as it is written in a scenario file.
    pub fn example(&self) -> String {
        match self {
            Kind::Bool => "true".into(),
            Kind::Count | Kind::CountOr(_) => "10".into(),
            Kind::Number => "0.5".into(),
            Kind::Share | Kind::Load(_) => "\"30%\"".into(),
            Kind::Shares => "[\"40%\", \"60%\"]".into(),
            Kind::Time => "\"20 ms\"".into(),
            Kind::Times => "[\"20 ms\", \"40 ms\"]".into(),
            Kind::Size => "\"14 KB\"".into(),
            Kind::Rate => "\"10 Gbps\"".into(),
            Kind::Amount | Kind::Marks => "\"65 packets\"".into(),
            Kind::AmountBySwitch => "\"4 MB\"".into(),
            Kind::MatrixFile => "\"matrix.txt\"".into(),
            Kind::Choice(words) => format!("\"{}\"", words[0]),
            Kind::Choices(words) => format!("[\"{}\"]", words[0]),
            Kind::Text => "\"some-name\"".into(),
            Kind::TimeFormula => "\"5 ms + index * 1 ms\"".into(),
            Kind::TimeDistribution => "\"exponential(5 ms)\"".into(),
            Kind::SizeDistribution => "\"uniform(2 KB, 50 KB)\"".into(),
            Kind::Deadline => "{ base = \"20 ms\", vary = \"uniform(0, 50%)\" }".into(),
            Kind::Hosts => "\"0..4\"".into(),
            Kind::Flows => "[{ from = 0, to = 1, size = \"1 MB\" }]".into(),
            Kind::Names => "[\"left\", \"right\"]".into(),
            Kind::NamesOf(what) => format!("[\"some-{what}\"]"),
            Kind::Nodes => "\"left\"".into(),
            Kind::Links => "[{ from = \"0..4\", to = \"left\" }]".into(),
            Kind::FlowFile => "\"messages.csv\"".into(),
            Kind::Tables(nested) => format!("[{}]", nested.example),
            Kind::Named(nested) => format!("{{ a = {} }}", nested.example),
            Kind::RequestTime => "\"exponential(1 ms)\"".into(),
            Kind::RequestSize => "\"320 KiB * $input\"".into(),
            Kind::Allowed => "\"1.6 * alone\"".into(),
            Kind::RequestFile => "{ file = \"requests.csv\", columns = { arrival = \"time\" } }".into(),
        }
    }
}

/// The direction in which deadlines become easier to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Easier {
    /// The larger the value, the fewer deadlines are missed.
    More,
    /// The smaller the value, the fewer deadlines are missed.
    Less,
}

/// A closed, half-open or open interval in base units; infinite where nothing is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end of the interval.
    pub min: f64,
    /// Upper end of the interval.
    pub max: f64,
    /// The lower end itself is not allowed.
    pub above_min: bool,
    /// Its easy end; none where either may be, as for a marking threshold.
    pub easier: Option<Easier>,
}

impl Range {
    /// Anything that its kind allows (times, sizes, counts and rates are never negative).
    pub const ANY: Range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY, above_min: false, easier: None };
    /// Every number larger than zero.
    pub const POSITIVE: Range = Range { min: 0.0, max: f64::INFINITY, above_min: true, easier: None };
    /// From 0 to 1, both allowed.
    pub const UNIT: Range = Range { min: 0.0, max: 1.0, above_min: false, easier: None };

    /// Returns the range from `min` on, with `min` itself.
    pub const fn at_least(min: f64) -> Range {
        Range { min, max: f64::INFINITY, above_min: false, easier: None }
    }
    /// Returns the range between the two, both allowed.
    pub const fn between(min: f64, max: f64) -> Range {
        Range { min, max, above_min: false, easier: None }
    }
    /// Returns the range above the first, up to the second, which is allowed.
    pub const fn above(min: f64, max: f64) -> Range {
        Range { min, max, above_min: true, easier: None }
    }
    /// Returns true if it allows every value.
    pub fn is_any(&self) -> bool {
        Range { easier: None, ..*self } == Range::ANY
    }
    /// Returns the range, in which a larger value makes deadlines easier to meet.
    pub const fn more_is_easier(self) -> Range {
        Range { easier: Some(Easier::More), ..self }
    }
    /// Returns the range, in which a smaller value makes deadlines easier to meet.
    pub const fn less_is_easier(self) -> Range {
        Range { easier: Some(Easier::Less), ..self }
    }
    /// Returns true if `value`, in base units, is in the range.
    pub fn contains(&self, value: f64) -> bool {
        value <= self.max && if self.above_min { value > self.min } else { value >= self.min }
    }
}

/// Prints the range in words: "0 or more", "above 0, at most 1".
impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lower = self.min > f64::NEG_INFINITY;
        let upper = self.max < f64::INFINITY;
        match (lower, upper, self.above_min) {
            (false, false, _) => write!(f, "any"),
            (true, false, false) => write!(f, "{} or more", self.min),
            (true, false, true) => write!(f, "above {}", self.min),
            (false, true, _) => write!(f, "at most {}", self.max),
            (true, true, false) => write!(f, "{} to {}", self.min, self.max),
            (true, true, true) => write!(f, "above {}, at most {}", self.min, self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_know_their_ends() {
        assert!(Range::UNIT.contains(0.0) && Range::UNIT.contains(1.0) && !Range::UNIT.contains(1.1));
        assert!(!Range::POSITIVE.contains(0.0) && Range::POSITIVE.contains(1e-9));
        assert_eq!(Range::above(0.0, 1.0).to_string(), "above 0, at most 1");
        assert_eq!(Range::at_least(2.0).to_string(), "2 or more");
    }
}
