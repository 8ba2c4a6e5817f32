//! Canonical JSON and digests. The expected texts were computed with another implementation of ECMAScript's numbers and strings.

use cambium_lineage::{Digest, DigestError, canonical};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

#[test]
fn numbers_are_written_as_ecmascript_does() {
    let vectors: [(u64, &str); 30] = [
        (0x0000000000000000, "0"),
        (0x8000000000000000, "0"),
        (0x0000000000000001, "5e-324"),
        (0x8000000000000001, "-5e-324"),
        (0x7fefffffffffffff, "1.7976931348623157e+308"),
        (0xffefffffffffffff, "-1.7976931348623157e+308"),
        (0x4340000000000000, "9007199254740992"),
        (0xc340000000000000, "-9007199254740992"),
        (0x4430000000000000, "295147905179352830000"),
        (0x44b52d02c7e14af5, "9.999999999999997e+22"),
        (0x44b52d02c7e14af6, "1e+23"),
        (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
        (0x444b1ae4d6e2ef4e, "999999999999999700000"),
        (0x444b1ae4d6e2ef4f, "999999999999999900000"),
        (0x444b1ae4d6e2ef50, "1e+21"),
        (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
        (0x3eb0c6f7a0b5ed8d, "0.000001"),
        (0x41b3de4355555553, "333333333.3333332"),
        (0x41b3de4355555554, "333333333.33333325"),
        (0x41b3de4355555555, "333333333.3333333"),
        (0xbecbf647612f3696, "-0.0000033333333333333333"),
        (0x43143ff3c1cb0959, "1424953923781206.2"),
        (0x3fb999999999999a, "0.1"),
        (0x3ff8000000000000, "1.5"),
        (0x3e112e0be826d695, "1e-9"),
        (0x0010000000000000, "2.2250738585072014e-308"),
        (0x000fffffffffffff, "2.225073858507201e-308"),
        (0x4341c37937e08000, "10000000000000000"),
        (0x4024000000000000, "10"),
        (0x43e0000000000000, "9223372036854776000"),
    ];
    for (bits, expected) in vectors {
        let number = Number::from_f64(f64::from_bits(bits)).unwrap();
        assert_eq!(canonical(&Value::Number(number)), expected, "{bits:016x}");
    }
}

#[test]
fn large_integers_keep_their_digits_so_that_different_contents_have_different_digests() {
    assert_eq!(canonical(&json!(9007199254740993_u64)), "9007199254740993");
    assert_eq!(canonical(&json!(u64::MAX)), "18446744073709551615");
    assert_eq!(canonical(&json!(i64::MIN)), "-9223372036854775808");
    assert_ne!(
        Digest::of(&json!(9007199254740993_u64)),
        Digest::of(&json!(9007199254740992_u64))
    );
}

#[test]
fn known_documents_have_known_digests() {
    let vectors = [
        (
            json!(null),
            "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
        ),
        (
            json!({}),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        ),
        (
            json!({"b": 1, "a": [true, false, null, "x"]}),
            "9e69781ffa33b4ed4633de1bc270e14b33dacd5c78337ff6ec17baa337fe27e5",
        ),
        (
            json!({"version": "1.2.3", "schematic": {"cue": {"template": "output: {}\n\tparameter: {}"}}}),
            "68cbf8aeac342cda40984bc5fb217e15c75970e20682d9a223f4a7b1db4b82e4",
        ),
        (
            json!([1e21, 1e-7, 0.1, -0.0, 1e20, 1.2345678901234568e20]),
            "c6fb06b5b3ca8325c8fe38c4f01fc237a4914ef0ae3bd22006a0b92b19cadc1d",
        ),
        (
            json!({"\u{e000}": "private", "\u{10000}": "linear b", "~": "tilde", "é": "e", "a\0": "nul", "/": "\u{2028}<\u{7f}>"}),
            "0bbe856a374acc2d2b3e9e3d4d1a23621cf252d2692b51e0388fa2d3203f7929",
        ),
    ];
    for (value, expected) in vectors {
        assert_eq!(Digest::of(&value).hex(), expected, "{}", canonical(&value));
    }
}

#[test]
fn keys_are_ordered_by_utf16_code_units() {
    let value = json!({"\u{e000}": 1, "\u{10000}": 2, "b": 3, "a": 4, "": 5});
    assert_eq!(
        canonical(&value),
        "{\"\":5,\"a\":4,\"b\":3,\"\u{10000}\":2,\"\u{e000}\":1}"
    );
}

#[test]
fn strings_escape_what_must_be_escaped_and_nothing_else() {
    let value = json!("\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}é\u{2028}😀");
    let expected = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}é\u{2028}😀\"";
    assert_eq!(canonical(&value), expected);
}

#[test]
fn a_digest_is_shown_read_and_cut_short() {
    let digest = Digest::of(&json!({}));
    assert_eq!(
        digest.to_string(),
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
    assert_eq!(digest.short(), "44136fa355b3");
    assert_eq!(digest.to_string().parse(), Ok(digest));
    let error = |text: &str| text.parse::<Digest>().unwrap_err();
    assert!(matches!(error("md5:00"), DigestError::Algorithm { .. }));
    assert!(matches!(error("sha256:00"), DigestError::Length { found: 2, .. }));
    assert!(matches!(
        error(&digest.to_string().to_uppercase()),
        DigestError::Algorithm { .. }
    ));
    assert!(matches!(
        error("sha256:4413G"),
        DigestError::Character { character: 'G', .. }
    ));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        (-100_i32..100, -30_i32..30)
            .prop_map(|(digits, power)| json!(f64::from(digits) * 10_f64.powi(power))),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// The same value, as far as JSON is concerned: integral floats are integers.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn canonical_json_reads_back_as_the_same_value(value in json_value()) {
        let text = canonical(&value);
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert!(same(&read, &value), "{text}");
    }

    #[test]
    fn canonical_json_of_canonical_json_is_itself(value in json_value()) {
        let once = canonical(&value);
        let read: Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(canonical(&read), once);
    }

    #[test]
    fn spelling_and_order_do_not_change_the_digest(value in json_value()) {
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let read: Value = serde_json::from_str(&pretty).unwrap();
        prop_assert_eq!(Digest::of(&read), Digest::of(&value));
    }

    #[test]
    fn every_double_reads_back_from_its_shortest_digits(bits in any::<u64>()) {
        let float = f64::from_bits(bits);
        prop_assume!(float.is_finite());
        let text = canonical(&json!(float));
        prop_assert_eq!(text.parse::<f64>().unwrap(), float);
        prop_assert!(text.len() <= 25, "{}", text);
    }

    #[test]
    fn digests_are_read_as_they_are_shown(value in json_value()) {
        let digest = Digest::of(&value);
        prop_assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    }

    #[test]
    fn reading_a_digest_never_panics(text in ".{0,80}") {
        let _ = text.parse::<Digest>();
    }
}
