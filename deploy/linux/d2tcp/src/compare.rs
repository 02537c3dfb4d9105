//! `d2tcp compare`: both arms of a canary, live, and the rollback of a harmful one.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags};
use serde::Serialize;
use units::counted;

use crate::attach;
use crate::audit;
use crate::enact;
use crate::escape::{self, Name};
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, Arm, ArmKey, Control, ONE, Plain};
use crate::maps;
use crate::place::Pins;
use crate::verdict::{self, Estimate, Measure, User, Verdict};

/// The measurements of an arm.
#[derive(Clone, Debug, Serialize)]
struct Seen {
    opened: u64,
    open: u64,
    segments: u64,
    /// Messages that ended and count.
    messages: u64,
    /// Messages beyond the allowances of their users.
    uncounted: u64,
    #[serde(flatten)]
    shares: Shares,
}

/// The measured shares of an arm, or their differences.
#[derive(Clone, Debug, Serialize)]
struct Shares {
    /// Retransmitted segments, as a share of all segments sent.
    loss: Option<Estimate>,
    /// Timeouts, as a number per segment.
    timeouts: Option<Estimate>,
    /// Messages that missed their deadlines, as a share of all that ended.
    missed: Option<Estimate>,
}

/// A canary: its rule and its arms.
#[derive(Clone, Debug, Serialize)]
struct Canary {
    rule: Name,
    share: f64,
    users: usize,
    control: Seen,
    d2tcp: Seen,
    /// The excess of D2TCP's arm, each user's by itself.
    difference: Shares,
    /// The reasons to roll it back.
    passed: Vec<String>,
    /// The reasons for which more measurements are needed.
    waits: Vec<String>,
}

/// Shows both arms every second. With `guard` it rolls back a canary that exceeds a limit.
pub fn run(pins: &Pins, once: bool, json: bool, guard: bool, log: &Path) -> Result<()> {
    attach::require(pins)?;
    if canaries(pins)?.is_empty() {
        return Err(Failure::new(Kind::Usage, "no rule has a share: see `share` in deploy/linux/policy.md"));
    }
    let ended = crate::trace::signals()?;
    let live = std::io::stdout().is_terminal() && !json;
    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
        let canaries = canaries(pins)?;
        if json {
            println!("{}", escape::json(&canaries).context("write JSON")?);
        } else {
            let text: String = canaries.iter().map(table).collect();
            print!("{}{text}", if live { "\x1b[H\x1b[2J" } else { "" });
        }
        std::io::stdout().flush().context("write")?;
        for canary in canaries.iter().filter(|canary| guard && canary.share > 0.0 && !canary.passed.is_empty()) {
            let done = enact::roll_back(pins, &canary.rule);
            println!("rolled back: {} ({})", canary.rule, canary.passed.join(", "));
            audit::note(log, "roll back", &done);
            done?;
        }
        if once {
            break;
        }
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until && !ended.load(std::sync::atomic::Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
        attach::require(pins)?;
    }
    Ok(())
}

fn canaries(pins: &Pins) -> Result<Vec<Canary>> {
    let rules = enact::in_force(pins)?;
    let canaries: Vec<_> =
        rules.iter().filter(|(_, rule)| rule.control == Control::Use as u32 && rule.share < ONE).collect();
    let mut users = users(pins)?;
    Ok(canaries.into_iter().map(|(slot, rule)| Canary::of(rule, &users.remove(slot).unwrap_or_default())).collect())
}

/// Returns the measurements of each rule's slot, by user.
fn users(pins: &Pins) -> Result<BTreeMap<usize, BTreeMap<u32, User>>> {
    let arms = maps::map(pins, "arms")?;
    let mut users: BTreeMap<usize, BTreeMap<u32, User>> = BTreeMap::new();
    for bytes in arms.keys() {
        let Some(key) = ArmKey::read(&bytes) else { continue };
        // A key may be removed while they are read.
        let found = arms.lookup(&bytes, MapFlags::ANY).context("read an arm")?;
        let Some(arm) = found.and_then(|bytes| Arm::read(&bytes)) else { continue };
        let user = users.entry(key.arm as usize / 2).or_default().entry(key.uid).or_default();
        *(if key.arm % 2 == 1 { &mut user.d2tcp } else { &mut user.control }) = arm;
    }
    Ok(users)
}

impl Canary {
    fn of(rule: &kernel::Rule, users: &BTreeMap<u32, User>) -> Canary {
        let (mut passed, mut waits) = (Vec::new(), Vec::new());
        for measure in Measure::ALL {
            match verdict::judge(rule, users, measure) {
                Verdict::Passed(why) => passed.push(why),
                Verdict::Waits(why) => waits.push(why),
                Verdict::Fine => {}
            }
        }
        Canary {
            rule: kernel::name(&rule.name),
            share: f64::from(rule.share) / f64::from(ONE),
            users: users.values().filter(|user| user.control.opened + user.d2tcp.opened > 0).count(),
            control: seen(&Arm::sum(users.values().map(|user| &user.control))),
            d2tcp: seen(&Arm::sum(users.values().map(|user| &user.d2tcp))),
            difference: Shares::of(|measure| verdict::difference(users, measure)),
            passed,
            waits,
        }
    }
}

