//! Character classes: `[…]`, `\d`, `\p{Greek}`.

use super::translate::{InvalidPattern, invalid};

/// A class that no character is in, for code points that no text can have.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// A class in brackets at the start of a pattern, and what follows it.
pub(super) fn bracketed(start: &str) -> Result<(String, &str), InvalidPattern> {
    let mut class = String::from("[");
    let mut rest = &start[1..];
    if let Some(after) = rest.strip_prefix('^') {
        class.push('^');
        rest = after;
    }
    let mut first = true;
    loop {
        if let Some(after) = rest.strip_prefix(']').filter(|_| !first) {
            class.push(']');
            return Ok((class, after));
        }
        first = false;
        if let Some((posix, after)) = posix(rest)? {
            class.push_str(posix);
            rest = after;
            continue;
        }
        if let Some((inner, after)) = escaped(rest)? {
            class.push_str(&inner);
            rest = after;
            continue;
        }
        let range = rest;
        let (low, after) = character(rest, start)?;
        rest = after;
        let mut high = low;
        if let Some(after) = rest
            .strip_prefix('-')
            .filter(|after| !after.is_empty() && !after.starts_with(']'))
        {
            let (end, after) = character(after, start)?;
            if end < low {
                return Err(invalid(
                    "invalid character class range",
                    &range[..range.len() - after.len()],
                ));
            }
            high = end;
            rest = after;
        }
        push_range(&mut class, low, high);
    }
}

/// `\d`, `\p{Greek}` and their like at the start of a pattern, and what follows.
pub(super) fn escaped(start: &str) -> Result<Option<(String, &str)>, InvalidPattern> {
    let Some(letter) = start.strip_prefix('\\').and_then(|rest| rest.chars().next()) else {
        return Ok(None);
    };
    let class = match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\f\r ]",
        'S' => r"[^\t\n\f\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        'p' | 'P' => return unicode(start).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((class.to_owned(), &start[2..])))
}

/// An escaped character at the start of a pattern: its code and what follows.
pub(super) fn escaped_character(start: &str) -> Result<(u32, &str), InvalidPattern> {
    let mut characters = start[1..].chars();
    let Some(letter) = characters.next() else {
        return Err(invalid("trailing backslash at end of expression", ""));
    };
    let rest = characters.as_str();
    let code = match letter {
        'a' => 0x07,
        'f' => 0x0c,
        'n' => u32::from('\n'),
        'r' => u32::from('\r'),
        't' => u32::from('\t'),
        'v' => 0x0b,
        '0'..='7' if letter == '0' || rest.starts_with(|c: char| c.is_digit(8)) => {
            let length = rest
                .bytes()
                .take(2)
                .take_while(|byte| (b'0'..=b'7').contains(byte))
                .count();
            let digits = &start[1..2 + length];
            return Ok((u32::from_str_radix(digits, 8).unwrap_or(0), &rest[length..]));
        }
        'x' => return hexadecimal(start, rest),
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => u32::from(letter),
        _ => {
            return Err(invalid(
                "invalid escape sequence",
                &start[..start.len() - rest.len()],
            ));
        }
    };
    Ok((code, rest))
}

fn hexadecimal<'pattern>(
    start: &'pattern str,
    rest: &'pattern str,
) -> Result<(u32, &'pattern str), InvalidPattern> {
    let wrong = |after: &str| {
        Err(invalid(
            "invalid escape sequence",
            &start[..start.len() - after.len()],
        ))
    };
    if let Some(braced) = rest.strip_prefix('{') {
        let mut code = 0u32;
        for (at, character) in braced.char_indices() {
            let after = &braced[at + character.len_utf8()..];
            match character.to_digit(16) {
                Some(digit) => code = code * 16 + digit,
                None if character == '}' && at > 0 => return Ok((code, after)),
                None => return wrong(after),
            }
            if code > 0x10ffff {
                return wrong(after);
            }
        }
        return wrong("");
    }
    let mut characters = rest.chars();
    let digits = (characters.next(), characters.next());
    let after = characters.as_str();
    match digits {
        (Some(high), Some(low)) => match (high.to_digit(16), low.to_digit(16)) {
            (Some(high), Some(low)) => Ok((high * 16 + low, after)),
            _ => wrong(after),
        },
        _ => wrong(""),
    }
}

fn character<'pattern>(rest: &'pattern str, class: &str) -> Result<(u32, &'pattern str), InvalidPattern> {
    let mut characters = rest.chars();
    match characters.next() {
        None => Err(invalid("missing closing ]", class)),
        Some('\\') => escaped_character(rest),
        Some(character) => Ok((u32::from(character), characters.as_str())),
    }
}

fn posix(rest: &str) -> Result<Option<(&str, &str)>, InvalidPattern> {
    let Some((name, after)) = rest.strip_prefix("[:").and_then(|name| name.split_once(":]")) else {
        return Ok(None);
    };
    let class = &rest[..rest.len() - after.len()];
    match POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        true => Ok(Some((class, after))),
        false => Err(invalid("invalid character class range", class)),
    }
}

/// `\pL`, `\p{Greek}`, `\P{^Lu}`: a category or a script.
fn unicode(start: &str) -> Result<(String, &str), InvalidPattern> {
    let negated = start.starts_with(r"\P");
    let rest = &start[2..];
    let (name, after) = match rest.strip_prefix('{') {
        Some(braced) => match braced.split_once('}') {
            Some((name, after)) => (name, after),
            None => return Err(invalid("invalid character class range", start)),
        },
        None => rest.split_at(rest.chars().next().map_or(0, char::len_utf8)),
    };
    let sequence = &start[..start.len() - after.len()];
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (!negated, name),
        None => (negated, name),
    };
    let letter = if negated { 'P' } else { 'p' };
    let known = |property: &str| regex::Regex::new(&format!(r"\p{{{property}{name}}}")).is_ok();
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b' '));
    let class = match name.to_ascii_lowercase().as_str() {
        "any" | "assigned" | "ascii" => format!(r"\{letter}{{{name}}}"),
        // Go knows the surrogates, which no text has.
        "cs" | "surrogate" if negated => r"[\x{0}-\x{10FFFF}]".to_owned(),
        "cs" | "surrogate" => NOTHING.to_owned(),
        _ if plain && known("gc=") => format!(r"\{letter}{{gc={name}}}"),
        _ if plain && known("sc=") => format!(r"\{letter}{{sc={name}}}"),
        _ => return Err(invalid("invalid character class range", sequence)),
    };
    Ok((class, after))
}

/// Adds code points to a class, without the surrogates, which the `regex` crate does not take.
fn push_range(class: &mut String, low: u32, high: u32) {
    let below = (low, high.min(0xd7ff));
    let above = (low.max(0xe000), high);
    let start = class.len();
    for (low, high) in [below, above].into_iter().filter(|(low, high)| low <= high) {
        class.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
    }
    if class.len() == start {
        class.push_str(NOTHING);
    }
}
