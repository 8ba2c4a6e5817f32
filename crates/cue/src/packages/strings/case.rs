//! Upper, lower and title case, one code point for each, as Go maps them: `ß` has no upper case and stays.

/// Every letter in upper case.
pub fn to_upper(text: &str) -> String {
    text.chars().map(upper).collect()
}

/// Every letter in lower case.
pub fn to_lower(text: &str) -> String {
    text.chars().map(lower).collect()
}

/// The first letter of each word in title case.
pub fn to_title(text: &str) -> String {
    map_starts(text, title)
}

/// The first letter of each word in lower case.
pub fn to_camel(text: &str) -> String {
    map_starts(text, lower)
}

fn map_starts(text: &str, map: fn(char) -> char) -> String {
    let mut previous = ' ';
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        result.push(if previous.is_whitespace() {
            map(character)
        } else {
            character
        });
        previous = character;
    }
    result
}

fn upper(character: char) -> char {
    match character {
        // Greek letters with a subscript iota: one code point here, two in the full mapping of Unicode.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shifted(character, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(character, 9),
        _ => single(character.to_uppercase()).unwrap_or(character),
    }
}

fn lower(character: char) -> char {
    match character {
        'İ' => 'i',
        _ => single(character.to_lowercase()).unwrap_or(character),
    }
}

fn title(character: char) -> char {
    match character {
        // Letters that are two in one have a title case of their own.
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        // Georgian is written in one case, also in titles.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => character,
        _ => upper(character),
    }
}

fn shifted(character: char, distance: u32) -> char {
    char::from_u32(u32::from(character) + distance).unwrap_or(character)
}

fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    mapped.next().filter(|_| mapped.next().is_none())
}
