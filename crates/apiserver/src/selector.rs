//! Label selectors and field selectors, parsed once, with upstream's messages.

use cambium_schema::names;
use serde_json::Value;

use crate::object;
use crate::registry::{Origin, Served};
use crate::status::{Result, Status};
use crate::store::Entry;

/// A conjunction of label requirements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Parses a `labelSelector` query: `a=b,c!=d,e in (f,g),!h`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let refuse = |why: String| Status::bad_request(format!("unable to parse requirement: {why}"));
        let mut parser = Parser { rest: text };
        let mut requirements = Vec::new();
        loop {
            parser.space();
            if parser.rest.is_empty() {
                break;
            }
            requirements.push(parser.requirement().map_err(refuse)?);
            parser.space();
            match parser.rest.strip_prefix(',') {
                Some(rest) if rest.trim().is_empty() => {
                    return Err(Status::bad_request("found '', expected: identifier after ','"));
                }
                Some(rest) => parser.rest = rest,
                None if parser.rest.is_empty() => break,
                None => {
                    return Err(refuse(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        parser.word()
                    )));
                }
            }
        }
        Ok(Self { requirements })
    }

    /// Reads a `metav1.LabelSelector`: `matchLabels` and `matchExpressions`.
    pub(crate) fn from_json(selector: &Value) -> Option<Self> {
        let mut requirements = Vec::new();
        for (key, value) in selector
            .get("matchLabels")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let operator = Operator::In(vec![value.as_str()?.to_owned()]);
            requirements.push(Requirement {
                key: key.clone(),
                operator,
            });
        }
        for expression in selector
            .get("matchExpressions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let values = expression.get("values").and_then(Value::as_array);
            let values = values
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let operator = match expression.get("operator")?.as_str()? {
                "In" => Operator::In(values),
                "NotIn" => Operator::NotIn(values),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::Absent,
                _ => return None,
            };
            requirements.push(Requirement {
                key: expression.get("key")?.as_str()?.to_owned(),
                operator,
            });
        }
        Some(Self { requirements })
    }

    /// Whether the selector is empty and selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// A label that every selected object must have, if the selector requires one: the key for the store's index.
    pub(crate) fn required(&self) -> Option<(&str, &str)> {
        self.requirements
            .iter()
            .find_map(|requirement| match &requirement.operator {
                Operator::In(values) if values.len() == 1 => Some((&*requirement.key, &*values[0])),
                _ => None,
            })
    }

    /// Whether a set of labels is selected.
    pub(crate) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let value = label(&requirement.key);
            match &requirement.operator {
                Operator::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
                Operator::NotIn(values) => !value.is_some_and(|value| values.iter().any(|one| one == value)),
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::Greater(limit) => value
                    .and_then(|value| value.parse::<i64>().ok())
                    .is_some_and(|n| n > *limit),
                Operator::Less(limit) => value
                    .and_then(|value| value.parse::<i64>().ok())
                    .is_some_and(|n| n < *limit),
            }
        })
    }

    /// Whether an object's labels are selected.
    pub(crate) fn matches_object(&self, object: &Value) -> bool {
        let labels = object::metadata(object).get("labels");
        self.matches(|key| labels?.get(key)?.as_str())
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn word(&mut self) -> &'a str {
        self.space();
        let end = self
            .rest
            .find(|c: char| c.is_whitespace() || "=!,()<>".contains(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.take("!");
        let key = self.word().to_owned();
        if key.is_empty() {
            let found: String = self.rest.chars().take(1).collect();
            return Err(format!(
                "found '{found}', expected: !, identifier, or 'end of string'"
            ));
        }
        check_key(&key)?;
        if absent {
            return Ok(Requirement {
                key,
                operator: Operator::Absent,
            });
        }
        self.space();
        let operator = if self.rest.is_empty() || self.rest.starts_with(',') {
            Operator::Exists
        } else if self.take("==") || self.take("=") {
            Operator::In(vec![self.value(&key)?])
        } else if self.take("!=") {
            Operator::NotIn(vec![self.value(&key)?])
        } else if self.take(">") {
            Operator::Greater(self.integer(&key)?)
        } else if self.take("<") {
            Operator::Less(self.integer(&key)?)
        } else {
            match self.word() {
                "in" => Operator::In(self.values(&key)?),
                "notin" => Operator::NotIn(self.values(&key)?),
                other => {
                    return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
                }
            }
        };
        Ok(Requirement { key, operator })
    }

    fn value(&mut self, key: &str) -> Result<String, String> {
        let value = self.word().to_owned();
        check_value(key, &value)?;
        Ok(value)
    }

    fn integer(&mut self, key: &str) -> Result<i64, String> {
        let value = self.word();
        value.parse().map_err(|_| {
            format!("values[0][{key}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
        })
    }

    fn values(&mut self, key: &str) -> Result<Vec<String>, String> {
        if !self.take("(") {
            return Err(format!("found '{}', expected: '('", self.word()));
        }
        let mut values = Vec::new();
        loop {
            values.push(self.value(key)?);
            if self.take(")") {
                return Ok(values);
            }
            if !self.take(",") {
                return Err(format!("found '{}', expected: ',', or ')'", self.word()));
            }
        }
    }
}

fn check_key(key: &str) -> Result<(), String> {
    match names::qualified_name(key).as_slice() {
        [] => Ok(()),
        problems => Err(format!("key: Invalid value: {key:?}: {}", problems.join("; "))),
    }
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    match names::label_value(value).as_slice() {
        [] => Ok(()),
        problems => Err(format!(
            "values[0][{key}]: Invalid value: {value:?}: {}",
            problems.join("; ")
        )),
    }
}

/// A conjunction of field requirements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FieldSelector {
    /// `(path, value, match)`: equal to the value, or different from it.
    requirements: Vec<(String, String, Match)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Equal,
    Different,
}

impl FieldSelector {
    /// Parses `a.b=c,d!=e`; `unselectable` tells why the resource cannot be selected by a path.
    pub(crate) fn parse(text: &str, unselectable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let mut requirements = Vec::new();
        for term in split_unescaped(text, ',')
            .into_iter()
            .filter(|term| !term.is_empty())
        {
            let (path, value, wanted) = if let Some((path, value)) = term.split_once("!=") {
                (path, value, Match::Different)
            } else if let Some((path, value)) = term.split_once("==") {
                (path, value, Match::Equal)
            } else if let Some((path, value)) = term.split_once('=') {
                (path, value, Match::Equal)
            } else {
                return Err(Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                )));
            };
            if let Some(why) = unselectable(path) {
                return Err(Status::bad_request(why));
            }
            let value = unescape(value)
                .map_err(|why| Status::bad_request(format!("invalid field selector: {why}")))?;
            requirements.push((path.to_owned(), value, wanted));
        }
        Ok(Self { requirements })
    }

    /// Whether the selector is empty and selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The name that `metadata.name=…` selects, if any.
    pub(crate) fn name(&self) -> Option<&str> {
        self.requirements
            .iter()
            .find_map(|(path, value, wanted)| match (path.as_str(), wanted) {
                ("metadata.name", Match::Equal) => Some(&**value),
                _ => None,
            })
    }

    /// Whether a stored object is selected; the object is only decoded when it must be.
    pub(crate) fn matches(&self, resource: &Served, entry: &Entry) -> bool {
        let mut decoded = None;
        self.requirements.iter().all(|(path, value, wanted)| {
            let equal = match path.as_str() {
                "metadata.name" => entry.name() == value,
                "metadata.namespace" => entry.namespace() == value,
                _ => {
                    text_at(
                        resource,
                        decoded.get_or_insert_with(|| served(resource, entry)),
                        path,
                    ) == *value
                }
            };
            equal == (*wanted == Match::Equal)
        })
    }
}

