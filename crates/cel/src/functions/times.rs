//! Timestamps and durations.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{Offset, TimeZone};

use super::Implementation;
use crate::error::{Result, failed, failure, no_such_overload};
use crate::value::{Instant, Value};

const SECOND: i64 = 1_000_000_000;

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "getFullYear" => |arguments| part(arguments, |time| i64::from(time.year())),
        "getMonth" => |arguments| part(arguments, |time| i64::from(time.month()) - 1),
        "getDayOfYear" => |arguments| part(arguments, |time| i64::from(time.day_of_year()) - 1),
        "getDayOfMonth" => |arguments| part(arguments, |time| i64::from(time.day()) - 1),
        "getDate" => |arguments| part(arguments, |time| i64::from(time.day())),
        "getDayOfWeek" => {
            |arguments| part(arguments, |time| i64::from(time.weekday().since(Weekday::Sunday)))
        }
        "getHours" => |arguments| span(arguments, 3600 * SECOND, |time| i64::from(time.hour())),
        "getMinutes" => |arguments| span(arguments, 60 * SECOND, |time| i64::from(time.minute())),
        "getSeconds" => |arguments| span(arguments, SECOND, |time| i64::from(time.second())),
        "getMilliseconds" => |arguments| {
            span(arguments, SECOND / 1000, |time| {
                i64::from(time.subsec_nanosecond()) / 1_000_000
            })
        },
        _ => return None,
    };
    Some(found)
}

fn span<'a>(arguments: &[Value<'a>], unit: i64, of_time: fn(&DateTime) -> i64) -> Result<Value<'a>> {
    match arguments {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / unit)),
        _ => part(arguments, of_time),
    }
}

fn part<'a>(arguments: &[Value<'a>], of_time: fn(&DateTime) -> i64) -> Result<Value<'a>> {
    let (time, zone) = match arguments {
        [Value::Timestamp(time)] => (time, TimeZone::UTC),
        [Value::Timestamp(time), Value::String(name)] => (time, zone(name)?),
        _ => return no_such_overload(),
    };
    Ok(Value::Int(of_time(&time.clock(&zone))))
}

fn zone(name: &str) -> Result<TimeZone> {
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(TimeZone::UTC),
            _ => match TimeZone::get(name) {
                Ok(zone) => Ok(zone),
                Err(_) => failure(format!("unknown time zone {name}")),
            },
        };
    };
    let number = |text: &str| match text.parse::<i32>() {
        Ok(number) => Ok(number),
        Err(_) => failure(format!("strconv.Atoi: parsing {text:?}: invalid syntax")),
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = if name.starts_with('-') { -minutes } else { minutes };
    let seconds = hours
        .saturating_mul(3600)
        .saturating_add(minutes.saturating_mul(60));
    match Offset::from_seconds(seconds) {
        Ok(offset) => Ok(TimeZone::fixed(offset)),
        Err(_) => failure(format!("unknown time zone {name}")),
    }
}

/// A timestamp, if it is in range.
pub(super) fn timestamp<'a>(time: Option<Instant>) -> Result<Value<'a>> {
    match time {
        Some(time) => Ok(Value::Timestamp(time)),
        None => failed("timestamp overflow"),
    }
}

/// Whether a string is a timestamp.
pub(crate) fn is_timestamp(text: &str) -> bool {
    parse_timestamp(text).is_ok()
}

/// Whether a string is a duration.
pub(crate) fn is_duration(text: &str) -> bool {
    parse_duration(text).is_ok()
}

