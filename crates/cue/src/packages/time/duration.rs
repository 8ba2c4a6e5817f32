//! Durations such as `1h30m`.

use crate::packages::{CallError, strconv};

/// The units, in nanoseconds. Two signs are in use for micro.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Whether a text is a duration.
pub fn duration(text: &str) -> Result<bool, CallError> {
    parse_duration(text).map(|_| true)
}

/// The nanoseconds of a duration: a sign, then numbers with units.
pub fn parse_duration(text: &str) -> Result<i64, CallError> {
    let failed = |what: &str| CallError::Failed(format!("time: {what} {}", strconv::quote(text)));
    let invalid = || failed("invalid duration");
    let (negative, mut rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        if name.is_empty() {
            return Err(failed("missing unit in duration"));
        }
        let unit = UNITS.iter().find(|(other, _)| *other == name);
        let unit = unit
            .ok_or_else(|| failed(&format!("unknown unit {} in duration", strconv::quote(name))))?
            .1;
        let amount = if whole.is_empty() {
            Some(0)
        } else {
            whole.parse::<u64>().ok()
        };
        let amount = amount
            .and_then(|amount| amount.checked_mul(unit))
            .ok_or_else(invalid)?;
        let part = fraction_of(fraction, unit);
        total = amount
            .checked_add(part)
            .and_then(|amount| total.checked_add(amount))
            .ok_or_else(invalid)?;
        rest = after;
    }
    let total = i128::from(total);
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

/// A number of nanoseconds such as `1h30m0s` or `1.5ms`.
pub fn format_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let amount = nanoseconds.unsigned_abs();
    let text = match amount {
        0 => return "0s".to_owned(),
        1..1_000 => format!("{amount}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(amount, 1_000)),
        1_000_000..1_000_000_000 => format!("{}ms", decimal(amount, 1_000_000)),
        _ => {
            let (minutes, rest) = (amount / 60_000_000_000, amount % 60_000_000_000);
            let seconds = decimal(rest, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The part of a unit, cut to whole nanoseconds after the same float arithmetic as in Go.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let kept = &digits[..digits.len().min(18)];
    let scale = 10f64.powi(i32::try_from(kept.len()).unwrap_or(0));
    (kept.parse::<u64>().unwrap_or(0) as f64 * (unit as f64 / scale)) as u64
}

fn decimal(amount: u64, unit: u64) -> String {
    let (whole, rest) = (amount / unit, amount % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{whole}.{}", format!("{rest:0digits$}").trim_end_matches('0'))
}
