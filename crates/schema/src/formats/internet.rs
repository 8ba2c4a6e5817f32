//! Formats of URIs, e-mail and MAC addresses.

/// An absolute URI, or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    let clean = !text.is_empty() && text.bytes().all(|byte| byte >= b' ' && byte != 0x7f);
    if !clean {
        return false;
    }
    if text == "*" {
        return true;
    }
    match scheme(text) {
        Scheme::Named(rest) => {
            let rest_is_rooted = rest.starts_with('/');
            // An opaque URI (`mailto:x`) is one, too.
            !rest_is_rooted || has_valid_authority_and_path(rest)
        }
        Scheme::None => text.starts_with('/') && has_valid_authority_and_path(&format!("//host{text}")),
        Scheme::Broken => false,
    }
}

enum Scheme<'a> {
    Named(&'a str),
    None,
    Broken,
}

fn scheme(text: &str) -> Scheme<'_> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index > 0 => return Scheme::Named(&text[index + 1..]),
            b':' => return Scheme::Broken,
            _ => return Scheme::None,
        }
    }
    Scheme::None
}

fn has_valid_authority_and_path(rest: &str) -> bool {
    let without_query = rest.split_once('?').map_or(rest, |(before, _)| before);
    match without_query.strip_prefix("//") {
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            is_authority(authority) && is_escaped(path)
        }
        None => is_escaped(without_query),
    }
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user_is_plain = user
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte));
    let (name, port) = match host.strip_prefix('[') {
        Some(inside) => match inside.split_once(']') {
            Some((name, port)) => (name, port),
            None => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_is_number = match port.strip_prefix(':') {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => port.is_empty(),
    };
    let name_is_plain = !name.bytes().any(|byte| b" {}|\\^`#".contains(&byte));
    user_is_plain && is_escaped(user) && port_is_number && name_is_plain && is_escaped(name)
}

/// Whether every `%` is followed by two hexadecimal digits.
fn is_escaped(text: &str) -> bool {
    let after = |index: usize| text.as_bytes().get(index).is_some_and(u8::is_ascii_hexdigit);
    text.bytes()
        .enumerate()
        .all(|(index, byte)| byte != b'%' || (after(index + 1) && after(index + 2)))
}

/// `name@domain`, possibly in angle brackets after a display name.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let address = match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((name, address)) if is_display_name(name) => address,
        Some(_) => return false,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    is_local_part(local) && is_domain(domain)
}

fn is_display_name(name: &str) -> bool {
    let name = name.trim_matches([' ', '\t']);
    let quoted = name.len() > 1 && name.starts_with('"') && name.ends_with('"');
    quoted
        || name
            .split([' ', '\t', '.'])
            .filter(|word| !word.is_empty())
            .all(is_atom)
}

fn is_local_part(local: &str) -> bool {
    let quoted = local.len() > 1 && local.starts_with('"') && local.ends_with('"');
    quoted || local.split('.').all(is_atom)
}

fn is_domain(domain: &str) -> bool {
    let literal = domain
        .strip_prefix('[')
        .and_then(|domain| domain.strip_suffix(']'));
    match literal {
        Some(address) => address
            .trim_start_matches("IPv6:")
            .parse::<std::net::IpAddr>()
            .is_ok(),
        None => domain.split('.').all(is_atom),
    }
}

fn is_atom(text: &str) -> bool {
    let legal = |character: char| {
        character.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(character) || !character.is_ascii()
    };
    !text.is_empty() && text.chars().all(legal)
}

/// 6, 8 or 20 bytes, separated by colons or dashes, by dots in pairs, or not at all.
pub(super) fn is_mac(text: &str) -> bool {
    let (groups, width) = match text {
        _ if text.contains(':') => (text.split(':').collect(), 2),
        _ if text.contains('-') => (text.split('-').collect(), 2),
        _ if text.contains('.') => (text.split('.').collect(), 4),
        _ => (vec![text], text.len()),
    };
    let whole = |group: &&str| group.len() == width && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().all(whole) && matches!(groups.len() * width, 12 | 16 | 40)
}
