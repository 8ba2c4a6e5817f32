//! Extreme inputs.

use super::{parse, read};
use crate::source::Source;
use proptest::prelude::*;

#[test]
fn a_megabyte_of_anything_that_nests() {
    for text in [
        "[", "{", "(", "-", "a:", "\"\\(", "a.", "f(", "!", "*", "{a:", "[{", "if a {", "a[", "X=", "@a(",
    ] {
        let problems = read(&text.repeat(1_000_000 / text.len())).unwrap_err();
        let message = &problems.0[0].message;
        assert!(!message.is_empty(), "{text}");
    }
    for text in ["[", "{", "(", "-", "a:", "f(", "{a:", "a[", "{if a {"] {
        let problems = read(&format!("x: {}", text.repeat(10_000))).unwrap_err();
        assert_eq!(problems.0[0].message, "nested too deeply", "{text}");
    }
}

#[test]
fn a_megabyte_of_one_long_chain() {
    for text in ["+1", ".a", "[0]", "()", " | b", "|\nb", " && b"] {
        let problems = read(&format!("x: a{}", text.repeat(1_000_000 / text.len()))).unwrap_err();
        assert_eq!(problems.0[0].message, "nested too deeply", "{text}");
    }
}

#[test]
fn much_of_what_means_nothing() {
    for text in [
        "@", "@ ", "#", "##", "^", "\"", "'", "\\", "`", "0x ", "_|", "..", ",", ":", "=", "?", ";", "a ",
        "]", "}", ")",
    ] {
        assert!(read(&text.repeat(100_000 / text.len())).is_err(), "{text}");
    }
    for text in [
        "//", "/", "@\n", "^\n", "\"\n", "\"\"\"\n", "a:\n", "a\n", "]\n", "// c\n\n",
    ] {
        let _ = read(&text.repeat(50_000 / text.len()));
    }
}

#[test]
fn what_people_write_is_within_bounds() {
    let strings: Vec<String> = (0..2_000).map(|index| format!("\"value-{index}\"")).collect();
    assert!(read(&format!("x: {}", strings.join(" | "))).is_ok());
    assert!(read(&format!("x: {}1{}", "[".repeat(400), "]".repeat(400))).is_ok());
    assert!(read(&format!("x: {}1", "a: ".repeat(400))).is_ok());
    assert!(read(&format!("x: {}1{}", "{a: ".repeat(400), "}".repeat(400))).is_ok());
    let wide: String = (0..20_000).map(|index| format!("f{index}: {index}\n")).collect();
    assert_eq!(read(&wide).map(|file| file.declarations.len()), Ok(20_000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(WORDS), 0..60)) {
        let _ = read(&words.concat());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(source) = Source::from_bytes("t.cue", &bytes) {
            let _ = parse(&source);
        }
    }
}

const WORDS: &[&str] = &[
    "a",
    "b:",
    " ",
    "\n",
    "\r\n",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "?",
    "!",
    "=",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "#",
    "##\"",
    "\"#",
    "\\",
    "\\(",
    "\\u12",
    "\\x",
    "_",
    "_|_",
    "_|",
    "@",
    "@a(",
    "...",
    "..",
    ".",
    "for ",
    "if ",
    "let ",
    " in ",
    "div",
    "// c",
    "1",
    "0x",
    "1.",
    "1e",
    "5Ki",
    "X=",
    "é",
    "\u{feff}",
    "package p",
    "import \"x\"",
    "&",
    "|",
    "*",
    "==",
    "=~",
    "<",
    ";",
];
