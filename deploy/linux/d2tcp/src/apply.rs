//! `d2tcp apply`: puts a policy into force.

use std::path::Path;

use crate::attach::{self, Found, Select, Wanted};
use crate::enact;
use crate::escape::Shown;
use crate::failure::{Failure, Kind, Result};
use crate::kernel::{self, Plain};
use crate::parameters::DEFAULTS;
use crate::place::Pins;
use crate::policy::{self, Policy};
use crate::rules;

/// Prints the changes, and applies them unless it is a dry run.
pub fn run(pins: &Pins, file: &Path, dry_run: bool, version: &str) -> Result<()> {
    let policy = policy::read(file)?;
    let law = policy.parameters.harmless_over(DEFAULTS)?;
    let mut compiled = Vec::new();
    for rule in &policy.rules {
        let harmless = rule.parameters.harmless_over(law);
        harmless.map_err(|failure| {
            let message = failure.message.replace("--confirm \"", "confirm = \"");
            Failure::new(Kind::Usage, format!("{}: rule {}: {message}", file.shown(), rule.name))
        })?;
        compiled.push(rule.compiled(law)?);
    }
    let found = attach::look(pins);
    let before = match found {
        Found::Attached(_) => enact::in_force(pins)?.into_iter().map(|(_, rule)| rule).collect(),
        // `require` fails here, with the reason in its message.
        Found::Skewed(_) | Found::Foreign => attach::require(pins).map(|_| Vec::new())?,
        Found::Remains | Found::Nothing => Vec::new(),
    };
    for line in changes(&before, &compiled) {
        println!("{line}");
    }
    if dry_run {
        println!("nothing was changed");
        return Ok(());
    }
    if let Found::Attached(_) = found {
        attach::reload(pins, &policy.rules, &policy.parameters)?;
    } else {
        let Policy { parameters, rules } = policy;
        let wanted = Wanted {
            cgroups: Vec::new(),
            select: Select::None,
            private: false,
            user_urgency: None,
            policy: Some(rules),
            namespace: None,
            parameters,
            replace: false,
            foreground: false,
        };
        attach::attach(pins, &wanted, version)?;
    }
    println!("in force");
    Ok(())
}

/// Returns a line for each rule: new, removed, changed or unchanged.
fn changes(before: &[kernel::Rule], after: &[kernel::Rule]) -> Vec<String> {
    let mut lines = Vec::new();
    for rule in after {
        let sign = match before.iter().find(|was| was.name == rule.name) {
            None => "+",
            Some(was) if was.bytes() == rule.bytes() => "=",
            Some(_) => "~",
        };
        lines.push(format!("{sign} {}: {}", kernel::name(&rule.name), rules::in_words(rule)));
    }
    for gone in before.iter().filter(|was| !after.iter().any(|rule| rule.name == was.name)) {
        lines.push(format!("- {}: {}", kernel::name(&gone.name), rules::in_words(gone)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Control;
    use crate::rules::Rule;

    #[test]
    fn changes_are_told_rule_by_rule() {
        let rule = |name: &str, bytes| {
            let rule = Rule { bytes, ..Rule::of(name, Path::new(""), Control::Use) };
            rule.compiled(DEFAULTS).unwrap()
        };
        let lines = changes(&[rule("a", 1), rule("b", 1), rule("c", 1)], &[rule("b", 1), rule("c", 2), rule("d", 1)]);
        let signs: Vec<&str> = lines.iter().map(|line| &line[..3]).collect();
        assert_eq!(signs, ["= b", "~ c", "+ d", "- a"]);
    }

    #[test]
    fn hostile_names_in_changes_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        use std::os::unix::ffi::OsStringExt;
        let mut rule = Rule::of("a\u{202e}\x1b", Path::new(""), Control::Use);
        rule.cgroup = std::ffi::OsString::from_vec(HOSTILE.to_vec()).into();
        let lines = changes(&[], &[rule.compiled(DEFAULTS).unwrap()]);
        assert!(is_safe(&lines[0]) && !lines[0].contains('\n'), "{lines:?}");
        assert!(lines[0].starts_with("+ a\\u{202e}\\x1b: all connections of a\\x1b[2J\\n"), "{lines:?}");
    }
}
