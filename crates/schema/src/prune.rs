//! Pruning: finds and removes unknown fields.
//!
//! A read-only walk finds them. Nearly all objects have none, so pruning rarely modifies anything.

use serde_json::Value;

use crate::model::{Additional, JsonType, Schema};

/// The fields of an object that its schema need not specify.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown fields; returns their paths: `spec.list[0].x`, sorted.
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let unknown = find(schema, value);
    for path in &unknown {
        remove(value, path);
    }
    texts(&unknown)
}

/// The unknown fields that [`prune`] would remove, in the form of strict field validation: `spec.list[0].x`, sorted.
pub fn unknown_fields(schema: &Schema, value: &Value) -> Vec<String> {
    texts(&find(schema, value))
}

/// A path element; names are borrowed during the walk and owned in results.
#[derive(Clone, Copy)]
enum Step<Name> {
    Field(Name),
    Item(usize),
}

fn texts(paths: &[Vec<Step<String>>]) -> Vec<String> {
    let mut texts: Vec<_> = paths.iter().map(|path| text(path)).collect();
    texts.sort();
    texts
}

fn text(path: &[Step<String>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => text.extend([".", name]),
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn remove(value: &mut Value, path: &[Step<String>]) {
    match (path, value) {
        ([Step::Field(name)], Value::Object(fields)) => {
            fields.remove(name);
        }
        ([Step::Field(name), rest @ ..], Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(name) {
                remove(field, rest);
            }
        }
        ([Step::Item(index), rest @ ..], Value::Array(items)) => {
            if let Some(item) = items.get_mut(*index) {
                remove(item, rest);
            }
        }
        _ => {}
    }
}

fn find(schema: &Schema, value: &Value) -> Vec<Vec<Step<String>>> {
    let mut search = Search {
        here: Vec::new(),
        found: Vec::new(),
    };
    search.specified(Some(schema), value);
    search.found
}

struct Search<'v> {
    here: Vec<Step<&'v str>>,
    found: Vec<Vec<Step<String>>>,
}

impl<'v> Search<'v> {
    /// A value whose unknown fields are pruned; all of them without a schema.
    fn specified(&mut self, schema: Option<&Schema>, value: &'v Value) {
        // `x-kubernetes-preserve-unknown-fields` keeps unknown fields of this value only, not those of specified fields below.
        let keeps =
            schema.is_some_and(|schema| schema.preserve_unknown_fields || schema.json_type == JsonType::Any);
        if let Some(schema) = schema.filter(|_| keeps) {
            return self.preserved(schema, value);
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.field(schema, name, field);
                }
            }
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (index, item) in items.iter().enumerate() {
                    self.within(Step::Item(index), |search| search.specified(schema, item));
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, schema: Option<&Schema>, name: &'v str, field: &'v Value) {
        if schema.is_some_and(|schema| schema.embedded_resource && META_FIELDS.contains(&name)) {
            return;
        }
        let step = Step::Field(name);
        match schema.and_then(|schema| specification(schema, name)) {
            Some(schema) if compound(field) => self.within(step, |search| search.specified(schema, field)),
            Some(_) => {}
            None => self.within(step, Self::record),
        }
    }

    /// A value whose unknown fields are preserved; those inside its specified fields are pruned.
    fn preserved(&mut self, schema: &Schema, value: &'v Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields.iter().filter(|(_, field)| compound(field)) {
                    if schema.embedded_resource && META_FIELDS.contains(&name.as_str()) {
                        continue;
                    }
                    if let Some(schema) = specification(schema, name) {
                        self.within(Step::Field(name), |search| search.specified(schema, field));
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else {
                    return;
                };
                for (index, item) in items.iter().enumerate() {
                    self.within(Step::Item(index), |search| search.preserved(schema, item));
                }
            }
            _ => {}
        }
    }

    fn record(&mut self) {
        let own = |step: &Step<&str>| match *step {
            Step::Field(name) => Step::Field(name.to_owned()),
            Step::Item(index) => Step::Item(index),
        };
        self.found.push(self.here.iter().map(own).collect());
    }

    fn within(&mut self, step: Step<&'v str>, inside: impl FnOnce(&mut Self)) {
        self.here.push(step);
        inside(self);
        self.here.pop();
    }
}

