//! Shared validation rules.

use std::net::IpAddr;
use std::str::FromStr;

use cambium_schema::{FieldError, names};
use serde_json::Value;

use super::at::At;

/// The errors found so far.
pub(super) type Errors = Vec<FieldError>;

pub(super) fn required(at: &At, errors: &mut Errors) -> bool {
    if at.is_empty() {
        errors.push(FieldError::required(at.path.clone(), ""));
    }
    !at.is_empty()
}

pub(super) fn required_because(at: &At, detail: &str, errors: &mut Errors) {
    errors.push(FieldError::required(at.path.clone(), detail));
}

pub(super) fn invalid(at: &At, detail: impl Into<String>, errors: &mut Errors) {
    errors.push(FieldError::invalid(at.path.clone(), at.value, detail));
}

/// An `Invalid` error with another value than the one in the object.
pub(super) fn invalid_as(at: &At, value: &Value, detail: impl Into<String>, errors: &mut Errors) {
    errors.push(FieldError::invalid(at.path.clone(), value, detail));
}

/// An `Invalid` error with a given text for the value, as upstream prints its internal type.
pub(super) fn invalid_shown(at: &At, shown: String, detail: impl Into<String>, errors: &mut Errors) {
    let mut error = FieldError::invalid(at.path.clone(), &Value::Null, detail);
    error.shown = shown;
    errors.push(error);
}

pub(super) fn forbidden(at: &At, detail: impl Into<String>, errors: &mut Errors) {
    errors.push(FieldError::forbidden(at.path.clone(), detail));
}

pub(super) fn duplicate(at: &At, errors: &mut Errors) {
    errors.push(FieldError::duplicate(at.path.clone(), at.value));
}

/// Adds an `Invalid` error for each message.
pub(super) fn complain(at: &At, complaints: Vec<String>, errors: &mut Errors) {
    for complaint in complaints {
        invalid(at, complaint, errors);
    }
}

/// Requires one of some values; a missing value counts as the empty string.
pub(super) fn one_of(at: &At, supported: &[&str], errors: &mut Errors) {
    let text = Value::from(at.text());
    let value = if at.is_set() { at.value } else { &text };
    if !value.as_str().is_some_and(|text| supported.contains(&text)) {
        errors.push(FieldError::not_supported(at.path.clone(), value, supported));
    }
}

/// Requires one of some values, if it is set.
pub(super) fn one_of_if_set(at: &At, supported: &[&str], errors: &mut Errors) {
    if at.is_set() {
        one_of(at, supported, errors);
    }
}

pub(super) fn at_least_zero(at: &At, errors: &mut Errors) {
    if at.integer().is_some_and(|number| number < 0) {
        invalid(at, "must be greater than or equal to 0", errors);
    }
}

pub(super) fn above_zero(at: &At, errors: &mut Errors) {
    if at.integer().is_some_and(|number| number <= 0) {
        invalid(at, "must be greater than 0", errors);
    }
}

pub(super) fn port_number(at: &At, errors: &mut Errors) {
    if !(1..=65_535).contains(&at.integer().unwrap_or_default()) {
        let zero = Value::from(0);
        let value = if at.is_set() { at.value } else { &zero };
        invalid_as(at, value, "must be between 1 and 65535, inclusive", errors);
    }
}

/// Validates a port number or name.
pub(super) fn port(at: &At, errors: &mut Errors) {
    match at.value {
        Value::String(name) => complain(at, port_name(name), errors),
        _ => port_number(at, errors),
    }
}

