//! Expressions in text: "50 ms + (index + 2) * 5 ms", "uniform(2 KB, 50 KB)".
//!
//! This file knows the grammar only; words and units are interpreted elsewhere.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = factor (("*" | "/") factor)*
//! factor  = "-" factor | "(" sum ")" | number [unit ["/s"]] | "$" name | word ["(" sum ("," sum)* ")"]
//! ```

use std::ops::Range;

use units::measure;

use crate::document::Node;
use crate::error::{Checked, Fault};

/// A part of an expression with its place in the text, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A number with its unit, if it has one.
    Number(f64, Option<(String, Range<usize>)>),
    /// A parameter, written as `$name`.
    Parameter(String),
    /// A word by itself.
    Word(String),
    /// A function with its arguments.
    Call {
        name: String,
        name_range: Range<usize>,
        arguments: Vec<Expr>,
    },
    /// `cdf(..)` with the content of the parentheses, which may be a path.
    Cdf(Range<usize>),
    Negate(Box<Expr>),
    Binary(Operator, Box<(Expr, Expr)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Maximum length of an expression, in characters: no person writes longer ones.
const LONGEST: usize = 1000;
/// Maximum depth of parentheses and signs inside one another.
const DEEPEST: usize = 32;

/// Reads the text of a node as an expression.
pub(crate) fn parse(node: &Node) -> Checked<Expr> {
    let text = node.text().unwrap_or_default();
    if text.len() > LONGEST {
        return Err(node.fault(format!("an expression has at most {LONGEST} characters")));
    }
    let mut parser = Parser { node, text, at: 0, depth: 0 };
    parser.spaces();
    if parser.rest().is_empty() {
        return Err(node.fault("there is nothing between the quotes"));
    }
    let whole = parser.sum()?;
    match parser.rest().chars().next() {
        None => Ok(whole),
        Some(')') => Err(parser.fault(1, "this `)` closes nothing")),
        Some(_) => {
            let width = parser.word_width();
            let found = &parser.rest()[..width];
            let fault = parser.fault(width, format!("`{found}` is not expected here"));
            let before = parser.text[..parser.at].trim_end();
            Err(match &whole.kind {
                Kind::Parameter(_) if measure::find_unit(found).is_some() => {
                    fault.hint(format!("write {before} * 1 {found}"))
                }
                _ => fault.hint("an operator (+ - * /) or the end is expected"),
            })
        }
    }
}

struct Parser<'a> {
    node: &'a Node,
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }
    fn fault(&self, width: usize, message: impl Into<String>) -> Fault {
        Fault::new(self.node.part(self.at..self.at + width), message)
    }
    /// Takes one character, and the spaces behind it, if it is next.
    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
            self.spaces();
        }
        found
    }
    /// Returns the number of bytes of the next word, or of one character.
    fn word_width(&self) -> usize {
        let rest = self.rest();
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) }
    }

    fn sum(&mut self) -> Checked<Expr> {
        let mut left = self.product()?;
        loop {
            let operator = match self.rest().chars().next() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            self.spaces();
            left = binary(operator, left, self.product()?);
        }
    }

    fn product(&mut self) -> Checked<Expr> {
        let mut left = self.factor()?;
        loop {
            let operator = match self.rest().chars().next() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            self.spaces();
            left = binary(operator, left, self.factor()?);
        }
    }

    fn factor(&mut self) -> Checked<Expr> {
        let start = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault(1, format!("more than {DEEPEST} parentheses or signs are inside one another")));
        }
        let kind = match self.rest().chars().next() {
            None => {
                return Err(self
                    .fault(1, "something is missing at the end")
                    .hint("a number, a `$name` or `(` is expected"));
            }
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                self.close(start)?;
                inner.kind
            }
            Some('-') => {
                self.take('-');
                Kind::Negate(Box::new(self.factor()?))
            }
            Some('$') => self.parameter()?,
            Some(c) if c.is_ascii_digit() || c == '.' => self.number()?,
            Some(c) if is_word(c) => self.word()?,
            Some(c) => {
                let fault = self.fault(c.len_utf8(), format!("`{c}` is not expected here"));
                return Err(fault.hint("a number, a `$name` or `(` is expected"));
            }
        };
        self.depth -= 1;
        let end = start + self.text[start..self.at].trim_end().len();
        Ok(Expr { kind, range: start..end })
    }

    fn close(&mut self, open: usize) -> Checked<()> {
        if self.take(')') {
            return Ok(());
        }
        if self.rest().is_empty() {
            return Err(Fault::new(self.node.part(open..open + 1), "this `(` is not closed").hint("a `)` is expected"));
        }
        let width = self.word_width();
        let found = &self.rest()[..width];
        Err(self.fault(width, format!("`{found}` is not expected here")).hint("`)`, `,` or an operator is expected"))
    }

    fn parameter(&mut self) -> Checked<Kind> {
        let name_at = self.at + 1;
        let rest = &self.text[name_at..];
        let width = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if width == 0 {
            return Err(self.fault(1, "`$` needs a name of [parameters] right behind it"));
        }
        self.at = name_at + width;
        self.spaces();
        Ok(Kind::Parameter(rest[..width].to_owned()))
    }

    fn number(&mut self) -> Checked<Kind> {
        let rest = self.rest();
        let width = measure::number_width(rest);
        let Some(number) = measure::number(&rest[..width]) else {
            return Err(self.fault(width, format!("`{}` is not a number that can be used", &rest[..width])));
        };
        self.at += width;
        self.spaces();
        let unit = self.unit();
        Ok(Kind::Number(number, unit))
    }

    /// Takes the unit behind a number: a sign or a word, which is a rate with "/s" right behind it.
    fn unit(&mut self) -> Option<(String, Range<usize>)> {
        let rest = self.rest();
        let mut width = match rest.chars().next()? {
            '%' => 1,
            c if is_word(c) && !c.is_ascii_digit() => self.word_width(),
            _ => return None,
        };
        let behind = rest[width..].strip_prefix(measure::PER_SECOND);
        width += behind.filter(|behind| !behind.starts_with(is_word)).map_or(0, |_| measure::PER_SECOND.len());
        let range = self.at..self.at + width;
        self.at += width;
        self.spaces();
        Some((rest[..width].to_owned(), range))
    }

    fn word(&mut self) -> Checked<Kind> {
        let name_range = self.at..self.at + self.word_width();
        let name = self.text[name_range.clone()].to_owned();
        self.at = name_range.end;
        self.spaces();
        let open = self.at;
        if !self.take('(') {
            return Ok(Kind::Word(name));
        }
        if name == "cdf" {
            let Some(end) = self.rest().rfind(')') else {
                return Err(Fault::new(self.node.part(open..open + 1), "this `(` is not closed"));
            };
            let inner = self.at..self.at + end;
            self.at = inner.end + 1;
            self.spaces();
            return Ok(Kind::Cdf(inner));
        }
        let mut arguments = Vec::new();
        if !self.take(')') {
            arguments.push(self.sum()?);
            while self.take(',') {
                arguments.push(self.sum()?);
            }
            self.close(open)?;
        }
        Ok(Kind::Call { name, name_range, arguments })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    let range = left.range.start..right.range.end;
    Expr { kind: Kind::Binary(operator, Box::new((left, right))), range }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::At;

    fn read(text: &str) -> Checked<Expr> {
        parse(&Node::bare(text, At::new(0, 0..text.len())))
    }

    /// Returns the expression with every operation in parentheses.
    fn shape(expr: &Expr) -> String {
        match &expr.kind {
            Kind::Number(x, None) => format!("{x}"),
            Kind::Number(x, Some((unit, _))) => format!("{x}{unit}"),
            Kind::Parameter(name) => format!("${name}"),
            Kind::Word(name) => name.clone(),
            Kind::Call { name, arguments, .. } => {
                format!("{name}[{}]", arguments.iter().map(shape).collect::<Vec<_>>().join(" "))
            }
            Kind::Cdf(range) => format!("cdf {range:?}"),
            Kind::Negate(inner) => format!("-{}", shape(inner)),
            Kind::Binary(operator, pair) => format!("({} {operator:?} {})", shape(&pair.0), shape(&pair.1)),
        }
    }

    #[test]
    fn products_bind_more_tightly_than_sums() {
        let expr = read("50 ms + (index + 2) * 5ms - 1").unwrap();
        assert_eq!(shape(&expr), "((50ms Add ((index Add 2) Multiply 5ms)) Subtract 1)");
        assert_eq!(shape(&read("-$a/2").unwrap()), "(-$a Divide 2)");
        assert_eq!(shape(&read("1e3 us").unwrap()), "1000us");
        assert_eq!(shape(&read("uniform(0, 50%)").unwrap()), "uniform[0 50%]");
        assert_eq!(shape(&read("cdf(a b/(1).txt)").unwrap()), "cdf 4..15");
    }

    #[test]
    fn nothing_deep_or_long_is_taken() {
        assert!(read(&"(".repeat(500)).is_err());
        assert!(read(&format!("{}1", "-".repeat(500))).is_err());
        assert!(read(&"1+".repeat(400_000)).is_err());
        assert!(read(&format!("1{}", "+1".repeat(499))).is_ok());
    }

    #[test]
    fn unfinished_texts_are_errors() {
        for text in ["", "  ", "1 +", "(1", "1)", "$", "uniform(1,", "1 2", "cdf(", "é(", "*", "..", "1 ms ms", "5 µ%"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
