//! Expected values are from Go's cue v0.14.1.

use super::*;

#[test]
fn what_matches() {
    for (pattern, text, expected) in [
        (r"\d+", "x1 y23", &[&["1"][..], &["23"]][..]),
        (r"\d", "٣", &[]),
        (r"\w+", "aé_1", &[&["a"], &["_1"]]),
        (r"\s", "\u{a0}\u{b}", &[]),
        (r"[\D]", "1a", &[&["a"]]),
        (r"\bé", "aé", &[&["é"]]),
        (r"\B", "ab", &[&[""]]),
        (r"(?i)k", "K", &[&["K"]]),
        (r"(?i)[é]", "É", &[&["É"]]),
        (r"(a)|(b)", "ab", &[&["a", "a", ""], &["b", "", "b"]]),
        (r"x*", "axb", &[&[""], &["x"], &[""]]),
        (r"a{,2}", "a{,2}", &[&["a{,2}"]]),
        (r"{", "{", &[&["{"]]),
        (r"[[a]+", "[a", &[&["[a"]]),
        (r"[a&&b]+", "a&b", &[&["a&b"]]),
        (r"[]a]+", "a]", &[&["a]"]]),
        (r"[a-]+", "a-", &[&["a-"]]),
        (r"\Qa.b\Ec", "a.bc", &[&["a.bc"]]),
        (r"\x41\x{42}\103", "ABC", &[&["ABC"]]),
        (r"\<\_\-", "<_-", &[&["<_-"]]),
        (r"\p{Greek}+\pN", "σΣ1", &[&["σΣ1"]]),
        (r"[[:alpha:]]+", "aé", &[&["a"]]),
        (r"(?m)^a$", "b\na\nb", &[&["a"]]),
        (r"a.b", "a\nb", &[]),
        (r"(?s)a.b", "a\nb", &[&["a\nb"]]),
        (r"(?U)a+", "aa", &[&["a"], &["a"]]),
        (r"a$", "a\n", &[]),
    ] {
        let found = find_all_submatch(pattern, text, -1, &mut ());
        match expected {
            [] => assert_eq!(found, Err(no_match()), "{pattern} {text:?}"),
            _ => assert_eq!(
                found,
                Ok(expected
                    .iter()
                    .map(|groups| groups.iter().map(|g| (*g).to_owned()).collect())
                    .collect()),
                "{pattern} {text:?}"
            ),
        }
    }
}

#[test]
fn what_is_refused() {
    for (pattern, message) in [
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*?+", "invalid nested repetition operator: `*?+`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("[]", "missing closing ]: `[]`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\q", r"invalid escape sequence: `\q`"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"a\", "trailing backslash at end of expression: ``"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (
            r"\p{Alphabetic}",
            r"invalid character class range: `\p{Alphabetic}`",
        ),
        ("(?x)a b", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<=a)", "invalid named capture: `(?<=a)`"),
        ("(?P<n-b>a)", "invalid named capture: `(?P<n-b>`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{10}){101}", "invalid repeat count: `{101}`"),
    ] {
        assert_eq!(
            valid(pattern),
            Err(CallError::Failed(format!("error parsing regexp: {message}"))),
            "{pattern}"
        );
    }
    assert_eq!(
        valid(&"(".repeat(2_000)).map_err(|error| error.to_string().contains("nests too deeply")),
        Err(true)
    );
    let large = r"(\p{L}{100}){10}".repeat(20);
    assert!(
        valid(&large)
            .unwrap_err()
            .to_string()
            .contains("expression too large")
    );
}

#[test]
fn finding() {
    assert_eq!(find("a+", "baab").as_deref(), Ok("aa"));
    assert_eq!(find("x", "baab"), Err(CallError::new("no match")));
    assert_eq!(
        find_all("a", "aaa", 2, &mut ()),
        Ok(vec!["a".to_owned(), "a".to_owned()])
    );
    assert_eq!(find_all("a", "aaa", 0, &mut ()), Err(CallError::new("no match")));
    assert_eq!(
        find_submatch("(a)(b)?", "ca", &mut ()),
        Ok(vec!["a".to_owned(), "a".to_owned(), String::new()])
    );
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(
        find_named_submatch(r"(?P<year>\d+)-(?<month>\d+)", "on 2024-01", &mut ()),
        Ok(vec![pair("month", "01"), pair("year", "2024")])
    );
    assert_eq!(
        find_all_named_submatch("(?P<x>.)", "ab", -1, &mut ()),
        Ok(vec![vec![pair("x", "a")], vec![pair("x", "b")]])
    );
    assert_eq!(find_named_submatch("a", "a", &mut ()), Ok(Vec::new()));
    assert_eq!(matches("^a", "ab"), Ok(true));
}

#[test]
fn replacing() {
    for (pattern, text, replacement, expected) in [
        ("a(x*)b", "-ab-axxb-", "T", "-T-T-"),
        ("a(x*)b", "-ab-axxb-", "$1", "--xx-"),
        ("a(x*)b", "-ab-axxb-", "$1W", "---"),
        ("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-"),
        ("(?P<n>a)", "ba", "<$n$$$0>", "b<a$a>"),
        ("a", "ba", "${n", "b${n"),
        ("a", "ba", "$", "b$"),
        ("", "ab", "-", "-a-b-"),
        ("x*", "axb", "-", "-a-b-"),
    ] {
        assert_eq!(
            replace_all(pattern, text, replacement, &mut ()).as_deref(),
            Ok(expected),
            "{pattern} {replacement}"
        );
    }
    assert_eq!(
        replace_all_literal("a", "ba", "$0", &mut ()).as_deref(),
        Ok("b$0")
    );
    assert_eq!(quote_meta("a.b[c]\\"), r"a\.b\[c\]\\");
}