/// Parses an RFC 3339 timestamp.
pub(super) fn parse_timestamp(text: &str) -> std::result::Result<Instant, String> {
    let bytes = text.as_bytes();
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = bytes.len() > shape.len()
        && shape.bytes().zip(bytes).all(|(wanted, given)| match wanted {
            b'd' => given.is_ascii_digit(),
            wanted => wanted == *given,
        });
    let rest = text.get(shape.len()..).unwrap_or_default();
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            if after.len() == fraction.len() { "" } else { after }
        }
        None => rest,
    };
    let number =
        |range: std::ops::Range<usize>| rest.get(range).and_then(|digits| digits.parse::<i32>().ok());
    let offset = match rest.as_bytes() {
        [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), a, b, b':', c, d] if [a, b, c, d].into_iter().all(u8::is_ascii_digit) => {
            let seconds = number(1..3)
                .zip(number(4..6))
                .map(|(hours, minutes)| hours * 3600 + minutes * 60);
            seconds.map(|seconds| if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    };
    let clock = || {
        let clock = &text[..text.len() - rest.len()];
        let parsed: Option<DateTime> = clock.replace(',', ".").parse().ok();
        parsed.filter(|_| &text[17..19] != "60")
    };
    let parsed = offset
        .filter(|_| fits)
        .and_then(|offset| Instant::at(clock()?, offset));
    parsed.ok_or_else(|| "type conversion error from 'string' to 'google.protobuf.Timestamp'".to_owned())
}

/// Parses a Go duration: `1h30m`.
pub(super) fn parse_duration(text: &str) -> std::result::Result<i64, String> {
    go_duration(text)
        .ok_or_else(|| "type conversion error from 'string' to 'google.protobuf.Duration'".to_owned())
}

fn go_duration(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let whole = &rest[..rest.len() - after.len()];
        let (fraction, after) = match after.strip_prefix('.') {
            Some(digits) => {
                let after = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
                (&digits[..digits.len() - after.len()], after)
            }
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after
            .find(|character: char| character == '.' || character.is_ascii_digit())
            .unwrap_or(after.len());
        let unit: i128 = match &after[..end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(unit)?)?;
        let fraction = &fraction[..fraction.len().min(18)];
        if let Ok(digits) = fraction.parse::<i128>() {
            total += digits * unit / 10_i128.pow(fraction.len() as u32);
        }
        rest = &after[end..];
    }
    i64::try_from(total * sign).ok()
}

/// Parses a value of format `duration`: a Go duration, or words (`3 days`).
pub(crate) fn parse_format_duration(text: &str) -> Option<i64> {
    if let Some(duration) = go_duration(text) {
        return Some(duration);
    }
    let mut total: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let from = &rest[start..];
        let after = from.trim_start_matches(|character: char| character.is_ascii_digit());
        let number: i64 = from[..from.len() - after.len()].parse().ok()?;
        let word = after.trim_start();
        rest = word.trim_start_matches(|character: char| character.is_ascii_alphabetic() || character == 'µ');
        let unit = &word[..word.len() - rest.len()];
        if unit.is_empty() {
            rest = after;
            continue;
        }
        if let Some(unit) = unit_in_words(&unit.to_lowercase()) {
            total = Some(total.unwrap_or(0).wrapping_add(number.wrapping_mul(unit)));
        }
    }
    total
}

fn unit_in_words(unit: &str) -> Option<i64> {
    let units: [(&[&str], &str, i64); 8] = [
        (&["ns"], "nano", 1),
        (&["us", "µs"], "micro", 1000),
        (&["ms"], "milli", 1_000_000),
        (&["s"], "sec", SECOND),
        (&["m"], "min", 60 * SECOND),
        (&["h", "hr"], "hour", 3600 * SECOND),
        (&["d"], "day", 24 * 3600 * SECOND),
        (&["w", "wk"], "week", 7 * 24 * 3600 * SECOND),
    ];
    units
        .into_iter()
        .find(|(exact, prefix, _)| exact.contains(&unit) || unit.starts_with(prefix))
        .map(|(_, _, unit)| unit)
}

/// Parses a value of format `date`.
pub(crate) fn parse_date(text: &str) -> Option<Instant> {
    if cambium_schema::check_format("date", text) != Some(true) {
        return None;
    }
    let date: Date = text.parse().ok()?;
    Instant::at(date.into(), 0)
}

/// Parses a value of format `date-time`, less strictly than `timestamp()`.
pub(crate) fn parse_format_timestamp(text: &str) -> Option<Instant> {
    parse_timestamp(&text.to_uppercase()).ok().or_else(|| {
        let parsed: jiff::Timestamp = text.parse().ok()?;
        Instant::new(parsed.as_nanosecond(), 0)
    })
}

pub(super) fn format_duration(nanoseconds: i64) -> String {
    format!("{}s", nanoseconds as f64 / SECOND as f64)
}
