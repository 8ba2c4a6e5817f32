//! A place in a document: its value and its name.

use cambium_objects::meant;
use serde_json::Value;

use crate::gofmt;
use crate::path::FieldPath;
use crate::problem::Problems;

pub(super) struct Node<'v> {
    value: Option<&'v Value>,
    field: String,
}

impl<'v> Node<'v> {
    pub(super) fn root(value: &'v Value, field: &str) -> Self {
        Self {
            value: Some(value),
            field: field.to_owned(),
        }
    }

    /// The value; a null is as good as nothing.
    pub(super) fn value(&self) -> Option<&'v Value> {
        self.value.filter(|value| !value.is_null())
    }

    /// Whether anything stands there, and be it a null.
    pub(super) fn is_written(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn field(&self) -> &str {
        &self.field
    }

    pub(super) fn child(&self, name: &str) -> Self {
        let field = if self.field.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.field)
        };
        Self {
            value: self.value.and_then(|value| value.get(name)),
            field,
        }
    }

    /// Whether there is nothing, or a list with nothing in it.
    pub(super) fn has_no_items(&self) -> bool {
        self.value()
            .is_none_or(|value| value.as_array().is_some_and(Vec::is_empty))
    }

    pub(super) fn items(&self, problems: &mut Problems) -> Vec<Node<'v>> {
        match self.value() {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                let item = |(index, value)| Self {
                    value: Some(value),
                    field: format!("{}[{index}]", self.field),
                };
                items.iter().enumerate().map(item).collect()
            }
            Some(_) => {
                self.invalid("must be an array", "write a list", problems);
                Vec::new()
            }
        }
    }

    pub(super) fn text(&self, problems: &mut Problems) -> Option<&'v str> {
        let text = self.value()?.as_str();
        if text.is_none() {
            self.invalid("must be a string", "put the value in quotes", problems);
        }
        text
    }

    pub(super) fn integer(&self, problems: &mut Problems) -> Option<i64> {
        let integer = self.value()?.as_i64();
        if integer.is_none() {
            self.invalid(
                "must be an integer",
                "write a whole number without quotes",
                problems,
            );
        }
        integer
    }

    pub(super) fn flag(&self, problems: &mut Problems) -> bool {
        let flag = self.value().map(Value::as_bool);
        if flag == Some(None) {
            self.invalid(
                "must be a boolean",
                "write true or false without quotes",
                problems,
            );
        }
        flag.flatten().unwrap_or_default()
    }

    /// A field path that must be there.
    pub(super) fn path(&self, missing: &str, problems: &mut Problems) -> Option<FieldPath> {
        let suggestion = "name the field, as in spec.forProvider.region";
        if self.value().is_none_or(|value| value == "") {
            self.required(missing, suggestion, problems);
            return None;
        }
        self.parsed_path(problems)
    }

    /// A field path, if one is written.
    pub(super) fn parsed_path(&self, problems: &mut Problems) -> Option<FieldPath> {
        let text = self.text(problems)?;
        match text.parse() {
            Ok(path) => Some(path),
            Err(error) => {
                let suggestion = "write it as a.b[0].c, and names with dots as ['a.b/c']";
                self.invalid(&format!("invalid field path: {error}"), suggestion, problems);
                None
            }
        }
    }

    pub(super) fn required(&self, reason: &str, suggestion: &str, problems: &mut Problems) {
        problems.required(&self.field, reason, suggestion);
    }

    pub(super) fn invalid(&self, reason: &str, suggestion: impl Into<String>, problems: &mut Problems) {
        let value = match self.value {
            Some(Value::String(text)) => gofmt::quoted(text),
            Some(other) => cambium_go_text::json(other),
            None => "\"\"".to_owned(),
        };
        problems.invalid(&self.field, value, reason, suggestion);
    }

    /// A value that is none of those that there are.
    pub(super) fn unknown(&self, found: &str, reason: &str, known: &[&str], problems: &mut Problems) {
        self.invalid(reason, choices(found, known.iter().copied()), problems);
    }
}

/// What could have been meant: the nearest of the choices, or all of them.
pub(super) fn choices<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match meant(found, known.iter().copied()) {
        Some(choice) => format!("did you mean {choice:?}?"),
        None if known.is_empty() => "there are none to choose from".to_owned(),
        None => format!("use one of {}", known.join(", ")),
    }
}
