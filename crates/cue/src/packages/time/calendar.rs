//! Days, and moments in zones.

use super::Parts;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A moment and the zone that it is written in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// Since the start of 1970 in UTC.
    pub(super) seconds: i64,
    pub(super) nanoseconds: i64,
    /// Seconds that the zone is ahead of UTC.
    pub(super) offset: i64,
    /// The zone's name, when it is known.
    pub(super) zone: String,
}

impl Moment {
    /// A moment in UTC.
    pub(super) fn at(seconds: i64, nanoseconds: i64) -> Self {
        Self {
            seconds,
            nanoseconds,
            offset: 0,
            zone: "UTC".to_owned(),
        }
    }

    pub(super) fn in_utc(&self) -> Self {
        Self::at(self.seconds, self.nanoseconds)
    }

    pub(super) fn parts(&self) -> Parts {
        let local = self.seconds.saturating_add(self.offset);
        let (year, month, day) = date_of(local.div_euclid(DAY));
        let clock = local.rem_euclid(DAY);
        let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
        Parts {
            year,
            month,
            day,
            hour,
            minute,
            second,
            nanosecond: self.nanoseconds,
        }
    }

    /// The day of the week, from Sunday.
    pub(super) fn weekday(&self) -> usize {
        let day = self.seconds.saturating_add(self.offset).div_euclid(DAY);
        usize::try_from((day + 4).rem_euclid(7)).unwrap_or(0) // 1970 started on a Thursday
    }

    /// The day of the year, from 1.
    pub(super) fn year_day(&self) -> i64 {
        let parts = self.parts();
        day_number(parts.year, parts.month, parts.day) - day_number(parts.year, 1, 1) + 1
    }
}

/// Seconds from the start of 1970 to a time in UTC.
pub(super) fn seconds_of(parts: &Parts) -> i64 {
    let clock = parts.hour * 3_600 + parts.minute * 60 + parts.second;
    day_number(parts.year, parts.month, parts.day) * DAY + clock
}

/// The number of days of a month.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from the start of 1970 to a date. Years start in March here, so that leap days come last.
pub(super) fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days since the start of 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carried) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + carried, month, day)
}
