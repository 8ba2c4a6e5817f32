//! Expected values are from Go's cue v0.14.1.

use super::*;

fn text<T: std::fmt::Display>(result: Result<T, CallError>) -> String {
    result.map_or_else(|error| error.to_string(), |value| value.to_string())
}

#[test]
fn values_from_text() {
    for (given, expected) in [
        (
            r#" {"a": [1, 2.50, null, true, "x"]} "#,
            r#"{"a":[1,2.50,null,true,"x"]}"#,
        ),
        (
            r#"[1E5, -0, -0.0, 1e400, 12345678901234567890123]"#,
            "[1E+5,0,0.0,1E+400,12345678901234567890123]",
        ),
        (r#""\ud83d\ude00\u00e9\/\b""#, r#""😀é/\b""#),
        (r#"{"b":1,"a":{},"c":[]}"#, r#"{"b":1,"a":{},"c":[]}"#),
        (
            r#"{"a":1,"a":1,"b":{"c":1},"b":{"d":2}}"#,
            r#"{"a":1,"b":{"c":1,"d":2}}"#,
        ),
        (
            r#"{"a":[1,{"b":2}],"a":[1,{"c":3}]}"#,
            r#"{"a":[1,{"b":2,"c":3}]}"#,
        ),
        (r#"{"a":1,"a":2}"#, "a: conflicting values 2 and 1"),
        (
            r#"{"a":{"b":1},"a":{"b":"x"}}"#,
            r#"a.b: conflicting values "x" and 1"#,
        ),
        (r#"{"a":[1],"a":[1,2]}"#, "a: incompatible list lengths (2 and 1)"),
        (r#""\ud800""#, "invalid string: unmatched surrogate pair"),
        ("{a:1}", "json: invalid JSON"),
        ("", "json: invalid JSON"),
        ("1 2", "json: invalid JSON"),
    ] {
        assert_eq!(
            text(unmarshal(given.as_bytes(), &mut ()).map(|data| data.to_json())),
            expected,
            "{given}"
        );
    }
    assert_eq!(
        text(unmarshal(b"\"\xff\"", &mut ()).map(|data| data.to_json())),
        "json: invalid JSON"
    );
}

#[test]
fn streams() {
    let values = unmarshal_stream(br#" 1 {"a":1} [2]"x" "#, &mut ()).unwrap();
    assert_eq!(marshal_stream(&values), "1\n{\"a\":1}\n[2]\n\"x\"\n");
    assert_eq!(unmarshal_stream(b" ", &mut ()), Ok(Vec::new()));
    assert_eq!(
        text(unmarshal_stream(b"1 x", &mut ()).map(|_| "")),
        "invalid JSON for file \"\": invalid character 'x' looking for beginning of value"
    );
}

#[test]
fn text_from_values() {
    let value = Data::String("<>&\u{2028}é\u{7f}\u{1}\"\\/\u{8}\u{c}\n\r\t".to_owned());
    assert_eq!(
        marshal(&value),
        "\"<>&\\u2028é\u{7f}\\u0001\\\"\\\\/\\b\\f\\n\\r\\t\""
    );
}

#[test]
fn other_forms_of_the_same() {
    let given = " {\"a\":[1,{}] ,\"b\":[],\n\"c\":{\"d\":\"<\"}} \n";
    assert_eq!(
        text(compact(given.as_bytes())),
        r#"{"a":[1,{}],"b":[],"c":{"d":"<"}}"#
    );
    let indented =
        "{\n>  \"a\": [\n>    1,\n>    {}\n>  ],\n>  \"b\": [],\n>  \"c\": {\n>    \"d\": \"<\"\n>  }\n>} \n";
    assert_eq!(text(indent(given.as_bytes(), ">", "  ")), indented);
    assert_eq!(
        html_escape("{\"a\":\"<>&\u{2028}\"} x".as_bytes()),
        r#"{"a":"\u003c\u003e\u0026\u2028"} x"#
    );
    assert!(valid(b"{}") && !valid(b"{") && !valid(b""));
}

#[test]
fn what_is_wrong_with_a_text() {
    for (given, message) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("\"a", "unexpected end of JSON input"),
        (
            "{a}",
            "invalid character 'a' looking for beginning of object key string",
        ),
        ("{\"a\"}", "invalid character '}' after object key"),
        (
            "{\"a\":1 \"b\"}",
            "invalid character '\"' after object key:value pair",
        ),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1}", "invalid character '}' after array element"),
        ("01", "invalid character '1' after top-level value"),
        ("-x", "invalid character 'x' in numeric literal"),
        (
            "1.x",
            "invalid character 'x' after decimal point in numeric literal",
        ),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ("1E+", "invalid character ' ' in exponent of numeric literal"),
        ("trux", "invalid character 'x' in literal true (expecting 'e')"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        (
            "\"\\u12g4\"",
            "invalid character 'g' in \\u hexadecimal character escape",
        ),
        ("\"\t\"", "invalid character '\\t' in string literal"),
        ("'a'", "invalid character '\\'' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
    ] {
        assert_eq!(text(compact(given.as_bytes())), message, "{given}");
        assert_eq!(text(indent(given.as_bytes(), "", "")), message, "{given}");
    }
}

#[test]
fn depth_and_size_have_an_end() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(unmarshal(deep(500).as_bytes(), &mut ()).is_ok());
    assert_eq!(text(compact(deep(501).as_bytes())), "exceeded max depth");
    assert_eq!(
        text(compact("[".repeat(1_000_000).as_bytes())),
        "exceeded max depth"
    );
    assert!(text(indent(deep(500).as_bytes(), "", &" ".repeat(100_000))).starts_with("result is larger"));
}
