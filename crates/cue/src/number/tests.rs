//! Expected values are from Go's cue v0.14.1.

use super::{ArithmeticError, InvalidNumber, Number, NumberKind};
use num_bigint::BigInt;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::collections::HashSet;

fn number(text: &str) -> Number {
    Number::from_literal(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn literals_print_as_cue_exports_them() {
    for (text, json, cue) in [
        ("0", "0", "0"),
        ("-0", "0", "0"),
        ("1", "1", "1"),
        ("123_456", "123456", "123456"),
        (
            "9223372036854775807",
            "9223372036854775807",
            "9223372036854775807",
        ),
        (
            "9223372036854775808",
            "9223372036854775808",
            "9223372036854775808",
        ),
        (
            "-9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775808",
        ),
        (
            "0xFFFF_FFFF_FFFF_FFFF_FF",
            "4722366482869645213695",
            "4722366482869645213695",
        ),
        ("0o777", "511", "511"),
        ("0b101", "5", "5"),
        ("1K", "1000", "1000"),
        ("1.5Ki", "1536", "1536"),
        ("100.0K", "100000", "100000"),
        (".5K", "500", "500"),
        ("1Pi", "1125899906842624", "1125899906842624"),
        (
            "123456789012345678901234567890123456.5K",
            "123456789012345678901234567890123500000",
            "123456789012345678901234567890123500000",
        ),
        ("1.0", "1.0", "1.0"),
        ("1.50", "1.50", "1.50"),
        ("-1.5", "-1.5", "-1.5"),
        ("1.", "1", "1.0"),
        (".5", "0.5", "0.5"),
        ("00.50", "0.50", "0.50"),
        ("0.0", "0.0", "0.0"),
        ("-0.0", "0.0", "0.0"),
        ("0.000", "0.000", "0.000"),
        ("0e5", "0E+5", "0e+5"),
        ("0e-7", "0.0000000", "0.0000000"),
        ("0e-3000", "0E-3000", "0e-3000"),
        ("1e3", "1E+3", "1e+3"),
        ("1.0e2", "1.0E+2", "1.0e+2"),
        ("1.5E+10", "1.5E+10", "1.5e+10"),
        ("1e-10", "1E-10", "1e-10"),
        ("0.000001", "0.000001", "0.000001"),
        ("0.0000001", "1E-7", "1e-7"),
        ("1_0.5_0e1_0", "1.050E+11", "1.050e+11"),
        ("0.5e400", "5E+399", "5e+399"),
        ("1e100000", "1E+100000", "1e+100000"),
        ("1e-100000", "1E-100000", "1e-100000"),
    ] {
        assert_eq!(
            (number(text).to_json().as_str(), number(text).to_cue().as_str()),
            (json, cue),
            "for {text}"
        );
    }
}

#[test]
fn what_is_not_a_number() {
    for text in [
        "", "-", ".", "x", "1x", "0x", "0xg", "1e", "1e+", "1.5e3K", "1Ki2", "1..2", "1Mx", "i", "K", "0b2",
        "--1", "1 ",
    ] {
        assert_eq!(
            Number::from_literal(text),
            Err(InvalidNumber::Syntax(text.to_owned())),
            "for {text:?}"
        );
    }
    assert_eq!(Number::from_literal("1.0001K"), Err(InvalidNumber::NotAnInteger));
    assert_eq!(Number::from_literal("1e100001"), Err(InvalidNumber::OutOfRange));
    assert_eq!(
        Number::from_literal("1e99999999999"),
        Err(InvalidNumber::OutOfRange)
    );
    assert_eq!(
        Number::from_literal(&"9".repeat(1_000_000)),
        Err(InvalidNumber::OutOfRange)
    );
}

type Operation = fn(&Number, &Number) -> Result<Number, ArithmeticError>;

#[test]
fn arithmetic() {
    let (add, subtract, multiply, divide) = (
        Number::add as Operation,
        Number::subtract as Operation,
        Number::multiply as Operation,
        Number::divide as Operation,
    );
    for (left, operation, right, expected) in [
        ("1", add, "2", "3"),
        ("0.1", add, "0.2", "0.3"),
        ("1e3", add, "1", "1001"),
        ("1.0", add, "1", "2.0"),
        ("2.50", add, "2.50", "5.00"),
        ("1e34", add, "1", "1.000000000000000000000000000000000E+34"),
        (
            "1e100000",
            add,
            "1",
            "1.000000000000000000000000000000000E+100000",
        ),
        ("9223372036854775807", add, "1", "9223372036854775808"),
        (
            "123456789012345678901234567890123456789012",
            add,
            "1",
            "1.234567890123456789012345678901235E+41",
        ),
        (
            "12345678901234567890123456789012345678.9",
            add,
            "0.05",
            "1.234567890123456789012345678901235E+37",
        ),
        (
            "99999999999999999999999999999999995",
            add,
            "0",
            "1.000000000000000000000000000000000E+35",
        ),
        (
            "99999999999999999999999999999999994",
            add,
            "0",
            "9.999999999999999999999999999999999E+34",
        ),
        ("1", subtract, "1", "0"),
        ("0.5", subtract, "0.50", "0.00"),
        ("0", subtract, "0.0", "0.0"),
        ("1", subtract, "2.5", "-1.5"),
        ("-9223372036854775808", subtract, "1", "-9223372036854775809"),
        ("1.0", multiply, "3", "3.0"),
        ("1.1", multiply, "1.1", "1.21"),
        ("1e3", multiply, "2", "2E+3"),
        ("1.0", multiply, "10", "10.0"),
        ("1e-7", multiply, "3", "3E-7"),
        ("0", multiply, "-1", "-0"),
        ("-1", multiply, "0.0", "-0.0"),
        ("0", multiply, "0", "0"),
        ("9223372036854775807", multiply, "2", "18446744073709551614"),
        (
            "123456789012345678901234567890123456789012",
            multiply,
            "123456789012345678901234567890123456789012",
            "1.524157875323883675049535156256668E+82",
        ),
        ("1e400", multiply, "1e400", "1E+800"),
        ("1", divide, "3", "0.3333333333333333333333333333333333"),
        ("2", divide, "3", "0.6666666666666666666666666666666667"),
        ("100", divide, "3", "33.33333333333333333333333333333333"),
        ("1", divide, "7", "0.1428571428571428571428571428571429"),
        ("4", divide, "2", "2.0"),
        ("10", divide, "4", "2.5"),
        ("100", divide, "1", "1.0E+2"),
        ("1000", divide, "10", "1.0E+2"),
        ("1000000", divide, "1000", "1.0E+3"),
        ("1e2", divide, "1e1", "10"),
        ("1e10", divide, "1e5", "1.0E+5"),
        ("6.0", divide, "2", "3.0"),
        ("0.5", divide, "0.25", "2.0"),
        ("-7", divide, "2", "-3.5"),
        ("0", divide, "5", "0"),
        ("0", divide, "-5", "0"),
        ("0.0", divide, "5", "0.0"),
        (
            "123456789012345678901234567890123456789012",
            divide,
            "1",
            "1.234567890123456789012345678901235E+41",
        ),
    ] {
        let found = operation(&number(left), &number(right)).map(|number| number.to_json());
        assert_eq!(found, Ok(expected.to_owned()), "for {left} and {right}");
    }
    let third = number("2").divide(&number("3")).unwrap();
    assert_eq!(
        third.multiply(&number("3")).unwrap().to_json(),
        "2.000000000000000000000000000000000"
    );
}

#[test]
fn integers_stay_integers_and_division_makes_floats() {
    let (one, big, float) = (
        number("1"),
        number("123456789012345678901234567890123456789012"),
        number("1.0"),
    );
    assert_eq!(one.add(&big).unwrap().kind(), NumberKind::Int);
    assert_eq!(one.multiply(&float).unwrap().kind(), NumberKind::Float);
    assert_eq!(
        number("4").divide(&number("2")).unwrap().kind(),
        NumberKind::Float
    );
}

#[test]
fn integer_division() {
    // left, right, div, mod, quo, rem
    for (left, right, expected) in [
        ("7", "2", ["3", "1", "3", "1"]),
        ("-7", "2", ["-4", "1", "-3", "-1"]),
        ("7", "-2", ["-3", "1", "-3", "1"]),
        ("-7", "-2", ["4", "1", "3", "-1"]),
        ("6", "-3", ["-2", "0", "-2", "0"]),
        (
            "-9223372036854775808",
            "-1",
            ["9223372036854775808", "0", "9223372036854775808", "0"],
        ),
        (
            "99999999999999999999999999999999995",
            "1",
            [
                "99999999999999999999999999999999995",
                "0",
                "99999999999999999999999999999999995",
                "0",
            ],
        ),
    ] {
        let (left, right) = (number(left), number(right));
        let found = [
            left.euclidean_quotient(&right),
            left.modulo(&right),
            left.truncated_quotient(&right),
            left.remainder(&right),
        ];
        let found = found.map(|result| result.map(|number| number.to_json()));
        assert_eq!(
            found,
            expected.map(|text| Ok(text.to_owned())),
            "for {left} and {right}"
        );
    }
}

#[test]
fn computations_without_a_result() {
    for (result, message) in [
        (
            number("1").divide(&number("0")),
            "failed arithmetic: division by zero",
        ),
        (
            number("0").divide(&number("0")),
            "failed arithmetic: division undefined",
        ),
        (number("1").modulo(&number("0")), "division by zero"),
        (number("1.5").modulo(&number("2")), "dividend is not an integer"),
        (
            number("1e99999").multiply(&number("1e99999")),
            "failed arithmetic: exponent out of range",
        ),
        (
            number("1e100000").add(&number("1e-100000")),
            "failed arithmetic: exponent out of range",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}

#[test]
fn order_and_equality() {
    use Ordering::{Equal, Greater, Less};
    for (left, right, expected) in [
        ("1", "2", Less),
        ("1", "1.0", Equal),
        ("100", "1e2", Equal),
        ("1.00", "1.0", Equal),
        ("-1", "0.5", Less),
        ("-2", "-1.5", Less),
        ("1e100000", "9223372036854775808", Greater),
        ("1e-100000", "0", Greater),
        ("-1e-100000", "0", Less),
        ("0", "0e5", Equal),
        (
            "123456789012345678901234567890.1",
            "123456789012345678901234567890.2",
            Less,
        ),
    ] {
        assert_eq!(number(left).compare(&number(right)), expected, "{left} {right}");
        assert_eq!(
            number(right).compare(&number(left)),
            expected.reverse(),
            "{right} {left}"
        );
    }
    assert_eq!(number("1.0"), number("1.00"));
    assert_ne!(number("1"), number("1.0"));
    let zero = number("0").multiply(&number("-1")).unwrap();
    assert_eq!(zero, number("0"));
    let distinct: HashSet<Number> = ["1", "1.0", "1.00", "10e-1", "0x1", "2", "0"]
        .map(number)
        .into_iter()
        .chain([zero])
        .collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn conversions() {
    assert_eq!(number("1e3").to_i64(), Some(1000));
    assert_eq!(number("2.50").to_i64(), None);
    assert_eq!(number("9223372036854775808").to_i64(), None);
    assert_eq!(number("1e100000").to_i64(), None);
    assert_eq!(number("-9223372036854775808").to_i64(), Some(i64::MIN));
    assert_eq!(number("25.00").to_bigint(), Some(BigInt::from(25)));
    assert_eq!(number("1e-100000").to_bigint(), None);
    assert_eq!(number("1.5").to_f64(), 1.5);
    assert_eq!(number("1e1000").to_f64(), f64::INFINITY);
    for (value, text) in [
        (1.0, "1"),
        (100.0, "1E+2"),
        (0.1, "0.1"),
        (1.5e300, "1.5E+300"),
        (-0.25, "-0.25"),
        (5e-324, "5E-324"),
    ] {
        assert_eq!(
            Number::from_f64(value).map(|number| number.to_json()).as_deref(),
            Some(text)
        );
    }
    assert_eq!(Number::from_f64(f64::NAN), None);
}

#[test]
fn rounding() {
    // number, truncated, floor, ceiling, round, round to even
    for (text, expected) in [
        ("2.5", ["2", "2", "3", "3", "2"]),
        ("3.5", ["3", "3", "4", "4", "4"]),
        ("-2.5", ["-2", "-3", "-2", "-3", "-2"]),
        ("2.51", ["2", "2", "3", "3", "3"]),
        ("0.4", ["0", "0", "1", "0", "0"]),
        ("-0.04", ["0", "-1", "0", "0", "0"]),
        ("7", ["7", "7", "7", "7", "7"]),
        ("7.00", ["7", "7", "7", "7", "7"]),
    ] {
        let number = number(text);
        let found = [
            number.truncated(),
            number.floor(),
            number.ceiling(),
            number.round(),
            number.round_to_even(),
        ];
        assert_eq!(
            found.map(|number| number.to_json()),
            expected.map(str::to_owned),
            "for {text}"
        );
    }
}

proptest! {
    #[test]
    fn small_integers_compute_as_wide_ones(left in any::<i64>(), right in any::<i64>()) {
        let (a, b) = (Number::from_i64(left), Number::from_i64(right));
        let (wide_a, wide_b) = (i128::from(left), i128::from(right));
        prop_assert_eq!(a.add(&b), Ok(Number::integer(wide_a + wide_b)));
        prop_assert_eq!(a.subtract(&b), Ok(Number::integer(wide_a - wide_b)));
        prop_assert_eq!(a.compare(&b), left.cmp(&right));
        if right != 0 {
            prop_assert_eq!(a.euclidean_quotient(&b), Ok(Number::integer(wide_a.div_euclid(wide_b))));
            prop_assert_eq!(a.modulo(&b), Ok(Number::integer(wide_a.rem_euclid(wide_b))));
        }
    }

    #[test]
    fn floats_come_back(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
        prop_assert_eq!(Number::from_f64(value).map(|number| number.to_f64()), Some(value));
    }

    #[test]
    fn what_is_printed_reads_back(coefficient in any::<i128>(), exponent in -500i32..500) {
        let number = Number::float(coefficient, exponent);
        prop_assert_eq!(Number::from_literal(&number.to_cue()), Ok(number));
    }
}
