//! Escapes and character classes.

use super::RegexpError;
use super::translate::wrong;

/// What an escape stands for.
pub(super) enum Item {
    Character(char),
    /// The inside of a class, in Rust's syntax.
    Class(String),
    Assertion(&'static str),
}

/// Reads the escape at the start of the text; gives its length.
pub(super) fn escape(text: &str) -> Result<(usize, Item), RegexpError> {
    let mut characters = text.char_indices().skip(1);
    let Some((_, letter)) = characters.next() else {
        return Err(wrong("trailing backslash at end of expression", ""));
    };
    let after = 1 + letter.len_utf8();
    let item = match letter {
        'A' => Item::Assertion(r"\A"),
        'z' => Item::Assertion(r"\z"),
        'b' => Item::Assertion(r"(?-u:\b)"),
        'B' => Item::Assertion(r"(?-u:\B)"),
        'd' => Item::Class("0-9".to_owned()),
        'D' => Item::Class("[^0-9]".to_owned()),
        's' => Item::Class(r"\t\n\x0c\r ".to_owned()),
        'S' => Item::Class(r"[^\t\n\x0c\r ]".to_owned()),
        'w' => Item::Class("0-9A-Za-z_".to_owned()),
        'W' => Item::Class("[^0-9A-Za-z_]".to_owned()),
        'a' => Item::Character('\u{7}'),
        'f' => Item::Character('\u{c}'),
        'n' => Item::Character('\n'),
        'r' => Item::Character('\r'),
        't' => Item::Character('\t'),
        'v' => Item::Character('\u{b}'),
        'p' | 'P' => return property(text, letter == 'P'),
        'x' => return hexadecimal(text),
        '0'..='7' => return octal(text, letter),
        _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Item::Character(letter),
        _ => return Err(wrong("invalid escape sequence", &text[..after])),
    };
    Ok((after, item))
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}`.
fn property(text: &str, negated: bool) -> Result<(usize, Item), RegexpError> {
    let rest = &text[2..];
    let (name, length) = if let Some(inside) = rest.strip_prefix('{') {
        let end = inside
            .find('}')
            .ok_or_else(|| wrong("invalid character class range", text))?;
        (&inside[..end], 2 + end + 2)
    } else {
        let length = rest.chars().next().map_or(0, char::len_utf8);
        (&rest[..length], 2 + length)
    };
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (!negated, name),
        None => (negated, name),
    };
    let known = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let letter = if negated { 'P' } else { 'p' };
    let class = format!(r"\{letter}{{{name}}}");
    if !known || regex::Regex::new(&class).is_err() {
        return Err(wrong("invalid character class range", &text[..length]));
    }
    Ok((length, Item::Class(class)))
}

/// `\x7f`, `\x{10FFFF}`.
fn hexadecimal(text: &str) -> Result<(usize, Item), RegexpError> {
    let rest = &text[2..];
    let (digits, length) = match rest.strip_prefix('{') {
        Some(inside) => match inside.find('}') {
            Some(end) => (&inside[..end], 2 + end + 2),
            None => return Err(wrong("invalid escape sequence", text)),
        },
        None => (rest.get(..2).unwrap_or_default(), 4),
    };
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let character = u32::from_str_radix(digits, 16)
        .ok()
        .and_then(char::from_u32)
        .filter(|_| valid);
    match character {
        Some(character) => Ok((length, Item::Character(character))),
        None => Err(wrong(
            "invalid escape sequence",
            text.get(..length).unwrap_or(text),
        )),
    }
}

/// `\012`; one digit alone would be a reference to a group, which this syntax does not have.
fn octal(text: &str, first: char) -> Result<(usize, Item), RegexpError> {
    let most = 3;
    let length = text[1..]
        .bytes()
        .take(most)
        .take_while(|byte| (b'0'..=b'7').contains(byte))
        .count();
    if first != '0' && length == 1 {
        return Err(wrong("invalid escape sequence", &text[..2]));
    }
    let value = u32::from_str_radix(&text[1..=length], 8)
        .ok()
        .and_then(char::from_u32);
    match value {
        Some(character) => Ok((1 + length, Item::Character(character))),
        None => Err(wrong("invalid escape sequence", &text[..=length])),
    }
}

/// Reads the class at the start of the text; gives its length and the same class in Rust's syntax.
pub(super) fn read(text: &str) -> Result<(usize, String), RegexpError> {
    let mut out = String::from("[");
    let mut at = 1;
    if text[at..].starts_with('^') {
        out.push('^');
        at += 1;
    }
    let mut first = true;
    loop {
        let rest = &text[at..];
        let Some(character) = rest.chars().next() else {
            return Err(wrong("missing closing ]", text));
        };
        if character == ']' && !first {
            at += 1;
            break;
        }
        // A dash stands for itself only at either end.
        if character == '-' && !first && !rest[1..].starts_with(']') && !rest[1..].is_empty() {
            let end = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            return Err(wrong("invalid character class range", &rest[..end]));
        }
        first = false;
        if rest.starts_with("[:")
            && let Some(end) = rest[2..].find(":]")
        {
            out.push_str(named(&rest[..end + 4])?);
            at += end + 4;
            continue;
        }
        let (length, low) = member(rest, text)?;
        at += length;
        let low = match low {
            Item::Character(low) => low,
            Item::Class(class) => {
                out.push_str(&class);
                continue;
            }
            Item::Assertion(_) => return Err(wrong("invalid escape sequence", &rest[..length])),
        };
        let range = &text[at..];
        if range.starts_with('-') && !range[1..].starts_with(']') {
            let (length, high) = member(&range[1..], text)?;
            let whole = &rest[..rest.len() - range.len() + 1 + length];
            match high {
                Item::Character(high) if high >= low => push_range(&mut out, low, high),
                _ => return Err(wrong("invalid character class range", whole)),
            }
            at += 1 + length;
        } else {
            push_range(&mut out, low, low);
        }
    }
    out.push(']');
    Ok((at, out))
}

fn member(rest: &str, whole: &str) -> Result<(usize, Item), RegexpError> {
    match rest.chars().next() {
        None => Err(wrong("missing closing ]", whole)),
        Some('\\') => escape(rest),
        Some(character) => Ok((character.len_utf8(), Item::Character(character))),
    }
}

fn push_range(out: &mut String, low: char, high: char) {
    out.push_str(&format!(
        r"\x{{{:x}}}-\x{{{:x}}}",
        u32::from(low),
        u32::from(high)
    ));
}

fn named(name: &str) -> Result<&str, RegexpError> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    ];
    let bare = name.trim_start_matches("[:").trim_end_matches(":]");
    if NAMES.contains(&bare.strip_prefix('^').unwrap_or(bare)) {
        Ok(name)
    } else {
        Err(wrong("invalid character class range", name))
    }
}
