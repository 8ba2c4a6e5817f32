//! Package `time`: durations, and times as text of RFC 3339. There is no clock: a time is what a program says it is.
//!
//! Layouts are those of Go: they show how the moment `Mon Jan 2 15:04:05 MST 2006` would be written.

mod calendar;
mod duration;
mod layout;
mod parse;
mod write;

pub use duration::{duration, format_duration, parse_duration};

use super::CallError;
use calendar::Moment;

/// The layout of RFC 3339 with as many digits of the second as needed.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// The constants that are layouts.
pub const LAYOUTS: [(&str, &str); 13] = [
    ("ANSIC", "Mon Jan _2 15:04:05 2006"),
    ("UnixDate", "Mon Jan _2 15:04:05 MST 2006"),
    ("RubyDate", "Mon Jan 02 15:04:05 -0700 2006"),
    ("RFC822", "02 Jan 06 15:04 MST"),
    ("RFC822Z", "02 Jan 06 15:04 -0700"),
    ("RFC850", "Monday, 02-Jan-06 15:04:05 MST"),
    ("RFC1123", "Mon, 02 Jan 2006 15:04:05 MST"),
    ("RFC1123Z", "Mon, 02 Jan 2006 15:04:05 -0700"),
    ("RFC3339", "2006-01-02T15:04:05Z07:00"),
    ("RFC3339Nano", RFC3339_NANO),
    ("RFC3339Date", "2006-01-02"),
    ("Kitchen", "3:04PM"),
    ("Kitchen24", "15:04"),
];

/// The constants that are integers: units in nanoseconds, months and days of the week.
pub const INTEGERS: [(&str, i64); 25] = [
    ("Nanosecond", 1),
    ("Microsecond", 1_000),
    ("Millisecond", 1_000_000),
    ("Second", 1_000_000_000),
    ("Minute", 60_000_000_000),
    ("Hour", 3_600_000_000_000),
    ("January", 1),
    ("February", 2),
    ("March", 3),
    ("April", 4),
    ("May", 5),
    ("June", 6),
    ("July", 7),
    ("August", 8),
    ("September", 9),
    ("October", 10),
    ("November", 11),
    ("December", 12),
    ("Sunday", 0),
    ("Monday", 1),
    ("Tuesday", 2),
    ("Wednesday", 3),
    ("Thursday", 4),
    ("Friday", 5),
    ("Saturday", 6),
];

/// The parts of a time, in the zone that it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// The year.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
    /// The hour, from 0 to 23.
    pub hour: i64,
    /// The minute.
    pub minute: i64,
    /// The second.
    pub second: i64,
    /// The rest of the second.
    pub nanosecond: i64,
}

/// Whether a text is a time of RFC 3339.
pub fn time(value: &str) -> Result<bool, CallError> {
    format(value, RFC3339_NANO)
}

/// Whether a text is a time in a layout.
pub fn format(value: &str, layout: &str) -> Result<bool, CallError> {
    match parse::parse(layout, value) {
        Ok(_) => Ok(true),
        Err(_) => Err(CallError::Failed(format!(
            "invalid time {}",
            super::strconv::quote(value)
        ))),
    }
}

/// A time of RFC 3339 in another layout.
pub fn format_string(layout: &str, value: &str) -> Result<String, CallError> {
    Ok(write::write(&parse::parse(RFC3339_NANO, value)?, layout))
}

/// A time in a layout as one of RFC 3339, in UTC.
pub fn parse(layout: &str, value: &str) -> Result<String, CallError> {
    let moment = parse::parse(layout, value)?;
    Ok(write::write(&moment.in_utc(), RFC3339_NANO))
}

/// The time of a Unix timestamp, in UTC.
pub fn unix(seconds: i64, nanoseconds: i64) -> String {
    let carried = nanoseconds.div_euclid(1_000_000_000);
    let rest = nanoseconds.rem_euclid(1_000_000_000);
    write::write(&Moment::at(seconds.saturating_add(carried), rest), RFC3339_NANO)
}

/// The parts of a time of RFC 3339.
pub fn split(value: &str) -> Result<Parts, CallError> {
    Ok(parse::parse(RFC3339_NANO, value)?.parts())
}

#[cfg(test)]
mod tests;
