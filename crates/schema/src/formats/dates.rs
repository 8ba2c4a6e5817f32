//! Dates, times and durations.

use jiff::civil::Date;

/// An existing date: `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        let part = &bytes[range];
        part.iter().all(u8::is_ascii_digit).then(|| {
            part.iter()
                .fold(0, |value, digit| value * 10 + i16::from(digit - b'0'))
        })
    };
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (digits(0..4), digits(5..7), digits(8..10)) else {
        return false;
    };
    Date::new(year, month as i8, day as i8).is_ok()
}

/// A date, a `t`, a time of day and an offset, checked as loosely as upstream.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let two = |range: std::ops::Range<usize>| {
        clock
            .get(range)
            .filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let colons = clock.as_bytes()[2] == b':' && clock.as_bytes()[5] == b':';
    let within = |range, limit| two(range).is_some_and(|part| part <= limit);
    colons
        && within(0..2, "23")
        && within(3..5, "59")
        && within(6..8, "59")
        && is_offset(without_fraction(rest))
}

/// Strips the fraction, whose separator may be any character in upstream's pattern.
fn without_fraction(text: &str) -> &str {
    if is_offset(text) {
        return text;
    }
    let mut rest = text.chars();
    rest.next();
    let digits = rest.as_str();
    let after = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    if after.len() < digits.len() { after } else { text }
}

fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    match bytes {
        [b'z'] => true,
        [b'+' | b'-', _, _, b':', _, _] => digits(1..3) && digits(4..6),
        _ => false,
    }
}

/// A Go duration (`1h30m`), or any number with a time unit (`about 22 days`).
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || names_a_time(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits =
            rest.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
        let number = &rest[..rest.len() - digits.len()];
        let value: f64 = match number.parse() {
            Ok(value) if number.bytes().any(|byte| byte.is_ascii_digit()) => value,
            _ => return false,
        };
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"]
            .into_iter()
            .find(|unit| {
                let after = digits.strip_prefix(unit);
                after.is_some_and(|after| {
                    !after.starts_with(|character: char| character != '.' && !character.is_ascii_digit())
                })
            });
        match unit {
            Some(unit) if value < 9.2e18 => rest = &digits[unit.len()..],
            _ => return false,
        }
    }
    true
}

fn names_a_time(text: &str) -> bool {
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let from = &rest[start..];
        let after = from.trim_start_matches(|character: char| character.is_ascii_digit());
        let number = &from[..from.len() - after.len()];
        let word = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        rest = word.trim_start_matches(|character: char| character.is_ascii_alphabetic() || character == 'µ');
        let unit = &word[..word.len() - rest.len()];
        if unit.is_empty() {
            rest = after;
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        found |= is_unit(&unit.to_lowercase());
    }
    found
}

fn is_unit(unit: &str) -> bool {
    const EXACT: [&str; 12] = [
        "ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "nano",
    ];
    const PREFIXES: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    EXACT.contains(&unit) || PREFIXES.iter().any(|prefix| unit.starts_with(prefix))
}
