//! Validates values against types.

use cambium_schema::ListType;
use serde_json::Value;

use super::errors::{Problems, TypedErrors};
use super::list_item::{self, Index};
use super::shape::{ListShape, MapShape, Scalar, Shape, Type};
use crate::go_text;

/// Whether list maps and sets may have duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Allowed: stored objects are accepted as they are.
    Allowed,
    /// Refused: an applied configuration must be unambiguous.
    Refused,
}

/// Validates `value`, and returns all errors.
pub fn validate(ty: Type<'_>, value: &Value, duplicates: Duplicates) -> Result<(), TypedErrors> {
    check(ty, value, None, duplicates)
}

/// The same, relative to a valid value `known`: only differences are validated.
pub(crate) fn validate_beside(ty: Type<'_>, value: &Value, known: &Value) -> Result<(), TypedErrors> {
    check(ty, value, Some(known), Duplicates::Allowed)
}

fn check(
    ty: Type<'_>,
    value: &Value,
    known: Option<&Value>,
    duplicates: Duplicates,
) -> Result<(), TypedErrors> {
    let mut problems = Problems::default();
    Validator {
        duplicates,
        problems: &mut problems,
    }
    .visit(ty, value, known);
    problems.into_result(())
}

struct Validator<'p> {
    duplicates: Duplicates,
    problems: &'p mut Problems,
}

impl Validator<'_> {
    fn visit(&mut self, ty: Type<'_>, value: &Value, known: Option<&Value>) {
        match ty.shape_of(value) {
            Shape::Map(map) => self.visit_map(map, value, known),
            Shape::List(list) => self.visit_list(list, value),
            Shape::Scalar(scalar) => {
                if let Err(message) = check_scalar(scalar, value, "") {
                    self.problems.add(message);
                }
            }
            Shape::Invalid => self.problems.add("schema error: invalid atom: inlined"),
        }
    }

    fn visit_map(&mut self, map: MapShape<'_>, value: &Value, known: Option<&Value>) {
        let fields = match value {
            Value::Null => return,
            Value::Object(fields) => fields,
            other => {
                return self
                    .problems
                    .add(format!("expected map, got &{{{}}}", go_text::plain(other)));
            }
        };
        for (name, field) in fields {
            let known = known.and_then(|known| known.get(name));
            if known == Some(field) && !field.is_object() {
                continue;
            }
            let start = self.problems.len();
            match map.declared(name) {
                Some(ty) => self.visit(ty, field, known),
                None => self.problems.add("field not declared in schema"),
            }
            self.problems.prefix(start, || format!(".{name}"));
        }
    }

    fn visit_list(&mut self, list: ListShape<'_>, value: &Value) {
        let items = match value {
            Value::Null => return,
            Value::Array(items) => items,
            other => {
                return self
                    .problems
                    .add(format!("expected list, got &{{{}}}", go_text::plain(other)));
            }
        };
        let item_type = list.item();
        let is_atomic = *list.list_type() == ListType::Atomic;
        let mut seen = Index::with_capacity(0);
        for (index, item) in items.iter().enumerate() {
            if !is_atomic && let Err(message) = list_item::check(list, item) {
                // Without a name there is no way to say where anything below is.
                return self.problems.add(format!("element {index}: {message}"));
            }
            if !is_atomic
                && self.duplicates == Duplicates::Refused
                && let Ok(element) = list_item::element(list, item)
            {
                let count = seen.entry(&element, || 0);
                *count += 1;
                if *count > 1 {
                    self.problems.add(format!("duplicate entries for key {element}"));
                }
            }
            let start = self.problems.len();
            self.visit(item_type, item, None);
            self.problems
                .prefix(start, || match list_item::element(list, item) {
                    Ok(element) => element.to_string(),
                    Err(_) => format!("[{index}]"),
                });
        }
    }
}

