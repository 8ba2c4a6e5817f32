//! Expected values are from Go's cue v0.14.1.

use super::*;
use crate::number::Number;
use crate::packages::json;
use proptest::prelude::*;

fn read(text: &str) -> String {
    unmarshal(text.as_bytes(), &mut ()).map_or_else(|error| error.to_string(), |data| data.to_json())
}

fn marshal(data: &Data) -> String {
    super::marshal(data).unwrap()
}

fn marshal_stream(values: &[Data]) -> String {
    super::marshal_stream(values).unwrap()
}

fn write(json: &str) -> String {
    marshal(&json::unmarshal(json.as_bytes(), &mut ()).unwrap())
}

#[test]
fn collections_are_written_in_blocks() {
    for (json, yaml) in [
        (
            r#"{"a":1,"b":{"c":[1,2],"d":{}},"e":[]}"#,
            "a: 1\nb:\n  c:\n    - 1\n    - 2\n  d: {}\ne: []\n",
        ),
        (
            r#"[[1,2],[],[[3]],{"a":1,"b":{"c":[4]}},{},["p\nq"]]"#,
            "- - 1\n  - 2\n- []\n- - - 3\n- a: 1\n  b:\n    c:\n      - 4\n- {}\n- - |-\n    p\n    q\n",
        ),
        (
            r#"{"l":[{"x":"y\nz\n","m":1}]}"#,
            "l:\n  - x: |\n      y\n      z\n    m: 1\n",
        ),
        ("{}", "{}\n"),
        ("[]", "[]\n"),
        ("null", "null\n"),
        ("\"x\"", "x\n"),
        ("\"a\\nb\\n\\n\"", "|+\n  a\n  b\n\n"),
    ] {
        assert_eq!(write(json), yaml, "{json}");
    }
    let values = [
        Data::Number(Number::from_i64(1)),
        Data::String("x\n\n".to_owned()),
    ];
    assert_eq!(marshal_stream(&values), "1\n---\n|+\n  x\n\n");
    assert_eq!(marshal_stream(&[]), "");
}

#[test]
fn strings_are_quoted_where_they_would_be_something_else() {
    for (style, strings) in [
        (
            "{}",
            &[
                "a",
                "a b",
                "a:b",
                "a#b",
                "-a",
                "?a",
                ":a",
                "a,b",
                "a'b",
                "a\"b",
                "a\\b",
                "é",
                "日本",
                "<<",
                "=",
                "+",
                "1e",
                "0x",
                "0o8",
                "1,000",
                "nUll",
                "--x",
                "1 2",
                "https://a.b/c?d=e#f",
                "100m",
                "1.2.3",
                "\u{a0}",
            ][..],
        ),
        (
            "'{}'",
            &[
                " ", " a", "a ", "a: b", "a #b", "#a", "- a", "-", "?", "? a", ":", "[a]", "{a", "*a", "&a",
                "!a", "|", ">", "\"a\"", "%a", "@a", "`a", "...", "--- a", "a:", "a: ",
            ],
        ),
        (
            "\"{}\"",
            &[
                "",
                "true",
                "yes",
                "no",
                "y",
                "n",
                "t",
                "null",
                "~",
                "123",
                "1.5",
                "0x1F",
                "0o17",
                "017",
                "08",
                "1e3",
                "1_000",
                "2024-01-02",
                "12:30:45",
                "1:2",
                ".inf",
                ".nan",
                ".Nan",
                "+1",
                "-1",
                "1.",
                ".5",
                "0b11",
                "on",
                "OFF",
                "True",
                "Null",
                "---",
                "00",
                "1-2",
                "2001-12-14t21:59:43.10-05:00",
            ],
        ),
    ] {
        for string in strings {
            let expected = format!("{}\n", style.replace("{}", string));
            assert_eq!(marshal(&Data::String((*string).to_owned())), expected);
        }
    }
    for (string, expected) in [
        ("'a'", "'''a'''\n"),
        ("a\tb", "\"a\\tb\"\n"),
        ("😀", "\"\\U0001F600\"\n"),
        ("\u{85}", "\"\\N\"\n"),
        ("\u{7}a\0\u{7f}", "\"\\aa\\0\\x7F\"\n"),
        ("\u{feff}", "\"\\uFEFF\"\n"),
        ("x\ry", "\"x\\ry\"\n"),
        ("a \nb", "\"a \\nb\"\n"),
        ("a\nb ", "\"a\\nb \"\n"),
        ("é\n😀", "\"é\\n\\U0001F600\"\n"),
        (" a\nb", "|2-\n   a\n  b\n"),
        ("a\n\n b", "|-\n  a\n\n   b\n"),
        ("\ta\nb", "|-\n  \ta\n  b\n"),
    ] {
        assert_eq!(marshal(&Data::String(string.to_owned())), expected, "{string:?}");
    }
}