impl Shares {
    fn of(share: impl Fn(Measure) -> Option<Estimate>) -> Shares {
        let [loss, timeouts, missed] = Measure::ALL.map(share);
        Shares { loss, timeouts, missed }
    }
}

fn seen(arm: &Arm) -> Seen {
    Seen {
        opened: arm.opened,
        open: arm.opened.saturating_sub(arm.closed),
        segments: arm.segments,
        messages: arm.met + arm.missed,
        uncounted: arm.uncounted,
        shares: Shares::of(|measure| verdict::share(arm, measure)),
    }
}

fn table(canary: &Canary) -> String {
    let percent = |estimate: Option<Estimate>| match estimate {
        Some(Estimate { value, low, high }) => {
            format!("{:.3} ({:.3} to {:.3})", 100.0 * value, 100.0 * low, 100.0 * high)
        }
        None => "too little to say".to_owned(),
    };
    let mut text = format!(
        "{}: {:.2} % of the connections, {}\n{:<10} {:>8} {:>8} {:>10}  {:<26} {:<26} {:<26}\n",
        canary.rule,
        100.0 * canary.share,
        counted(canary.users as u64, "user"),
        "",
        "opened",
        "open",
        "segments",
        "sent again %",
        "timeouts per segment %",
        "missed %"
    );
    for (name, arm) in [("control", &canary.control), ("d2tcp", &canary.d2tcp)] {
        text += &format!(
            "{name:<10} {:>8} {:>8} {:>10}  {:<26} {:<26} {:<26}\n",
            arm.opened,
            arm.open,
            arm.segments,
            percent(arm.shares.loss),
            percent(arm.shares.timeouts),
            percent(arm.shares.missed)
        );
    }
    let Shares { loss, timeouts, missed } = canary.difference;
    text += &format!("{:<39}  {:<26} {:<26} {:<26}\n", "difference", percent(loss), percent(timeouts), percent(missed));
    for (word, reasons) in [("beyond", &canary.passed), ("waits", &canary.waits)] {
        text.extend(reasons.iter().map(|why| format!("{word:<10} {why}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::OTHERS;

    /// Returns an arm whose messages all missed, ten in each of 30 slices.
    fn hopeless() -> Arm {
        let (slices, squares) = (30, 30 * 100);
        Arm {
            opened: 3,
            missed: 300,
            message_slices: slices,
            messages_squared: squares,
            missed_squared: squares,
            messages_missed: squares,
            uncounted: 70,
            ..Arm::default()
        }
    }

    fn canary(name: &str) -> Canary {
        let mut rule = crate::rules::Rule::of(name, Path::new(""), Control::Use);
        (rule.share, rule.guard.missed, rule.guard.loss) = (0.5, 0.01, 0.01);
        let users =
            [(1000, hopeless()), (OTHERS, Arm::default())].map(|(uid, arm)| (uid, User { control: arm, d2tcp: arm }));
        Canary::of(&rule.compiled(crate::parameters::DEFAULTS).unwrap(), &users.into())
    }

    #[test]
    fn arms_that_both_miss_all_are_not_rolled_back() {
        let canary = canary("a");
        assert_eq!((canary.users, &canary.passed), (1, &Vec::new()));
        assert_eq!(canary.waits, ["loss: fewer than 10 slices in an arm"]);
        let (missed, difference) = (canary.d2tcp.shares.missed.unwrap(), canary.difference.missed.unwrap());
        assert_eq!((missed.value, difference.value, canary.d2tcp.messages), (1.0, 0.0, 300));
        let text = table(&canary);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "a: 50.00 % of the connections, 1 user");
        assert!(lines[3].starts_with("d2tcp             3        3          0  too little to say "), "{text}");
        assert!(lines[3].contains("100.000 (") && lines[4].contains(" 0.000 (-"), "{text}");
        assert_eq!(lines[5], "waits      loss: fewer than 10 slices in an arm");
        let json: serde_json::Value = serde_json::from_str(&escape::json(&canary).unwrap()).unwrap();
        assert_eq!((&json["d2tcp"]["missed"]["value"], &json["d2tcp"]["uncounted"]), (&1.0.into(), &70.into()));
        assert_eq!((&json["difference"]["missed"]["value"], &json["difference"]["loss"]), (&0.0.into(), &().into()));
    }

    #[test]
    fn hostile_names_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        let canary = Canary { rule: Name::new(HOSTILE), ..canary("a") };
        let text = table(&canary);
        assert!(is_safe(&text) && text.lines().count() == 6, "{text}");
        assert!(text.starts_with("a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff: 50.00 % of"), "{text}");
        let text = escape::json(&[canary]).unwrap();
        assert!(is_safe(&text) && !text.contains('\n'), "{text}");
    }
}
