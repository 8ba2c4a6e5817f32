//! Parses times.

use super::Parts;
use super::calendar::{Moment, days_in, is_leap, seconds_of};
use super::layout::{Element, Padding, Zone, ZoneParts, next};
use super::write::{MONTHS, WEEKDAYS};
use crate::packages::{CallError, strconv};

/// The moment that a text in a layout is; in UTC when it does not say otherwise.
pub(super) fn parse(layout: &str, value: &str) -> Result<Moment, CallError> {
    let mut reader = Reader {
        rest: value,
        found: Found::default(),
    };
    let mut remaining = layout;
    let cannot = |rest: &str, element: &str| {
        let [value, layout, rest, element] = [value, layout, rest, element].map(strconv::quote);
        CallError::Failed(format!(
            "parsing time {value} as {layout}: cannot parse {rest} as {element}"
        ))
    };
    let wrong = |what: String| CallError::Failed(format!("parsing time {}: {what}", strconv::quote(value)));
    loop {
        let (prefix, element, after) = next(remaining);
        reader.skip(prefix).map_err(|rest| cannot(rest, prefix))?;
        let Some((element, text)) = element else {
            break;
        };
        remaining = after;
        let before = reader.rest;
        match reader.element(element, remaining) {
            Ok(()) => {}
            Err(Problem::Unreadable) => return Err(cannot(before, text)),
            Err(Problem::OutOfRange(what)) => return Err(wrong(format!("{what} out of range"))),
        }
    }
    if !reader.rest.is_empty() {
        return Err(wrong(format!("extra text: {}", strconv::quote(reader.rest))));
    }
    reader.found.moment().map_err(wrong)
}

enum Problem {
    Unreadable,
    OutOfRange(&'static str),
}

struct Reader<'value> {
    rest: &'value str,
    found: Found,
}

#[derive(Debug, Default)]
struct Found {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: i64,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i64>,
    zone: String,
}