/// Validates a port name (an IANA service name).
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if name.len() > 15 {
        complaints.push("must be no more than 15 characters".to_owned());
    }
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(is_allowed) {
        complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

pub(super) fn label_name(at: &At, errors: &mut Errors) {
    complain(at, names::dns1123_label(at.text()), errors);
}

pub(super) fn subdomain(at: &At, errors: &mut Errors) {
    complain(at, names::dns1123_subdomain(at.text()), errors);
}

pub(super) fn subdomain_if_set(at: &At, errors: &mut Errors) {
    if !at.is_empty() {
        subdomain(at, errors);
    }
}

pub(super) fn qualified(at: &At, errors: &mut Errors) {
    complain(at, names::qualified_name(at.text()), errors);
}

/// `example.com/some/path`.
pub(super) fn domain_path(at: &At, errors: &mut Errors) {
    let Some((domain, path)) = at
        .text()
        .split_once('/')
        .filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return invalid(
            at,
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
            errors,
        );
    };
    for complaint in names::dns1123_subdomain(domain) {
        invalid_as(at, &Value::from(domain), complaint, errors);
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@%".contains(&byte);
    if !path.bytes().all(is_allowed) {
        invalid_as(at, &Value::from(path), "Invalid path", errors);
    }
}

pub(super) fn address(at: &At, errors: &mut Errors) -> Option<IpAddr> {
    let address = IpAddr::from_str(at.text()).ok();
    if address.is_none() {
        invalid(
            at,
            "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            errors,
        );
    }
    address
}

/// Parses a CIDR: address and prefix length.
pub(super) fn range(at: &At, errors: &mut Errors) -> Option<(IpAddr, u8)> {
    let parse = |text: &str| {
        let (address, length) = text.split_once('/')?;
        let address = IpAddr::from_str(address).ok()?;
        let length: u8 = length.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (length <= most).then_some((address, length))
    };
    let parsed = parse(at.text());
    if parsed.is_none() {
        invalid(
            at,
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            errors,
        );
    }
    parsed
}

/// Requires an address that is not unspecified, loopback, link-local or link-local multicast.
pub(super) fn reachable(at: &At, address: IpAddr, errors: &mut Errors) {
    if address.is_unspecified() {
        invalid(at, format!("may not be unspecified ({address})"), errors);
    }
    if address.is_loopback() {
        invalid(
            at,
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            errors,
        );
    }
    let (is_local, is_local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (
            address.segments()[0] & 0xffc0 == 0xfe80,
            address.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if is_local {
        invalid(
            at,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
            errors,
        );
    }
    if is_local_multicast {
        invalid(
            at,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
            errors,
        );
    }
}

/// Requires a non-negative number or a percentage.
pub(super) fn number_or_percent(at: &At, errors: &mut Errors) {
    match at.value {
        Value::String(text) if percent(text).is_none() => invalid(
            at,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex \
             used for validation is '[0-9]+%')",
            errors,
        ),
        _ => at_least_zero(at, errors),
    }
}

pub(super) fn at_most_all(at: &At, errors: &mut Errors) {
    if at
        .value
        .as_str()
        .and_then(percent)
        .is_some_and(|number| number > 100)
    {
        invalid(at, "must not be greater than 100%", errors);
    }
}

/// The number in front of `%`, or the number.
pub(super) fn percent_or_number(at: &At) -> i64 {
    match at.value {
        Value::String(text) => percent(text).unwrap_or_default(),
        _ => at.integer().unwrap_or_default(),
    }
}

fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Requires a field to be unchanged.
pub(super) fn immutable(new: &At, old: &At, errors: &mut Errors) {
    if new.value != old.value {
        invalid(new, "field is immutable", errors);
    }
}

/// Validates labels of a nested object.
pub(super) fn labels(at: &At, errors: &mut Errors) {
    for (key, value) in at.entries() {
        for complaint in names::qualified_name(key) {
            invalid_as(at, &Value::from(key), complaint, errors);
        }
        for complaint in names::label_value(value.text()) {
            invalid_as(at, value.value, complaint, errors);
        }
    }
}

/// Validates a label key.
pub(super) fn labels_key(at: &At, errors: &mut Errors) {
    let empty = Value::from("");
    let value = if at.is_set() { at.value } else { &empty };
    for complaint in names::qualified_name(at.text()) {
        invalid_as(at, value, complaint, errors);
    }
}

/// Validates a key of a ConfigMap or Secret.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if key.len() > 253 {
        complaints.push("must be no more than 253 characters".to_owned());
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if key.is_empty() || !key.bytes().all(is_allowed) {
        complaints.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match key {
        "." => complaints.push("must not be '.'".to_owned()),
        ".." => complaints.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}
