//! Timestamps from year 1 to 9999.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A timestamp, with its original offset for printing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant {
    /// Since 1970.
    nanoseconds: i128,
    /// In seconds.
    offset: i32,
}

const SECOND: i128 = 1_000_000_000;
const FIRST: i128 = -62_135_596_800 * SECOND;
const LAST: i128 = 253_402_300_800 * SECOND - 1;

impl Instant {
    /// The point in time, if it is in range.
    pub(crate) fn new(nanoseconds: i128, offset: i32) -> Option<Self> {
        (FIRST..=LAST)
            .contains(&nanoseconds)
            .then_some(Self { nanoseconds, offset })
    }

    /// The point at which clocks with this offset show this.
    pub(crate) fn at(clock: DateTime, offset: i32) -> Option<Self> {
        let seconds = clock.duration_since(EPOCH).as_nanos() - i128::from(offset) * SECOND;
        Self::new(seconds, offset)
    }

    /// Since 1970.
    pub(crate) fn nanoseconds(self) -> i128 {
        self.nanoseconds
    }

    /// Since 1970, without the fraction.
    pub(crate) fn seconds(self) -> i64 {
        self.nanoseconds.div_euclid(SECOND) as i64
    }

    /// A point that is so many nanoseconds later.
    pub(crate) fn later(self, by: i128) -> Option<Self> {
        Self::new(self.nanoseconds + by, self.offset)
    }

    /// The wall-clock time in a time zone.
    pub(crate) fn clock(self, zone: &TimeZone) -> DateTime {
        // The time zones' own range ends a little earlier, where nothing changes any more.
        let near = self
            .seconds()
            .clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
        let offset = Timestamp::from_second(near).map_or(0, |near| zone.to_offset(near).seconds());
        self.shifted(offset)
    }

    fn shifted(self, offset: i32) -> DateTime {
        let nanoseconds = self.nanoseconds + i128::from(offset) * SECOND;
        let since = SignedDuration::new(
            (nanoseconds.div_euclid(SECOND)) as i64,
            nanoseconds.rem_euclid(SECOND) as i32,
        );
        EPOCH.checked_add(since).unwrap_or(DateTime::MAX)
    }
}

const EPOCH: DateTime = DateTime::from_parts(Date::constant(1970, 1, 1), Time::midnight());

impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.nanoseconds == other.nanoseconds
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanoseconds.cmp(&other.nanoseconds)
    }
}

impl std::fmt::Display for Instant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.shifted(self.offset))?;
        match self.offset {
            0 => write!(formatter, "Z"),
            offset => {
                let sign = if offset < 0 { '-' } else { '+' };
                let minutes = offset.abs() / 60;
                write!(formatter, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }
}