/// The object converted to the resource's version.
fn served(resource: &Served, entry: &Entry) -> Value {
    match &resource.origin {
        Origin::Builtin(row) => cambium_builtin::convert::from_stored(row, entry.value()),
        Origin::Custom(..) => entry.value(),
    }
}

/// A field as a selector sees it: missing and null are empty, scalars are their text.
fn text_at(resource: &Served, object: &Value, path: &str) -> String {
    if let Origin::Builtin(row) = &resource.origin {
        return row.selectable_value(object, path).unwrap_or_default();
    }
    match object::at(object, path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn split_unescaped(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == at => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    parts
}

fn unescape(text: &str) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        result.push(match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => escaped,
                Some(other) => return Err(format!("invalid escape sequence: \\{other}")),
                None => return Err("invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!("unescaped character in value: {}", u32::from(character)));
            }
            other => other,
        });
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(selector: &str, labels: Value) -> bool {
        LabelSelector::parse(selector)
            .unwrap()
            .matches_object(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn label_selectors_select() {
        let labels = json!({"a": "1", "b": "x"});
        for yes in [
            "",
            "a=1",
            "a==1,b",
            "a in (1,2)",
            "c!=1",
            "!c",
            "b notin (y, z)",
            "a>0",
            "a<2",
            " a = 1 , b in ( x ) ",
        ] {
            assert!(selects(yes, labels.clone()), "{yes}");
        }
        for no in [
            "a=2",
            "c",
            "!a",
            "a!=1",
            "b in (y)",
            "a notin (1)",
            "a>1",
            "c in ()",
        ] {
            assert!(!selects(no, labels.clone()), "{no}");
        }
    }

    #[test]
    fn bad_label_selectors_are_refused() {
        for bad in [
            "a=1 b=2",
            "a in 1",
            "a in (1",
            "=1",
            "a b",
            "-x=1",
            "a=-x-",
            ",",
            "a,,b",
            "a in (1 2)",
            "a>x",
        ] {
            assert!(LabelSelector::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn field_selectors_know_their_fields() {
        let unselectable = |path: &str| {
            let known = path == "metadata.name" || path == "spec.nodeName";
            (!known).then(|| format!("field label not supported: {path}"))
        };
        let parse = |text| FieldSelector::parse(text, unselectable);
        let requirement = |selector: FieldSelector| selector.requirements[0].clone();
        let of = |value: &str| ("metadata.name".to_owned(), value.to_owned(), Match::Equal);
        assert_eq!(
            parse("metadata.name=x,spec.nodeName!=y").map(requirement),
            Ok(of("x"))
        );
        assert_eq!(parse(r"metadata.name=a\,b").map(requirement), Ok(of("a,b")));
        assert_eq!(
            parse("status.foo=x").unwrap_err().message,
            "field label not supported: status.foo"
        );
        assert!(parse("metadata.name").is_err());
    }
}
