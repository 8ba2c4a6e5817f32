//! The schema of ObjectMeta, and coercion to it.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::Malformed;
use crate::model::{Additional, Child, JsonType, ListType, MapType, PatchStrategy, Property, Schema};

/// The schema of `metadata`.
pub fn object_meta() -> &'static Schema {
    &OBJECT_META
}

const fn shape(json_type: JsonType, format: &'static str) -> Schema {
    object(json_type, format, &[], Additional::None, None, ListType::Atomic)
}

const fn object(
    json_type: JsonType,
    format: &'static str,
    properties: &'static [Property],
    additional: Additional,
    items: Option<Child>,
    list: ListType,
) -> Schema {
    Schema {
        name: "",
        json_type,
        format: Cow::Borrowed(format),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(properties),
        additional,
        items,
        list,
        map: MapType::Granular,
        preserve_unknown_fields: false,
        embedded_resource: false,
        default: None,
        constraints: None,
    }
}

const fn field(name: &'static str, schema: &'static Schema) -> Property {
    Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(schema),
        required: false,
        number: 0,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }
}

/// A field without `omitempty`.
const fn always(name: &'static str) -> Property {
    Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(&TEXT),
        required: true,
        number: 0,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }
}

static TEXT: Schema = shape(JsonType::String, "");
static TIME: Schema = shape(JsonType::String, "date-time");
static INTEGER: Schema = shape(JsonType::Integer, "int64");
static BOOLEAN: Schema = shape(JsonType::Boolean, "");
static ANYTHING: Schema = shape(JsonType::Any, "");
static TEXTS: Schema = object(
    JsonType::Object,
    "",
    &[],
    Additional::Schema(Child::Static(&TEXT)),
    None,
    ListType::Atomic,
);
static FINALIZERS: Schema = object(
    JsonType::Array,
    "",
    &[],
    Additional::None,
    Some(Child::Static(&TEXT)),
    ListType::Set,
);
static OWNER_FIELDS: [Property; 6] = [
    always("apiVersion"),
    field("blockOwnerDeletion", &BOOLEAN),
    field("controller", &BOOLEAN),
    always("kind"),
    always("name"),
    always("uid"),
];
static OWNER: Schema = object(
    JsonType::Object,
    "",
    &OWNER_FIELDS,
    Additional::None,
    None,
    ListType::Atomic,
);
static OWNERS: Schema = object(
    JsonType::Array,
    "",
    &[],
    Additional::None,
    Some(Child::Static(&OWNER)),
    ListType::Map(Cow::Borrowed(&[Cow::Borrowed("uid")])),
);
static MANAGED_ENTRY_FIELDS: [Property; 7] = [
    field("apiVersion", &TEXT),
    field("fieldsType", &TEXT),
    field("fieldsV1", &ANYTHING),
    field("manager", &TEXT),
    field("operation", &TEXT),
    field("subresource", &TEXT),
    field("time", &TIME),
];
static MANAGED: Schema = object(
    JsonType::Object,
    "",
    &MANAGED_ENTRY_FIELDS,
    Additional::None,
    None,
    ListType::Atomic,
);
static MANAGED_FIELDS: Schema = object(
    JsonType::Array,
    "",
    &[],
    Additional::None,
    Some(Child::Static(&MANAGED)),
    ListType::Atomic,
);
static OBJECT_META_FIELDS: [Property; 15] = [
    field("annotations", &TEXTS),
    field("creationTimestamp", &TIME),
    field("deletionGracePeriodSeconds", &INTEGER),
    field("deletionTimestamp", &TIME),
    field("finalizers", &FINALIZERS),
    field("generateName", &TEXT),
    field("generation", &INTEGER),
    field("labels", &TEXTS),
    field("managedFields", &MANAGED_FIELDS),
    field("name", &TEXT),
    field("namespace", &TEXT),
    field("ownerReferences", &OWNERS),
    field("resourceVersion", &TEXT),
    field("selfLink", &TEXT),
    field("uid", &TEXT),
];
static OBJECT_META: Schema = object(
    JsonType::Object,
    "",
    &OBJECT_META_FIELDS,
    Additional::None,
    None,
    ListType::Atomic,
);

/// The error for a value that does not match.
pub(super) struct Misfit(pub(super) String);

/// Coerces metadata. Mismatching fields are refused or dropped; nothing changes on an error.
pub(super) fn coerce(
    metadata: &mut Value,
    malformed: Malformed,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), Misfit> {
    let fields = match &*metadata {
        Value::Object(fields) => fields,
        Value::Null => &Map::new(),
        other => {
            return Err(Misfit(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                kind(other)
            )));
        }
    };
    let mut coerced = Map::new();
    for (name, value) in fields {
        let Some(property) = OBJECT_META.property(name) else {
            unknown.push(format!("{path}.{name}"));
            continue;
        };
        let mut names = Names {
            owner: "ObjectMeta",
            field: name.clone(),
            path: format!("{path}.{name}"),
        };
        match names.fit(&property.schema, value, unknown) {
            Ok(value) if is_empty(name, &value) => {}
            Ok(value) => {
                coerced.insert(name.clone(), value);
            }
            Err(_) if malformed == Malformed::Drop => {}
            Err(misfit) => return Err(misfit),
        }
    }
    *metadata = Value::Object(coerced);
    Ok(())
}

