//! Expected values are from Go's cue v0.14.1.

use super::*;

fn number(text: &str) -> Number {
    Number::from_literal(text).unwrap()
}

fn text(result: Result<Number, CallError>) -> String {
    result.map_or_else(|error| error.to_string(), |number| number.to_json())
}

type Function = fn(&Number) -> Result<Number, CallError>;

#[test]
fn logarithms_and_exponentials() {
    let functions: [(&str, Function); 6] = [
        ("Exp", exp),
        ("Exp2", exp2),
        ("Log", log),
        ("Log10", log10),
        ("Log2", log2),
        ("Cbrt", cbrt),
    ];
    for (name, x, expected) in [
        ("Exp", "0", "1"),
        ("Exp", "1", "2.718281828459045235360287471352662"),
        ("Exp", "-2.5", "0.08208499862389879516952867446715981"),
        ("Exp", "1e-10", "1.000000000100000000005000000000167"),
        ("Exp", "100", "26881171418161354484126255515800140000000000"),
        ("Exp", "-8", "0.0003354626279025118388213891257808610"),
        ("Exp", "23000", "overflow"),
        ("Exp", "-99999", "underflow, subnormal"),
        ("Exp2", "10", "1024"),
        ("Exp2", "-1", "0.5000000000000000000000000000000000"),
        ("Exp2", "0.5", "1.414213562373095048801688724209698"),
        ("Log", "1", "0"),
        ("Log", "2", "0.6931471805599453094172321214581766"),
        ("Log", "0.1", "-2.302585092994045684017991454684364"),
        ("Log", "1e100", "230.2585092994045684017991454684364"),
        ("Log", "2.718281828459045", "0.9999999999999999134157889710887612"),
        (
            "Log",
            "1.0000000000000000000000000000000000000000001",
            "1.000000000000000000000000000000000E-43",
        ),
        ("Log", "0", "logarithm of zero"),
        ("Log", "-1", "invalid operation"),
        ("Log10", "1000", "3"),
        ("Log10", "0.001", "-3"),
        ("Log10", "2", "0.3010299956639811952137388947244930"),
        ("Log2", "8", "3"),
        ("Log2", "0.25", "-2"),
        ("Log2", "10", "3.32192809488736234787031942948939"),
        ("Cbrt", "27", "3"),
        ("Cbrt", "-8", "-2"),
        ("Cbrt", "0", "0"),
        ("Cbrt", "2", "1.259921049894873164767210607278228"),
        ("Cbrt", "0.001", "0.1000000000000000000000000000000000"),
        ("Cbrt", "1e100", "2154434690031883721759293566519350"),
    ] {
        let (_, function) = functions.iter().find(|(other, _)| *other == name).unwrap();
        assert_eq!(text(function(&number(x))), expected, "{name}({x})");
    }
}

#[test]
fn powers() {
    for (x, y, expected) in [
        ("2", "10", "1024"),
        ("2", "100", "1267650600228229401496703205376"),
        ("3", "-3", "0.03703703703703703703703703703703704"),
        ("0.5", "10", "0.0009765625"),
        ("0.5", "-3", "8"),
        ("1.5", "100", "406561177535215237.3972797075670417"),
        ("-2", "3", "-8"),
        ("-2", "-3", "-0.1250000000000000000000000000000000"),
        ("100", "0.5", "10"),
        ("2", "0.5", "1.414213562373095048801688724209698"),
        ("7.5", "-0.5", "0.3651483716701107423046465218672014"),
        ("1.5", "-100000", "7.483321982518253906397073965739095E-17610"),
        ("2", "-99999.5", "1.415626225672714343465062636207330E-30103"),
        ("2", "0", "1"),
        ("0", "2", "0"),
        ("0", "0", "invalid operation"),
        ("0", "-1", "division by zero"),
        ("-2", "0.5", "invalid operation"),
        ("2", "1e6", "exponent out of range"),
        ("0.5", "1e9", "exponent out of range"),
        ("10", "1e100", "exponent out of range"),
    ] {
        assert_eq!(text(pow(&number(x), &number(y))), expected, "{x} ^ {y}");
    }
    assert_eq!(
        (text(pow10(3)), text(pow10(-3))),
        ("1000".to_owned(), "0.001".to_owned())
    );
    assert_eq!(text(pow10(100_001)), "exponent out of range");
}

