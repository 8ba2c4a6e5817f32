//! Fields that no schema specifies: finding them, and removing them.
//!
//! One read-only walk finds them. Nearly all objects have none, so pruning costs no more than looking.

use serde_json::Value;

use crate::model::{Additional, JsonType, Schema};

/// The fields of a whole Kubernetes object that its schema need not mention.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes every field that is not specified, and says which: `spec.list[0].x`, sorted.
pub fn prune(schema: &Schema, value: &mut Value) -> Vec<String> {
    let unknown = find(schema, value);
    for path in &unknown {
        remove(value, path);
    }
    texts(&unknown)
}

/// The fields that [`prune`] would remove, in the form of strict field validation: `spec.list[0].x`, sorted.
pub fn unknown_fields(schema: &Schema, value: &Value) -> Vec<String> {
    texts(&find(schema, value))
}

/// One step into a value; names are borrowed on the way and owned where something was found.
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
    /// A value whose unspecified fields go. Without a schema, all fields do.
    fn specified(&mut self, schema: Option<&Schema>, value: &'v Value) {
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

    /// A value whose unspecified fields stay, but not those inside its specified fields.
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

/// The schema of a field that stays, if the field stays: `additionalProperties: true` keeps
/// a field but specifies nothing inside it.
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
