//! The rules for names, with upstream's sentences for breaking them.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/// A DNS subdomain: what most objects are named by.
pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    let mut problems = longest(text, 253);
    if !text.split('.').all(is_dns_label) {
        problems.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{LABEL}(\\.{LABEL})*')"
        ));
    }
    problems
}

/// A DNS label: namespaces, and parts of other names.
pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut problems = longest(text, 63);
    if !is_dns_label(text) {
        problems.push(format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
        ));
    }
    problems
}

/// A DNS label that begins with a letter: services.
pub(crate) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut problems = longest(text, 63);
    if !is_dns_label(text) || !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        problems.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')".to_owned(),
        );
    }
    problems
}

/// A name that is only kept from breaking a URL: RBAC objects.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let problem = |part: char| text.contains(part).then(|| format!("may not contain '{part}'"));
    ['/', '%'].into_iter().filter_map(problem).collect()
}

/// `prefix/name`: keys of labels and annotations, finalizers.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => {
            return vec![format!(
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    let mut problems = Vec::new();
    match prefix {
        Some("") => problems.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => problems.extend(dns_subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}"))),
        None => {}
    }
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        problems.push(format!(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{QUALIFIED}')"
        ));
    }
    problems
}

/// A label's value.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 bytes".to_owned());
    }
    if !text.is_empty() && !is_qualified(text) {
        problems.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({QUALIFIED})?')"
        ));
    }
    problems
}

fn longest(text: &str, limit: usize) -> Vec<String> {
    if text.len() > limit { vec![format!("must be no more than {limit} characters")] } else { vec![] }
}

fn is_dns_label(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let (Some(first), Some(last)) = (text.bytes().next(), text.bytes().last()) else { return false };
    plain(first) && plain(last) && text.bytes().all(|c| plain(c) || c == b'-')
}

fn is_qualified(text: &str) -> bool {
    let (Some(first), Some(last)) = (text.bytes().next(), text.bytes().last()) else { return false };
    let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && text.bytes().all(inner)
}
