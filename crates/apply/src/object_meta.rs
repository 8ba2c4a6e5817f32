//! The merge schema of `metadata`, for schemas that do not declare it.

use std::borrow::Cow;

use cambium_schema::{Additional, Child, JsonType, ListType, MapType, PatchStrategy, Property, Schema};

/// The merge schema of `metadata`: labels and annotations by entry, owner references by UID, finalizers as a set.
pub static OBJECT_META: Schema = object(
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    PROPERTIES,
    MapType::Granular,
    Additional::None,
);

pub(crate) static STRING: Schema = Schema::of(JsonType::String);
static INTEGER: Schema = Schema::of(JsonType::Integer);
static BOOLEAN: Schema = Schema::of(JsonType::Boolean);
static TIME: Schema = schema(
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    (JsonType::String, "date-time"),
    &[],
    Additional::None,
    None,
    ListType::Atomic,
    MapType::Granular,
);
static ANY: Schema = Schema::of(JsonType::Any);
static STRINGS: Schema = object(
    "",
    &[],
    MapType::Granular,
    Additional::Schema(Child::Static(&STRING)),
);
static FINALIZERS: Schema = list(&STRING, ListType::Set);
static OWNERS: Schema = list(&OWNER, ListType::Map(Cow::Borrowed(&[Cow::Borrowed("uid")])));
static OWNER: Schema = object(
    "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
    OWNER_PROPERTIES,
    MapType::Atomic,
    Additional::None,
);
static MANAGED_FIELDS: Schema = list(&ANY, ListType::Atomic);

static OWNER_PROPERTIES: &[Property] = &[
    plain("apiVersion", &STRING),
    plain("blockOwnerDeletion", &BOOLEAN),
    plain("controller", &BOOLEAN),
    plain("kind", &STRING),
    plain("name", &STRING),
    plain("uid", &STRING),
];

static PROPERTIES: &[Property] = &[
    plain("annotations", &STRINGS),
    plain("creationTimestamp", &TIME),
    plain("deletionGracePeriodSeconds", &INTEGER),
    plain("deletionTimestamp", &TIME),
    merged("finalizers", &FINALIZERS, ""),
    plain("generateName", &STRING),
    plain("generation", &INTEGER),
    plain("labels", &STRINGS),
    plain("managedFields", &MANAGED_FIELDS),
    plain("name", &STRING),
    plain("namespace", &STRING),
    merged("ownerReferences", &OWNERS, "uid"),
    plain("resourceVersion", &STRING),
    plain("selfLink", &STRING),
    plain("uid", &STRING),
];

const fn plain(name: &'static str, schema: &'static Schema) -> Property {
    property(name, schema, PatchStrategy::Replace, "")
}

const fn merged(name: &'static str, schema: &'static Schema, patch_merge_key: &'static str) -> Property {
    property(name, schema, PatchStrategy::Merge, patch_merge_key)
}

const fn property(
    name: &'static str,
    schema: &'static Schema,
    patch: PatchStrategy,
    patch_merge_key: &'static str,
) -> Property {
    Property {
        name: Cow::Borrowed(name),
        schema: Child::Static(schema),
        required: false,
        number: 0,
        patch,
        patch_merge_key,
    }
}

const fn object(
    name: &'static str,
    properties: &'static [Property],
    map: MapType,
    additional: Additional,
) -> Schema {
    schema(
        name,
        (JsonType::Object, ""),
        properties,
        additional,
        None,
        ListType::Atomic,
        map,
    )
}

const fn list(items: &'static Schema, list: ListType) -> Schema {
    let items = Some(Child::Static(items));
    schema(
        "",
        (JsonType::Array, ""),
        &[],
        Additional::None,
        items,
        list,
        MapType::Granular,
    )
}

const fn schema(
    name: &'static str,
    (json_type, format): (JsonType, &'static str),
    properties: &'static [Property],
    additional: Additional,
    items: Option<Child>,
    list: ListType,
    map: MapType,
) -> Schema {
    Schema {
        name,
        json_type,
        format: Cow::Borrowed(format),
        description: Cow::Borrowed(""),
        nullable: false,
        properties: Cow::Borrowed(properties),
        additional,
        items,
        list,
        map,
        preserve_unknown_fields: false,
        embedded_resource: false,
        default: None,
        constraints: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_sorted_so_that_they_are_found() {
        assert!(
            OBJECT_META
                .properties
                .is_sorted_by_key(|property| property.name.clone())
        );
        assert!(
            OWNER
                .properties
                .is_sorted_by_key(|property| property.name.clone())
        );
    }
}
