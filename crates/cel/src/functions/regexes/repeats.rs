//! Estimates the states of a pattern from its repetitions.

/// Maximum product of nested repetition counts, as Go.
const MOST_REPEATS: u64 = 1000;

/// Approximate maximum of states of a pattern.
const MOST_STATES: u64 = 300_000;

/// The approximate number of states of a pattern, or Go's error for an invalid repetition. Other errors are not detected.
pub(super) fn states(pattern: &str) -> Result<u64, String> {
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' => {
                outer.push(std::mem::take(&mut level));
                1 + flags(&rest[1..])
            }
            ')' => {
                let Some(around) = outer.pop() else { return Ok(0) };
                let inner = std::mem::replace(&mut level, around);
                level.item(inner.all(), inner.most);
                level.most = level.most.max(inner.most);
                1
            }
            '*' | '+' | '?' => 1,
            '{' => match counts(rest) {
                Some((length, times)) => {
                    let repeats = level.last.repeats.saturating_mul(times);
                    if repeats > MOST_REPEATS {
                        return Err(format!("invalid repeat count: `{}`", &rest[..length]));
                    }
                    level.most = level.most.max(repeats);
                    level.last = Item {
                        states: level.last.states.saturating_mul(times),
                        repeats,
                    };
                    length
                }
                None => {
                    level.item(1, 1);
                    1
                }
            },
            '[' => {
                let length = class(rest);
                level.item(weight(&rest[..length]), 1);
                length
            }
            '\\' => {
                if let Some(quoted) = rest.strip_prefix("\\Q") {
                    let end = quoted.find("\\E").unwrap_or(quoted.len());
                    level.item(end as u64, 1);
                    (end + 4).min(rest.len())
                } else {
                    let length = escape(rest);
                    level.item(weight(&rest[..length]), 1);
                    length
                }
            }
            '.' => {
                level.item(10, 1);
                1
            }
            other => {
                level.item(other.len_utf8() as u64, 1);
                other.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    let states = outer
        .iter()
        .fold(level.all(), |all, level| all.saturating_add(level.all()));
    match states > MOST_STATES {
        true => Err(format!("expression too large: `{pattern}`")),
        false => Ok(states),
    }
}

/// A group.
#[derive(Debug, Default)]
struct Level {
    /// The states of all but the last item.
    states: u64,
    last: Item,
    /// The maximum repetition count.
    most: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Item {
    states: u64,
    repeats: u64,
}

impl Level {
    fn item(&mut self, states: u64, repeats: u64) {
        self.states = self.all();
        self.last = Item {
            states,
            repeats: repeats.max(1),
        };
    }

    fn all(&self) -> u64 {
        self.states.saturating_add(self.last.states)
    }
}

/// The maximum states of a class or an escape.
fn weight(written: &str) -> u64 {
    let unicode = written.contains("\\p") || written.contains("\\P");
    let negated = written.starts_with("[^") || written.starts_with("\\D") || written.contains("\\W");
    match (unicode, negated) {
        (true, _) => 1000,
        (false, true) => 10,
        (false, false) => 1 + written.len() as u64 / 8,
    }
}

/// The length of what follows a parenthesis before the content.
fn flags(rest: &str) -> usize {
    let Some(inside) = rest.strip_prefix('?') else {
        return 0;
    };
    let ends = |character: char| matches!(character, ':' | ')' | '>');
    match inside.find(ends) {
        // What closes is read as such.
        Some(at) if inside[at..].starts_with(')') => 1 + at,
        Some(at) => 1 + at + 1,
        None => rest.len(),
    }
}

/// The length of a class.
fn class(rest: &str) -> usize {
    let mut at = 1;
    if rest[at..].starts_with('^') {
        at += 1;
    }
    if rest[at..].starts_with(']') {
        at += 1;
    }
    while let Some(character) = rest[at..].chars().next() {
        match character {
            ']' => return at + 1,
            '\\' => at += escape(&rest[at..]),
            '[' if rest[at..].starts_with("[:") => {
                at += rest[at..].find(":]").map_or(1, |end| end + 2);
            }
            other => at += other.len_utf8(),
        }
    }
    at
}

/// The length of an escape; what follows `\x{`, `\p{` belongs to it, or it would be a repetition.
fn escape(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match characters.next() {
        Some((_, 'x' | 'p' | 'P')) if rest[2..].starts_with('{') => {
            rest.find('}').map_or(rest.len(), |end| end + 1)
        }
        Some((at, 'p' | 'P')) => {
            let name = rest[at + 1..].chars().next();
            at + 1 + name.map_or(0, char::len_utf8)
        }
        Some((at, character)) => at + character.len_utf8(),
        None => rest.len(),
    }
}

/// The length of `{2}`, `{2,}` or `{2,3}`, and how often it repeats at most.
fn counts(rest: &str) -> Option<(usize, u64)> {
    let (inside, _) = rest[1..].split_once('}')?;
    let (least, most) = match inside.split_once(',') {
        Some((least, "")) => (least, least),
        Some(both) => both,
        None => (inside, inside),
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let times = number(least)?.max(number(most)?);
    Some((inside.len() + 2, times.max(1)))
}

#[cfg(test)]
mod tests {
    use super::states;

    #[test]
    fn repetitions_multiply_as_in_go() {
        for pattern in [
            "((a{0,50}){0,20}){0,1}b",
            "a{1000}b{1000}",
            "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
            r"[{5000}]{2}\Q{5000}\E\x{5000}\p{Greek}{100}",
            r"(?i:a{10}){100}(?P<name>x{3})",
            "a{,5000}",
            "((a{0,1000})*)+",
            "[]{2000}]{3}",
            "[[:alpha:]{2000}]{3}",
            ")a{2000}",
        ] {
            assert!(states(pattern).is_ok(), "{pattern}");
        }
        for (pattern, part) in [
            ("((a{0,50}){0,50}){0,20}b", "{0,50}"),
            ("(a{2}b{3}){400}", "{400}"),
            ("(x(y{40}z)w){26,}", "{26,}"),
            ("(?i:a{11}){100}", "{100}"),
            ("a{1001}", "{1001}"),
        ] {
            assert_eq!(states(pattern), Err(format!("invalid repeat count: `{part}`")));
        }
        assert!(states(r"\pL{900}").is_err_and(|cause| cause.starts_with("expression too large")));
    }
}
