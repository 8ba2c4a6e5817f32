//! The URL library: absolute URLs and absolute paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Implementation;
use crate::error::{Result, failure, no_such_overload};
use crate::value::{Key, Map, Text, Value};

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    fragment: String,
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "url" => |arguments| match arguments {
            [Value::String(text)] if is_url(text) => Ok(Value::Url(Arc::new(parse(text)))),
            [Value::String(text)] => failure(format!(
                "URL parse error during conversion from string: parse {:?}: {}",
                &**text,
                cause(text)
            )),
            _ => no_such_overload(),
        },
        "isURL" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(is_url(text))),
            _ => no_such_overload(),
        },
        "getScheme" => |arguments| part(arguments, |url| url.scheme.clone()),
        "getHost" => |arguments| part(arguments, |url| url.host.clone()),
        "getHostname" => |arguments| part(arguments, |url| split_port(&url.host).0.to_owned()),
        "getPort" => |arguments| part(arguments, |url| split_port(&url.host).1.to_owned()),
        "getEscapedPath" => |arguments| part(arguments, |url| url.path.clone()),
        "getQuery" => |arguments| match arguments {
            [Value::Url(url)] => Ok(query(&url.query)),
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

fn is_url(text: &str) -> bool {
    cambium_schema::check_format("uri", text) == Some(true)
}

/// The reason of Go's parse error for an invalid host.
fn cause(text: &str) -> String {
    let host = text.split_once("://").map_or("", |(_, rest)| rest);
    let host = &host[..host.find(['/', '?', '#']).unwrap_or(host.len())];
    match host.chars().find(|character| " \"<>\\^`{|}".contains(*character)) {
        Some(wrong) => format!("invalid character {:?} in host name", wrong.to_string()),
        None => "invalid URI for request".to_owned(),
    }
}

fn part<'a>(arguments: &[Value<'a>], part: fn(&Url) -> String) -> Result<Value<'a>> {
    match arguments {
        [Value::Url(url)] => Ok(Value::text(part(url))),
        _ => no_such_overload(),
    }
}

fn parse(text: &str) -> Url {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (scheme, rest) = match rest.find(':') {
        Some(index) if !rest.starts_with('/') => (rest[..index].to_ascii_lowercase(), &rest[index + 1..]),
        _ => (String::new(), rest),
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() || !rest.is_empty() => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            (host, path)
        }
        // What follows the scheme without a slash is opaque, and no path.
        _ if !scheme.is_empty() && !rest.starts_with('/') => ("", ""),
        _ => ("", rest),
    };
    Url {
        scheme,
        host: decode(host, Plus::IsPlus),
        path: path.to_owned(),
        query: query.to_owned(),
        fragment: fragment.to_owned(),
    }
}

fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    };
    let name = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    (name, port)
}

fn query<'a>(query: &str) -> Value<'a> {
    let mut values: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
    for pair in query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = Value::text(decode(value, Plus::IsSpace));
        values.entry(decode(key, Plus::IsSpace)).or_default().push(value);
    }
    let entries = values
        .into_iter()
        .map(|(key, values)| (Key::String(Text::Shared(key.into())), Value::list(values)));
    Value::Map(Map::owned(entries.collect()))
}

#[derive(Clone, Copy, PartialEq)]
enum Plus {
    IsPlus,
    IsSpace,
}

fn decode(text: &str, plus: Plus) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, after) {
            (b'%', [a, b, tail @ ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
                bytes.push(digit(*a) * 16 + digit(*b));
                rest = tail;
            }
            (b'+', _) if plus == Plus::IsSpace => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
