//! Times in files of requests, exact to the picosecond.

use super::SECOND;

/// Returns a time in picoseconds: of a plain number in `unit`s, or of a date with a time of day, since 1970.
pub(super) fn parse(text: &str, unit: u64) -> Option<i128> {
    match text.get(4..).is_some_and(|rest| rest.starts_with('-')) {
        true => date(text),
        false => number(text, unit),
    }
}

/// Returns a time that is not negative, divided by `speed`.
pub(super) fn divided(ps: i128, speed: f64) -> u128 {
    const EXACT: f64 = 1e15;
    let ps = ps.unsigned_abs();
    match speed.fract() == 0.0 && (1.0..EXACT).contains(&speed) {
        true => (ps + speed as u128 / 2) / speed as u128,
        false => (ps as f64 / speed).round() as u128,
    }
}

/// Returns a decimal number of `unit`s in picoseconds.
fn number(text: &str, unit: u64) -> Option<i128> {
    let (digits, sign) = match text.strip_prefix('-') {
        Some(digits) => (digits, -1),
        None => (text.strip_prefix('+').unwrap_or(text), 1),
    };
    if digits.contains(['e', 'E']) {
        let value: f64 = text.parse().ok()?;
        return (value.abs() < 1e15).then(|| (value * unit as f64).round() as i128);
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    Some(sign * (whole_number(whole)? * i128::from(unit) + part_of(fraction, unit)?))
}

/// Returns the value of up to 18 digits, 0 of none.
fn whole_number(digits: &str) -> Option<i128> {
    let are_digits = digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| digits.bytes().fold(0, |value, digit| value * 10 + i128::from(digit - b'0')))
}

/// Returns the value of the digits behind a decimal point, to the nearest picosecond.
fn part_of(digits: &str, unit: u64) -> Option<i128> {
    let tens = 10_i128.pow(digits.len().min(18) as u32);
    Some((whole_number(digits)? * i128::from(unit) + tens / 2) / tens)
}

/// Returns the time of "2023-11-16 18:15:00.0559021", "2024-05-10T00:00:00Z" or "2024-05-10 00:00:00+02:00".
fn date(text: &str) -> Option<i128> {
    let (day, rest) = text.split_at_checked(10)?;
    let mut parts = day.splitn(3, '-').map(|part| whole_number(part).filter(|_| !part.is_empty()));
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let rest = rest.strip_prefix(['T', ' '])?;
    let zone_at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    let (clock, fraction) = clock.trim_end().split_once('.').unwrap_or((clock.trim_end(), ""));
    let seconds = seconds_of(clock, 3)? - zone_seconds(zone)?;
    let days = days_since_1970(year, month, day)?;
    Some((days * 86_400 + seconds) * i128::from(SECOND) + part_of(fraction, SECOND)?)
}

/// Returns the seconds of "18:15:00", which has from two parts to `most`.
fn seconds_of(clock: &str, most: usize) -> Option<i128> {
    let limits = [24, 60, 61];
    let parts: Vec<&str> = clock.split(':').collect();
    if parts.len() < 2 || parts.len() > most {
        return None;
    }
    let mut seconds = 0;
    for ((part, limit), unit) in parts.iter().zip(limits).zip([3600, 60, 1]) {
        let value = whole_number(part).filter(|value| part.len() == 2 && *value < limit)?;
        seconds += value * unit;
    }
    Some(seconds)
}

/// Returns how far a time zone is ahead: of "", "Z", "+02:00" or "+0200".
fn zone_seconds(zone: &str) -> Option<i128> {
    let sign = match zone.chars().next() {
        None => return Some(0),
        Some('Z') => return (zone == "Z").then_some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let hours = &zone[1..];
    match hours.split_at_checked(2).filter(|(_, minutes)| minutes.len() == 2) {
        Some((hours, minutes)) => seconds_of(&format!("{hours}:{minutes}"), 2),
        None => seconds_of(hours, 2),
    }
    .map(|seconds| sign * seconds)
}

/// Returns the days from 1 January 1970 to a day of the Gregorian calendar.
fn days_since_1970(year: i128, month: i128, day: i128) -> Option<i128> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    let before = year - 1;
    let leap_days = |year: i128| year / 4 - year / 100 + year / 400;
    let of_year: i128 = lengths[..month as usize - 1].iter().sum();
    Some((year - 1970) * 365 + leap_days(before) - leap_days(1969) + of_year + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_keep_every_digit() {
        let at = |text| parse(text, SECOND).unwrap();
        assert_eq!(at("2023-11-16 18:15:00.1209329") - at("2023-11-16 18:15:00.0559021"), 65_030_800_000);
        assert_eq!(at("1970-01-02 00:00:01"), 86_401 * i128::from(SECOND));
        assert_eq!(at("2000-03-01 00:00:00") - at("2000-02-28 23:59:59"), 86_401 * i128::from(SECOND));
        // As `date -d '2024-05-10 00:00:00+00:00' +%s` prints.
        assert_eq!(at("2024-05-10 00:00:00.009930+00:00"), 1_715_299_200_009_930_000_000);
        assert_eq!(at("2024-05-10T02:00:00+02:00"), at("2024-05-10 00:00:00Z"));
        assert_eq!(at("2024-05-10T02:00:00-0130"), at("2024-05-10 03:30:00"));
    }

    #[test]
    fn numbers_keep_every_digit() {
        assert_eq!(parse("1700000000.123456789012", SECOND), Some(1_700_000_000_123_456_789_012));
        assert_eq!(parse("27482", SECOND / 1000), Some(27_482_000_000_000));
        assert_eq!(parse(".5", SECOND), Some(500_000_000_000));
        assert_eq!(parse("-3.25", SECOND), Some(-3_250_000_000_000));
        assert_eq!(parse("1e-3", SECOND), Some(1_000_000_000));
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            ".",
            "-",
            "x",
            "1.2.3",
            "nan",
            "1e400",
            "99999999999999999999",
            "2023-11-16",
            "2023-13-01 00:00:00",
            "2023-02-29 00:00:00",
            "2023-11-16 24:00:00",
            "2023-11-16 1:00:00",
            "2023-11-16 18:15:00 PM",
            "2023-11-16 18:15:00+2",
            "2023-é-16 18:15:00",
            "202é-11-16 18:15:00",
        ] {
            assert_eq!(parse(text, SECOND), None, "{text}");
        }
    }

    #[test]
    fn times_are_divided_to_the_nearest_picosecond() {
        assert_eq!(divided(65_030_800_000, 20.0), 3_251_540_000);
        assert_eq!(divided(7, 2.0), 4);
        assert_eq!(divided(10, 2.5), 4);
        assert_eq!(divided(10, 0.1), 100);
        // Too large for a float to hold every picosecond.
        assert_eq!(divided(90_000_000_000_000_001, 1.0), 90_000_000_000_000_001);
    }
}
