//! Single values, without parameters and sums: defaults, and settings in tests.
//!
//! The scenario language reads its expressions with the same units and checks.

use crate::measure::{Measure, Mistake, Scale, Term, number, number_width, whole};
use crate::{Bytes, Default, Key, Kind, Load, Marks, Problem, Rate, Span, Value, Values};

impl Key {
    /// Reads a value as it is written in a scenario file, without quotes: "20 ms", "65 packets", "true", "sack".
    /// A list has commas between its parts.
    ///
    /// # Errors
    /// It is no value of this key; or one that takes more than a scenario's key to say, such as hosts.
    pub fn read(&self, text: &str) -> Result<Value, Mistake> {
        let measured = |measure: Measure| measure.value(&term(text)?);
        Ok(match self.kind {
            Kind::Bool => Value::Bool(text.parse().map_err(|_| self.wrong("true or false", text))?),
            Kind::CountOr(word) if text == word => Value::Choice(word),
            Kind::Count | Kind::CountOr(_) => Value::Count(self.count(text)?),
            Kind::Number | Kind::Share => Value::Number(self.number(text)?),
            Kind::Load(words) => Value::Load(Load { of: words[0], share: self.number(text)? }),
            Kind::Shares => Value::Shares(parts(text).map(|part| self.number(part)).collect::<Result<_, _>>()?),
            Kind::Time => Value::Time(self.time(text)?),
            Kind::Times => Value::Times(parts(text).map(|part| self.time(part)).collect::<Result<_, _>>()?),
            Kind::Size => {
                let size = measured(Measure::Size)?.round();
                self.check(size, Scale::Of(Measure::Size))?;
                Value::Size(Bytes(size as u64))
            }
            Kind::Rate => {
                let rate = measured(Measure::Rate)?;
                self.check(rate, Scale::Of(Measure::Rate))?;
                Value::Rate(Rate(rate as u64))
            }
            Kind::Amount | Kind::AmountBySwitch => Value::Amount(self.amount(&term(text)?)?),
            Kind::Marks => {
                let amount = self.amount(&term(text)?)?;
                Value::Marks(Marks { host: Some(amount), uplink: Some(amount) })
            }
            Kind::Choice(words) => Value::Choice(self.word(words, text)?),
            Kind::Choices(words) => {
                Value::Choices(parts(text).map(|part| self.word(words, part)).collect::<Result<_, _>>()?)
            }
            Kind::Text => Value::Text(text.to_owned()),
            _ => return Err(Mistake::new(format!("`{}` is read from scenario files only", self.name))),
        })
    }

    fn count(&self, text: &str) -> Result<u64, Mistake> {
        let count = match text.parse() {
            Ok(count) => count,
            Err(_) => whole(&term(text)?)
                .map_err(|why| Mistake::new(format!("`{}` must be a whole number: {why}", self.name)))?,
        };
        self.check(count as f64, Scale::None)?;
        Ok(count)
    }

    fn number(&self, text: &str) -> Result<f64, Mistake> {
        let term = term(text)?;
        let plain = term.fits(crate::measure::Dimension::NONE) && (!term.percent || self.kind != Kind::Number);
        let Some(number) = term.constant().filter(|_| plain) else { return Err(self.wrong("a plain number", text)) };
        self.check(number, Scale::None)?;
        Ok(number)
    }

    fn time(&self, text: &str) -> Result<Span, Mistake> {
        let ps = Measure::Time.value(&term(text)?)?;
        self.check(ps.round() / 1e12, Scale::Of(Measure::Time))?;
        Ok(Span::from_ps_f64(ps))
    }

    fn word(&self, words: &'static [&'static str], text: &str) -> Result<&'static str, Mistake> {
        let found = words.iter().find(|word| **word == text);
        found.copied().ok_or_else(|| self.wrong(&format!("one of {}", words.join(", ")), text))
    }

    fn wrong(&self, wanted: &str, text: &str) -> Mistake {
        Mistake::new(format!("`{}` must be {wanted}, not {text}", self.name))
    }
}