impl<'value> Reader<'value> {
    /// Takes a text; spaces of the layout stand for any number of spaces. Gives back what does not fit.
    fn skip(&mut self, mut prefix: &str) -> Result<(), &'value str> {
        while let Some(expected) = prefix.chars().next() {
            if expected == ' ' {
                if self.rest.starts_with(|c| c != ' ') {
                    return Err(self.rest);
                }
                prefix = prefix.trim_start_matches(' ');
                self.rest = self.rest.trim_start_matches(' ');
                continue;
            }
            self.rest = self.rest.strip_prefix(expected).ok_or(self.rest)?;
            prefix = &prefix[expected.len_utf8()..];
        }
        Ok(())
    }

    fn element(&mut self, element: Element, remaining: &str) -> Result<(), Problem> {
        match element {
            Element::LongYear => self.found.year = self.digits(4, 4)?,
            Element::Year => {
                let year = self.digits(2, 2)?;
                self.found.year = year + if year >= 69 { 1900 } else { 2000 };
            }
            Element::Month => self.found.month = Some(self.name(&MONTHS.map(|name| &name[..3]))? + 1),
            Element::LongMonth => self.found.month = Some(self.name(&MONTHS)? + 1),
            Element::Weekday => drop(self.name(&WEEKDAYS.map(|name| &name[..3]))?),
            Element::LongWeekday => drop(self.name(&WEEKDAYS)?),
            Element::NumberMonth { zero } => {
                self.found.month = Some(self.in_range(digits_of(zero), 1..=12, "month")?);
            }
            Element::Day(padding) => {
                if padding == Padding::Space {
                    self.rest = self.rest.strip_prefix(' ').unwrap_or(self.rest);
                }
                self.found.day = Some(self.digits(if padding == Padding::Zero { 2 } else { 1 }, 2)?);
            }
            Element::YearDay(padding) => {
                if padding == Padding::Space {
                    let spaces = self.rest.bytes().take(2).take_while(|byte| *byte == b' ').count();
                    self.rest = &self.rest[spaces..];
                }
                self.found.year_day = Some(self.digits(if padding == Padding::Zero { 3 } else { 1 }, 3)?);
            }
            Element::Hour => self.found.hour = self.in_range(1, 0..=23, "hour")?,
            Element::Hour12 { zero } => self.found.hour = self.in_range(digits_of(zero), 0..=12, "hour")?,
            Element::Minute { zero } => {
                self.found.minute = self.in_range(digits_of(zero), 0..=59, "minute")?
            }
            Element::Second { zero } => {
                self.found.second = self.in_range(digits_of(zero), 0..=59, "second")?;
                // A fraction may follow although the layout does not ask for one.
                if !matches!(next(remaining), (_, Some((Element::Fraction { .. }, _)), _)) {
                    self.optional_fraction();
                }
            }
            Element::HalfDay { lower } => {
                let names = if lower { ["am", "pm"] } else { ["AM", "PM"] };
                let found = names.iter().position(|name| self.rest.starts_with(name));
                self.found.afternoon = Some(found.ok_or(Problem::Unreadable)? == 1);
                self.rest = &self.rest[2..];
            }
            Element::Fraction {
                digits,
                trimmed: false,
                ..
            } => {
                let text = self.rest.get(..digits + 1).ok_or(Problem::Unreadable)?;
                self.found.nanosecond = nanoseconds(text).ok_or(Problem::Unreadable)?;
                self.rest = &self.rest[digits + 1..];
            }
            Element::Fraction { .. } => self.optional_fraction(),
            Element::Zone(zone) => self.zone(zone)?,
            Element::ZoneName => self.zone_name()?,
        }
        Ok(())
    }

    /// A number of at least and at most so many digits.
    fn digits(&mut self, minimum: usize, maximum: usize) -> Result<i64, Problem> {
        let count = self
            .rest
            .bytes()
            .take(maximum)
            .take_while(u8::is_ascii_digit)
            .count();
        if count < minimum {
            return Err(Problem::Unreadable);
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits.parse().map_err(|_| Problem::Unreadable)
    }

    fn in_range(
        &mut self,
        minimum: usize,
        range: std::ops::RangeInclusive<i64>,
        what: &'static str,
    ) -> Result<i64, Problem> {
        let number = self.digits(minimum, 2)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(Problem::OutOfRange(what))
        }
    }

    /// The place of the name that the text starts with, in upper or lower case.
    fn name(&mut self, names: &[&str]) -> Result<i64, Problem> {
        for (index, name) in names.iter().enumerate() {
            if self
                .rest
                .get(..name.len())
                .is_some_and(|text| text.eq_ignore_ascii_case(name))
            {
                self.rest = &self.rest[name.len()..];
                return i64::try_from(index).map_err(|_| Problem::Unreadable);
            }
        }
        Err(Problem::Unreadable)
    }

    fn optional_fraction(&mut self) {
        if !self.rest.starts_with(['.', ',']) {
            return;
        }
        let digits = self.rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            self.found.nanosecond = nanoseconds(&self.rest[..=digits]).unwrap_or(0);
            self.rest = &self.rest[digits + 1..];
        }
    }

    fn zone(&mut self, zone: Zone) -> Result<(), Problem> {
        if let Some(rest) = self.rest.strip_prefix('Z').filter(|_| zone.utc_is_z) {
            self.found.utc = true;
            self.rest = rest;
            return Ok(());
        }
        let sign = match self.rest.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(Problem::Unreadable),
        };
        self.rest = &self.rest[1..];
        let count = match zone.parts {
            ZoneParts::Hours => 1,
            ZoneParts::Minutes => 2,
            ZoneParts::Seconds => 3,
        };
        let mut parts = [0; 3];
        for (index, part) in parts.iter_mut().take(count).enumerate() {
            if index > 0 && zone.colons {
                self.rest = self.rest.strip_prefix(':').ok_or(Problem::Unreadable)?;
            }
            *part = self.digits(2, 2)?;
        }
        let names = [
            "time zone offset hour",
            "time zone offset minute",
            "time zone offset second",
        ];
        // People do write offsets of 24 hours or 60 minutes.
        for ((part, limit), name) in parts.into_iter().zip([24, 60, 60]).zip(names) {
            if part > limit {
                return Err(Problem::OutOfRange(name));
            }
        }
        self.found.offset = Some(sign * ((parts[0] * 60 + parts[1]) * 60 + parts[2]));
        Ok(())
    }

    /// Three to five capitals, or an offset. What a name means depends on the place, so it means UTC.
    fn zone_name(&mut self) -> Result<(), Problem> {
        if let Some(rest) = self.rest.strip_prefix("UTC") {
            self.found.utc = true;
            self.rest = rest;
            return Ok(());
        }
        let capitals = self
            .rest
            .bytes()
            .take(6)
            .take_while(u8::is_ascii_uppercase)
            .count();
        let length = match capitals {
            _ if self.rest.starts_with("ChST") || self.rest.starts_with("MeST") => 4,
            _ if self.rest.starts_with("GMT") => 3 + signed_hours(&self.rest[3..]),
            _ if self.rest.len() >= 3 && self.rest.starts_with(['+', '-']) => signed_hours(self.rest),
            3 => 3,
            4 if self.rest[..4].ends_with('T') || self.rest.starts_with("WITA") => 4,
            5 if self.rest[..5].ends_with('T') => 5,
            _ => 0,
        };
        if length == 0 {
            return Err(Problem::Unreadable);
        }
        let (name, rest) = self.rest.split_at(length);
        self.found.zone = name.to_owned();
        self.rest = rest;
        Ok(())
    }
}

