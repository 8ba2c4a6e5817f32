//! Durations as kubectl prints them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::read::UNKNOWN;

/// The age of an object, as a cell.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(&object["metadata"]["creationTimestamp"], now))
}

/// The time since a timestamp.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    parse(time).map_or_else(
        || UNKNOWN.to_owned(),
        |time| human_duration(seconds_between(time, now)),
    )
}

/// The duration between two times.
pub(super) fn between(from: Timestamp, to: Timestamp) -> String {
    human_duration(seconds_between(from, to))
}

pub(super) fn parse(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

/// A duration in at most two units: exact to the second for minutes, then coarser.
pub fn human_duration(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        () if hours < 24 * 365 * 2 => format!("{days}d"),
        () if hours < 24 * 365 * 8 => two(years, "y", days % 365, "d"),
        () => format!("{years}y"),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

fn seconds_between(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs()
}

#[cfg(test)]
mod tests {
    use super::human_duration;

    #[test]
    fn durations_get_coarser_as_they_grow() {
        let (minute, hour, day) = (60, 3600, 86400);
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (9 * minute + 5, "9m5s"),
            (10 * minute + 5, "10m"),
            (179 * minute, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 59 * minute, "7h59m"),
            (8 * hour + 59 * minute, "8h"),
            (47 * hour, "47h"),
            (2 * day, "2d"),
            (7 * day + 23 * hour, "7d23h"),
            (8 * day + 23 * hour, "8d"),
            (729 * day, "729d"),
            (730 * day, "2y"),
            (800 * day, "2y70d"),
            (8 * 365 * day + 3 * day, "8y"),
        ] {
            assert_eq!(human_duration(seconds), expected, "{seconds}");
        }
    }
}
