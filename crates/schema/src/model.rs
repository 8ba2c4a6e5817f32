//! The shape of a value: what every other module walks along.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use crate::pattern::Matcher;

/// The shape of one value in an object.
///
/// All fields can be filled in a `static`, so the built-in kinds cost nothing at start-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// The published name of a built-in type (`io.k8s.api.core.v1.Container`); empty for the rest.
    pub name: &'static str,
    /// Which JSON values it takes.
    pub json_type: JsonType,
    /// The OpenAPI format (`int32`, `byte`, `date-time`, …); empty when there is none.
    pub format: Cow<'static, str>,
    /// What the value is for, in our words or the CRD author's.
    pub description: Cow<'static, str>,
    /// Whether an explicit `null` is a value.
    pub nullable: bool,
    /// Fields of an object, sorted by name.
    pub properties: Cow<'static, [Property]>,
    /// What an object may hold beyond its `properties`.
    pub additional: Additional,
    /// The shape of a list's items.
    pub items: Option<Child>,
    /// How a list merges.
    pub list: ListType,
    /// How an object merges.
    pub map: MapType,
    /// Whether fields that are not specified are kept.
    pub preserve_unknown_fields: bool,
    /// Whether the value is a whole Kubernetes object (`apiVersion`, `kind`, `metadata`).
    pub embedded_resource: bool,
    /// What an absent value becomes.
    pub default: Option<Value>,
    /// Limits on values beyond their type; absent for nearly all built-in types.
    pub constraints: Option<Box<Constraints>>,
}

/// Which JSON values a schema takes.
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
    /// The shape of its value.
    pub schema: Child,
    /// Whether it must be there.
    pub required: bool,
    /// The protobuf field number of a built-in type; 0 when there is none.
    pub number: u32,
    /// How a strategic merge patch treats it (built-in types only).
    pub patch: PatchStrategy,
    /// The field by which a strategic merge patch matches list items; empty when there is none.
    pub patch_merge_key: &'static str,
}

/// How a strategic merge patch treats a field.
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

/// What an object may hold beyond its `properties`.
#[derive(Debug, Clone, PartialEq)]
pub enum Additional {
    /// Nothing: other fields are unknown.
    None,
    /// Anything (`additionalProperties: true`).
    Any,
    /// Values of one shape: a map.
    Schema(Child),
}

/// How a list merges (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListType {
    /// As a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// Item by item, matched by these keys.
    Map(Cow<'static, [Cow<'static, str>]>),
}

/// How an object merges (`x-kubernetes-map-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapType {
    /// Field by field.
    Granular,
    /// As a whole.
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

/// Limits on values beyond their type, as a CRD states them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// The values that are allowed.
    pub enumeration: Option<Vec<Value>>,
    /// A regular expression that a string must match, as written.
    pub pattern: Option<String>,
    /// The pattern, compiled when it is first needed.
    pub matcher: Matcher,
    /// Lower bound of a number, and whether it excludes itself.
    pub minimum: Option<(serde_json::Number, bool)>,
    /// Upper bound of a number, and whether it excludes itself.
    pub maximum: Option<(serde_json::Number, bool)>,
    /// The number is a multiple of this.
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
    /// Fields that must be there, in the order written, whether or not they are among the properties.
    pub required: Vec<String>,
    /// Whether fields beyond the properties are refused instead of ignored (`additionalProperties: false`).
    pub closed: bool,
    /// Least number of fields.
    pub min_properties: Option<u64>,
    /// Greatest number of fields.
    pub max_properties: Option<u64>,
    /// Schemas that must all hold (value validation only).
    pub all_of: Vec<Schema>,
    /// Schemas of which one or more must hold.
    pub any_of: Vec<Schema>,
    /// Schemas of which exactly one must hold.
    pub one_of: Vec<Schema>,
    /// A schema that must not hold.
    pub not: Option<Box<Schema>>,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Rule>,
}

/// One CEL rule of a schema, as written; `crates/cel` compiles it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rule {
    /// The expression; true means valid.
    pub rule: String,
    /// What to say when it does not hold.
    pub message: Option<String>,
    /// An expression that gives the message.
    pub message_expression: Option<String>,
    /// The cause's reason (`FieldValueInvalid` when absent).
    pub reason: Option<String>,
    /// Which field to blame, relative to the rule's place.
    pub field_path: Option<String>,
    /// Whether the rule also runs when there is no old value.
    pub optional_old_self: Option<bool>,
}

impl Schema {
    /// A schema of the given type with nothing else said.
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

    /// The shape of the field `name`: declared, or as the map's values are.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        match (self.property(name), &self.additional) {
            (Some(property), _) => Some(&property.schema),
            (None, Additional::Schema(child)) => Some(child),
            (None, _) => None,
        }
    }

    /// As [`Schema::field`], but knows the fields that whole objects have without saying so: `metadata` has one shape
    /// everywhere, `apiVersion` and `kind` are strings.
    pub fn resource_field(&self, name: &str) -> Option<&Schema> {
        static TEXT: Schema = Schema::of(JsonType::String);
        match name {
            "metadata" if self.embedded_resource => Some(crate::metadata::object_meta()),
            "apiVersion" | "kind" if self.embedded_resource => Some(&TEXT),
            _ => self.field(name),
        }
    }
}
