//! Regular expressions in Go's dialect, on Rust's engine.
//!
//! The two are close relatives (RE2), so a pattern is translated where they differ: `\d`, `\w`, `\s`
//! and `\b` are about ASCII, `[` needs no escape inside a class, a `{` that is no repetition is
//! itself, `\Q…\E` and octal escapes exist.

mod translate;

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// A lazily compiled pattern: a cache, so all compare equal.
#[derive(Debug, Clone, Default)]
pub struct Matcher(OnceLock<Option<Pattern>>);

/// A compiled pattern with its size.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The pattern.
    pub regex: Regex,
    /// The maximum memory of the compiled pattern.
    pub size: usize,
}

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

    /// Whether `text` contains a match of `pattern`; false if the pattern does not compile, or matching would take too long.
    pub fn is_match(&self, pattern: &str, text: &str) -> bool {
        let pattern = self.0.get_or_init(|| compile(pattern).ok()).as_ref();
        pattern.is_some_and(|pattern| pattern.can_match(text) && pattern.regex.is_match(text))
    }
}

/// Budget of a match, in bytes of text times states of the pattern: some ten seconds at worst. Small patterns can match
/// texts of any request size.
const MOST_WORK: u64 = 2_000_000_000;

/// Approximate memory of a state of a compiled pattern.
const STATE: u64 = 64;

impl Pattern {
    /// Whether matching a text is within budget. At worst, every state of the pattern is visited for every byte of the text.
    pub fn can_match(&self, text: &str) -> bool {
        (text.len() as u64).saturating_mul(self.size as u64 / STATE) <= MOST_WORK
    }
}

/// Memory limits that are tried in turn, to find the size of a pattern.
const SIZES: [usize; 7] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20];

/// Compiles a pattern of Go's dialect, with Go's error messages where the cause is known.
pub fn compile(pattern: &str) -> Result<Pattern, String> {
    let translated =
        translate::translate(pattern).map_err(|cause| format!("error parsing regexp: {cause}"))?;
    let mut builder = RegexBuilder::new(&translated);
    let mut failure = regex::Error::CompiledTooBig(0);
    for size in SIZES {
        match builder.size_limit(size).build() {
            Ok(regex) => return Ok(Pattern { regex, size }),
            Err(error @ regex::Error::CompiledTooBig(_)) => failure = error,
            Err(error) => return Err(explain(pattern, &error)),
        }
    }
    Err(explain(pattern, &failure))
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
                compile(pattern).map(|pattern| pattern.regex.is_match(text)),
                Ok(expected),
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn patterns_that_would_take_hours_match_nothing() {
        let text = "a".repeat(1 << 20);
        let hours = "^([a-z]?){1,1000}([a-z]?){1,1000}([a-z]?){1,1000}([a-z]?){1,1000}$";
        assert!(!Matcher::new().is_match(hours, &text));
        assert!(Matcher::new().is_match(hours, "aaa"));
        for quick in ["^[a-z]+$", r"^\pL+$", "^(a|b)*$"] {
            assert!(Matcher::new().is_match(quick, &text), "{quick}");
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
