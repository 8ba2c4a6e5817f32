//! Reads the keywords of a schema. A keyword of the wrong JSON type is an error; an unknown one is ignored.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::props::{AdditionalProps, Items, Props};
use crate::field::{FieldError, FieldPath};
use crate::model::Rule;

/// Maximum nesting of schemas, as every walk is recursive.
const DEEPEST: usize = 100;

pub(super) fn read(raw: &Value, at: &FieldPath, errors: &mut Vec<FieldError>) -> Props {
    Reader { errors, depth: 0 }.schema(raw, at)
}

struct Reader<'e> {
    errors: &'e mut Vec<FieldError>,
    depth: usize,
}

impl Reader<'_> {
    fn schema(&mut self, raw: &Value, at: &FieldPath) -> Props {
        let Value::Object(fields) = raw else {
            self.wrong(at.clone(), raw, "a schema object");
            return Props::default();
        };
        if self.depth > DEEPEST {
            let detail = format!("must not be nested deeper than {DEEPEST} levels");
            self.errors.push(FieldError::forbidden(at.clone(), detail));
            return Props::default();
        }
        self.depth += 1;
        let props = self.keywords(&Keywords { fields, at });
        self.depth -= 1;
        props
    }

    fn keywords(&mut self, from: &Keywords<'_>) -> Props {
        Props {
            id: self.text(from, "id").unwrap_or_default(),
            schema_url: self.text(from, "$schema").unwrap_or_default(),
            reference: self.text(from, "$ref"),
            description: self.text(from, "description").unwrap_or_default(),
            type_name: self.text(from, "type").unwrap_or_default(),
            format: self.text(from, "format").unwrap_or_default(),
            title: self.text(from, "title").unwrap_or_default(),
            default: from.get("default").cloned(),
            maximum: self.number(from, "maximum"),
            exclusive_maximum: self.flag(from, "exclusiveMaximum") == Some(true),
            minimum: self.number(from, "minimum"),
            exclusive_minimum: self.flag(from, "exclusiveMinimum") == Some(true),
            max_length: self.count(from, "maxLength"),
            min_length: self.count(from, "minLength"),
            pattern: self.text(from, "pattern").unwrap_or_default(),
            max_items: self.count(from, "maxItems"),
            min_items: self.count(from, "minItems"),
            unique_items: self.flag(from, "uniqueItems") == Some(true),
            multiple_of: self.number(from, "multipleOf"),
            enumeration: self.list(from, "enum").to_vec(),
            max_properties: self.count(from, "maxProperties"),
            min_properties: self.count(from, "minProperties"),
            required: self.texts(from, "required"),
            items: self.items(from),
            all_of: self.schemas(from, "allOf"),
            one_of: self.schemas(from, "oneOf"),
            any_of: self.schemas(from, "anyOf"),
            not: from
                .get("not")
                .map(|raw| Box::new(self.schema(raw, &from.at.child("not")))),
            properties: self.named_schemas(from, "properties"),
            additional_properties: self.additional(from),
            pattern_properties: self.named_schemas(from, "patternProperties"),
            dependencies: from.get("dependencies").cloned(),
            additional_items: from.get("additionalItems").cloned(),
            definitions: self.named_schemas(from, "definitions"),
            external_docs: from.get("externalDocs").cloned(),
            example: from.get("example").cloned(),
            nullable: self.flag(from, "nullable") == Some(true),
            preserve_unknown_fields: self.flag(from, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: self.flag(from, "x-kubernetes-embedded-resource") == Some(true),
            int_or_string: self.flag(from, "x-kubernetes-int-or-string") == Some(true),
            list_map_keys: self.texts(from, "x-kubernetes-list-map-keys"),
            list_type: self.text(from, "x-kubernetes-list-type"),
            map_type: self.text(from, "x-kubernetes-map-type"),
            validations: self.rules(from),
        }
    }

    fn wrong(&mut self, at: FieldPath, value: &Value, expected: &str) {
        self.errors
            .push(FieldError::type_invalid(at, value, format!("must be {expected}")));
    }

    fn text(&mut self, from: &Keywords<'_>, name: &str) -> Option<String> {
        let value = from.get(name)?;
        if !value.is_string() {
            self.wrong(from.at.child(name), value, "a string");
        }
        value.as_str().map(str::to_owned)
    }

    fn flag(&mut self, from: &Keywords<'_>, name: &str) -> Option<bool> {
        let value = from.get(name)?;
        if !value.is_boolean() {
            self.wrong(from.at.child(name), value, "a boolean");
        }
        value.as_bool()
    }

    fn number(&mut self, from: &Keywords<'_>, name: &str) -> Option<Number> {
        let value = from.get(name)?;
        if !value.is_number() {
            self.wrong(from.at.child(name), value, "a number");
        }
        value.as_number().cloned()
    }

    fn count(&mut self, from: &Keywords<'_>, name: &str) -> Option<i64> {
        let value = from.get(name)?;
        if !value.is_i64() {
            self.wrong(from.at.child(name), value, "an integer");
        }
        value.as_i64()
    }

    fn list<'a>(&mut self, from: &Keywords<'a>, name: &str) -> &'a [Value] {
        match from.get(name) {
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong(from.at.child(name), other, "a list");
                &[]
            }
            None => &[],
        }
    }

    fn texts(&mut self, from: &Keywords<'_>, name: &str) -> Vec<String> {
        let items = self.list(from, name);
        for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
            self.wrong(from.at.child(name).index(index), item, "a string");
        }
        items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    fn schemas(&mut self, from: &Keywords<'_>, name: &str) -> Vec<Props> {
        let at = from.at.child(name);
        self.list(from, name)
            .iter()
            .enumerate()
            .map(|(index, raw)| self.schema(raw, &at.index(index)))
            .collect()
    }

    fn named_schemas(&mut self, from: &Keywords<'_>, name: &str) -> BTreeMap<String, Props> {
        let at = from.at.child(name);
        match from.get(name) {
            Some(Value::Object(fields)) => fields
                .iter()
                .map(|(key, raw)| (key.clone(), self.schema(raw, &at.key(key))))
                .collect(),
            Some(other) => {
                self.wrong(at, other, "an object");
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        }
    }

    fn items(&mut self, from: &Keywords<'_>) -> Option<Items> {
        Some(match from.get("items")? {
            Value::Array(_) => Items::Each(self.schemas(from, "items")),
            raw => Items::One(Box::new(self.schema(raw, &from.at.child("items")))),
        })
    }

    fn additional(&mut self, from: &Keywords<'_>) -> Option<AdditionalProps> {
        let at = from.at.child("additionalProperties");
        Some(match from.get("additionalProperties")? {
            Value::Bool(allowed) => AdditionalProps::Allowed(*allowed),
            raw @ Value::Object(_) => AdditionalProps::Schema(Box::new(self.schema(raw, &at))),
            other => {
                self.wrong(at, other, "a boolean or a schema object");
                return None;
            }
        })
    }

    fn rules(&mut self, from: &Keywords<'_>) -> Vec<Rule> {
        let at = from.at.child("x-kubernetes-validations");
        let items = self.list(from, "x-kubernetes-validations");
        items
            .iter()
            .enumerate()
            .map(|(index, raw)| self.rule(raw, &at.index(index)))
            .collect()
    }

    fn rule(&mut self, raw: &Value, at: &FieldPath) -> Rule {
        let Value::Object(fields) = raw else {
            self.wrong(at.clone(), raw, "an object");
            return Rule::default();
        };
        let from = Keywords { fields, at };
        let said = |text: &String| !text.is_empty();
        Rule {
            rule: self.text(&from, "rule").unwrap_or_default(),
            message: self.text(&from, "message").filter(said),
            message_expression: self.text(&from, "messageExpression").filter(said),
            reason: self.text(&from, "reason"),
            field_path: self.text(&from, "fieldPath").filter(said),
            optional_old_self: self.flag(&from, "optionalOldSelf"),
        }
    }
}

/// The fields of a JSON object and its path. Null counts as absent.
struct Keywords<'a> {
    fields: &'a Map<String, Value>,
    at: &'a FieldPath,
}

impl<'a> Keywords<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }
}
