//! Checks that a schema is structural.

use super::complete;
use super::props::{Items, Props};
use crate::field::{FieldError, FieldPath};
use crate::pattern;

/// The position of a schema, which decides the message for a missing type.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The errors that make a schema non-structural, sorted.
pub(super) fn check(props: &Props, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(props, Level::Root, at, &mut errors);
    complete::check(props, at, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// A keyword that structural schemas do not support.
pub(super) fn unsupported(props: &Props) -> Option<String> {
    let not_supported = |keyword: &str| Some(format!("OpenAPIV3Schema '{keyword}' is not supported"));
    let keywords = [
        ("id", !props.id.is_empty()),
        ("schema", !props.schema_url.is_empty()),
        (
            "$ref",
            props
                .reference
                .as_ref()
                .is_some_and(|reference| !reference.is_empty()),
        ),
        ("patternProperties", !props.pattern_properties.is_empty()),
        ("dependencies", props.dependencies.is_some()),
        ("additionalItems", props.additional_items.is_some()),
        ("definitions", !props.definitions.is_empty()),
    ];
    if let Some((keyword, _)) = keywords.into_iter().find(|(_, used)| *used) {
        return not_supported(keyword);
    }
    if props.preserve_unknown_fields == Some(false) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned(),
        );
    }
    if let Some(Items::Each(_)) = props.items {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    let junctors = props
        .not
        .as_deref()
        .into_iter()
        .chain(&props.all_of)
        .chain(&props.any_of)
        .chain(&props.one_of);
    let children = props
        .item()
        .into_iter()
        .chain(props.properties.values())
        .chain(props.additional());
    junctors.chain(children).find_map(unsupported)
}

fn invariants(props: &Props, level: Level, at: &FieldPath, errors: &mut Vec<FieldError>) {
    if props.type_name == "array" && props.item().is_none() {
        errors.push(FieldError::required(at.child("items"), "must be specified"));
    }
    if let Some(item) = props.item() {
        invariants(item, Level::Item, &at.child("items"), errors);
    }
    for (name, property) in &props.properties {
        invariants(property, Level::Field, &at.child("properties").key(name), errors);
    }
    if props.additional_properties.is_some() {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(at.clone(), "must not be used at the root"));
        }
        if let Some(additional) = props.additional() {
            invariants(additional, Level::Field, &at, errors);
        }
        if props.embedded_resource {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(at, detail));
        }
    }
    extensions(props, at, errors);
    junctors(
        props,
        is_int_or_string(&props.any_of),
        first_is_int_or_string(props),
        at,
        errors,
    );
    types(props, level, at, errors);
    meta_fields(props, level, at, errors);
    if props.embedded_resource && !props.preserves() && props.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(at.child("properties"), detail));
    }
}

fn extensions(props: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let excluded = [
        ("x-kubernetes-preserve-unknown-fields", props.preserves()),
        ("x-kubernetes-embedded-resource", props.embedded_resource),
    ];
    for (keyword, _) in excluded
        .into_iter()
        .filter(|(_, used)| props.int_or_string && *used)
    {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        errors.push(FieldError::invalid(at.child(keyword), &true.into(), detail));
    }
}

fn types(props: &Props, level: Level, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let path = at.child("type");
    let (type_name, shown) = (props.type_name.as_str(), props.type_name.as_str().into());
    if props.embedded_resource && type_name != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match type_name.is_empty() {
            true => FieldError::required(path.clone(), detail),
            false => FieldError::invalid(path.clone(), &shown, detail),
        });
    } else if type_name.is_empty() && !props.int_or_string && !props.preserves() {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(path.clone(), detail));
    }
    if level == Level::Root && !matches!(type_name, "" | "object") {
        errors.push(FieldError::invalid(path, &shown, "must be object at the root"));
    }
}

fn meta_fields(props: &Props, level: Level, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || props.embedded_resource;
    let path = |name: &str| at.child("properties").key(name);
    for name in ["kind", "apiVersion"] {
        if let Some(property) = props.properties.get(name)
            && is_resource
            && property.type_name != "string"
        {
            let shown = property.type_name.as_str().into();
            errors.push(FieldError::invalid(
                path(name).child("type"),
                &shown,
                "must be string",
            ));
        }
    }
    let Some(metadata) = props.properties.get("metadata") else {
        return;
    };
    if is_resource && metadata.type_name != "object" {
        let shown = metadata.type_name.as_str().into();
        errors.push(FieldError::invalid(
            path("metadata").child("type"),
            &shown,
            "must be object",
        ));
    }
    if level == Level::Root && !specifies_names_only(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(path("metadata"), detail));
    }
}

