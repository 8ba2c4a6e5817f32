//! The keywords of a schema as written in a CRD (JSONSchemaProps).

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::model::Rule;

/// All keywords of one schema. Absent ones are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Props {
    pub(super) id: String,
    pub(super) schema_url: String,
    pub(super) reference: Option<String>,
    pub(super) description: String,
    pub(super) type_name: String,
    pub(super) format: String,
    pub(super) title: String,
    pub(super) default: Option<Value>,
    pub(super) maximum: Option<Number>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<Number>,
    pub(super) exclusive_minimum: bool,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: String,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) multiple_of: Option<Number>,
    pub(super) enumeration: Vec<Value>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) items: Option<Items>,
    pub(super) all_of: Vec<Props>,
    pub(super) one_of: Vec<Props>,
    pub(super) any_of: Vec<Props>,
    pub(super) not: Option<Box<Props>>,
    pub(super) properties: BTreeMap<String, Props>,
    pub(super) additional_properties: Option<AdditionalProps>,
    pub(super) pattern_properties: BTreeMap<String, Props>,
    pub(super) dependencies: Option<Value>,
    pub(super) additional_items: Option<Value>,
    pub(super) definitions: BTreeMap<String, Props>,
    pub(super) external_docs: Option<Value>,
    pub(super) example: Option<Value>,
    pub(super) nullable: bool,
    pub(super) preserve_unknown_fields: Option<bool>,
    pub(super) embedded_resource: bool,
    pub(super) int_or_string: bool,
    pub(super) list_map_keys: Vec<String>,
    pub(super) list_type: Option<String>,
    pub(super) map_type: Option<String>,
    pub(super) validations: Vec<Rule>,
}

/// `items`: one schema for all, or (always invalid) one for each.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Items {
    One(Box<Props>),
    Each(Vec<Props>),
}

/// `additionalProperties`: a boolean or a schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AdditionalProps {
    Allowed(bool),
    Schema(Box<Props>),
}

impl Props {
    /// All keywords.
    pub(super) const KEYWORDS: [&str; 44] = [
        "id",
        "$schema",
        "$ref",
        "description",
        "type",
        "format",
        "title",
        "default",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "multipleOf",
        "enum",
        "maxProperties",
        "minProperties",
        "required",
        "items",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "properties",
        "additionalProperties",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
        "externalDocs",
        "example",
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
    ];

    /// The schema of a list's items, if there is exactly one.
    pub(super) fn item(&self) -> Option<&Props> {
        match &self.items {
            Some(Items::One(props)) => Some(props),
            _ => None,
        }
    }

    /// The schema of a map's values.
    pub(super) fn additional(&self) -> Option<&Props> {
        match &self.additional_properties {
            Some(AdditionalProps::Schema(props)) => Some(props),
            _ => None,
        }
    }

    /// Whether unknown fields are preserved.
    pub(super) fn preserves(&self) -> bool {
        self.preserve_unknown_fields == Some(true)
    }
}
