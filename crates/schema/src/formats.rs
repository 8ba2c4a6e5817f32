//! Validation of string formats, as Kubernetes does it. Unknown formats are ignored.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use crate::names::{is_label, is_subdomain};

mod dates;
mod internet;

/// Checks a string against a format: `None` when the format is unknown.
pub fn check(format: &str, text: &str) -> Option<bool> {
    let known = match &*format.replace('-', "") {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => internet::is_request_uri(text),
        "email" => internet::is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => ipv4(text).is_some() || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok()),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => internet::is_mac(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && matches(&SSN, text),
        "hexcolor" => matches(&HEX_COLOR, text),
        "rgbcolor" => matches(&RGB_COLOR, text),
        "byte" => is_base64(text),
        "password" => true,
        "date" => dates::is_date(text),
        "duration" => dates::is_duration(text),
        "datetime" => dates::is_date_time(text),
        "k8sshortname" => text.len() <= 63 && is_label(text),
        "k8slongname" => text.len() <= 253 && is_subdomain(text),
        _ => return None,
    };
    Some(known)
}

type Lazy = LazyLock<Option<Regex>>;

static SSN: Lazy = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static HEX_COLOR: Lazy = LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGB_COLOR: Lazy = LazyLock::new(|| {
    const PART: &str = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    const GAP: &str = "[\\t\\n\\f\\r ]*";
    Regex::new(&format!(
        "^rgb\\({GAP}{PART}{GAP},{GAP}{PART}{GAP},{GAP}{PART}{GAP}\\)$"
    ))
    .ok()
});
static CREDIT_CARD: Lazy = LazyLock::new(|| {
    let issuers = [
        "4[0-9]{12}(?:[0-9]{3})?",
        "5[1-5][0-9]{14}",
        "6(?:011|5[0-9][0-9])[0-9]{12}",
        "3[47][0-9]{13}",
        "3(?:0[0-5]|[68][0-9])[0-9]{11}",
        "(?:2131|1800|35[0-9]{3})[0-9]{11}",
    ];
    Regex::new(&format!("^(?:{})$", issuers.join("|"))).ok()
});
static HOSTNAME: Lazy = LazyLock::new(|| {
    const EDGE: &str = r"[a-zA-Z0-9\p{S}\p{L}]";
    let single = format!(r"{EDGE}((-?{EDGE}{{0,62}})?)");
    let dotted =
        format!(r"({EDGE}(([a-zA-Z0-9\-\p{{S}}\p{{L}}]{{0,61}}{EDGE})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}}");
    Regex::new(&format!("^({single}|{dotted})$")).ok()
});

fn matches(pattern: &Lazy, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches(&HOSTNAME, text)
}

/// Leading zeros are read as decimal, as they always were in Kubernetes.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut parts = text.split('.');
    let mut octet = || {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits
            .then(|| part.trim_start_matches('0'))?
            .parse::<u8>()
            .ok()
            .or_else(|| {
                let zero = part.bytes().all(|byte| byte == b'0');
                zero.then_some(0)
            })
    };
    let address = Ipv4Addr::new(octet()?, octet()?, octet()?, octet()?);
    parts.next().is_none().then_some(address)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let address = ipv4(address)
        .map(IpAddr::V4)
        .or_else(|| address.parse::<Ipv6Addr>().ok().map(IpAddr::V6));
    let limit = match address {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    digits && bits.parse::<u32>().is_ok_and(|bits| bits <= limit)
}

/// 32 hexadecimal digits, with dashes in the usual places or not; for version 4 and 5 the variant counts too.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let mut digits = String::new();
    for (group, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if group > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else {
            return false;
        };
        digits.push_str(part);
        rest = after;
    }
    let variant = digits
        .as_bytes()
        .get(16)
        .is_some_and(|byte| b"89abAB".contains(byte));
    rest.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && version.is_none_or(|version| digits[12..].starts_with(version) && (version == '3' || variant))
}

fn without_gaps(text: &str) -> String {
    text.chars()
        .filter(|character| !matches!(character, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-'))
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = without_gaps(text);
    let digit = |(index, byte): (usize, u8)| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'X' if index == 9 => Some(10),
        _ => None,
    };
    let digits: Option<Vec<u32>> = text.bytes().enumerate().map(digit).collect();
    let sum = |digits: Vec<u32>| {
        digits
            .iter()
            .zip(1..)
            .map(|(digit, weight)| digit * weight)
            .sum::<u32>()
    };
    text.len() == 10 && digits.is_some_and(|digits| sum(digits) % 11 == 0)
}

fn is_isbn13(text: &str) -> bool {
    let text = without_gaps(text);
    let digits = text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit());
    let weighed = |(index, byte): (usize, u8)| u32::from(byte - b'0') * if index % 2 == 0 { 1 } else { 3 };
    digits && text.bytes().enumerate().map(weighed).sum::<u32>() % 10 == 0
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let weighed = |(index, byte): (usize, u8)| match (index % 2, u32::from(byte - b'0')) {
        (0, digit) => digit,
        (_, digit) => digit * 2 / 10 + digit * 2 % 10,
    };
    matches(&CREDIT_CARD, &digits) && digits.bytes().rev().enumerate().map(weighed).sum::<u32>() % 10 == 0
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let alphabet = body
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && alphabet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_formats_are_checked() {
        let cases = [
            ("bsonobjectid", "5f1d7f9c2b3e4a5d6c7b8a90", "xyz"),
            ("uri", "https://example.com/x?y=1", "example.com"),
            ("uri", "/absolute", "a b://c"),
            ("email", "a@example.com", "a.example.com"),
            ("hostname", "www.example.com", "-x.com"),
            ("ipv4", "010.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("mac", "01:23:45:67:89:ab", "01:23:45:67:89"),
            ("mac", "0123.4567.89ab", "0123.4567.89a"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            (
                "uuid4",
                "123e4567-e89b-42d3-a456-426614174000",
                "123e4567-e89b-12d3-a456-426614174000",
            ),
            ("isbn10", "0321751043", "0321751044"),
            ("isbn13", "978-0321751041", "978-0321751042"),
            ("creditcard", "4111-1111-1111-1111", "4111-1111-1111-1112"),
            ("ssn", "111-11-1111", "111-11-111"),
            ("hexcolor", "#FFF", "#FF"),
            ("rgbcolor", "rgb(255, 0,12)", "rgb(256,0,0)"),
            ("byte", "aGVsbG8=", "aGVsbG8"),
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2024-02-29T10:00:00Z", "2024-02-29 10:00:00Z"),
            ("date-time", "2024-02-29t23:59:59.5+01:00", "2024-02-29T24:00:00Z"),
            ("duration", "1h30m", "soon"),
            ("duration", "22 days", "5"),
            ("k8s-short-name", "a-b", "a.b"),
            ("k8s-long-name", "a.b", "a..b"),
        ];
        for (format, good, bad) in cases {
            assert_eq!(check(format, good), Some(true), "{format}: {good}");
            assert_eq!(check(format, bad), Some(false), "{format}: {bad}");
        }
        assert_eq!(check("password", ""), Some(true));
        assert_eq!(check("int32", "x"), None);
    }
}
