//! Properties of Go struct fields that the schemas do not have.

use cambium_schema::{Additional, JsonType, Property, Schema};

use super::go_types::GO_TYPES;

/// A Go struct field that differs from its schema.
pub(super) struct GoField {
    name: &'static str,
    presence: Presence,
    go_type: &'static str,
    inlined_from: &'static str,
}

/// When Go's encoder writes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// `omitempty`.
    Omitted,
    /// A pointer: written if it was set, even if empty.
    Pointer,
    /// Always.
    Always,
    /// Always, as `null` when it was not set.
    Null,
}

/// The properties of one field.
pub(super) struct Facts {
    pub(super) presence: Presence,
    /// The Go type in error messages, if it does not follow from the schema.
    pub(super) go_type: &'static str,
    /// The embedded structs that the field comes from.
    pub(super) inlined_from: &'static str,
}

pub(super) const fn omitted(name: &'static str) -> GoField {
    of(name, Presence::Omitted)
}

pub(super) const fn pointer(name: &'static str) -> GoField {
    of(name, Presence::Pointer)
}

pub(super) const fn always(name: &'static str) -> GoField {
    of(name, Presence::Always)
}

pub(super) const fn null(name: &'static str) -> GoField {
    of(name, Presence::Null)
}

pub(super) const fn typed(field: GoField, go_type: &'static str) -> GoField {
    GoField { go_type, ..field }
}

pub(super) const fn inlined(field: GoField, inlined_from: &'static str) -> GoField {
    GoField {
        inlined_from,
        ..field
    }
}

const fn of(name: &'static str, presence: Presence) -> GoField {
    GoField {
        name,
        presence,
        go_type: "",
        inlined_from: "",
    }
}

/// The listed fields of a type.
pub(super) fn fields(schema: &Schema) -> &'static [GoField] {
    GO_TYPES
        .binary_search_by(|(name, _)| (*name).cmp(schema.name))
        .map_or(&[], |index| GO_TYPES[index].1)
}

/// The properties of one field, given the listed fields of its type.
pub(super) fn facts(fields: &[GoField], property: &Property) -> Facts {
    match fields.iter().find(|field| field.name == property.name) {
        Some(field) => Facts {
            presence: field.presence,
            go_type: field.go_type,
            inlined_from: field.inlined_from,
        },
        None => Facts {
            presence: Presence::Omitted,
            go_type: "",
            // What has no protobuf number and is not listed is `apiVersion` or `kind`.
            inlined_from: if property.number == 0 { "TypeMeta" } else { "" },
        },
    }
}

/// The listed fields that are written even when unset.
pub(super) fn written_anyway(fields: &'static [GoField]) -> impl Iterator<Item = (&'static str, Presence)> {
    let anyway = |field: &&GoField| matches!(field.presence, Presence::Always | Presence::Null);
    fields
        .iter()
        .filter(anyway)
        .map(|field| (field.name, field.presence))
}

/// The Go name of a type in error messages: `v1.Container`, `[]string`, `map[string]string`.
pub(super) fn type_name(schema: &Schema) -> String {
    if schema.name.ends_with("intstr.IntOrString") {
        return "intstr.IntOrString".to_owned();
    }
    match schema.json_type {
        _ if !schema.name.is_empty() => {
            let mut parts = schema.name.rsplit('.');
            let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{package}.{name}")
        }
        JsonType::String if schema.format == "byte" => "[]uint8".to_owned(),
        JsonType::String => "string".to_owned(),
        JsonType::Boolean => "bool".to_owned(),
        JsonType::Number => "float64".to_owned(),
        JsonType::Integer if schema.format == "int64" => "int64".to_owned(),
        JsonType::Integer => "int32".to_owned(),
        JsonType::Array => format!("[]{}", schema.items.as_deref().map(type_name).unwrap_or_default()),
        JsonType::Object => match &schema.additional {
            Additional::Schema(values) => format!("map[string]{}", type_name(values)),
            _ => "map[string]interface {}".to_owned(),
        },
        JsonType::Any | JsonType::IntOrString => "interface {}".to_owned(),
    }
}
