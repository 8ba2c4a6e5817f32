//! Const constructors of schemas and fields, for the generated files.

use std::borrow::Cow;

use cambium_schema::{Additional, Child, JsonType, ListType, MapType, PatchStrategy, Property, Schema};

pub(crate) static STRING: Schema = scalar(JsonType::String, "");
pub(crate) static BYTES: Schema = scalar(JsonType::String, "byte");
pub(crate) static INT32: Schema = scalar(JsonType::Integer, "int32");
pub(crate) static INT64: Schema = scalar(JsonType::Integer, "int64");
pub(crate) static DOUBLE: Schema = scalar(JsonType::Number, "double");
pub(crate) static BOOLEAN: Schema = Schema::of(JsonType::Boolean);
pub(crate) static STRINGS: Schema = list(&STRING);
pub(crate) static STRING_SET: Schema = set(&STRING);
pub(crate) static STRING_MAP: Schema = map(&STRING);

/// A named type with fields, granular.
pub(crate) const fn object(name: &'static str, properties: &'static [Property]) -> Schema {
    schema(
        name,
        JsonType::Object,
        "",
        properties,
        MapType::Granular,
        Keep::Known,
    )
}

/// A named type with fields, atomic.
pub(crate) const fn atomic_object(name: &'static str, properties: &'static [Property]) -> Schema {
    schema(
        name,
        JsonType::Object,
        "",
        properties,
        MapType::Atomic,
        Keep::Known,
    )
}

/// `Time` and `MicroTime`.
pub(crate) const fn time(name: &'static str) -> Schema {
    schema(
        name,
        JsonType::String,
        "date-time",
        &[],
        MapType::Granular,
        Keep::Known,
    )
}

/// `Quantity`.
pub(crate) const fn quantity(name: &'static str) -> Schema {
    schema(name, JsonType::String, "", &[], MapType::Granular, Keep::Known)
}

/// `IntOrString`.
pub(crate) const fn int_or_string(name: &'static str) -> Schema {
    schema(
        name,
        JsonType::IntOrString,
        "int-or-string",
        &[],
        MapType::Granular,
        Keep::Known,
    )
}

/// An object of unknown structure (`RawExtension`, `FieldsV1`).
pub(crate) const fn raw_object(name: &'static str) -> Schema {
    schema(name, JsonType::Object, "", &[], MapType::Atomic, Keep::Everything)
}

/// Any JSON (`JSON`, and the either-or types of a CRD's schema).
pub(crate) const fn any(name: &'static str) -> Schema {
    schema(name, JsonType::Any, "", &[], MapType::Atomic, Keep::Everything)
}

/// An atomic list.
pub(crate) const fn list(items: &'static Schema) -> Schema {
    list_of(items, ListType::Atomic)
}

/// A list of type `set`.
pub(crate) const fn set(items: &'static Schema) -> Schema {
    list_of(items, ListType::Set)
}

/// A list of type `map` with these keys.
pub(crate) const fn keyed_list(items: &'static Schema, keys: &'static [Cow<'static, str>]) -> Schema {
    list_of(items, ListType::Map(Cow::Borrowed(keys)))
}

/// A granular map.
pub(crate) const fn map(values: &'static Schema) -> Schema {
    map_of(values, MapType::Granular)
}

/// An atomic map.
pub(crate) const fn atomic_map(values: &'static Schema) -> Schema {
    map_of(values, MapType::Atomic)
}

/// An optional field that a strategic merge patch replaces.
pub(crate) const fn field(name: &'static str, number: u32, schema: &'static Schema) -> Property {
    Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(schema),
        required: false,
        number,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }
}

/// The number of a field that is inlined in JSON but nested in protobuf: the numbers from the outside
/// in, 8 bits each, the outermost lowest. A path of one is the plain number.
pub(crate) const fn inlined(path: &[u32]) -> u32 {
    let mut number = 0;
    let mut index = 0;
    while index < path.len() {
        number |= path[index] << (8 * index);
        index += 1;
    }
    number
}

/// Makes the field required.
pub(crate) const fn required(mut field: Property) -> Property {
    field.required = true;
    field
}

/// A strategic merge patch merges the list, by `key` if there is one.
pub(crate) const fn merge(mut field: Property, key: &'static str) -> Property {
    field.patch = PatchStrategy::Merge;
    field.patch_merge_key = key;
    field
}

/// As [`merge`], and each item keeps only the keys that the patch lists.
pub(crate) const fn merge_retain_keys(mut field: Property, key: &'static str) -> Property {
    field.patch = PatchStrategy::MergeRetainKeys;
    field.patch_merge_key = key;
    field
}

/// A strategic merge patch drops the keys that it does not list.
pub(crate) const fn retain_keys(mut field: Property) -> Property {
    field.patch = PatchStrategy::RetainKeys;
    field
}

/// Which fields of an object stay.
enum Keep {
    Known,
    Everything,
}

const fn scalar(json_type: JsonType, format: &'static str) -> Schema {
    schema("", json_type, format, &[], MapType::Granular, Keep::Known)
}

const fn schema(
    name: &'static str,
    json_type: JsonType,
    format: &'static str,
    properties: &'static [Property],
    map: MapType,
    keep: Keep,
) -> Schema {
    Schema {
        name,
        json_type,
        format: Cow::Borrowed(format),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(properties),
        additional: Additional::None,
        items: None,
        list: ListType::Atomic,
        map,
        preserve_unknown_fields: matches!(keep, Keep::Everything),
        embedded_resource: false,
        default: None,
        constraints: None,
    }
}

const fn list_of(items: &'static Schema, list: ListType) -> Schema {
    Schema {
        name: "",
        json_type: JsonType::Array,
        format: Cow::Borrowed(""),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(&[]),
        additional: Additional::None,
        items: Some(Child::Static(items)),
        list,
        map: MapType::Granular,
        preserve_unknown_fields: false,
        embedded_resource: false,
        default: None,
        constraints: None,
    }
}

const fn map_of(values: &'static Schema, map: MapType) -> Schema {
    Schema {
        name: "",
        json_type: JsonType::Object,
        format: Cow::Borrowed(""),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(&[]),
        additional: Additional::Schema(Child::Static(values)),
        items: None,
        list: ListType::Atomic,
        map,
        preserve_unknown_fields: false,
        embedded_resource: false,
        default: None,
        constraints: None,
    }
}
