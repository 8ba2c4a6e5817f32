//! The format library: named formats of Kubernetes.

use cambium_schema::{check_format, names};

use super::Implementation;
use crate::error::no_such_overload;
use crate::value::Value;

/// A named format.
#[derive(Debug)]
pub(crate) struct Format {
    /// The name in expressions.
    function: &'static str,
    pub(crate) name: &'static str,
    /// The nominal length of its pattern, for the cost.
    pub(crate) pattern_size: u64,
    check: fn(&str) -> Vec<String>,
}

static FORMATS: [Format; 13] = [
    format("dns1123Label", "DNS1123Label", 30, names::dns1123_label),
    format(
        "dns1123Subdomain",
        "DNS1123Subdomain",
        60,
        names::dns1123_subdomain,
    ),
    format("dns1035Label", "DNS1035Label", 30, names::dns1035_label),
    format("qualifiedName", "QualifiedName", 60, names::qualified_name),
    format("dns1123LabelPrefix", "DNS1123LabelPrefix", 30, |text| {
        names::dns1123_label(&completed(text))
    }),
    format("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, |text| {
        names::dns1123_subdomain(&completed(text))
    }),
    format("dns1035LabelPrefix", "DNS1035LabelPrefix", 30, |text| {
        names::dns1035_label(&completed(text))
    }),
    format("labelValue", "LabelValue", 40, names::label_value),
    format("uri", "URI", 1103, |text| match check_format("uri", text) {
        Some(true) => Vec::new(),
        _ => vec![format!("parse {text:?}: invalid URI for request")],
    }),
    format("uuid", "uuid", 70, |text| {
        known("uuid", text, "does not match the UUID format")
    }),
    format("byte", "byte", 84, |text| known("byte", text, "invalid base64")),
    format("date", "date", 71, |text| known("date", text, "invalid date")),
    format("datetime", "datetime", 71, |text| {
        known("datetime", text, "invalid datetime")
    }),
];

const fn format(
    function: &'static str,
    name: &'static str,
    pattern_size: u64,
    check: fn(&str) -> Vec<String>,
) -> Format {
    Format {
        function,
        name,
        pattern_size,
        check,
    }
}

fn known(format: &str, text: &str, problem: &str) -> Vec<String> {
    match check_format(format, text) {
        Some(true) => Vec::new(),
        _ => vec![problem.to_owned()],
    }
}

/// Replaces a trailing dash, which is valid in a prefix.
fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest + "a"
        }
        _ => prefix.to_owned(),
    }
}

fn named(function: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.function == function)
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "format.named" => |arguments| match arguments {
            [Value::String(name)] => Ok(match named(name) {
                Some(format) => Value::some(Value::Format(format)),
                None => Value::Optional(None),
            }),
            _ => no_such_overload(),
        },
        "validate" => |arguments| match arguments {
            [Value::Format(format), Value::String(text)] => {
                let problems = (format.check)(text);
                Ok(match problems.is_empty() {
                    true => Value::Optional(None),
                    false => Value::some(Value::list(problems.into_iter().map(Value::text).collect())),
                })
            }
            _ => no_such_overload(),
        },
        "format.dns1123Label" => |_| Ok(Value::Format(&FORMATS[0])),
        "format.dns1123Subdomain" => |_| Ok(Value::Format(&FORMATS[1])),
        "format.dns1035Label" => |_| Ok(Value::Format(&FORMATS[2])),
        "format.qualifiedName" => |_| Ok(Value::Format(&FORMATS[3])),
        "format.dns1123LabelPrefix" => |_| Ok(Value::Format(&FORMATS[4])),
        "format.dns1123SubdomainPrefix" => |_| Ok(Value::Format(&FORMATS[5])),
        "format.dns1035LabelPrefix" => |_| Ok(Value::Format(&FORMATS[6])),
        "format.labelValue" => |_| Ok(Value::Format(&FORMATS[7])),
        "format.uri" => |_| Ok(Value::Format(&FORMATS[8])),
        "format.uuid" => |_| Ok(Value::Format(&FORMATS[9])),
        "format.byte" => |_| Ok(Value::Format(&FORMATS[10])),
        "format.date" => |_| Ok(Value::Format(&FORMATS[11])),
        "format.datetime" => |_| Ok(Value::Format(&FORMATS[12])),
        _ => return None,
    };
    Some(found)
}
