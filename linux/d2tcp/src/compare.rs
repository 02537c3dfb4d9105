//! `d2tcp compare`: both arms of a canary, live, and the rollback of a harmful one.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use libbpf_rs::{MapCore, MapFlags};
use serde::Serialize;

use crate::attach;
use crate::audit;
use crate::escape::{self, Name};
use crate::failure::{Context, Failure, Kind, Result};
use crate::kernel::{self, Arm, Control, ONE};
use crate::maps;
use crate::place::Pins;
use crate::rules;

/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Estimate {
    value: f64,
    low: f64,
    high: f64,
}

/// The measurements of an arm.
#[derive(Clone, Debug, Serialize)]
struct Seen {
    opened: u64,
    open: u64,
    segments: u64,
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
    control: Seen,
    d2tcp: Seen,
    /// The limits that it exceeds.
    passed: Vec<String>,
}

/// Shows both arms every second. With `guard` it rolls back a canary that exceeds a limit.
pub fn run(pins: &Pins, once: bool, json: bool, guard: bool, log: &Path) -> Result<()> {
    attach::require(pins)?;
    if canaries(pins)?.is_empty() {
        return Err(Failure::new(Kind::Usage, "no rule has a share: see `share` in linux/policy.md"));
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
            let done = rules::roll_back(pins, &canary.rule);
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
    let arms = maps::map(pins, "arms")?;
    let arm = |slot: usize, which: u32| -> Result<Arm> {
        let found =
            arms.lookup_percpu(&(2 * slot as u32 + which).to_ne_bytes(), MapFlags::ANY).context("read an arm")?;
        Ok(found.map(|per_cpu| Arm::sum(&per_cpu)).unwrap_or_default())
    };
    let rules = rules::in_force(pins)?;
    let canaries = rules.iter().filter(|(_, rule)| rule.control == Control::Use as u32 && rule.share < ONE);
    canaries
        .map(|(slot, rule)| {
            let (control, d2tcp) = (seen(&arm(*slot, 0)?), seen(&arm(*slot, 1)?));
            let passed = passed(rule, &d2tcp);
            let rule_name = kernel::name(&rule.name);
            Ok(Canary { rule: rule_name, share: f64::from(rule.share) / f64::from(ONE), control, d2tcp, passed })
        })
        .collect()
}

/// Returns the limits that an arm exceeds even with the low end of its interval.
fn passed(rule: &kernel::Rule, seen: &Seen) -> Vec<String> {
    let limits = [
        ("loss", rule.max_loss, seen.loss),
        ("timeouts", rule.max_timeouts, seen.timeouts),
        ("missed", rule.max_missed, seen.missed),
    ];
    limits
        .into_iter()
        .filter_map(|(what, limit, estimate)| {
            let limit = f64::from(limit) / f64::from(ONE);
            let estimate = estimate.filter(|estimate| limit > 0.0 && estimate.low > limit)?;
            Some(format!("{what} {:.3} % over {:.3} %", 100.0 * estimate.value, 100.0 * limit))
        })
        .collect()
}

fn seen(arm: &Arm) -> Seen {
    Seen {
        opened: arm.opened,
        open: arm.opened.saturating_sub(arm.closed),
        segments: arm.segments,
        loss: ratio(arm, arm.retransmitted, arm.retransmitted_squared, arm.segments_retransmitted),
        timeouts: ratio(arm, arm.timeouts, arm.timeouts_squared, arm.segments_timeouts),
        missed: proportion(arm.missed, arm.met + arm.missed),
    }
}

/// Returns a count per segment, with its interval from the variation between slices of connections. It is a ratio
/// estimator (Cochran, Sampling Techniques, 1977, 6.4).
fn ratio(arm: &Arm, sum: u64, squared: u64, product: u64) -> Option<Estimate> {
    let (n, x) = (arm.slices as f64, arm.segments as f64);
    if n < 10.0 || x == 0.0 {
        return None;
    }
    let value = sum as f64 / x;
    let residuals = squared as f64 - 2.0 * value * product as f64 + value * value * arm.segments_squared as f64;
    let error = (residuals.max(0.0) * n / (n - 1.0)).sqrt() / x;
    Some(Estimate { value, low: (value - Z * error).max(0.0), high: value + Z * error })
}

/// Returns a share of independent events, with its interval (Wilson 1927).
fn proportion(hits: u64, all: u64) -> Option<Estimate> {
    if all == 0 {
        return None;
    }
    let (n, value) = (all as f64, hits as f64 / all as f64);
    let middle = (value + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(Estimate { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
}

fn table(canary: &Canary) -> String {
    let percent = |estimate: Option<Estimate>| match estimate {
        Some(Estimate { value, low, high }) => {
            format!("{:.3} ({:.3} to {:.3})", 100.0 * value, 100.0 * low, 100.0 * high)
        }
        None => "too little to say".to_owned(),
    };
    let mut text = format!(
        "{}: {:.2} % of the connections\n{:<10} {:>8} {:>8} {:>10}  {:<26} {:<26} {:<26}\n",
        canary.rule,
        100.0 * canary.share,
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
            percent(arm.loss),
            percent(arm.timeouts),
            percent(arm.missed)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an arm whose slices have (segments, retransmissions).
    fn arm(slices: &[(u64, u64)]) -> Arm {
        let sum = |of: fn(&(u64, u64)) -> u64| slices.iter().map(of).sum();
        Arm {
            slices: slices.len() as u64,
            segments: sum(|(x, _)| *x),
            retransmitted: sum(|(_, y)| *y),
            segments_squared: sum(|(x, _)| x * x),
            retransmitted_squared: sum(|(_, y)| y * y),
            segments_retransmitted: sum(|(x, y)| x * y),
            ..Arm::default()
        }
    }

    #[test]
    fn intervals_follow_from_the_sums() {
        // Exactly 2 % in every slice: no variation.
        let same = seen(&arm(&[(100, 2); 50])).loss.unwrap();
        assert!((same.value - 0.02).abs() < 1e-12 && (same.high - same.low).abs() < 1e-9);
        // Half of the slices lose 4 of 100, half none: residuals of 2, se = sqrt(50 * 4 * 50/49) / 5000.
        let slices: Vec<(u64, u64)> = (0..50).map(|n| (100, 4 * (n % 2))).collect();
        let spread = seen(&arm(&slices)).loss.unwrap();
        let error = (200.0f64 * 50.0 / 49.0).sqrt() / 5000.0;
        assert!((spread.high - 0.02 - Z * error).abs() < 1e-9, "{spread:?}");
        assert_eq!(seen(&arm(&[(100, 2); 9])).loss, None, "too few");
        // Wilson's interval for 1 of 10.
        let missed = proportion(1, 10).unwrap();
        assert!((missed.low - 0.0179).abs() < 1e-4 && (missed.high - 0.4042).abs() < 1e-4, "{missed:?}");
        assert_eq!(proportion(0, 0), None);
    }

    #[test]
    fn a_limit_is_passed_when_the_whole_interval_is_beyond_it() {
        let mut rule = rules::Rule::of("a", Path::new(""), Control::Use);
        rule.guard.loss = 0.0101;
        let rule = rule.compiled(crate::parameters::DEFAULTS).unwrap();
        assert_eq!(passed(&rule, &seen(&arm(&[(100, 2); 50]))).len(), 1);
        assert!(passed(&rule, &seen(&arm(&[(100, 1); 50]))).is_empty(), "just below the limit");
        let wide: Vec<(u64, u64)> = (0..10).map(|n| (100, if n == 0 { 20 } else { 0 })).collect();
        assert!(passed(&rule, &seen(&arm(&wide))).is_empty(), "2 %, but it may be chance");
    }

    #[test]
    fn hostile_names_are_harmless() {
        use crate::escape::{HOSTILE, is_safe};
        let none = seen(&Arm::default());
        let canary =
            Canary { rule: Name::new(HOSTILE), share: 0.5, control: none.clone(), d2tcp: none, passed: Vec::new() };
        let text = table(&canary);
        assert!(is_safe(&text) && text.lines().count() == 4, "{text}");
        assert!(text.starts_with("a\\x1b[2J\\n\"\\\\\\u{9b}\\u{202e}\\xff: 50.00 % of"), "{text}");
        let text = escape::json(&[canary]).unwrap();
        assert!(is_safe(&text) && !text.contains('\n'), "{text}");
    }
}