fn is_empty(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        // A grace period of zero means something.
        Value::Number(number) => name == "generation" && number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

/// How an error names a field: by Go type and field, or by its path.
struct Names {
    owner: &'static str,
    field: String,
    path: String,
}

impl Names {
    fn fit(&mut self, schema: &Schema, value: &Value, unknown: &mut Vec<String>) -> Result<Value, Misfit> {
        match (schema.json_type, value) {
            (_, Value::Null) => Ok(Value::Null),
            (JsonType::String, Value::String(text)) if schema.format == "date-time" => time(text),
            (JsonType::String, Value::String(_))
            | (JsonType::Boolean, Value::Bool(_))
            | (JsonType::Any, _) => Ok(value.clone()),
            (JsonType::Integer, Value::Number(number)) if number.is_i64() => Ok(value.clone()),
            (JsonType::Integer, Value::Number(number)) => {
                Err(self.misfit(&format!("number {number}"), "int64"))
            }
            (JsonType::Object, Value::Object(fields)) if schema.properties.is_empty() => {
                let mut texts = Map::new();
                for (name, text) in fields {
                    texts.insert(
                        name.clone(),
                        Value::from(self.fit(&TEXT, text, unknown)?.as_str().unwrap_or_default()),
                    );
                }
                Ok(Value::Object(texts))
            }
            (JsonType::Object, Value::Object(fields)) => self.fit_struct(schema, fields, unknown),
            (JsonType::Array, Value::Array(items)) => self.fit_list(schema, items, unknown),
            (_, other) => Err(self.misfit(kind(other), self.go_type(schema))),
        }
    }

    fn fit_list(
        &mut self,
        schema: &Schema,
        items: &[Value],
        unknown: &mut Vec<String>,
    ) -> Result<Value, Misfit> {
        let Some(schema) = &schema.items else {
            return Ok(Value::from(items));
        };
        let path = self.path.clone();
        let mut fitted = Vec::new();
        for (index, item) in items.iter().enumerate() {
            self.path = format!("{path}[{index}]");
            fitted.push(match (self.fit(schema, item, unknown)?, schema.json_type) {
                (Value::Null, JsonType::String) => Value::from(""),
                (Value::Null, _) => self.fit_struct(schema, &Map::new(), unknown)?,
                (item, _) => item,
            });
        }
        self.path = path;
        Ok(Value::Array(fitted))
    }

    fn fit_struct(
        &mut self,
        schema: &Schema,
        fields: &Map<String, Value>,
        unknown: &mut Vec<String>,
    ) -> Result<Value, Misfit> {
        let owner = if std::ptr::eq(schema, &OWNER) {
            "OwnerReference"
        } else {
            "ManagedFieldsEntry"
        };
        let mut fitted = Map::new();
        for property in schema.properties.iter().filter(|property| property.required) {
            fitted.insert(property.name.to_string(), Value::from(""));
        }
        for (name, value) in fields {
            let path = format!("{}.{name}", self.path);
            let Some(property) = schema.property(name) else {
                unknown.push(path);
                continue;
            };
            let mut names = Names {
                owner,
                field: format!("{}.{name}", self.field),
                path,
            };
            let value = names.fit(&property.schema, value, unknown)?;
            if !is_empty(name, &value) {
                fitted.insert(name.clone(), value);
            }
        }
        Ok(Value::Object(fitted))
    }

    fn misfit(&self, found: &str, expected: &str) -> Misfit {
        let (owner, field) = (self.owner, &self.field);
        Misfit(format!(
            "json: cannot unmarshal {found} into Go struct field {owner}.{field} of type {expected}"
        ))
    }

    fn go_type(&self, schema: &Schema) -> &'static str {
        match schema.json_type {
            JsonType::String if self.field.ends_with("uid") => "types.UID",
            JsonType::String => "string",
            JsonType::Integer => "int64",
            JsonType::Boolean => "bool",
            JsonType::Object if schema.properties.is_empty() => "map[string]string",
            JsonType::Object if std::ptr::eq(schema, &OWNER) => "v1.OwnerReference",
            JsonType::Object => "v1.ManagedFieldsEntry",
            JsonType::Array if std::ptr::eq(schema, &OWNERS) => "[]v1.OwnerReference",
            JsonType::Array if std::ptr::eq(schema, &FINALIZERS) => "[]string",
            _ => "[]v1.ManagedFieldsEntry",
        }
    }
}

fn time(text: &str) -> Result<Value, Misfit> {
    match text.parse::<Timestamp>() {
        Ok(time) => Ok(Value::from(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
        Err(_) => Err(Misfit(format!(
            "parsing time {0} as \"2006-01-02T15:04:05Z07:00\": cannot parse {0} as \"2006\"",
            cambium_go_text::quote(text)
        ))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
