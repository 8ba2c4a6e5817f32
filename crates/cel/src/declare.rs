//! CEL declarations of schemas: types of fields, and maximum sizes of values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_schema::{Additional, Child, JsonType, Property, Schema};
use serde_json::Value;

use crate::escape::{escape, is_reserved};
use crate::limits::MAX_REQUEST_BYTES;
use crate::types::Type;

/// An object type: fields by identifier. Objects at different paths are different types.
#[derive(Debug, Clone)]
pub struct Object {
    /// The path of the object, as a dotted name.
    pub name: String,
    /// The fields, by escaped name.
    pub(crate) fields: BTreeMap<String, Declared>,
}

impl Object {
    /// A field by its identifier. Keywords may also be unescaped where the grammar allows it.
    pub(crate) fn field(&self, identifier: &str) -> Option<&Declared> {
        self.fields
            .get(identifier)
            .or_else(|| match is_reserved(identifier) {
                true => self.fields.get(&format!("__{identifier}__")),
                false => None,
            })
    }
}

/// The type of a value and how large it can be.
#[derive(Debug, Clone)]
pub(crate) struct Declared {
    pub(crate) ty: Type,
    /// The maximum number of items, entries or bytes.
    pub(crate) max_elements: u64,
    /// The minimum size in bytes of JSON.
    pub(crate) min_size: u64,
    /// The declaration of a list's items or a map's values.
    pub(crate) element: Option<Arc<Declared>>,
}

impl Declared {
    fn scalar(ty: Type, min_size: u64, max_elements: u64) -> Self {
        Self {
            ty,
            max_elements,
            min_size,
            element: None,
        }
    }

    /// A value of a type without size limits.
    pub(crate) fn of(ty: Type) -> Self {
        Self::scalar(ty, 1, 0)
    }

    /// The maximum number of such values in a request.
    pub(crate) fn max_cardinality(&self) -> u64 {
        MAX_REQUEST_BYTES / (self.min_size + 1)
    }

    /// The declaration at a path that the cost estimator follows.
    pub(crate) fn find(&self, path: &[Arc<str>]) -> Option<&Self> {
        path.iter().try_fold(self, |here, name| match &**name {
            "@items" | "@values" => here.element.as_deref(),
            // Keys are strings of unknown size, which upstream declares as having none.
            "@keys" => matches!(here.ty, Type::Map(_)).then_some(&KEY),
            name => match &here.ty {
                Type::Object(object) => object.fields.get(name),
                _ => None,
            },
        })
    }
}

static KEY: Declared = Declared {
    ty: Type::String,
    max_elements: 0,
    min_size: 2,
    element: None,
};

/// Declares a schema; `None` if CEL does not expose it. A `Root` is a whole object, with implicit `apiVersion`, `kind`
/// and names in `metadata`.
pub(crate) fn declare(schema: &Schema, place: Place, name: &str) -> Option<Declared> {
    declare_below(schema, place, name, &mut Vec::new())
}

/// As [`declare`]; a recursive built-in type is an object without known fields.
fn declare_below(
    schema: &Schema,
    place: Place,
    name: &str,
    above: &mut Vec<&'static str>,
) -> Option<Declared> {
    if schema.name.is_empty() {
        return declare_here(schema, place, name, above);
    }
    if above.contains(&schema.name) {
        return declare_here(&Schema::of(JsonType::Object), Place::Inside, name, above);
    }
    above.push(schema.name);
    let declared = declare_here(schema, place, name, above);
    above.pop();
    declared
}

fn declare_here(
    schema: &Schema,
    place: Place,
    name: &str,
    above: &mut Vec<&'static str>,
) -> Option<Declared> {
    // Quantities are published as a choice of types, and so as none.
    if schema.name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
        return None;
    }
    let constraints = schema.constraints.as_deref();
    let longest = MAX_REQUEST_BYTES - 2;
    let max_length = constraints
        .and_then(|constraints| constraints.max_length)
        .map(|length| length.saturating_mul(4));
    let declared = match schema.json_type {
        JsonType::IntOrString => Declared::scalar(Type::Dyn, 1, max_length.unwrap_or(longest)),
        JsonType::Any => return None,
        JsonType::Boolean => Declared::scalar(Type::Bool, 4, 0),
        JsonType::Number => Declared::scalar(Type::Double, 1, 0),
        JsonType::Integer => Declared::scalar(Type::Int, 1, 0),
        JsonType::String => match &*schema.format {
            "byte" => {
                let length = constraints.and_then(|constraints| constraints.max_length);
                Declared::scalar(Type::Bytes, 2, length.unwrap_or(longest))
            }
            "duration" => Declared::scalar(Type::Duration, 3, 32),
            "date" => Declared::scalar(Type::Timestamp, 12, 12),
            "date-time" => Declared::scalar(Type::Timestamp, 21, 32),
            _ => {
                let listed = constraints
                    .and_then(|constraints| constraints.enumeration.as_ref())
                    .filter(|values| !values.is_empty())
                    .map(|values| {
                        values
                            .iter()
                            .filter_map(Value::as_str)
                            .map(str::len)
                            .max()
                            .unwrap_or(0) as u64
                    });
                Declared::scalar(Type::String, 2, max_length.or(listed).unwrap_or(longest))
            }
        },
        JsonType::Array => {
            let items = schema.items.as_deref()?;
            let item = declare_below(items, Place::of(items), &format!("{name}.@idx"), above)?;
            let most = constraints.and_then(|constraints| constraints.max_items);
            Declared {
                ty: Type::list(item.ty.clone()),
                max_elements: most.unwrap_or(longest / (item.min_size + 1)),
                min_size: 2,
                element: Some(Arc::new(item)),
            }
        }
        JsonType::Object => return declare_object(schema, place, name, above),
    };
    Some(declared)
}