fn specifies_names_only(metadata: &Props) -> bool {
    let mut rest = Props {
        type_name: String::new(),
        default: None,
        ..metadata.clone()
    };
    if rest
        .properties
        .keys()
        .all(|name| name == "name" || name == "generateName")
    {
        rest.properties.clear();
    }
    rest == Props::default()
}

/// The only junctor that may specify types: `anyOf: [{type: integer}, {type: string}]`.
fn is_int_or_string(any_of: &[Props]) -> bool {
    let only = |props: &Props, name: &str| {
        *props
            == Props {
                type_name: name.to_owned(),
                ..Props::default()
            }
    };
    matches!(any_of, [integer, string] if only(integer, "integer") && only(string, "string"))
}

fn first_is_int_or_string(props: &Props) -> bool {
    props
        .all_of
        .first()
        .is_some_and(|first| is_int_or_string(&first.any_of))
}

fn junctors(
    props: &Props,
    skip_any_of: bool,
    skip_first: bool,
    at: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, nested) in props.any_of.iter().enumerate() {
            value_validation(nested, false, &at.child("anyOf").index(index), errors);
        }
    }
    for (index, nested) in props.all_of.iter().enumerate() {
        value_validation(
            nested,
            skip_first && index == 0,
            &at.child("allOf").index(index),
            errors,
        );
    }
    for (index, nested) in props.one_of.iter().enumerate() {
        value_validation(nested, false, &at.child("oneOf").index(index), errors);
    }
    if let Some(nested) = &props.not {
        value_validation(nested, false, &at.child("not"), errors);
    }
    if !props.pattern.is_empty()
        && let Err(reason) = pattern::compile(&props.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(
            at.child("pattern"),
            &props.pattern.as_str().into(),
            detail,
        ));
    }
}

/// Checks a schema inside a junctor: value validations only.
fn value_validation(props: &Props, skip_any_of: bool, at: &FieldPath, errors: &mut Vec<FieldError>) {
    junctors(props, skip_any_of, false, at, errors);
    if let Some(item) = props.item() {
        value_validation(item, false, &at.child("items"), errors);
    }
    for (name, property) in &props.properties {
        value_validation(property, false, &at.child("properties").key(name), errors);
    }
    use super::props::AdditionalProps::Allowed;
    let additional = !matches!(props.additional_properties, None | Some(Allowed(false)));
    let forbidden = [
        (
            "type",
            !props.type_name.is_empty(),
            "must be empty to be structural",
        ),
        (
            "additionalProperties",
            additional,
            "must be undefined to be structural",
        ),
        (
            "default",
            props.default.is_some(),
            "must be undefined to be structural",
        ),
        ("title", !props.title.is_empty(), "must be empty to be structural"),
        (
            "description",
            !props.description.is_empty(),
            "must be empty to be structural",
        ),
        ("nullable", props.nullable, "must be false to be structural"),
        (
            "x-kubernetes-preserve-unknown-fields",
            props.preserves(),
            "must be false to be structural",
        ),
        (
            "x-kubernetes-embedded-resource",
            props.embedded_resource,
            "must be false to be structural",
        ),
        (
            "x-kubernetes-int-or-string",
            props.int_or_string,
            "must be false to be structural",
        ),
        (
            "x-kubernetes-list-map-keys",
            !props.list_map_keys.is_empty(),
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            props.list_type.is_some(),
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            props.map_type.is_some(),
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-validations",
            !props.validations.is_empty(),
            "must be empty to be structural",
        ),
    ];
    for (keyword, _, detail) in forbidden.into_iter().filter(|(_, used, _)| *used) {
        errors.push(FieldError::forbidden(at.child(keyword), detail));
    }
    if props.properties.contains_key("metadata") {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(
            at.child("properties").key("metadata"),
            detail,
        ));
    }
}
