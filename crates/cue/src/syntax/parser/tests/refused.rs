use super::{check_problems, read};
use crate::diagnostic::Severity;
use crate::source::Source;

#[test]
fn what_is_wrong_and_where() {
    check_problems(&[
        ("a: }", &["1:4 expected operand, found '}'"]),
        ("a: {b: 1", &["1:9 expected '}', found 'EOF'"]),
        ("a: [1 2]", &["1:7 missing ',' in list literal"]),
        ("a: [1\n2]", &["1:6 missing ',' before newline in list literal"]),
        ("a: [1, 2", &["1:9 missing ',' before newline in list literal"]),
        ("a: [1, ", &["1:8 expected operand, found 'EOF'"]),
        ("a: 1 2", &["1:6 missing ',' in struct literal"]),
        ("a: 1; b: 2", &["1:5 missing ',' in struct literal"]),
        (
            "a \"b\" \"c\": 1",
            &["1:3 expected label or ':', found 'STRING' \"b\""],
        ),
        ("a: <Name>: 1", &["1:10 expected operand, found ':'"]),
        ("a: ==3", &["1:4 expected operand, found '=='"]),
        ("a: (1\n)", &["1:6 expected ')', found newline"]),
        ("a: f(1 2)", &["1:8 missing ',' in argument list"]),
        ("a: b[0", &["1:7 expected ']', found newline"]),
        ("a: b.", &["1:6 expected selector, found 'EOF'"]),
        ("a: b.\"\"", &["1:6 expected selector, found 'STRING' \"\""]),
        ("a: {...string}", &["1:8 missing ',' in struct literal"]),
        ("a: @x(y)", &["1:4 expected operand, found 'ATTRIBUTE'"]),
        ("}", &["1:1 expected 'EOF', found '}'"]),
        ("a: 1\n  & 2", &["2:3 expected operand, found '&'"]),
        ("for x in y", &["1:11 expected '{', found 'EOF'"]),
        ("for x y {}", &["1:7 expected 'in', found 'IDENT' y"]),
        ("let x 1", &["1:7 expected '=', found 'INT' 1"]),
    ]);
}

#[test]
fn labels_that_cannot_be() {
    check_problems(&[
        ("_: 1", &["1:1 cannot use _ as label"]),
        ("__x: 1", &["1:1 identifiers starting with '__' are reserved"]),
        ("[a, b]: 1", &["1:1 square bracket must have exactly one element"]),
        ("[...a]: 1", &["1:1 square bracket must have exactly one element"]),
        (
            "1: 2",
            &["1:1 this expression cannot be a label; put it in parentheses or quotes"],
        ),
        (
            "a.b: 2",
            &["1:1 this expression cannot be a label; put it in parentheses or quotes"],
        ),
        (
            "X=1\na: X",
            &["1:3 use of deprecated old-style alias; use \"let X = expr\" instead"],
        ),
        ("a: [X=1]", &["1:5 alias values not allowed in this position"]),
        ("\"a\"=b: 1", &["1:1 expected identifier for alias"]),
        ("a?", &["1:3 expected label or ':', found newline"]),
    ]);
}

