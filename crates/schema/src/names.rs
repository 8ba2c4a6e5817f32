//! Validation of names: DNS labels, qualified names, path segments.
//!
//! Every function returns Kubernetes' error messages; none if the name is valid.

/// Reserved words of CEL.
pub const CEL_KEYWORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A DNS label that starts with a letter (RFC 1035), as resource and kind names must be.
pub fn dns1035_label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 63);
    if !(is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())) {
        complaints.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    complaints
}

/// A DNS label (RFC 1123), as namespaces must be.
pub fn dns1123_label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 63);
    if !is_label(name) {
        complaints.push(match is_subdomain(name) {
            true => "must not contain dots".to_owned(),
            false => "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                      start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                      validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        });
    }
    complaints
}

/// Dot-separated DNS labels (RFC 1123), as most object names must be.
pub fn dns1123_subdomain(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 253);
    if !is_subdomain(name) {
        complaints.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    complaints
}

/// A name with an optional domain in front (`example.com/name`): label keys, annotation keys, finalizers.
pub fn qualified_name(name: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                        validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let mut complaints = Vec::new();
    let parts: Vec<_> = name.split('/').collect();
    let part = match parts[..] {
        [part] => part,
        ["", part] => {
            complaints.push("prefix part must be non-empty".to_owned());
            part
        }
        [prefix, part] => {
            let about_prefix = |complaint| format!("prefix part {complaint}");
            complaints.extend(dns1123_subdomain(prefix).into_iter().map(about_prefix));
            part
        }
        _ => {
            return vec![format!(
                "a valid label key {RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if part.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if part.len() > 63 {
        complaints.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_part(part) {
        complaints.push(format!("name part {RULE}"));
    }
    complaints
}

/// The value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, 63);
    if !value.is_empty() && !is_qualified_part(value) {
        complaints.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used \
             for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    complaints
}

/// A name that can stand in a URL's path.
pub fn path_segment(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => path_segment_prefix(name),
    }
}

/// The prefix of a URL path segment.
pub fn path_segment_prefix(name: &str) -> Vec<String> {
    let illegal = ["/", "%"].into_iter().filter(|part| name.contains(part));
    illegal.map(|part| format!("may not contain '{part}'")).collect()
}

pub(crate) fn is_label(name: &str) -> bool {
    framed(
        name,
        |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        |byte| byte == b'-',
    )
}

pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_qualified_part(name: &str) -> bool {
    framed(
        name,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| matches!(byte, b'-' | b'_' | b'.'),
    )
}

/// Whether a name has only these bytes, and at both ends only the first sort.
fn framed(name: &str, ends: impl Fn(u8) -> bool, middle: impl Fn(u8) -> bool) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|first| ends(*first))
        && bytes.last().is_some_and(|last| ends(*last))
        && bytes.iter().all(|byte| ends(*byte) || middle(*byte))
}

fn too_long(name: &str, limit: usize) -> Vec<String> {
    match name.len() > limit {
        true => vec![format!("must be no more than {limit} bytes")],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_upstream_judges_them() {
        for name in ["a", "a-b", "0a"] {
            assert!(dns1123_label(name).is_empty(), "{name}");
        }
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(dns1035_label("0a").len(), 1);
        assert!(dns1123_subdomain("a.b-c.0").is_empty());
        assert_eq!(dns1123_subdomain("a..b").len(), 1);
        assert!(qualified_name("example.com/My_Name").is_empty());
        assert_eq!(qualified_name("/x"), ["prefix part must be non-empty"]);
        assert_eq!(qualified_name("a/").len(), 2);
        assert_eq!(qualified_name("a/b/c").len(), 1);
        assert!(label_value("").is_empty());
        assert_eq!(label_value("-a").len(), 1);
        assert_eq!(path_segment(".."), ["may not be '..'"]);
        assert_eq!(
            path_segment("a/b%"),
            ["may not contain '/'", "may not contain '%'"]
        );
    }
}
