//! Expected values are from Go's cue v0.14.1.

use super::*;
use proptest::prelude::*;

fn text<T: ToString>(result: Result<T, CallError>) -> String {
    result.map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[test]
fn durations() {
    for (given, expected) in [
        ("1h30m", "5400000000000"),
        ("-1.5h", "-5400000000000"),
        ("300ms", "300000000"),
        ("1us", "1000"),
        ("1µs", "1000"),
        (".5s", "500000000"),
        ("1.s", "1000000000"),
        ("3.000000001s", "3000000001"),
        ("0.9223372036854775807h", "3320413933267"),
        ("0", "0"),
        ("+0", "0"),
        ("9223372036854775807ns", "9223372036854775807"),
        ("-9223372036854775808ns", "-9223372036854775808"),
        (
            "9223372036854775808ns",
            r#"time: invalid duration "9223372036854775808ns""#,
        ),
        ("2600000h", r#"time: invalid duration "2600000h""#),
        ("", r#"time: invalid duration """#),
        ("-", r#"time: invalid duration "-""#),
        (".s", r#"time: invalid duration ".s""#),
        ("1h-1m", r#"time: unknown unit "h-" in duration "1h-1m""#),
        ("1", r#"time: missing unit in duration "1""#),
        ("1h1", r#"time: missing unit in duration "1h1""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
    ] {
        assert_eq!(text(parse_duration(given)), expected, "{given}");
        assert_eq!(duration(given).is_ok(), expected.parse::<i64>().is_ok());
    }
    for (given, expected) in [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (1_234_567, "1.234567ms"),
        (1_500_000_000, "1.5s"),
        (60_000_000_000, "1m0s"),
        (3_661_000_000_001, "1h1m1.000000001s"),
        (-1_500_000_000, "-1.5s"),
        (i64::MIN, "-2562047h47m16.854775808s"),
    ] {
        assert_eq!(format_duration(given), expected);
    }
}

#[test]
fn times_of_rfc_3339() {
    for valid in [
        "2024-01-02T03:04:05Z",
        "2024-02-29T23:59:59.123456789+02:00",
        "2024-01-02T03:04:05,5Z",
        "2024-01-02T3:04:05Z",
    ] {
        assert_eq!(time(valid), Ok(true), "{valid}");
    }
    for invalid in [
        "2024-01-02",
        "2023-02-29T00:00:00Z",
        "2024-13-02T03:04:05Z",
        "2024-01-02T24:04:05Z",
        "2024-01-02T03:04:60Z",
        "2024-01-02T03:04:05",
        "2024-01-02T03:04:05z",
        "2024-01-02 03:04:05Z",
        "2024-01-02T03:04:05+25:00",
        "é",
        "",
    ] {
        assert_eq!(
            time(invalid),
            Err(CallError::Failed(format!("invalid time {invalid:?}"))),
            "{invalid}"
        );
    }
    assert_eq!(format("2024-01-02", "2006-01-02"), Ok(true));
    assert_eq!(
        format("2024-01-0", "2006-01-02"),
        Err(CallError::new("invalid time \"2024-01-0\""))
    );
}

#[test]
fn times_in_layouts() {
    for (layout, value, expected) in [
        ("2006-01-02", "2024-02-29", "2024-02-29T00:00:00Z"),
        ("3:04PM", "12:30AM", "0000-01-01T00:30:00Z"),
        (
            "Mon Jan _2 15:04:05 MST 2006",
            "Tue Jan  2 03:04:05 CEST 2024",
            "2024-01-02T03:04:05Z",
        ),
        (
            "Mon Jan 02 15:04:05 -0700 2006",
            "Tue Jan 02 03:04:05 +0200 2024",
            "2024-01-02T01:04:05Z",
        ),
        (
            "02 Jan 06 15:04 MST",
            "02 Jan 69 15:04 PST",
            "1969-01-02T15:04:00Z",
        ),
        ("January 2, 2006", "january 2, 2024", "2024-01-02T00:00:00Z"),
        ("2006-002", "2024-366", "2024-12-31T00:00:00Z"),
        (
            "2006-1-2 15:4:5.000",
            "2024-1-2 5:4:3.123",
            "2024-01-02T05:04:03.123Z",
        ),
        (
            "2006-01-02",
            "2024-02-30",
            "parsing time \"2024-02-30\": day out of range",
        ),
        (
            "2006-01-02",
            "2024-13-01",
            "parsing time \"2024-13-01\": month out of range",
        ),
        (
            "2006-002",
            "2023-366",
            "parsing time \"2023-366\": day-of-year out of range",
        ),
        ("15:04", "24:00", "parsing time \"24:00\": hour out of range"),
        ("15:04", "15:04x", "parsing time \"15:04x\": extra text: \"x\""),
        (
            "15:04",
            "x",
            "parsing time \"x\" as \"15:04\": cannot parse \"x\" as \"15\"",
        ),
        (
            "2006-01-02T15",
            "2024-01-02",
            "parsing time \"2024-01-02\" as \"2006-01-02T15\": cannot parse \"\" as \"T\"",
        ),
    ] {
        assert_eq!(text(super::parse(layout, value)), expected, "{layout} {value}");
    }
}

#[test]
fn other_layouts_for_a_time() {
    let value = "1999-12-31T12:00:00.5-07:30";
    for (layout, expected) in [
        ("Mon Jan _2 15:04:05 MST 2006", "Fri Dec 31 12:00:00 -0730 1999"),
        ("Monday, 02-Jan-06 03:04:05 pm", "Friday, 31-Dec-99 12:00:00 pm"),
        ("2006-01-02T15:04:05.000Z07:00", "1999-12-31T12:00:00.500-07:30"),
        ("15:04:05.999", "12:00:00.5"),
        ("2006 002 __2", "1999 365 365"),
        (
            "January 2 at 3:04PM -07 -07:00:00",
            "December 31 at 12:00PM -07 -07:30:00",
        ),
        ("Jane Mond _2006", "Jane Mond _1999"),
    ] {
        assert_eq!(text(format_string(layout, value)), expected, "{layout}");
    }
    assert_eq!(
        text(format_string("MST Z07:00", "2024-01-02T03:04:05+00:00")),
        "UTC Z"
    );
    let wrong = r#"parsing time "x" as "2006-01-02T15:04:05.999999999Z07:00": cannot parse "x" as "2006""#;
    assert_eq!(text(format_string("2006", "x")), wrong);
}

#[test]
fn seconds_and_parts() {
    for (seconds, nanoseconds, expected) in [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1_700_000_000, 5, "2023-11-14T22:13:20.000000005Z"),
        (0, -1, "1969-12-31T23:59:59.999999999Z"),
        (1, 2_000_000_000, "1970-01-01T00:00:03Z"),
        (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
        (1 << 40, 0, "36812-02-20T00:36:16Z"),
    ] {
        assert_eq!(unix(seconds, nanoseconds), expected);
    }
    let parts = split("2024-01-02T03:04:05.678+02:00").unwrap();
    let expected = Parts {
        year: 2024,
        month: 1,
        day: 2,
        hour: 3,
        minute: 4,
        second: 5,
        nanosecond: 678_000_000,
    };
    assert_eq!(parts, expected);
}

proptest! {
    #[test]
    fn seconds_come_back(seconds in -62_167_219_200i64..253_402_300_800, nanoseconds in 0i64..1_000_000_000) {
        let text = unix(seconds, nanoseconds);
        prop_assert_eq!(super::parse(RFC3339_NANO, &text), Ok(text.clone()));
    }

    #[test]
    fn durations_come_back(nanoseconds in any::<i64>()) {
        prop_assert_eq!(parse_duration(&format_duration(nanoseconds)), Ok(nanoseconds));
    }

    #[test]
    fn any_text_is_read_or_refused(layout in any::<String>(), value in any::<String>()) {
        let _ = super::parse(&layout, &value);
        let _ = format_string(&layout, "2024-01-02T03:04:05Z");
        let _ = parse_duration(&value);
    }
}