/// Whether a schema describes a whole Kubernetes object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A whole object.
    Root,
    /// A part of one.
    Inside,
}

impl Place {
    pub(crate) fn of(schema: &Schema) -> Self {
        match schema.embedded_resource {
            true => Self::Root,
            false => Self::Inside,
        }
    }
}

fn declare_object(
    schema: &Schema,
    place: Place,
    name: &str,
    above: &mut Vec<&'static str>,
) -> Option<Declared> {
    let constraints = schema.constraints.as_deref();
    if let Additional::Schema(child) = &schema.additional {
        let value = declare_below(child, Place::of(child), &format!("{name}.@elem"), above)?;
        let most = constraints.and_then(|constraints| constraints.max_properties);
        return Some(Declared {
            ty: Type::map(Type::String, value.ty.clone()),
            max_elements: most.unwrap_or((MAX_REQUEST_BYTES - 2) / (value.min_size + 6)),
            min_size: 2,
            element: Some(Arc::new(value)),
        });
    }
    let mut fields = BTreeMap::new();
    let mut min_size = 2;
    for property in properties(schema, place).iter() {
        let identifier = escape(&property.name);
        let at = format!("{name}.{}", identifier.as_deref().unwrap_or(&property.name));
        let inside = Place::of(&property.schema);
        let Some(declared) = declare_below(&property.schema, inside, &at, above) else {
            continue;
        };
        if property.required && property.schema.default.is_none() {
            min_size += property.name.len() as u64 + declared.min_size + 4;
        }
        if let Some(identifier) = identifier {
            fields.insert(identifier.into_owned(), declared);
        }
    }
    let object = Object {
        name: name.to_owned(),
        fields,
    };
    Some(Declared::scalar(Type::Object(Arc::new(object)), min_size, 0))
}

/// The fields of an object, including the implicit ones of a whole object.
pub(crate) fn properties(schema: &Schema, place: Place) -> Cow<'_, [Property]> {
    if place == Place::Inside || has_type_and_names(schema) {
        return Cow::Borrowed(&schema.properties);
    }
    let mut all: Vec<Property> = schema
        .properties
        .iter()
        .filter(|property| !matches!(&*property.name, "apiVersion" | "kind" | "metadata"))
        .cloned()
        .collect();
    let declared = |name: &str| schema.property(name).is_some_and(|property| property.required);
    for (name, schema) in [("apiVersion", &TEXT), ("kind", &TEXT), ("metadata", metadata())] {
        all.push(Property {
            required: declared(name),
            ..property(name, schema)
        });
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Cow::Owned(all)
}

static TEXT: Schema = Schema::of(JsonType::String);

/// The fields of `metadata` that CEL exposes.
pub(crate) fn metadata() -> &'static Schema {
    static METADATA: std::sync::LazyLock<Schema> = std::sync::LazyLock::new(|| Schema {
        properties: Cow::Owned(vec![property("generateName", &TEXT), property("name", &TEXT)]),
        ..Schema::of(JsonType::Object)
    });
    &METADATA
}

/// The schema of a whole object's field, as CEL exposes it.
pub(crate) fn root_field<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    match name {
        "apiVersion" | "kind" => Some(&TEXT),
        "metadata" if !has_type_and_names(schema) => Some(metadata()),
        _ => Some(&schema.property(name)?.schema),
    }
}

fn property(name: &'static str, schema: &'static Schema) -> Property {
    Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(schema),
        required: false,
        number: 0,
        patch: cambium_schema::PatchStrategy::Replace,
        patch_merge_key: "",
    }
}

fn has_type_and_names(schema: &Schema) -> bool {
    let is = |schema: &Schema, name: &str, kind: JsonType| {
        schema
            .property(name)
            .is_some_and(|property| property.schema.json_type == kind)
    };
    is(schema, "kind", JsonType::String)
        && is(schema, "apiVersion", JsonType::String)
        && schema.property("metadata").is_some_and(|metadata| {
            metadata.schema.json_type == JsonType::Object
                && is(&metadata.schema, "name", JsonType::String)
                && is(&metadata.schema, "generateName", JsonType::String)
        })
}