/// Checks a scalar; `null` is always one.
pub(super) fn check_scalar(scalar: Scalar, value: &Value, side: &str) -> Result<(), String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Number(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => Ok(()),
        (Scalar::Numeric, other) => Err(format!(
            "{side}expected numeric (int or float), got {}",
            go_text::type_name(other)
        )),
        (Scalar::String, other) => Err(format!(
            "{side}expected string, got &value.valueUnstructured{{Value:{}}}",
            go_text::go_syntax(other)
        )),
        (Scalar::Boolean, other) => Err(format!(
            "{side}expected boolean, got &{{{}}}",
            go_text::plain(other)
        )),
        (Scalar::Untyped, other) => Err(format!(
            "{side}expected any scalar, got &{{{}}}",
            go_text::plain(other)
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::typed::fixtures::sorts;

    fn problems(spec: &Value, duplicates: Duplicates) -> String {
        let schema = sorts();
        let object = json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a"}, "spec": spec});
        validate(Type::object(&schema), &object, duplicates)
            .map_or_else(|errors| errors.to_string(), |()| String::new())
    }

    #[test]
    fn says_what_upstream_says() {
        for (spec, message) in [
            (
                json!({"replicas": 1, "title": "a", "paused": true, "at": "now", "port": "http"}),
                "",
            ),
            (
                json!({"replicas": 1.5, "port": 80, "title": null, "containers": null, "labels": null}),
                "",
            ),
            (
                json!({"anything": [{"a": 1}, 2], "open": {"known": {"b": 1}, "c": {}}, "free": {"a": [1]}}),
                "",
            ),
            (
                json!({"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": "b"}}, "x": 1}}),
                "",
            ),
            (
                json!({"replicas": "1"}),
                ".spec.replicas: expected numeric (int or float), got string",
            ),
            (
                json!({"title": 8080}),
                ".spec.title: expected string, got &value.valueUnstructured{Value:8080}",
            ),
            (
                json!({"paused": "yes"}),
                ".spec.paused: expected boolean, got &{yes}",
            ),
            (
                json!({"at": {"a": 1}}),
                ".spec.at: expected any scalar, got &{map[a:1]}",
            ),
            (json!({"labels": "a"}), ".spec.labels: expected map, got &{a}"),
            (json!({"args": {}}), ".spec.args: expected list, got &{map[]}"),
            (
                json!({"args": ["a", 1]}),
                ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}",
            ),
            (json!({"nope": 1}), ".spec.nope: field not declared in schema"),
            (
                json!({"nested": {"nope": 1}}),
                ".spec.nested.nope: field not declared in schema",
            ),
            (
                json!({"containers": [{"name": "a", "image": 1}]}),
                r#".spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:1}"#,
            ),
            (
                json!({"containers": [{"image": "x"}]}),
                r#".spec.containers: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#,
            ),
            (
                json!({"containers": [null]}),
                ".spec.containers: element 0: associative list with keys may not have a null element",
            ),
            (
                json!({"containers": ["a"]}),
                ".spec.containers: element 0: associative list with keys may not have non-map elements",
            ),
            (
                json!({"containers": [{"name": "a"}, {"name": "a"}]}),
                r#".spec.containers: duplicate entries for key [name="a"]"#,
            ),
            (
                json!({"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}),
                r#".spec.ports: duplicate entries for key [port=80,protocol="TCP"]"#,
            ),
            (
                json!({"ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}]}),
                "",
            ),
            (
                json!({"tags": ["a", "b", "a"]}),
                r#".spec.tags: duplicate entries for key [="a"]"#,
            ),
            (
                json!({"tags": [{}]}),
                ".spec.tags: element 0: associative list without keys has an element that's a map type",
            ),
            (
                json!({"tags": [[]]}),
                ".spec.tags: element 0: not supported: associative list with lists as elements",
            ),
            (
                json!({"tags": [null]}),
                ".spec.tags: element 0: associative list without keys has an element that's an explicit null",
            ),
            (
                json!({"nope": 1, "title": 1}),
                "errors:\n  .spec.nope: field not declared in schema\n  .spec.title: expected string, got &value.valueUnstructured{Value:1}",
            ),
        ] {
            assert_eq!(problems(&spec, Duplicates::Refused), message, "{spec}");
        }
    }

    #[test]
    fn stored_objects_may_repeat_items() {
        assert_eq!(
            problems(
                &json!({"tags": ["a", "a"], "containers": [{"name": "a"}, {"name": "a"}]}),
                Duplicates::Allowed
            ),
            ""
        );
    }

    #[test]
    fn metadata_is_typed_even_when_the_schema_leaves_it_out() {
        let schema = sorts();
        let object = json!({"metadata": {"finalizers": ["a", "a"], "labels": {"a": 1}, "ownerReferences": [{"name": "x"}], "nope": 1}});
        let errors = validate(Type::object(&schema), &object, Duplicates::Refused).unwrap_err();
        assert_eq!(
            errors.to_string(),
            r#"errors:
  .metadata.finalizers: duplicate entries for key [="a"]
  .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}
  .metadata.nope: field not declared in schema
  .metadata.ownerReferences: element 0: associative list with keys has an element that omits all key fields ["uid"] (and doesn't have default values for any key fields)"#
        );
    }
}
