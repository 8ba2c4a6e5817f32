//! Decodes times and base64 bytes.

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The precision of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    /// As `Time`.
    Seconds,
    /// As `MicroTime`.
    Microseconds,
}

/// Go's decoder ignores trailing bits of the last character.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Encodes bytes as base64.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Canonicalizes base64 as Go does.
pub(super) fn base64(text: &str) -> Result<String, String> {
    if let Some(position) = first_bad_byte(text.as_bytes()) {
        return Err(format!("illegal base64 data at input byte {position}"));
    }
    let joined: String = text
        .chars()
        .filter(|letter| !matches!(letter, '\r' | '\n'))
        .collect();
    let bytes = LENIENT
        .decode(joined)
        .map_err(|_| "illegal base64 data at input byte 0".to_owned())?;
    Ok(encode(&bytes))
}

/// The offset in Go's base64 error.
fn first_bad_byte(text: &[u8]) -> Option<usize> {
    let mut next = 0;
    loop {
        let mut in_group = 0;
        while in_group < 4 {
            let Some(&byte) = text.get(next) else {
                return (in_group > 0).then_some(next - in_group);
            };
            next += 1;
            match byte {
                b'\r' | b'\n' => {}
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => in_group += 1,
                b'=' if in_group >= 2 => return after_padding(text, next, in_group),
                _ => return Some(next - 1),
            }
        }
    }
}

fn after_padding(text: &[u8], mut next: usize, in_group: usize) -> Option<usize> {
    let skip = |mut at: usize| {
        while matches!(text.get(at), Some(b'\r' | b'\n')) {
            at += 1;
        }
        at
    };
    if in_group == 2 {
        next = skip(next);
        match text.get(next) {
            Some(b'=') => next += 1,
            Some(_) => return Some(next - 1),
            None => return Some(text.len()),
        }
    }
    next = skip(next);
    (next < text.len()).then_some(next)
}

/// Canonicalizes a time to UTC as Go does.
pub(super) fn time(text: &str, precision: Precision) -> Result<String, String> {
    let layout = match precision {
        Precision::Seconds => "2006-01-02T15:04:05Z07:00",
        Precision::Microseconds => "2006-01-02T15:04:05.000000Z07:00",
    };
    check_layout(text, layout, precision)?;
    let timestamp: Timestamp = text
        .parse()
        .map_err(|_| format!("parsing time {text:?}: day out of range"))?;
    let utc = timestamp.to_zoned(TimeZone::UTC);
    let format = match precision {
        Precision::Seconds => "%Y-%m-%dT%H:%M:%SZ",
        Precision::Microseconds => "%Y-%m-%dT%H:%M:%S.%6fZ",
    };
    Ok(utc.strftime(format).to_string())
}

fn check_layout(text: &str, layout: &str, precision: Precision) -> Result<(), String> {
    let cannot = |rest: &str, part: &str| {
        format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")
    };
    let mut rest = text;
    let number = |rest: &mut &str, width: usize, part: &str| -> Result<u32, String> {
        let digits = rest
            .get(..width)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let Some(digits) = digits else {
            return Err(cannot(rest, part));
        };
        let number = digits.parse().map_err(|_| cannot(rest, part))?;
        *rest = &rest[width..];
        Ok(number)
    };
    let literal = |rest: &mut &str, expected: &str| -> Result<(), String> {
        *rest = rest
            .strip_prefix(expected)
            .ok_or_else(|| cannot(rest, expected))?;
        Ok(())
    };
    let out_of_range = |what: &str| Err(format!("parsing time {text:?}: {what} out of range"));

    number(&mut rest, 4, "2006")?;
    literal(&mut rest, "-")?;
    if !(1..=12).contains(&number(&mut rest, 2, "01")?) {
        return out_of_range("month");
    }
    literal(&mut rest, "-")?;
    let day = number(&mut rest, 2, "02")?;
    literal(&mut rest, "T")?;
    if number(&mut rest, 2, "15")? > 23 {
        return out_of_range("hour");
    }
    literal(&mut rest, ":")?;
    if number(&mut rest, 2, "04")? > 59 {
        return out_of_range("minute");
    }
    literal(&mut rest, ":")?;
    if number(&mut rest, 2, "05")? > 59 {
        return out_of_range("second");
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 || (precision == Precision::Microseconds && length != 6) {
            return Err(cannot(rest, ".000000"));
        }
        rest = &fraction[length..];
    } else if precision == Precision::Microseconds {
        return Err(cannot(rest, ".000000"));
    }
    if !(1..=31).contains(&day) {
        return out_of_range("day");
    }
    match rest.as_bytes() {
        [b'Z'] => Ok(()),
        [b'+' | b'-', hour @ .., b':', m1, m2]
            if hour.len() == 2 && hour.iter().chain([m1, m2]).all(u8::is_ascii_digit) =>
        {
            Ok(())
        }
        [b'Z', ..] => Err(format!("parsing time {text:?}: extra text: {:?}", &rest[1..])),
        _ => Err(cannot(rest, "Z07:00")),
    }
}
