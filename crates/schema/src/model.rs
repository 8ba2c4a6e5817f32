//! The schema model.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use crate::pattern::Matcher;

/// The schema of a value.
///
/// All fields can be initialized in a `static`, so built-in kinds have no start-up cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The published name of a built-in type (`io.k8s.api.core.v1.Container`); empty for the rest.
    pub name: &'static str,
    /// The accepted JSON type.
    pub json_type: JsonType,
    /// The OpenAPI format (`int32`, `byte`, `date-time`, …); empty when there is none.
    pub format: Cow<'static, str>,
    /// The description.
    pub description: Cow<'static, str>,
    /// Whether `null` is a valid value.
    pub nullable: bool,
    /// Fields of an object, sorted by name.
    pub properties: Cow<'static, [Property]>,
    /// `additionalProperties`.
    pub additional: Additional,
    /// The schema of list items.
    pub items: Option<Child>,
    /// `x-kubernetes-list-type`.
    pub list: ListType,
    /// `x-kubernetes-map-type`.
    pub map: MapType,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`: the value is a whole object (`apiVersion`, `kind`, `metadata`).
    pub embedded_resource: bool,
    /// The default.
    pub default: Option<Value>,
    /// Limits on values beyond their type; absent for nearly all built-in types.
    pub constraints: Option<Box<Constraints>>,
}

/// The JSON type of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// Anything at all.
    Any,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A whole number or a string (`x-kubernetes-int-or-string`).
    IntOrString,
}

/// One field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The field's name in JSON.
    pub name: Cow<'static, str>,
    /// The schema of its value.
    pub schema: Child,
    /// Whether it is required.
    pub required: bool,
    /// The protobuf field number of a built-in type; 0 when there is none.
    pub number: u32,
    /// Its strategic merge patch strategy (built-in types only).
    pub patch: PatchStrategy,
    /// Its strategic merge patch merge key; empty when there is none.
    pub patch_merge_key: &'static str,
}

/// A strategic merge patch strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatchStrategy {
    /// Lists and scalars are replaced; objects are merged (the default).
    #[default]
    Replace,
    /// Lists are merged by key, or as a set when there is no key.
    Merge,
    /// Objects keep only the keys that the patch lists (`retainKeys`).
    RetainKeys,
    /// Both of the above.
    MergeRetainKeys,
}

/// `additionalProperties`.
#[derive(Debug, Clone, PartialEq)]
pub enum Additional {
    /// Nothing: other fields are unknown.
    None,
    /// Anything (`additionalProperties: true`).
    Any,
    /// Values of one schema: a map.
    Schema(Child),
}

/// How a list merges (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// Atomic.
    Atomic,
    /// A set of scalars.
    Set,
    /// A list map with these keys.
    Map(Cow<'static, [Cow<'static, str>]>),
}

/// How an object merges (`x-kubernetes-map-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapType {
    /// Granular.
    Granular,
    /// Atomic.
    Atomic,
}

/// A schema inside a schema: static for built-in types, shared for parsed ones.
#[derive(Debug, Clone)]
pub enum Child {
    /// A built-in type. May refer back to one of its ancestors.
    Static(&'static Schema),
    /// A parsed schema.
    Shared(Arc<Schema>),
}

impl Deref for Child {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        match self {
            Self::Static(schema) => schema,
            Self::Shared(schema) => schema,
        }
    }
}

impl PartialEq for Child {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // Built-in types may be cyclic, and there is one of each.
            (Self::Static(a), Self::Static(b)) => std::ptr::eq(*a, *b),
            (a, b) => **a == **b,
        }
    }
}

/// Value validations beyond the type, as in a CRD.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// `enum`.
    pub enumeration: Option<Vec<Value>>,
    /// A regular expression that a string must match, as written.
    pub pattern: Option<String>,
    /// The pattern, compiled when it is first needed.
    pub matcher: Matcher,
    /// Lower bound of a number, and whether it excludes itself.
    pub minimum: Option<(serde_json::Number, bool)>,
    /// Upper bound of a number, and whether it excludes itself.
    pub maximum: Option<(serde_json::Number, bool)>,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// Least number of characters.
    pub min_length: Option<u64>,
    /// Greatest number of characters.
    pub max_length: Option<u64>,
    /// Least number of items.
    pub min_items: Option<u64>,
    /// Greatest number of items.
    pub max_items: Option<u64>,
    /// No two items are equal (`uniqueItems`; a CRD may only set it to false).
    pub unique_items: bool,
    /// Required fields in the order written, whether or not they are among the properties.
    pub required: Vec<String>,
    /// Whether unknown fields are refused instead of ignored (`additionalProperties: false`).
    pub closed: bool,
    /// Least number of fields.
    pub min_properties: Option<u64>,
    /// Greatest number of fields.
    pub max_properties: Option<u64>,
    /// `allOf` (value validation only).
    pub all_of: Vec<Schema>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// `oneOf`.
    pub one_of: Vec<Schema>,
    /// `not`.
    pub not: Option<Box<Schema>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Rule>,
}

/// One CEL rule of a schema, as written; `crates/cel` compiles it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rule {
    /// The expression; true means valid.
    pub rule: String,
    /// The message of a failure.
    pub message: Option<String>,
    /// `messageExpression`.
    pub message_expression: Option<String>,
    /// The cause's reason (`FieldValueInvalid` when absent).
    pub reason: Option<String>,
    /// `fieldPath` of the error, relative to the rule's schema.
    pub field_path: Option<String>,
    /// `optionalOldSelf`: whether a transition rule also runs without an old value.
    pub optional_old_self: Option<bool>,
}

impl Schema {
    /// A schema of a type without constraints.
    pub const fn of(json_type: JsonType) -> Self {
        Self {
            name: "",
            json_type,
            format: Cow::Borrowed(""),
            description: Cow::Borrowed(""),
            nullable: false,
            properties: Cow::Borrowed(&[]),
            additional: Additional::None,
            items: None,
            list: ListType::Atomic,
            map: MapType::Granular,
            preserve_unknown_fields: false,
            embedded_resource: false,
            default: None,
            constraints: None,
        }
    }

    /// Finds a field's declaration.
    pub fn property(&self, name: &str) -> Option<&Property> {
        let index = self
            .properties
            .binary_search_by(|property| (*property.name).cmp(name))
            .ok()?;
        Some(&self.properties[index])
    }

    /// The schema of the field `name`: declared, or that of the map's values.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        match (self.property(name), &self.additional) {
            (Some(property), _) => Some(&property.schema),
            (None, Additional::Schema(child)) => Some(child),
            (None, _) => None,
        }
    }

    /// As [`Schema::field`], with the implicit fields of whole objects: `apiVersion`, `kind` and `metadata`.
    pub fn resource_field(&self, name: &str) -> Option<&Schema> {
        static TEXT: Schema = Schema::of(JsonType::String);
        match name {
            "metadata" if self.embedded_resource => Some(crate::metadata::object_meta()),
            "apiVersion" | "kind" if self.embedded_resource => Some(&TEXT),
            _ => self.field(name),
        }
    }
}
