//! Signals: the values of a sending end over time. A signal is declared beside the controller or family that reports
//! it, and listed in its [`Descriptor`](crate::Descriptor).

/// A value that a sending end reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its word in `run.trace.what` and in traces.
    pub name: &'static str,
    /// A description of the signal.
    pub help: &'static str,
    /// The unit of its values; empty for a mere number.
    pub unit: &'static str,
}

/// The values of a sending end at one moment: signals with their values, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    seen: Vec<(&'static Signal, f64)>,
}

impl Observation {
    /// Adds a signal and its value.
    pub fn add(&mut self, signal: &'static Signal, value: f64) {
        self.seen.push((signal, value));
    }
    /// Adds a signal if it has a value.
    pub fn add_if(&mut self, signal: &'static Signal, value: Option<f64>) {
        if let Some(value) = value {
            self.add(signal, value);
        }
    }
    /// Returns the value of the signal of that name, if there is one.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.seen.iter().find(|(signal, _)| signal.name == name).map(|&(_, value)| value)
    }
    /// Returns all signals with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Signal, f64)> + '_ {
        self.seen.iter().copied()
    }
    /// Removes all signals and values.
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}

/// Signals by name, each name once: the union of several lists, known when the program is compiled.
pub struct Catalog {
    signals: [&'static Signal; Catalog::MOST],
    names: [&'static str; Catalog::MOST],
    count: usize,
}

impl Catalog {
    /// More than the number of signals; an array of constants has a fixed size.
    const MOST: usize = 64;

    /// Returns the catalog of a list.
    pub const fn of(list: &'static [Signal]) -> Catalog {
        Catalog { signals: [&list[0]; Catalog::MOST], names: [""; Catalog::MOST], count: 0 }.with(list)
    }
    /// Adds the signals of another list whose names are new.
    pub const fn with(mut self, list: &'static [Signal]) -> Catalog {
        let mut i = 0;
        while i < list.len() {
            self = self.with_one(&list[i]);
            i += 1;
        }
        self
    }
    /// Adds the signals of another catalog whose names are new.
    pub const fn with_all(mut self, other: &Catalog) -> Catalog {
        let mut i = 0;
        while i < other.count {
            self = self.with_one(other.signals[i]);
            i += 1;
        }
        self
    }
    /// Returns the signals, in the order in which they were added.
    pub const fn signals(&self) -> &[&'static Signal] {
        self.signals.split_at(self.count).0
    }
    /// Returns the names of the signals.
    pub const fn names(&self) -> &[&'static str] {
        self.names.split_at(self.count).0
    }
    /// Returns the signal of that name.
    pub fn find(&self, name: &str) -> Option<&'static Signal> {
        self.signals().iter().copied().find(|signal| signal.name == name)
    }

    const fn with_one(mut self, signal: &'static Signal) -> Catalog {
        let mut i = 0;
        while i < self.count {
            if same(self.names[i], signal.name) {
                return self;
            }
            i += 1;
        }
        self.signals[self.count] = signal;
        self.names[self.count] = signal.name;
        self.count += 1;
        self
    }
}

/// Returns true if two words are the same; `==` is not available in constants.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn signal(name: &'static str) -> Signal {
        Signal { name, help: "", unit: "" }
    }

    #[test]
    fn a_catalog_has_each_name_once_in_the_order_of_the_lists() {
        const FIRST: &[Signal] = &[signal("a"), signal("ab")];
        const CATALOG: &Catalog = &Catalog::of(FIRST).with(&[signal("b"), signal("a"), signal("abc")]);
        assert_eq!(CATALOG.names(), ["a", "ab", "b", "abc"]);
        const LONGER: &Catalog = &Catalog::of(&[signal("z"), signal("b")]).with_all(CATALOG);
        assert_eq!(LONGER.names(), ["z", "b", "a", "ab", "abc"]);
        assert!(CATALOG.find("ab") == Some(&FIRST[1]) && CATALOG.find("c").is_none());
    }
}
