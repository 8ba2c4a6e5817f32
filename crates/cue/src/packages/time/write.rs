//! Formats times.

use super::calendar::Moment;
use super::layout::{Element, Padding, Zone, ZoneParts, next};
use std::fmt::Write;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A moment in a layout.
pub(super) fn write(moment: &Moment, layout: &str) -> String {
    let mut out = String::new();
    let mut rest = layout;
    loop {
        let (prefix, element, after) = next(rest);
        out.push_str(prefix);
        let Some((element, _)) = element else {
            return out;
        };
        write_element(&mut out, moment, element).expect("writing to a string does not fail");
        rest = after;
    }
}

fn write_element(out: &mut String, moment: &Moment, element: Element) -> std::fmt::Result {
    let parts = moment.parts();
    let month = MONTHS[usize::try_from(parts.month - 1).unwrap_or(0) % 12];
    let weekday = WEEKDAYS[moment.weekday() % 7];
    let hour12 = if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 };
    let number = |out: &mut String, value: i64, zero: bool| match zero {
        true => write!(out, "{value:02}"),
        false => write!(out, "{value}"),
    };
    match element {
        Element::LongMonth => out.write_str(month),
        Element::Month => out.write_str(&month[..3]),
        Element::NumberMonth { zero } => number(out, parts.month, zero),
        Element::LongWeekday => out.write_str(weekday),
        Element::Weekday => out.write_str(&weekday[..3]),
        Element::Day(Padding::None) => write!(out, "{}", parts.day),
        Element::Day(Padding::Space) => write!(out, "{:2}", parts.day),
        Element::Day(Padding::Zero) => write!(out, "{:02}", parts.day),
        Element::YearDay(Padding::Zero) => write!(out, "{:03}", moment.year_day()),
        Element::YearDay(_) => write!(out, "{:3}", moment.year_day()),
        Element::Hour => write!(out, "{:02}", parts.hour),
        Element::Hour12 { zero } => number(out, hour12, zero),
        Element::Minute { zero } => number(out, parts.minute, zero),
        Element::Second { zero } => number(out, parts.second, zero),
        Element::LongYear if parts.year < 0 => write!(out, "-{:04}", -parts.year),
        Element::LongYear => write!(out, "{:04}", parts.year),
        Element::Year => write!(out, "{:02}", parts.year.abs() % 100),
        Element::HalfDay { lower } => out.write_str(match (parts.hour >= 12, lower) {
            (true, false) => "PM",
            (false, false) => "AM",
            (true, true) => "pm",
            (false, true) => "am",
        }),
        Element::ZoneName if !moment.zone.is_empty() => out.write_str(&moment.zone),
        Element::ZoneName => write_zone(
            out,
            moment.offset,
            Zone {
                utc_is_z: false,
                colons: false,
                parts: ZoneParts::Minutes,
            },
        ),
        Element::Zone(zone) if zone.utc_is_z && moment.offset == 0 => out.write_char('Z'),
        Element::Zone(zone) => write_zone(out, moment.offset, zone),
        Element::Fraction {
            mark,
            digits,
            trimmed,
        } => {
            let all = format!("{:09}", parts.nanosecond);
            let kept = format!("{all:0<digits$}")[..digits].to_owned();
            let kept = if trimmed {
                kept.trim_end_matches('0')
            } else {
                &kept
            };
            if kept.is_empty() {
                Ok(())
            } else {
                write!(out, "{}{kept}", char::from(mark))
            }
        }
    }
}

fn write_zone(out: &mut String, offset: i64, zone: Zone) -> std::fmt::Result {
    // Less than a minute does not make it negative, as in Go.
    let sign = if offset / 60 < 0 { '-' } else { '+' };
    let minutes = (offset / 60).abs();
    let colon = if zone.colons { ":" } else { "" };
    write!(out, "{sign}{:02}", minutes / 60)?;
    if zone.parts != ZoneParts::Hours {
        write!(out, "{colon}{:02}", minutes % 60)?;
    }
    if zone.parts == ZoneParts::Seconds {
        write!(out, "{colon}{:02}", offset.abs() % 60)?;
    }
    Ok(())
}
