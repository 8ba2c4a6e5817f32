//! The `fieldPath` of a CEL rule: `.spec.labels['a.b']`.

use serde_json::Value;

use crate::field::{FieldError, FieldPath};
use crate::model::{Additional, Schema};

/// Parses a rule's `fieldPath`, relative to the rule's schema.
///
/// # Errors
/// If the path is malformed or does not exist.
pub fn rule_field_path(schema: &Schema, path: &str) -> Result<FieldPath, String> {
    let mut tokens = tokens(path).into_iter();
    let (mut schema, mut found) = (Some(schema), FieldPath::root());
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" => {
                let token = tokens.next().ok_or("unexpected end of JSON path")?;
                let name = unquote(token)?;
                match tokens.next() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let here = schema.ok_or("does not refer to a valid field")?;
        (schema, found) = step(here, &name, &found).ok_or("does not refer to a valid field")?;
    }
    Ok(found)
}

fn step<'a>(schema: &'a Schema, name: &str, path: &FieldPath) -> Option<(Option<&'a Schema>, FieldPath)> {
    if !schema.properties.is_empty() {
        return Some((Some(&schema.property(name)?.schema), path.child(name)));
    }
    match &schema.additional {
        Additional::Schema(child) => Some((Some(child), path.key(name))),
        Additional::Any => Some((None, path.key(name))),
        Additional::None => None,
    }
}

/// Splits at `.`, `[` and `]`, which are tokens of their own, except inside quotes.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => quoted_length(rest),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    (1..bytes.len())
        .find(|index| bytes[*index] == b'\'' && bytes[index - 1] != b'\\')
        .map_or(text.len(), |end| end + 1)
}

fn unquote(token: &str) -> Result<String, String> {
    let inside = token
        .strip_prefix('\'')
        .and_then(|token| token.strip_suffix('\''));
    let inside = inside.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let mut text = String::new();
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('a') => '\u{7}',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\u{b}',
                Some(quoted @ ('\'' | '\\')) => quoted,
                other => {
                    let escape = other.map(String::from).unwrap_or_default();
                    return Err(format!("invalid string literal: invalid escape char \\{escape}"));
                }
            },
            other => other,
        });
    }
    Ok(text)
}

/// Checks the field paths of all rules.
pub(super) fn check(schema: &Schema, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    inside(schema, at, &mut errors);
    errors
}

fn inside(schema: &Schema, at: &FieldPath, errors: &mut Vec<FieldError>) {
    if let Additional::Schema(child) = &schema.additional {
        inside(child, &at.child("additionalProperties"), errors);
    }
    for property in schema.properties.iter() {
        inside(
            &property.schema,
            &at.child("properties").key(&property.name),
            errors,
        );
    }
    if let Some(item) = &schema.items {
        inside(item, &at.child("items"), errors);
    }
    let rules = schema
        .constraints
        .iter()
        .flat_map(|constraints| &constraints.rules)
        .enumerate();
    for (index, path) in rules.filter_map(|(index, rule)| Some((index, rule.field_path.as_ref()?))) {
        if rule_field_path(schema, path).is_err() {
            let place = at
                .child("x-kubernetes-validations")
                .index(index)
                .child("fieldPath");
            errors.push(FieldError::invalid(
                place,
                &Value::from(path.as_str()),
                "must be a valid path",
            ));
        }
    }
}