fn compound(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// The schema of a field that is kept: `additionalProperties: true` keeps a field but specifies nothing inside it.
fn specification<'a>(schema: &'a Schema, name: &str) -> Option<Option<&'a Schema>> {
    let closed = || {
        schema
            .constraints
            .as_ref()
            .is_some_and(|constraints| constraints.closed)
    };
    match (schema.property(name), &schema.additional) {
        (Some(property), _) => Some(Some(&*property.schema)),
        (None, Additional::Schema(child)) => Some(Some(&**child)),
        (None, Additional::Any) => Some(None),
        // Validation will refuse the field, so it must not disappear before.
        (None, Additional::None) => closed().then_some(None),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::field::FieldPath;
    use crate::model::{Child, MapType, PatchStrategy, Property};
    use crate::parse::parse;
    use serde_json::json;

    #[test]
    fn what_is_not_specified_goes() {
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                          "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}});
        let cases = [
            (
                json!({"type": "object"}),
                json!({"a": 1}),
                json!({}),
                vec!["spec.a"],
            ),
            (
                json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}),
                json!([{"a": "1"}, {"b": 2}]),
                json!([{"a": "1"}, {}]),
                vec!["spec[1].b"],
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "object"}}),
                json!({"k": {"a": 1}}),
                json!({"k": {}}),
                vec!["spec.k.a"],
            ),
            (
                json!({"type": "object", "additionalProperties": true}),
                json!({"k": {"a": 1}}),
                json!({"k": {}}),
                vec!["spec.k.a"],
            ),
            (
                open,
                json!({"x": {"y": 1}, "a": {"b": "1", "c": 2}}),
                json!({"x": {"y": 1}, "a": {"b": "1"}}),
                vec!["spec.a.c"],
            ),
            (
                json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": {"type": "string"}}}),
                json!({"kind": "A", "metadata": {"x": 1}, "b": 1}),
                json!({"kind": "A", "metadata": {"x": 1}}),
                vec!["spec.b"],
            ),
        ];
        for (spec, value, expected, removed) in cases {
            let raw = json!({"type": "object", "properties": {"spec": spec}});
            let schema = parse(&raw, &FieldPath::new("schema")).expect("the test's schema is valid");
            let mut object = json!({"apiVersion": "v1", "metadata": {"any": 1}, "spec": value});
            assert_eq!(prune(&schema, &mut object), removed, "{raw}");
            assert_eq!(
                object,
                json!({"apiVersion": "v1", "metadata": {"any": 1}, "spec": expected}),
                "{raw}"
            );
        }
    }

    static NODE_FIELDS: [Property; 1] = [Property {
        name: Cow::Borrowed("next"),
        schema: Child::Static(&NODE),
        required: false,
        number: 1,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }];
    static NODE: Schema = Schema {
        name: "io.k8s.test.Node",
        json_type: JsonType::Object,
        format: Cow::Borrowed(""),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(&NODE_FIELDS),
        additional: Additional::None,
        items: None,
        list: crate::model::ListType::Atomic,
        map: MapType::Granular,
        preserve_unknown_fields: false,
        embedded_resource: false,
        default: None,
        constraints: None,
    };

    #[test]
    fn built_in_types_may_refer_to_themselves() {
        let mut value = json!({"next": {"next": {"other": 1}}});
        assert_eq!(prune(&NODE, &mut value), ["next.next.other"]);
        assert_eq!(value, json!({"next": {"next": {}}}));
        crate::default(&NODE, &mut value);
        assert_eq!(crate::validate(&NODE, &value, Some(&value)), []);
    }
}
