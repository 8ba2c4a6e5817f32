//! Validation of label selectors.

use cambium_schema::{FieldError, names};
use serde_json::{Value, json};

use super::at::At;
use super::rule::{self, Errors};

/// Validates a label selector, if it is set.
pub(super) fn check(at: &At, errors: &mut Errors) {
    rule::labels(&at.field("matchLabels"), errors);
    for requirement in at.field("matchExpressions").items() {
        let (operator, values) = (requirement.field("operator"), requirement.field("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                rule::required_because(
                    &values,
                    "must be specified when `operator` is 'In' or 'NotIn'",
                    errors,
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                rule::forbidden(
                    &values,
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    errors,
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => rule::invalid_as(
                &operator,
                &Value::from(other),
                "not a valid selector operator",
                errors,
            ),
        }
        rule::labels_key(&requirement.field("key"), errors);
        for value in values.items() {
            rule::complain(&value, names::label_value(value.text()), errors);
        }
    }
}

/// Whether a selector matches labels; `None` when the selector is invalid. A missing selector matches nothing.
pub(super) fn matches(selector: &Value, labels: &Value) -> Option<bool> {
    let mut errors = Vec::new();
    check(&At::root(selector), &mut errors);
    if !errors.is_empty() {
        return None;
    }
    if selector.is_null() {
        return Some(false);
    }
    let by_labels = At::root(selector)
        .field("matchLabels")
        .entries()
        .all(|(key, value)| labels.get(key) == Some(value.value));
    let by_expressions = At::root(selector)
        .field("matchExpressions")
        .items()
        .all(|requirement| {
            let label = labels.get(requirement.field("key").text());
            let is_listed = || {
                label.is_some_and(|label| {
                    requirement
                        .field("values")
                        .items()
                        .any(|value| value.value == label)
                })
            };
            match requirement.field("operator").text() {
                "In" => is_listed(),
                "NotIn" => !is_listed(),
                "Exists" => label.is_some(),
                _ => label.is_none(),
            }
        });
    Some(by_labels && by_expressions)
}

/// Whether a selector has no requirement.
pub(super) fn is_empty(at: &At) -> bool {
    at.field("matchLabels").is_empty() && at.field("matchExpressions").is_empty()
}

/// A selector as error messages show it, in the order of its Go fields.
pub(super) fn shown(selector: &Value) -> String {
    if selector.is_null() {
        return "null".to_owned();
    }
    let part = |name: &str| {
        let value = selector.get(name)?;
        Some(format!("\"{name}\":{}", json_text(value)))
    };
    let parts: Vec<_> = ["matchLabels", "matchExpressions"]
        .into_iter()
        .filter_map(part)
        .collect();
    format!("{{{}}}", parts.join(","))
}

/// A value as JSON in messages.
pub(super) fn json_text(value: &Value) -> String {
    let whole = FieldError::invalid(cambium_schema::FieldPath::root(), &json!([value]), "").shown;
    whole[1..whole.len() - 1].to_owned()
}

/// Requires an unchanged selector.
pub(super) fn immutable(new: &At, old: &At, errors: &mut Errors) {
    if new.value != old.value {
        rule::invalid_shown(new, shown(new.value), "field is immutable", errors);
    }
}