impl Values {
    /// Returns the values of `keys`: the given ones, as [`Key::read`] reads them, and the defaults of the others.
    ///
    /// # Errors
    /// A name that is not among the keys, a value that its key does not take, a required key that is missing.
    pub fn read(keys: impl Iterator<Item = &'static Key>, given: &[(&str, &str)]) -> Result<Values, Problem> {
        let keys: Vec<&'static Key> = keys.collect();
        if let Some((name, _)) = given.iter().find(|(name, _)| keys.iter().all(|key| key.name != *name)) {
            return Err(Problem::new(name.to_string(), "there is no such key"));
        }
        let mut values = Values::default();
        for key in keys {
            let problem = |mistake: Mistake| Problem { hint: mistake.hint, ..Problem::new(key.name, mistake.message) };
            match (given.iter().rfind(|(name, _)| *name == key.name), key.default) {
                (Some((_, text)), _) => values.set(key.name, key.read(text).map_err(problem)?),
                (None, Default::Is(text)) => values.set_default(key.name, key.read(text).map_err(problem)?),
                (None, Default::Absent) => {}
                (None, Default::Required) => return Err(Problem::new(key.name, "is missing")),
            }
        }
        Ok(values)
    }
}

/// Reads a number, perhaps with a unit.
fn term(text: &str) -> Result<Term, Mistake> {
    let text = text.trim();
    let (number_text, unit) = text.split_at(number_width(text));
    let mistake = || Mistake::new(format!("`{text}` is no number with a unit"));
    let value = number(number_text).ok_or_else(mistake)?;
    match unit.trim() {
        "" => Ok(Term::number(value)),
        unit => Term::with_unit(value, unit).ok_or_else(mistake),
    }
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amount, Range};

    const fn key(kind: Kind, default: Default) -> Key {
        Key { name: "key", kind, default, range: Range::ANY, help: "", source: "" }
    }

    #[test]
    fn every_plain_kind_is_read() {
        let read = |kind, text| key(kind, Default::Required).read(text).unwrap();
        assert_eq!(read(Kind::Bool, "true"), Value::Bool(true));
        assert_eq!(read(Kind::Count, "18446744073709551615"), Value::Count(u64::MAX));
        assert_eq!(read(Kind::Number, "1e-3"), Value::Number(0.001));
        assert_eq!(read(Kind::Share, "30%"), Value::Number(0.3));
        assert_eq!(read(Kind::Time, "1_000 us"), Value::Time(Span::from_millis(1)));
        assert_eq!(read(Kind::Times, "1 ms, 2 ms"), Value::Times(vec![Span::from_millis(1), Span::from_millis(2)]));
        assert_eq!(read(Kind::Size, "1.5 KiB"), Value::Size(Bytes(1536)));
        assert_eq!(read(Kind::Rate, "2.5 Gbps"), Value::Rate(Rate(2_500_000_000)));
        assert_eq!(read(Kind::Amount, "65 packets"), Value::Amount(Amount::Packets(65)));
        assert_eq!(read(Kind::Amount, "94900 B"), Value::Amount(Amount::Bytes(94_900)));
        assert_eq!(read(Kind::Choice(&["a", "b"]), "b"), Value::Choice("b"));
    }

    #[test]
    fn what_a_key_does_not_take_is_refused() {
        let refused = |kind, text| assert!(key(kind, Default::Required).read(text).is_err(), "{kind:?} {text}");
        refused(Kind::Time, "20");
        refused(Kind::Time, "20 KB");
        refused(Kind::Time, "-1 ms");
        refused(Kind::Count, "1.5");
        refused(Kind::Number, "30%");
        refused(Kind::Amount, "1.5 packets");
        refused(Kind::Bool, "yes");
        refused(Kind::Choice(&["a"]), "c");
        refused(Kind::Size, "many");
        let narrow = Key { range: Range::UNIT, ..key(Kind::Number, Default::Required) };
        assert_eq!(narrow.read("1.5").unwrap_err().message, "`key` must be 0 to 1, this is 1.5");
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        const KEYS: &[Key] = &[
            Key { name: "gap", ..key(Kind::Time, Default::Is("5 ms")) },
            Key { name: "most", ..key(Kind::Count, Default::Absent) },
        ];
        let read = |given: &[(&str, &str)]| Values::read(KEYS.iter(), given);
        let values = read(&[("most", "7")]).unwrap();
        assert_eq!((values.time("gap"), values.count_if_set("most")), (Span::from_millis(5), Some(7)));
        assert!(values.is_given("most") && !values.is_given("gap"));
        assert_eq!(read(&[]).unwrap().count_if_set("most"), None);
        assert_eq!(read(&[("least", "1")]).unwrap_err().key, "least");
        assert_eq!(read(&[("gap", "1 KB")]).unwrap_err().key, "gap");
    }
}
