//! Expected values are from Go's cue v0.14.1.

use super::*;

#[test]
fn splitting() {
    for (text, separator, limit, parts, after) in [
        ("a,b,c", ",", -1, &["a", "b", "c"][..], &["a,", "b,", "c"][..]),
        ("a,b,c", ",", 2, &["a", "b,c"], &["a,", "b,c"]),
        ("a,b,c", ",", 1, &["a,b,c"], &["a,b,c"]),
        ("a,b,c", ",", 0, &[], &[]),
        ("", ",", -1, &[""], &[""]),
        ("", "", -1, &[], &[]),
        ("aéb", "", -1, &["a", "é", "b"], &["a", "é", "b"]),
        ("aéb", "", 2, &["a", "éb"], &["a", "éb"]),
        (",,", ",", -1, &["", "", ""], &[",", ",", ""]),
        ("abc", "abc", -1, &["", ""], &["abc", ""]),
        ("abc", "x", -1, &["abc"], &["abc"]),
    ] {
        assert_eq!(
            split_n(text, separator, limit),
            parts,
            "{text:?} {separator:?} {limit}"
        );
        assert_eq!(
            split_after_n(text, separator, limit),
            after,
            "{text:?} {separator:?} {limit}"
        );
    }
    assert_eq!(split("a.b", "."), ["a", "b"]);
    assert_eq!(split_after("a.b", "."), ["a.", "b"]);
    assert_eq!(fields("  a \u{2003}b\u{85}\n c "), ["a", "b", "c"]);
    assert!(fields(" \t").is_empty());
}

#[test]
fn finding() {
    for (text, part, expected) in [
        ("chicken", "ken", (4, 4)),
        ("go gopher", "go", (0, 3)),
        ("go gopher", "rodent", (-1, -1)),
        ("héllo", "l", (3, 4)),
        ("abc", "", (0, 3)),
        ("", "", (0, 0)),
    ] {
        assert_eq!(
            (index(text, part), last_index(text, part)),
            expected,
            "{text} {part}"
        );
        assert_eq!(contains(text, part), expected.0 >= 0);
    }
    for (text, characters, expected) in [
        ("golang", "gy", (0, 5)),
        ("golang", "y", (-1, -1)),
        ("golang", "", (-1, -1)),
        ("aéb", "bé", (1, 3)),
    ] {
        assert_eq!(
            (index_any(text, characters), last_index_any(text, characters)),
            expected,
            "{text} {characters}"
        );
        assert_eq!(contains_any(text, characters), expected.0 >= 0);
    }
    assert_eq!(
        (
            count("cheese", "e"),
            count("aaa", "aa"),
            count("aé", ""),
            count("", "")
        ),
        (3, 1, 3, 1)
    );
    assert_eq!(
        (compare("a", "b"), compare("b", "a"), compare("a", "a")),
        (-1, 1, 0)
    );
    assert!(has_prefix("abc", "ab") && has_suffix("abc", "") && !has_prefix("abc", "b"));
}

#[test]
fn changing() {
    for (text, old, new, limit, expected) in [
        ("oink oink oink", "k", "ky", 2, "oinky oinky oink"),
        ("oink oink", "oink", "moo", -1, "moo moo"),
        ("abc", "", "-", 2, "-a-bc"),
        ("abc", "", "-", -1, "-a-b-c-"),
        ("abc", "b", "", 0, "abc"),
    ] {
        assert_eq!(replace(text, old, new, limit).as_deref(), Ok(expected));
    }
    assert_eq!(
        (
            trim("xxaxx", "x"),
            trim_left("xyax", "yx"),
            trim_right("xax", "x")
        ),
        ("a", "ax", "xa")
    );
    assert_eq!(
        (
            trim_prefix("aab", "a"),
            trim_suffix("abb", "b"),
            trim_space(" \u{a0}a\t\n")
        ),
        ("ab", "ab", "a")
    );
    assert_eq!(join(&["a", "b"], ", ").as_deref(), Ok("a, b"));
    assert_eq!(join::<&str>(&[], ", ").as_deref(), Ok(""));
    assert_eq!(repeat("ab", 3).as_deref(), Ok("ababab"));
    assert_eq!(
        repeat("ab", -1),
        Err(CallError::new("strings: negative Repeat count"))
    );
}

#[test]
fn letters() {
    for (text, lower, upper, title, camel) in [
        (
            "hello World",
            "hello world",
            "HELLO WORLD",
            "Hello World",
            "hello world",
        ),
        ("straße", "straße", "STRAßE", "Straße", "straße"),
        ("İx", "ix", "İX", "İx", "ix"),
        ("ΑΣ", "ας".replace('ς', "σ").as_str(), "ΑΣ", "ΑΣ", "αΣ"),
        ("ǆ ﬁ", "ǆ ﬁ", "Ǆ ﬁ", "ǅ ﬁ", "ǆ ﬁ"),
        ("ᾀ", "ᾀ", "ᾈ", "ᾈ", "ᾀ"),
        ("ჟ", "ჟ", "Ჟ", "ჟ", "ჟ"),
    ] {
        assert_eq!(
            (to_lower(text), to_upper(text)),
            (lower.to_owned(), upper.to_owned())
        );
        assert_eq!(
            (to_title(text), to_camel(text)),
            (title.to_owned(), camel.to_owned())
        );
    }
}

#[test]
fn pieces() {
    assert_eq!(byte_at(b"abc", 1), Ok(98));
    assert_eq!(byte_slice(b"abc", 1, 2), Ok(&b"b"[..]));
    assert_eq!(slice_runes("héllo", 1, 3), Ok("él"));
    assert_eq!(slice_runes("hé", 2, 2), Ok(""));
    let out_of_range = CallError::new("index out of range");
    for (start, end) in [(-1, 1), (2, 1), (0, 6)] {
        assert_eq!(slice_runes("héllo", start, end), Err(out_of_range.clone()));
        assert_eq!(byte_slice(b"hello", start, end), Err(out_of_range.clone()));
    }
    assert_eq!(
        (byte_at(b"abc", 3), byte_at(b"abc", -1)),
        (Err(out_of_range.clone()), Err(out_of_range))
    );
    assert_eq!(runes("aé"), [97, 233]);
    assert!(min_runes("aé", 2) && !min_runes("aé", 3) && max_runes("aé", 2) && !max_runes("aé", 1));
}

#[test]
fn texts_have_an_end() {
    let refused = CallError::TooLarge;
    assert_eq!(refused.to_string(), "result is larger than 16777216 bytes");
    assert_eq!(repeat("abc", 1_000_000_000_000), Err(refused.clone()));
    assert_eq!(
        replace(&"a".repeat(100_000), "", &"b".repeat(1_000), -1),
        Err(refused.clone())
    );
    assert_eq!(join(&["a"; 1_000], &"b".repeat(100_000)), Err(refused));
}
