//! Forbidden keywords and combinations of keywords.

use super::list_rules;
use super::props::{AdditionalProps, Items, Props};
use crate::field::{FieldError, FieldPath};
use crate::model::Rule;
use crate::prune::META_FIELDS;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

pub(super) fn check(props: &Props, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let context = Context {
        root: true,
        in_metadata: false,
        no_default: None,
    };
    schema(props, at, &context, &mut errors);
    errors
}

/// The context of a schema.
#[derive(Clone)]
struct Context {
    root: bool,
    in_metadata: bool,
    /// Why a default is not allowed here.
    no_default: Option<String>,
}

fn schema(props: &Props, at: &FieldPath, context: &Context, errors: &mut Vec<FieldError>) {
    keywords(props, at, context, errors);
    if props.unique_items {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(at.child("uniqueItems"), detail));
    }
    let inner = Context {
        root: false,
        ..context.clone()
    };
    if let Some(additional) = &props.additional_properties {
        let path = at.child("additionalProperties");
        if !props.properties.is_empty() && *additional != AdditionalProps::Allowed(true) {
            let detail = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(path.clone(), detail));
        }
        let mut inner = inner.clone();
        if inner.in_metadata {
            inner.no_default = Some("inside additionalProperties applying to object metadata".to_owned());
        }
        if let AdditionalProps::Schema(additional) = additional {
            schema(additional, &path, &inner, errors);
        }
    }
    for (name, property) in &props.properties {
        let mut inner = inner.clone();
        if (context.root || props.embedded_resource) && META_FIELDS.contains(&name.as_str()) {
            inner.in_metadata = true;
            if context.root {
                inner.no_default = Some(format!("in top-level {name}"));
            }
        }
        schema(property, &at.child("properties").key(name), &inner, errors);
    }
    if let Some(nested) = &props.not {
        schema(nested, &at.child("not"), &inner, errors);
    }
    for (keyword, nested) in [
        ("allOf", &props.all_of),
        ("oneOf", &props.one_of),
        ("anyOf", &props.any_of),
    ] {
        for (index, nested) in nested.iter().enumerate() {
            schema(nested, &at.child(keyword).index(index), &inner, errors);
        }
    }
    for (name, definition) in &props.definitions {
        schema(definition, &at.child("definitions").key(name), &inner, errors);
    }
    match &props.items {
        Some(Items::One(item)) => schema(item, &at.child("items"), &inner, errors),
        Some(Items::Each(items)) => {
            for (index, item) in items.iter().enumerate() {
                schema(item, &at.child("items").index(index), &inner, errors);
            }
        }
        None => {}
    }
    if props.preserve_unknown_fields == Some(false) {
        let path = at.child("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(
            path,
            &false.into(),
            "must be true or undefined",
        ));
    }
    list_rules::check(props, at, errors);
    for (index, validation) in props.validations.iter().enumerate() {
        rule(
            validation,
            &at.child("x-kubernetes-validations").index(index),
            errors,
        );
    }
}

fn keywords(props: &Props, at: &FieldPath, context: &Context, errors: &mut Vec<FieldError>) {
    let type_name = props.type_name.as_str();
    if !type_name.is_empty() && !TYPES.contains(&type_name) {
        errors.push(FieldError::not_supported(
            at.child("type"),
            &type_name.into(),
            &TYPES,
        ));
    }
    if let (Some(_), Some(reason)) = (&props.default, &context.no_default) {
        errors.push(FieldError::forbidden(
            at.child("default"),
            format!("must not be set {reason}"),
        ));
    }
    let unsupported = [
        ("id", !props.id.is_empty()),
        ("additionalItems", props.additional_items.is_some()),
        ("patternProperties", !props.pattern_properties.is_empty()),
        ("definitions", !props.definitions.is_empty()),
        ("dependencies", props.dependencies.is_some()),
        ("$ref", props.reference.is_some()),
    ];
    for (keyword, _) in unsupported.into_iter().filter(|(_, used)| *used) {
        errors.push(FieldError::forbidden(
            at.child(keyword),
            format!("{keyword} is not supported"),
        ));
    }
    if type_name == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(at.child("type"), detail));
    }
    if matches!(&props.items, Some(Items::Each(items)) if !items.is_empty()) {
        errors.push(FieldError::forbidden(
            at.child("items"),
            "items must be a schema object and not an array",
        ));
    }
    if context.in_metadata && props.embedded_resource {
        let path = at.child("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(
            path,
            "must not be used inside of resource meta",
        ));
    }
}

fn rule(rule: &Rule, at: &FieldPath, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let message = rule.message.as_deref().unwrap_or_default();
    let invalid =
        |name: &str, text: &str, detail: &str| FieldError::invalid(at.child(name), &text.into(), detail);
    if rule.rule.trim().is_empty() {
        errors.push(FieldError::required(at.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(invalid("message", message, "must be non-empty if specified"));
    } else if message.trim().contains('\n') {
        errors.push(invalid("message", message, "must not contain line breaks"));
    } else if rule.rule.trim().contains('\n') && message.trim().is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at.child("message"), detail));
    }
    if rule
        .message_expression
        .as_ref()
        .is_some_and(|expression| expression.trim().is_empty())
    {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(at.child("messageExpression"), detail));
    }
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::not_supported(
            at.child("reason"),
            &reason.into(),
            &REASONS,
        ));
    }
    if let Some(path) = &rule.field_path {
        if path.trim().is_empty() {
            errors.push(invalid("fieldPath", path, "must be non-empty if specified"));
        }
        if path.contains('\n') {
            errors.push(invalid("fieldPath", path, "must not contain line breaks"));
        }
    }
}
