//! Builds the model from keywords.

use std::borrow::Cow;
use std::sync::Arc;

use super::props::{AdditionalProps, Props};
use crate::model::{
    Additional, Child, Constraints, JsonType, ListType, MapType, PatchStrategy, Property, Schema,
};
use crate::pattern::Matcher;

pub(super) fn build(props: &Props) -> Schema {
    Schema {
        name: "",
        json_type: json_type(props),
        format: Cow::Owned(props.format.clone()),
        description: Cow::Owned(props.description.clone()),
        nullable: props.nullable,
        properties: props
            .properties
            .iter()
            .map(|(name, property)| field(props, name, property))
            .collect(),
        additional: match &props.additional_properties {
            None | Some(AdditionalProps::Allowed(false)) => Additional::None,
            Some(AdditionalProps::Allowed(true)) => Additional::Any,
            Some(AdditionalProps::Schema(schema)) => Additional::Schema(child(schema)),
        },
        items: props.item().map(child),
        list: match props.list_type.as_deref() {
            Some("map") => ListType::Map(props.list_map_keys.iter().cloned().map(Cow::Owned).collect()),
            Some("set") => ListType::Set,
            _ => ListType::Atomic,
        },
        map: match props.map_type.as_deref() {
            Some("atomic") => MapType::Atomic,
            _ => MapType::Granular,
        },
        preserve_unknown_fields: props.preserves(),
        embedded_resource: props.embedded_resource,
        default: props.default.clone(),
        constraints: constraints(props),
    }
}

fn child(props: &Props) -> Child {
    Child::Shared(Arc::new(build(props)))
}

fn json_type(props: &Props) -> JsonType {
    if props.int_or_string {
        return JsonType::IntOrString;
    }
    match props.type_name.as_str() {
        "object" => JsonType::Object,
        "array" => JsonType::Array,
        "string" => JsonType::String,
        "integer" => JsonType::Integer,
        "number" => JsonType::Number,
        "boolean" => JsonType::Boolean,
        _ => JsonType::Any,
    }
}

fn field(parent: &Props, name: &str, property: &Props) -> Property {
    Property {
        name: Cow::Owned(name.to_owned()),
        schema: child(property),
        required: parent.required.iter().any(|required| required == name),
        number: 0,
        patch: PatchStrategy::Replace,
        patch_merge_key: "",
    }
}

fn constraints(props: &Props) -> Option<Box<Constraints>> {
    let count = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or(0));
    let several = |schemas: &[Props]| schemas.iter().map(build).collect();
    let constraints = Constraints {
        enumeration: (!props.enumeration.is_empty()).then(|| props.enumeration.clone()),
        pattern: (!props.pattern.is_empty()).then(|| props.pattern.clone()),
        matcher: Matcher::new(),
        minimum: props
            .minimum
            .clone()
            .map(|limit| (limit, props.exclusive_minimum)),
        maximum: props
            .maximum
            .clone()
            .map(|limit| (limit, props.exclusive_maximum)),
        multiple_of: props.multiple_of.as_ref().and_then(serde_json::Number::as_f64),
        min_length: count(props.min_length),
        max_length: count(props.max_length),
        min_items: count(props.min_items),
        max_items: count(props.max_items),
        unique_items: props.unique_items,
        required: props.required.clone(),
        closed: props.additional_properties == Some(AdditionalProps::Allowed(false)),
        min_properties: count(props.min_properties),
        max_properties: count(props.max_properties),
        all_of: several(&props.all_of),
        any_of: several(&props.any_of),
        one_of: several(&props.one_of),
        not: props.not.as_deref().map(|schema| Box::new(build(schema))),
        rules: props.validations.clone(),
    };
    (constraints != Constraints::default()).then(|| Box::new(constraints))
}