#[test]
fn literals_that_cannot_be() {
    check_problems(&[
        ("a: 08", &["1:4 illegal integer number"]),
        ("a: 0777", &["1:4 illegal integer number"]),
        ("a: 0x", &["1:4 illegal hexadecimal number"]),
        ("a: 0b", &["1:4 illegal binary number"]),
        ("a: 0o8", &["1:4 illegal octal number"]),
        ("a: 1e", &["1:4 illegal exponent in number"]),
        ("a: 1__0", &["1:6 illegal '_' in number"]),
        ("a: 1_", &["1:5 illegal '_' in number"]),
        ("a: 1.0001K", &["1:4 number cannot be represented as int"]),
        ("a: \"foo", &["1:4 string literal not terminated"]),
        ("a: \"foo\nb: 1", &["1:4 string literal not terminated"]),
        (
            "a: \"\"\"foo\"\"\"",
            &["1:4 expected newline after multiline quote \"\"\""],
        ),
        ("a: \"\"\"\n  foo\n", &["1:4 string literal not terminated"]),
        (
            "a: \"\"\"\n\tfoo\n  bar\n\t\"\"\"",
            &["3:1 invalid string: a line must start with the white space before the closing quote"],
        ),
        (r#"a: "\z""#, &["1:6 unknown escape sequence"]),
        (r#"a: "\'""#, &["1:6 unknown escape sequence"]),
        (
            r#"a: "ab\x41""#,
            &["1:8 invalid string: escapes of bytes are for bytes literals, in single quotes"],
        ),
        (
            r#"a: "\u12g4""#,
            &["1:9 illegal character U+0067 'g' in escape sequence"],
        ),
        (r#"a: "\ud800""#, &["1:5 unmatched surrogate pair"]),
        (r#"a: "\udc00""#, &["1:5 unmatched surrogate pair"]),
        (
            r#"a: "\U00110000""#,
            &["1:5 escape sequence is invalid Unicode code point"],
        ),
        (r"a: '\400'", &["1:5 escape sequence is not a byte"]),
        (
            "a: \"\"\"\n\tx \\\n\ty\n\t\"\"\"",
            &["2:5 unknown escape sequence"],
        ),
        (
            r#"a: "x\(1 2)y""#,
            &["1:10 expected ')' for string interpolation"],
        ),
        (r#"a: "x\(1 +)y""#, &["1:11 expected operand, found ')'"]),
        (r#"a: "x\()y""#, &["1:8 expected operand, found ')'"]),
        ("a: ^", &["1:4 illegal character U+005E '^'"]),
        ("a: \u{0}", &["1:4 illegal character U+0000"]),
        ("a: 1..2", &["1:5 illegal token '..'; expected '.'"]),
        ("a: _|x", &["1:4 illegal token '_|'; expected '_'"]),
        ("@foo", &["1:5 invalid attribute: expected '('"]),
        ("@foo(", &["1:6 attribute missing ')'"]),
        ("@foo(a]", &["1:7 unexpected ']'"]),
        (r#"@foo("\(a)")"#, &["1:6 interpolation not allowed in attribute"]),
    ]);
}

#[test]
fn clauses_of_the_file() {
    check_problems(&[
        ("package", &["1:8 expected 'IDENT', found newline"]),
        ("package #a", &["1:9 invalid package name #a"]),
        ("package a b", &["1:11 expected ',', found 'IDENT' b"]),
        ("import a", &["1:9 expected 'STRING', found newline"]),
        ("import \"\"", &["1:8 invalid import path: \"\""]),
        ("import \"a b\"", &["1:8 invalid import path: \"a b\""]),
        (
            "import #a \"b\"",
            &["1:8 cannot import package as definition identifier"],
        ),
        (
            "a: 1\nimport \"b\"",
            &["2:8 expected label or ':', found 'STRING' \"b\""],
        ),
    ]);
}

#[test]
fn one_problem_does_not_hide_the_next() {
    check_problems(&[
        (
            "a: }\nb: 1 2\nc: 3",
            &[
                "1:4 expected operand, found '}'",
                "2:6 missing ',' in struct literal",
            ],
        ),
        (
            "a: {\n\tb: [1 2, 3]\n\tc: 08\n}\nd: 1 2",
            &[
                "2:8 missing ',' in list literal",
                "3:5 illegal integer number",
                "5:6 missing ',' in struct literal",
            ],
        ),
        (
            "a: f(1 2, {\nx: 1\n})\nb: ]",
            &[
                "1:8 missing ',' in argument list",
                "4:4 expected operand, found ']'",
            ],
        ),
    ]);
}

#[test]
fn problems_are_counted_out() {
    let problems = read(&"a: ]\n".repeat(1_000)).unwrap_err();
    assert_eq!(problems.0.len(), 50);
}

#[test]
fn what_the_language_has_and_we_do_not() {
    for text in [
        "@experiment(structcmp)\npackage p\n",
        "@extern(embed)\npackage p\n",
    ] {
        let problems = read(text).unwrap_err();
        assert_eq!(problems.0[0].severity, Severity::Unsupported);
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_place() {
    let problems = Source::from_bytes("t.cue", b"a: 1\nb: \"\xff\"").unwrap_err();
    assert_eq!(problems.to_string(), "the text is not UTF-8\n    t.cue:2:5");
}
