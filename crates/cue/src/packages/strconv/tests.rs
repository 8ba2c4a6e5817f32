//! Expected values are from Go's cue v0.14.1.

use super::*;
use crate::number::Number;

fn text<T: ToString>(result: Result<T, CallError>) -> String {
    result.map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[test]
fn integers_from_text() {
    for (given, base, bits, expected) in [
        ("1_000", 0, 64, "1000"),
        ("0x10", 0, 64, "16"),
        ("-0x10", 0, 64, "-16"),
        ("0b11", 0, 64, "3"),
        ("0o17", 0, 64, "15"),
        ("017", 0, 64, "15"),
        ("0x_1", 0, 64, "1"),
        ("+5", 10, 64, "5"),
        ("ZZ", 36, 64, "1295"),
        ("127", 10, 8, "127"),
        ("-128", 10, 8, "-128"),
        ("9223372036854775807", 10, 0, "9223372036854775807"),
        ("-9223372036854775808", 10, 0, "-9223372036854775808"),
        (
            "128",
            10,
            8,
            r#"strconv.ParseInt: parsing "128": value out of range"#,
        ),
        (
            "-129",
            10,
            8,
            r#"strconv.ParseInt: parsing "-129": value out of range"#,
        ),
        (
            "9223372036854775808",
            10,
            0,
            r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#,
        ),
        (
            "99999999999999999999",
            10,
            0,
            r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#,
        ),
        (
            "1_000",
            10,
            64,
            r#"strconv.ParseInt: parsing "1_000": invalid syntax"#,
        ),
        (
            "1__0",
            0,
            64,
            r#"strconv.ParseInt: parsing "1__0": invalid syntax"#,
        ),
        ("_1", 0, 64, r#"strconv.ParseInt: parsing "_1": invalid syntax"#),
        ("08", 0, 64, r#"strconv.ParseInt: parsing "08": invalid syntax"#),
        ("0b", 0, 64, r#"strconv.ParseInt: parsing "0b": invalid syntax"#),
        ("", 10, 64, r#"strconv.ParseInt: parsing "": invalid syntax"#),
        ("-", 10, 64, r#"strconv.ParseInt: parsing "-": invalid syntax"#),
        ("1", 1, 64, r#"strconv.ParseInt: parsing "1": invalid base 1"#),
        ("1", 37, 64, r#"strconv.ParseInt: parsing "1": invalid base 37"#),
        (
            "1",
            10,
            65,
            r#"strconv.ParseInt: parsing "1": invalid bit size 65"#,
        ),
    ] {
        assert_eq!(
            text(parse_int(given, base, bits)),
            expected,
            "{given} {base} {bits}"
        );
    }
    assert_eq!(
        text(parse_uint("18446744073709551615", 10, 64)),
        "18446744073709551615"
    );
    assert_eq!(
        text(parse_uint("256", 10, 8)),
        r#"strconv.ParseUint: parsing "256": value out of range"#
    );
    assert_eq!(
        text(parse_uint("-1", 10, 8)),
        r#"strconv.ParseUint: parsing "-1": invalid syntax"#
    );
    assert_eq!(text(atoi("-12")), "-12");
    assert_eq!(
        text(atoi("12x")),
        r#"strconv.Atoi: parsing "12x": invalid syntax"#
    );
}

#[test]
fn integers_to_text() {
    let number = |text| Number::from_literal(text).unwrap();
    for (given, base, expected) in [
        ("255", 16, "ff"),
        ("-255", 2, "-11111111"),
        ("255", 62, "47"),
        ("61", 62, "Z"),
        ("0", 62, "0"),
        ("-123456789012345678901234567890", 36, "-byw97um9s91dlz68tsi"),
        ("255", 1, "invalid base"),
        ("255", 63, "invalid base"),
    ] {
        assert_eq!(text(format_int(&number(given), base)), expected, "{given} {base}");
    }
}

#[test]
fn floats_from_text() {
    for (given, bits, expected) in [
        ("1.5", 64, "1.5"),
        ("1.1", 32, "1.100000023841858"),
        (".5", 64, "0.5"),
        ("1.", 64, "1"),
        ("-1e3", 64, "-1000"),
        ("1_0.5", 64, "10.5"),
        ("0x1p-2", 64, "0.25"),
        ("0X1.8P1", 64, "3"),
        ("0x1_0p0", 64, "16"),
        ("1e-400", 64, "0"),
        (
            "1e400",
            64,
            r#"strconv.ParseFloat: parsing "1e400": value out of range"#,
        ),
        (
            "0x1p1024",
            64,
            r#"strconv.ParseFloat: parsing "0x1p1024": value out of range"#,
        ),
        (
            "1e39",
            32,
            r#"strconv.ParseFloat: parsing "1e39": value out of range"#,
        ),
        ("0x1", 64, r#"strconv.ParseFloat: parsing "0x1": invalid syntax"#),
        (
            "1__0",
            64,
            r#"strconv.ParseFloat: parsing "1__0": invalid syntax"#,
        ),
        ("1e", 64, r#"strconv.ParseFloat: parsing "1e": invalid syntax"#),
        (".", 64, r#"strconv.ParseFloat: parsing ".": invalid syntax"#),
        ("", 64, r#"strconv.ParseFloat: parsing "": invalid syntax"#),
    ] {
        assert_eq!(text(parse_float(given, bits)), expected, "{given} {bits}");
    }
}

#[test]
fn floats_to_text() {
    for (value, format, precision, bits, expected) in [
        (1.5, b'f', 2, 64, "1.50"),
        (1.5, b'f', -1, 64, "1.5"),
        (1e21, b'f', -1, 64, "1000000000000000000000"),
        (0.5, b'f', 0, 64, "0"),
        (2.5, b'f', 0, 64, "2"),
        (0.1, b'f', 20, 64, "0.10000000000000000555"),
        (1.5, b'e', -1, 64, "1.5e+00"),
        (1234.5678, b'e', 3, 64, "1.235e+03"),
        (1e100, b'E', -1, 64, "1E+100"),
        (0.0, b'e', 2, 64, "0.00e+00"),
        (100.0, b'g', -1, 64, "100"),
        (1e20, b'g', -1, 64, "1e+20"),
        (1e6, b'g', -1, 64, "1e+06"),
        (123456789.0, b'g', -1, 64, "1.23456789e+08"),
        (0.00001, b'g', -1, 64, "1e-05"),
        (0.0001, b'g', -1, 64, "0.0001"),
        (1234.5678, b'g', 6, 64, "1234.57"),
        (1234.5678, b'G', 2, 64, "1.2E+03"),
        (0.0, b'g', 3, 64, "0"),
        (0.1, b'g', -1, 32, "0.1"),
        (0.1, b'f', 20, 32, "0.10000000149011611938"),
        (-1.5, b'b', -1, 64, "-6755399441055744p-52"),
        (1.5, b'x', -1, 64, "0x1.8p+00"),
        (1.5, b'x', 0, 64, "0x1p+01"),
        (-1.5, b'X', 3, 64, "-0X1.800P+00"),
        (1.5, b'q', -1, 64, "%q"),
        (
            1.5,
            b'f',
            -1,
            16,
            "strconv: illegal AppendFloat/FormatFloat bitSize",
        ),
        (
            1.5,
            b'f',
            1_000_000_000,
            64,
            "precision is larger than 10000 digits",
        ),
    ] {
        let found = text(format_float(value, format, precision, bits));
        assert_eq!(
            found,
            expected,
            "{value} {} {precision} {bits}",
            char::from(format)
        );
    }
}

#[test]
fn quoting() {
    let given = "a\"'\\\n\t\u{7}\u{0}\u{7f}é\u{200b}\u{3000}😀";
    assert_eq!(quote(given), r#""a\"'\\\n\t\a\x00\x7fé\u200b\u3000😀""#);
    assert_eq!(
        quote_to_ascii(given),
        r#""a\"'\\\n\t\a\x00\x7f\u00e9\u200b\u3000\U0001f600""#
    );
    assert_eq!(
        quote_to_graphic(given),
        "\"a\\\"'\\\\\\n\\t\\a\\x00\\x7fé\\u200b\u{3000}😀\""
    );
    assert_eq!(
        (quote_rune(39), quote_rune(34), quote_rune(-1)),
        (r"'\''".into(), "'\"'".into(), "'\u{fffd}'".into())
    );
    assert_eq!(
        (quote_rune_to_ascii(233), quote_rune_to_graphic(0x3000)),
        (r"'\u00e9'".into(), "'\u{3000}'".into())
    );
    assert!(is_print(233) && is_print(32) && !is_print(0x3000) && !is_print(0xd800) && is_graphic(0x3000));
}

#[test]
fn unquoting() {
    for (given, expected) in [
        (r#""a\n""#, "a\n"),
        ("'a'", "a"),
        (r##"#"a"b"#"##, "a\"b"),
        ("\"\"\"\n  x\n  y\n  \"\"\"", "x\ny"),
        (r"'\xff'", "\u{fffd}"),
        ("abc", "invalid syntax"),
        (r#""\z""#, "invalid syntax"),
        (r#""\(x)""#, "invalid syntax"),
        (r#""a"b""#, "invalid syntax"),
        ("\"a", "invalid string: unmatched quote"),
        ("", "invalid syntax"),
    ] {
        assert_eq!(text(unquote(given)), expected, "{given}");
    }
}

#[test]
fn truth() {
    for given in ["1", "t", "T", "true", "TRUE", "True"] {
        assert_eq!(parse_bool(given), Ok(true));
    }
    for given in ["0", "f", "F", "false", "FALSE", "False"] {
        assert_eq!(parse_bool(given), Ok(false));
    }
    assert_eq!(
        text(parse_bool("yes")),
        r#"strconv.ParseBool: parsing "yes": invalid syntax"#
    );
    assert_eq!((format_bool(true), format_bool(false)), ("true", "false"));
}
