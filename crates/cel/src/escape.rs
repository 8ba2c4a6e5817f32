//! Escaping of field names in expressions: `a.b` is `a__dot__b`, `in` is `__in__`.

use std::borrow::Cow;

use cambium_schema::names::CEL_KEYWORDS as RESERVED;

/// Whether a name is a keyword.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Escapes a field name; `None` if it cannot be an identifier.
pub(crate) fn escape(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(Cow::Owned(format!("__{name}__")));
    }
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if name.chars().all(plain) && !name.contains("__") {
        return Some(Cow::Borrowed(name));
    }
    let mut escaped = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        let (text, length) = match character {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            _ if plain(character) => (&rest[..1], 1),
            _ => return None,
        };
        escaped.push_str(text);
        rest = &rest[length..];
    }
    Some(Cow::Owned(escaped))
}

/// Unescapes an identifier; `None` if it is wrongly escaped.
pub(crate) fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(Cow::Borrowed(identifier));
    }
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let after = &rest[start + 2..];
        // An escape is two underscores, something without underscores, and two underscores.
        let inner = after.find('_').unwrap_or(after.len());
        if inner == 0 || !after[inner..].starts_with("__") {
            let kept = start + 1;
            name.push_str(&rest[..kept]);
            rest = &rest[kept..];
            continue;
        }
        name.push_str(&rest[..start]);
        let word = &after[..inner];
        match word {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            _ if RESERVED.contains(&word) && word.len() + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = &after[inner + 2..];
    }
    name.push_str(rest);
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        let cases = [
            ("plain", Some("plain")),
            ("in", Some("__in__")),
            ("namespace", Some("__namespace__")),
            ("a.b-c/d", Some("a__dot__b__dash__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("a_b", Some("a_b")),
            ("", None),
            ("1a", None),
            ("a b", None),
            ("é", None),
        ];
        for (name, expected) in cases {
            let escaped = escape(name);
            assert_eq!(escaped.as_deref(), expected, "{name}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(&escaped).as_deref(), Some(name));
            }
        }
        assert_eq!(unescape("__other__"), None);
        assert_eq!(unescape("a__in__"), None);
        assert_eq!(unescape("__x").as_deref(), Some("__x"));
    }
}
