//! Timestamps of `managedFields`, in seconds.

use std::fmt;

use thiserror::Error;

/// A point in time, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

/// An invalid timestamp.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("parsing time {0:?}: expected RFC 3339, like 2006-01-02T15:04:05Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// Parses an RFC 3339 time; fractions of a second are dropped.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        parse(text)
            .map(Self)
            .ok_or_else(|| TimestampError(text.to_owned()))
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = civil_date(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().try_fold(0, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
        })
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !separators
        .iter()
        .all(|(index, separator)| bytes.get(*index) == Some(separator))
    {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 || !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let days = days_since_1970(year, month, day);
    if civil_date(days) != (year, month, day) {
        return None;
    }
    let mut rest = bytes.get(19..)?;
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        rest = (digits > 0).then(|| fraction.get(digits..)).flatten()?;
    }
    let offset = match rest {
        [b'Z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let at = bytes.len() - 5;
            let offset = number(at, at + 2)? * 3600 + number(at + 3, at + 5)? * 60;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}

/// Days are counted in eras of 400 years that start in March, so that the leap day is the last of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_times() {
        for (text, seconds, written) in [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
            ("2024-02-29T12:34:56Z", 1_709_210_096, "2024-02-29T12:34:56Z"),
            ("2024-02-29T12:34:56.789Z", 1_709_210_096, "2024-02-29T12:34:56Z"),
            ("2024-03-01T01:00:00+02:00", 1_709_247_600, "2024-02-29T23:00:00Z"),
            ("1969-12-31T23:59:59-00:30", 1799, "1970-01-01T00:29:59Z"),
            ("0001-01-01T00:00:00Z", -62_135_596_800, "0001-01-01T00:00:00Z"),
        ] {
            let time = Timestamp::parse(text).unwrap();
            assert_eq!(
                (time.seconds(), time.to_string()),
                (seconds, written.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for text in [
            "",
            "now",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00é",
            "2024-01-01T00:00:00+1:00",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }
}
