//! Regular expressions in Go's dialect, on Rust's engine.
//!
//! The two are close relatives (RE2), so a pattern is translated where they differ: `\d`, `\w`, `\s`
//! and `\b` are about ASCII, `[` needs no escape inside a class, a `{` that is no repetition is
//! itself, `\Q…\E` and octal escapes exist.

mod translate;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A lazily compiled pattern. Says nothing the pattern's text does not say, so all are equal.
#[derive(Debug, Clone, Default)]
pub struct Matcher(OnceLock<Option<Regex>>);

impl PartialEq for Matcher {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Matcher {
    /// A pattern not compiled yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Whether `text` contains a match of `pattern`; nothing matches a pattern that does not compile.
    pub fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.0
            .get_or_init(|| compile(pattern).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

/// Memory that one compiled pattern may take.
const SIZE_LIMIT: usize = 32 << 20;

/// Compiles a pattern of Go's dialect; the error is worded as Go words it, as far as the cause is known.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated =
        translate::translate(pattern).map_err(|cause| format!("error parsing regexp: {cause}"))?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| explain(pattern, &error))
}

fn explain(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let has = |part: &str| text.contains(part);
    let cause = if has("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if has("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if has("repetition operator missing expression") {
        let operator = pattern
            .chars()
            .find(|character| "*+?".contains(*character))
            .unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else {
        let reason = text
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        format!("{reason}: `{pattern}`")
    };
    format!("error parsing regexp: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            ("^[a-z]+$", "abc", true),
            (r"^\d+$", "٣", false),
            (r"^\w$", "é", false),
            (r"^[\w.-]+$", "a-b.c", true),
            (r"^[[]$", "[", true),
            (r"^[a&&b]+$", "&a", true),
            (r"^[+--]$", ",", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{x}$", "{x}", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\101$", "A", true),
            (r"^[[:alpha:]_]+$", "a_b", true),
            (r"^(foo|bar)$", "bar", true),
            (r"^[^\s]+$", "a b", false),
            (r"^[]a]+$", "]a", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\<$", "<", true),
            (r"^[\p{L}\d]\p{Greek}$", "aΣ", true),
            (r"^(?P<n>a)(?P<n>b)(?<1>c)$", "abc", true),
            (r"^a+?b*?$", "ab", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                compile(pattern).map(|regex| regex.is_match(text)),
                Ok(expected),
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn bad_patterns_are_explained_as_in_go() {
        let cases = [
            ("(a", "error parsing regexp: missing closing ): `(a`"),
            ("a)", "error parsing regexp: unexpected ): `a)`"),
            ("[a", "error parsing regexp: missing closing ]: `[a`"),
            (
                "(?!a)",
                "error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
            ),
            (r"(a)\1", "error parsing regexp: invalid escape sequence: `\\1`"),
            (
                "*a",
                "error parsing regexp: missing argument to repetition operator: `*`",
            ),
            ("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"),
            ("a{2,1}", "error parsing regexp: invalid repeat count: `{2,1}`"),
            (
                "a**",
                "error parsing regexp: invalid nested repetition operator: `**`",
            ),
            (
                "(?x)a",
                "error parsing regexp: invalid or unsupported Perl syntax: `(?x`",
            ),
            ("(?<!a)", "error parsing regexp: invalid named capture: `(?<!a)`"),
            (r"\u0041", "error parsing regexp: invalid escape sequence: `\\u`"),
            (
                "[z-a]",
                "error parsing regexp: invalid character class range: `z-a`",
            ),
            (
                "[a--b]",
                "error parsing regexp: invalid character class range: `a--`",
            ),
            (
                "[[:foo:]]",
                "error parsing regexp: invalid character class range: `[:foo:]`",
            ),
        ];
        for (pattern, expected) in cases {
            assert_eq!(compile(pattern).err().as_deref(), Some(expected));
        }
    }
}