impl Found {
    fn moment(self) -> Result<Moment, String> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let (month, day) = self.date()?;
        if day < 1 || day > days_in(month, self.year) {
            return Err("day out of range".to_owned());
        }
        let parts = Parts {
            year: self.year,
            month,
            day,
            hour,
            minute: self.minute,
            second: self.second,
            nanosecond: self.nanosecond,
        };
        let utc = Moment::at(seconds_of(&parts), self.nanosecond);
        if self.utc {
            return Ok(utc);
        }
        if let Some(offset) = self.offset {
            let zone = if offset == 0 && matches!(self.zone.as_str(), "" | "UTC") {
                "UTC".to_owned()
            } else {
                self.zone
            };
            return Ok(Moment {
                seconds: utc.seconds - offset,
                offset,
                zone,
                ..utc
            });
        }
        if !self.zone.is_empty() {
            let hours = self
                .zone
                .strip_prefix("GMT")
                .and_then(|hours| hours.parse::<i64>().ok())
                .unwrap_or(0);
            return Ok(Moment {
                offset: hours * 3_600,
                zone: self.zone,
                ..utc
            });
        }
        Ok(utc)
    }

    /// Month and day, from the day of the year when that was given.
    fn date(&self) -> Result<(i64, i64), String> {
        let Some(year_day) = self.year_day else {
            return Ok((self.month.unwrap_or(1), self.day.unwrap_or(1)));
        };
        if year_day < 1 || year_day > if is_leap(self.year) { 366 } else { 365 } {
            return Err("day-of-year out of range".to_owned());
        }
        let (mut month, mut day) = (1, year_day);
        while day > days_in(month, self.year) {
            day -= days_in(month, self.year);
            month += 1;
        }
        if self.month.is_some_and(|given| given != month) {
            return Err("day-of-year does not match month".to_owned());
        }
        if self.day.is_some_and(|given| given != day) {
            return Err("day-of-year does not match day".to_owned());
        }
        Ok((month, day))
    }
}

/// A number that is padded with a zero has two digits.
fn digits_of(padded: bool) -> usize {
    if padded { 2 } else { 1 }
}

/// The length of a sign and a number up to 23, or 0.
fn signed_hours(text: &str) -> usize {
    if !text.starts_with(['+', '-']) {
        return 0;
    }
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    match text[1..=digits].parse::<u64>() {
        Ok(hours) if hours <= 23 => digits + 1,
        _ => 0,
    }
}

/// The nanoseconds of a fraction with its mark.
fn nanoseconds(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['.', ','])?;
    let digits = &digits[..digits.len().min(9)];
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| format!("{digits:0<9}").parse().ok())?
}
