//! Validation of ConfigMaps and Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cambium_schema::{FieldError, FieldPath};
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};

/// Size limit: 1 MiB.
const MOST_BYTES: usize = 1_048_576;

pub(super) fn config_map(new: &At, old: Option<&At>, errors: &mut Errors) {
    if let Some(old) = old {
        frozen(new, old, &["data", "binaryData"], errors);
    }
    let mut size = 0;
    let (data, binary) = (new.field("data"), new.field("binaryData"));
    for (key, value) in data.entries() {
        complain_of_key(key, &value, errors);
        if binary.value.get(key).is_some() {
            rule::invalid_as(
                &value,
                &Value::from(key),
                "duplicate of key present in binaryData",
                errors,
            );
        }
        size += value.text().len();
    }
    for (key, value) in binary.entries() {
        complain_of_key(key, &value, errors);
        size += decoded_length(value.text());
    }
    if size > MOST_BYTES {
        errors.push(FieldError::too_long(FieldPath::new("[]"), MOST_BYTES));
    }
}

pub(super) fn secret(new: &At, old: Option<&At>, errors: &mut Errors) {
    let kind = new.field("type");
    if let Some(old) = old {
        rule::immutable(&kind, &old.field("type"), errors);
        frozen(new, old, &["data"], errors);
    }
    let data = new.field("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        complain_of_key(key, &value, errors);
        size += decoded_length(value.text());
    }
    if size > MOST_BYTES {
        errors.push(FieldError::too_long(data.path.clone(), MOST_BYTES));
    }
    match kind.text() {
        "kubernetes.io/service-account-token" => {
            let annotations = new.field("metadata").field("annotations");
            let name = "kubernetes.io/service-account.name";
            if annotations.field(name).is_empty() {
                errors.push(FieldError::required(annotations.path.key(name), ""));
            }
        }
        "kubernetes.io/dockercfg" => json_entry(&data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => json_entry(&data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" => {
            let has = |key| data.value.get(key).is_some();
            if !has("username") && !has("password") {
                need(&data, &["username", "password"], errors);
            }
        }
        "kubernetes.io/ssh-auth" if data.field("ssh-privatekey").is_empty() => {
            errors.push(FieldError::required(data.path.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => need(&data, &["tls.crt", "tls.key"], errors),
        _ => {}
    }
}

/// `immutable: true` forbids changes.
fn frozen(new: &At, old: &At, fields: &[&str], errors: &mut Errors) {
    if !old.field("immutable").is_true() {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if !new.field("immutable").is_true() {
        rule::forbidden(&new.field("immutable"), detail, errors);
    }
    for name in fields {
        let at = new.field(name);
        if at.value != old.field(name).value {
            rule::forbidden(&at, detail, errors);
        }
    }
}

fn complain_of_key(key: &str, at: &At, errors: &mut Errors) {
    for complaint in rule::config_key(key) {
        rule::invalid_as(at, &Value::from(key), complaint, errors);
    }
}

fn need(data: &At, keys: &[&str], errors: &mut Errors) {
    for key in keys {
        if data.value.get(key).is_none() {
            errors.push(FieldError::required(data.path.key(key), ""));
        }
    }
}

fn json_entry(data: &At, key: &str, errors: &mut Errors) {
    let path = data.path.key(key);
    let Some(text) = data.value.get(key).and_then(Value::as_str) else {
        return errors.push(FieldError::required(path, ""));
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let Err(error) = serde_json::from_slice::<Value>(&bytes) else {
        return;
    };
    let shown = Value::from("<secret contents redacted>");
    let detail = match (error.is_eof(), bytes.first()) {
        (true, _) | (_, None) => "unexpected end of JSON input".to_owned(),
        (false, Some(first)) => {
            format!(
                "invalid character '{}' looking for beginning of value",
                char::from(*first)
            )
        }
    };
    errors.push(FieldError::invalid(path, &shown, detail));
}

fn decoded_length(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}