#[test]
fn keys() {
    assert_eq!(
        write(r#"{"a: b":1,"":2,"true":3,"1":4,"y":5,"-":6,"a\tb":7,"a\nb":8}"#),
        "'a: b': 1\n\"\": 2\n\"true\": 3\n\"1\": 4\n\"y\": 5\n'-': 6\n\"a\\tb\": 7\n? |-\n  a\n  b\n: 8\n"
    );
    let (short, long) = ("k".repeat(128), "k".repeat(129));
    assert_eq!(write(&format!(r#"{{"{short}":1}}"#)), format!("{short}: 1\n"));
    assert_eq!(
        write(&format!(r#"{{"{long}":{{"a":[1],"b":2}}}}"#)),
        format!("? {long}\n: a:\n    - 1\n  b: 2\n")
    );
}

#[test]
fn numbers() {
    for (number, yaml) in [
        ("1", "1\n"),
        ("-1.50", "-1.50\n"),
        ("1e3", "1E+3\n"),
        ("1.", "1.\n"),
        ("0xff", "255\n"),
        ("1e-7", "1E-7\n"),
    ] {
        assert_eq!(
            marshal(&Data::Number(Number::from_literal(number).unwrap())),
            yaml
        );
    }
    let big = Number::from_literal(&"9".repeat(40))
        .unwrap()
        .add(&Number::from_i64(1))
        .unwrap();
    assert_eq!(
        marshal(&Data::Number(big)),
        "1.000000000000000000000000000000000e+40\n"
    );
}

#[test]
fn scalars_are_read() {
    assert_eq!(
        read("a: [017, 0o17, 0x1F, 0b11, 1_000, +5, -017, 08, 1e3, 1., .5, -1.5, 0, 00, -0]"),
        r#"{"a":[15,15,31,3,1000,5,-15,"08",1E+3,1,0.5,-1.5,0,0,0]}"#
    );
    assert_eq!(
        read("yes: no\non: off\ny: ~"),
        r#"{"yes":"no","on":"off","y":null}"#
    );
    assert_eq!(
        read("a: True\nb: FALSE\nc: Null\nd: nUll"),
        r#"{"a":true,"b":false,"c":null,"d":"nUll"}"#
    );
    assert_eq!(
        read("a: 2024-01-02\nb: 12:30:45\nc: 1:30"),
        r#"{"a":"2024-01-02","b":"12:30:45","c":"1:30"}"#
    );
    assert_eq!(
        read("1: a\n1.5: b\ntrue: c\n~: d\n010: e"),
        r#"{"1":"a","1.5":"b","true":"c","null":"d","0o10":"e"}"#
    );
    assert_eq!(
        read("a: !!str 123\nb: !!int \"5\"\nc: ! 1\nd: !!null x"),
        r#"{"a":"123","b":5,"c":1,"d":null}"#
    );
    assert_eq!(
        read("a: 18446744073709551615\nb: 1e400"),
        r#"{"a":18446744073709551615,"b":"1e400"}"#
    );
}

#[test]
fn structures_are_read() {
    for (yaml, json) in [
        ("", "null"),
        ("# c", "null"),
        ("---\n", "null"),
        (
            "- a\n- - b\n  - c\n- d: e\n  f: g",
            r#"["a",["b","c"],{"d":"e","f":"g"}]"#,
        ),
        ("a:\n- b\n- c", r#"{"a":["b","c"]}"#),
        ("{a, b: c, }", r#"{"a":null,"b":"c"}"#),
        ("? a\n: b\n? c", r#"{"a":"b","c":null}"#),
        (
            "a: |\n  x\n  y\nb: >\n  x\n  y\nc: \"a\\nb\"\nd: 'it''s'",
            r#"{"a":"x\ny\n","b":"x y\n","c":"a\nb","d":"it's"}"#,
        ),
        ("a: |-\n  x\n\n  y\n", r#"{"a":"x\n\ny"}"#),
        ("a: |\n  x", r#"{"a":"x"}"#),
        ("{a: 1, a: 1}", r#"{"a":1}"#),
        ("{a: {b: 1}, a: {c: 2}}", r#"{"a":{"b":1,"c":2}}"#),
        ("- &a 1\n- *a\n- *a", "[1,1,1]"),
        (
            "a: &x {b: 1}\nd:\n  <<: *x\n  e: 2\n  b: 3",
            r#"{"a":{"b":1},"d":{"b":3,"e":2}}"#,
        ),
        (
            "a: &x {b: 1}\nd:\n  b: 3\n  <<: *x\n",
            r#"{"a":{"b":1},"d":{"b":1}}"#,
        ),
        (
            "a: &x {b: 1}\ny: &y {b: 2, c: 3}\nd: {<<: [*x, *y]}\n",
            r#"{"a":{"b":1},"y":{"b":2,"c":3},"d":{"b":1,"c":3}}"#,
        ),
        ("d: {\"<<\": 1}", r#"{"d":{"<<":1}}"#),
    ] {
        assert_eq!(read(yaml), json, "{yaml}");
    }
    let stream = unmarshal_stream(b"a: 1\n---\nb: 2\n---\n", &mut ()).unwrap();
    assert_eq!(Data::List(stream).to_json(), r#"[{"a":1},{"b":2},null]"#);
    assert_eq!(unmarshal_stream(b"", &mut ()), Ok(vec![Data::Null]));
}

#[test]
fn what_is_refused() {
    for (yaml, message) in [
        ("a: 1\n---\nb: 2", "-: expected a single YAML document"),
        ("{a: 1, a: 2}", "a: conflicting values 2 and 1"),
        ("-1: a", ":1: invalid label -1"),
        ("e: !foo 1", ":1: cannot unmarshal tag \"!foo\""),
        (
            "d: !!binary '*'",
            ":1: !!binary value contains invalid base64 data",
        ),
        ("a: 1\nb: !!int x", ":2: cannot decode \"x\" as !!int"),
        ("{[a]: b}", ":1: invalid map key: !!seq"),
        ("a: &a [*a]", ":1: anchor \"a\" value contains itself"),
        (
            "d: {<<: 1}",
            ":1: map merge requires map or sequence of maps as the value",
        ),
        ("a: .inf", ":1: .inf is not a number"),
    ] {
        assert_eq!(read(yaml), message, "{yaml}");
    }
    for yaml in [
        "a: b: c",
        "a:\n\t- b",
        "[a",
        "*x",
        "a: \"x",
        "a: }",
        "- a\nb: 1",
        "a: @x",
    ] {
        assert!(unmarshal(yaml.as_bytes(), &mut ()).is_err(), "{yaml}");
    }
    assert!(unmarshal(b"a: \xff", &mut ()).is_err());
}

#[test]
fn what_grows_without_end_is_refused() {
    let mut laughs = "a0: &a0 [x]\n".to_owned();
    for level in 1..30 {
        let previous = format!("*a{}", level - 1);
        laughs.push_str(&format!(
            "a{level}: &a{level} [{previous}, {previous}, {previous}]\n"
        ));
    }
    assert_eq!(read(&laughs), "yaml: document contains excessive aliasing");
    assert!(unmarshal("[".repeat(100_000).as_bytes(), &mut ()).is_err());
    assert!(unmarshal("- ".repeat(100_000).as_bytes(), &mut ()).is_err());
}

fn any_data() -> impl Strategy<Value = Data> {
    let leaf = prop_oneof![
        Just(Data::Null),
        any::<bool>().prop_map(Data::Bool),
        any::<i64>().prop_map(|value| Data::Number(Number::from_i64(value))),
        "[ -~é\n\t😀]{0,12}".prop_map(Data::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Data::List),
            prop::collection::btree_map("[ -~é]{0,6}", inner, 0..4)
                .prop_map(|fields| Data::Struct(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Except for a string that starts with an empty line, which Go's writer loses, and a key `<<`, which it does not quote.
    #[test]
    fn what_is_written_reads_back(data in any_data()) {
        let text = marshal(&data);
        if !text.contains("|2") && !text.contains("<<") {
            prop_assert_eq!(unmarshal(text.as_bytes(), &mut ()), Ok(data), "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ -~\n\t]{0,60}") {
        let _ = unmarshal(text.as_bytes(), &mut ());
    }
}
