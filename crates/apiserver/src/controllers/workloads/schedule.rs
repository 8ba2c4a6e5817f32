//! Cron schedules: minute, hour, day of month, month, day of week.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

/// A parsed cron schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// If both day fields are restricted, a match of either suffices, as cron.
    either_day: bool,
}

/// How far ahead the next time is searched: past the next February 29, which may be eight years away.
const HORIZON_DAYS: usize = 366 * 9;

impl Schedule {
    /// Parses a schedule; `None` when it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return None;
        };
        const MONTHS: [&str; 12] = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ];
        const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let restricted = |field: &str| !field.starts_with('*') && !field.starts_with('?');
        let mut on = field(weekdays, 0, 7, &DAYS, 0)?;
        if on & (1 << 7) != 0 {
            on = on & !(1 << 7) | 1;
        }
        Some(Self {
            minutes: field(minutes, 0, 59, &[], 0)?,
            hours: field(hours, 0, 23, &[], 0)?,
            days: field(days, 1, 31, &[], 0)?,
            months: field(months, 1, 12, &MONTHS, 1)?,
            weekdays: on,
            either_day: restricted(days) && restricted(weekdays),
        })
    }

    /// The next time after `after`.
    pub(super) fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut day = after.to_zoned(zone.clone()).start_of_day().ok()?;
        for _ in 0..HORIZON_DAYS {
            if self.has_day(&day) {
                let found = self.moments(&day).find(|at| *at > after);
                if found.is_some() {
                    return found;
                }
            }
            day = day.checked_add(1.day()).ok()?.start_of_day().ok()?;
        }
        None
    }

    fn moments<'a>(&'a self, day: &'a Zoned) -> impl Iterator<Item = Timestamp> + use<'a> {
        let hours = (0..24_i8).filter(|hour| has(self.hours, *hour));
        hours.flat_map(move |hour| {
            let minutes = (0..60_i8).filter(|minute| has(self.minutes, *minute));
            minutes.filter_map(move |minute| {
                let at = day
                    .date()
                    .at(hour, minute, 0, 0)
                    .to_zoned(day.time_zone().clone())
                    .ok()?;
                // An hour that the clocks skip has no moments.
                (at.hour() == hour && at.minute() == minute).then(|| at.timestamp())
            })
        })
    }

    fn has_day(&self, day: &Zoned) -> bool {
        let weekday = match day.weekday() {
            Weekday::Sunday => 0,
            other => other.to_monday_one_offset(),
        };
        let (by_date, by_weekday) = (has(self.days, day.day()), has(self.weekdays, weekday));
        has(self.months, day.month())
            && if self.either_day {
                by_date || by_weekday
            } else {
                by_date && by_weekday
            }
    }
}

fn has(set: u64, number: i8) -> bool {
    set & (1 << number) != 0
}

/// Parses one field: `*`, `1,3-5`, `*/15`, `mon-fri`.
fn field(text: &str, first: u32, last: u32, names: &[&str], offset: u32) -> Option<u64> {
    let number = |text: &str| -> Option<u32> {
        let named = names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text))
            .and_then(|at| u32::try_from(at).ok());
        named
            .map(|at| at + offset)
            .or_else(|| text.parse().ok())
            .filter(|number| (first..=last).contains(number))
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<usize>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from)?, number(to)?),
            None if matches!(range, "*" | "?") => (first, last),
            None if part.contains('/') => (number(range)?, last),
            None => (number(range)?, number(range)?),
        };
        if from > to {
            return None;
        }
        (from..=to).step_by(step).for_each(|number| set |= 1 << number);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let after: Timestamp = after.parse().unwrap();
        Schedule::parse(schedule)
            .unwrap()
            .next(after, &TimeZone::UTC)
            .map_or_else(String::new, |at| at.to_string())
    }

    #[test]
    fn the_next_moment_is_found() {
        for (schedule, after, expected) in [
            ("*/15 * * * *", "2025-01-01T00:00:00Z", "2025-01-01T00:15:00Z"),
            ("0 3 * * *", "2025-01-01T03:00:00Z", "2025-01-02T03:00:00Z"),
            ("30 9 * * mon-fri", "2025-01-03T10:00:00Z", "2025-01-06T09:30:00Z"),
            ("0 0 29 2 *", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 1 * 0", "2025-01-01T00:00:00Z", "2025-01-05T00:00:00Z"),
            ("@hourly", "2025-01-01T23:30:00Z", "2025-01-02T00:00:00Z"),
            ("0 0 * * 7", "2025-01-01T00:00:00Z", "2025-01-05T00:00:00Z"),
            ("5/20 1 * JAN *", "2025-01-01T01:05:00Z", "2025-01-01T01:25:00Z"),
            ("0 0 31 2 *", "2025-01-01T00:00:00Z", ""),
        ] {
            assert_eq!(next(schedule, after), expected, "{schedule}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for bad in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "x * * * *",
            "@sometimes",
        ] {
            assert_eq!(Schedule::parse(bad), None, "{bad}");
        }
    }
}
