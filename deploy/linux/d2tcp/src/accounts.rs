//! The accounts of users in the kernel: their budgets of urgency.

use libbpf_rs::{MapCore, MapFlags};
use serde::Serialize;
use units::counted;

use crate::enact;
use crate::escape::Name;
use crate::failure::{Context, Result};
use crate::kernel::{self, Account, ONE, Plain, User};
use crate::maps;
use crate::place::Pins;

/// The most users that `status` names in words.
const SHOWN: usize = 5;

/// A user whose urgency was limited in a rule.
#[derive(Clone, Debug, Serialize)]
pub struct Limited {
    rule: Name,
    uid: u32,
    /// Cuts with a d of 1 instead of a larger one.
    limited: u64,
    /// Bytes of windows times d - 1 that are left; negative after a cut that overdrew the budget.
    left_bytes: i64,
}

/// Returns the users whose urgency was limited, those with the most limited cuts first.
pub fn limited(pins: &Pins) -> Result<Vec<Limited>> {
    let (map, rules) = (maps::map(pins, "users")?, enact::in_force(pins)?);
    let mut found = Vec::new();
    for bytes in map.keys() {
        let Some(key) = User::read(&bytes) else { continue };
        let Some((_, rule)) = rules.iter().find(|(slot, _)| *slot as u32 + 1 == key.rule) else { continue };
        // A user may lose its entry to another one while they are read.
        let account = map.lookup(&bytes, MapFlags::ANY).context("read an account")?;
        let Some(account) = account.and_then(|bytes| Account::read(&bytes)).filter(|account| account.limited > 0)
        else {
            continue;
        };
        let (limited, left_bytes) = (account.limited, account.urgency.left);
        found.push(Limited { rule: kernel::name(&rule.name), uid: key.uid, limited, left_bytes });
    }
    found.sort_by_key(|user| (std::cmp::Reverse(user.limited), user.uid));
    Ok(found)
}

/// Describes the users in words, one line each, and how many more there are.
pub fn in_words(users: &[Limited]) -> Vec<String> {
    let line = |user: &Limited| {
        let cuts = counted(user.limited, "cut");
        format!("user {} in {}: {cuts} as without a deadline, {:.1} KB left", user.uid, user.rule, left(user))
    };
    let more = users.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("and {} more", counted(more as u64, "user")));
    users.iter().take(SHOWN).map(line).chain(rest).collect()
}

fn left(user: &Limited) -> f64 {
    user.left_bytes.max(0) as f64 / 1000.0
}

/// Describes the budget of urgency of a rule's users.
pub fn budget(rule: &kernel::Rule) -> String {
    if rule.user_urgency >= ONE {
        return "no limit".to_owned();
    }
    let share = 100.0 * f64::from(rule.user_urgency) / f64::from(ONE);
    format!("{share:.3} % on average and {} KB at once", rule.user_burst as f64 / 1000.0).replace(".000 %", " %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Control;
    use crate::parameters::DEFAULTS;
    use crate::rules::Rule;
    use std::path::Path;

    #[test]
    fn the_most_limited_users_are_named_and_the_others_counted() {
        let user =
            |uid, left_bytes| Limited { rule: Name::new("web"), uid, limited: 1000 - u64::from(uid), left_bytes };
        let users: Vec<Limited> = (1..=7).map(|uid| user(uid, -1500 + 1000 * i64::from(uid))).collect();
        let lines = in_words(&users);
        assert_eq!(lines[0], "user 1 in web: 999 cuts as without a deadline, 0.0 KB left");
        assert_eq!(lines[1], "user 2 in web: 998 cuts as without a deadline, 0.5 KB left");
        assert_eq!((lines.len(), lines[5].as_str()), (6, "and 2 users more"));
        assert_eq!(in_words(&users[..5]).len(), 5);
        assert!(in_words(&[]).is_empty());
    }

    #[test]
    fn budgets_are_said_in_percent_and_kilobytes() {
        let mut rule = Rule::of("a", Path::new(""), Control::Use);
        let said = |rule: &Rule| budget(&rule.compiled(DEFAULTS).unwrap());
        assert_eq!(said(&rule), "25 % on average and 4000 KB at once");
        (rule.budget.share, rule.budget.burst) = (0.0125, 500);
        assert_eq!(said(&rule), "1.250 % on average and 0.5 KB at once");
        rule.budget.share = 1.0;
        assert_eq!(said(&rule), "no limit");
    }
}