#[test]
fn rounding_and_signs() {
    for (x, expected) in [
        ("2.5", ["2", "3", "2", "3", "2", "2.5"]),
        ("-2.5", ["-3", "-2", "-2", "-3", "-2", "2.5"]),
        ("1e3", ["1000", "1000", "1000", "1000", "1000", "1000"]),
        ("-1.0", ["-1", "-1", "-1", "-1", "-1", "1"]),
    ] {
        let x = number(x);
        let found = [
            floor(&x),
            ceil(&x),
            trunc(&x),
            round(&x),
            round_to_even(&x),
            abs(&x),
        ];
        assert_eq!(
            found.map(|number| number.to_json()),
            expected.map(str::to_owned),
            "{x}"
        );
    }
    assert_eq!(copysign(&number("1.5"), &number("-2")).to_json(), "-1.5");
    assert_eq!(text(dim(&number("3"), &number("1"))), "2");
    assert_eq!(text(dim(&number("1"), &number("3"))), "0");
    assert!(signbit(&number("-1")) && !signbit(&number("0")));
    assert_eq!(multiple_of(&number("7.5"), &number("0.5")), Ok(true));
    assert_eq!(multiple_of(&number("7"), &number("2")), Ok(false));
    assert_eq!(
        multiple_of(&number("1"), &number("0")),
        Err(CallError::new("division by zero"))
    );
}

#[test]
fn jacobi_symbols() {
    for (x, y, expected) in [
        (0, 1, 1),
        (0, 3, 0),
        (2, 3, -1),
        (2, 7, 1),
        (5, 7, -1),
        (5, 15, 0),
        (-3, 7, 1),
        (-3, -5, 1),
        (2, -5, -1),
    ] {
        assert_eq!(
            jacobi(&BigInt::from(x), &BigInt::from(y)),
            Ok(expected),
            "({x}/{y})"
        );
    }
    let message = "big: invalid 2nd argument to Int.Jacobi: need odd integer but got 2";
    assert_eq!(
        jacobi(&BigInt::from(1), &BigInt::from(2)),
        Err(CallError::new(message))
    );
}

#[test]
fn floats_agree_but_for_the_last_digit() {
    for (name, x, expected) in [
        ("Sqrt", 3.0, 1.7320508075688772),
        ("Sin", 1.0, 0.8414709848078965),
        ("Cos", 2.5, -0.8011436155469337),
        ("Tan", 1.0, 1.557407724654902),
        ("Asin", 0.1, 0.1001674211615598),
        ("Atan", 10.0, 1.4711276743037345),
        ("Sinh", 1.5, 2.1292794550948178),
        ("Acosh", 2.0, 1.3169578969248166),
        ("Expm1", 0.1, 0.10517091807564763),
        ("Log1p", 0.1, 0.09531017980432487),
        ("Gamma", 5.0, 24.0),
        ("Erf", 0.5, 0.5204998778130465),
        ("Erfinv", 0.5, 0.4769362762044699),
        ("Erfcinv", 0.001, 2.326753765513524),
        ("J0", 10.0, -0.24593576445134832),
        ("Y1", 3.0, 0.3246744247918),
        ("Logb", 10.0, 3.0),
    ] {
        let (_, function) = float::UNARY.iter().find(|(other, _)| *other == name).unwrap();
        let found = function(x);
        assert!(
            (found - expected).abs() <= expected.abs() * 1e-14,
            "{name}({x}) = {found}"
        );
    }
    for (name, x, y, expected) in [
        ("Hypot", 2.0, 3.0, 3.6055512754639896),
        ("Atan2", 1.0, -1.0, 2.356194490192345),
        ("Mod", 7.5, -2.0, 1.5),
        ("Remainder", 7.5, 2.0, -0.5),
    ] {
        let (_, function) = float::BINARY.iter().find(|(other, _)| *other == name).unwrap();
        assert!(
            (function(x, y) - expected).abs() <= 1e-15,
            "{name}({x}, {y}) = {}",
            function(x, y)
        );
    }
    assert_eq!(
        (float::ldexp(1.5, 10), float::ilogb(0.1), float::ilogb(0.0)),
        (1536.0, -4, -2_147_483_648)
    );
    assert!(
        (float::jn(2, 1.5) - 0.2320876721442147).abs() < 1e-15
            && (float::yn(2, 1.5) + 0.9321937597629739).abs() < 1e-14
    );
}

#[test]
fn constants_are_numbers() {
    for (name, text) in CONSTANTS {
        assert_eq!(number(text).to_json(), text, "{name}");
    }
    assert_eq!(INTEGER_CONSTANTS.len(), 13);
}
