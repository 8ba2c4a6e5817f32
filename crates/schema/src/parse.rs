//! Parses a CRD's `openAPIV3Schema` into a [`Schema`], or returns all errors.
//!
//! ```text
//!   JSON ──read──▶ Props ──structural, keywords──▶ errors
//!                    │
//!                  build ──▶ Schema ──defaults, field paths──▶ errors
//! ```
//!
//! *Structural* means that the type of every value is specified in one place; junctors (`allOf`, `anyOf`, `oneOf`,
//! `not`) may only add value validations. Messages and paths of errors are upstream's.

mod build;
mod complete;
mod defaults;
mod field_path;
mod keywords;
mod list_rules;
mod props;
mod read;
mod structural;

use serde_json::Value;

use self::props::Props;
use crate::field::{FieldError, FieldPath};
use crate::model::Schema;

pub use self::defaults::visit_defaults;
pub use self::field_path::rule_field_path;

/// Parses the schema of a CRD's version. `at` is its path in the CRD (`spec.versions[0].schema.openAPIV3Schema`).
///
/// The result is the schema of whole objects: `apiVersion`, `kind` and `metadata` need not be specified. CEL rules are
/// only checked for form; `cambium-cel` compiles them.
///
/// # Errors
/// Everything that makes the schema invalid or not structural.
pub fn parse(raw: &Value, at: &FieldPath) -> Result<Schema, Vec<FieldError>> {
    let mut errors = Vec::new();
    let props = read::read(raw, at, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    if props.nullable {
        errors.push(FieldError::forbidden(
            at.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let unsupported = structural::unsupported(&props);
    let mut schema = build::build(&props);
    // The root is always a whole object.
    schema.embedded_resource = true;
    if unsupported.is_none() {
        let structural = structural::check(&props, at);
        match structural.is_empty() {
            true => errors.extend(defaults::check(&schema, at)),
            false => errors.extend(structural),
        }
    }
    errors.extend(keywords::check(&props, at));
    if unsupported.is_none() {
        errors.extend(field_path::check(&schema, at));
    }
    if let (true, Some(reason)) = (errors.is_empty(), unsupported) {
        errors.push(FieldError::invalid(at.clone(), &Value::from(""), reason));
    }
    match errors.is_empty() {
        true => Ok(schema),
        false => Err(errors),
    }
}

/// Checks the root of a schema with the status subresource: the status is validated by `properties.status` alone, so
/// other keywords at the root are forbidden.
pub fn check_status_root(raw: &Value, at: &FieldPath) -> Option<FieldError> {
    const ALLOWED: [(&str, &str); 22] = [
        ("description", "Description"),
        ("type", "Type"),
        ("format", "Format"),
        ("title", "Title"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("maxLength", "MaxLength"),
        ("minLength", "MinLength"),
        ("pattern", "Pattern"),
        ("maxItems", "MaxItems"),
        ("minItems", "MinItems"),
        ("uniqueItems", "UniqueItems"),
        ("multipleOf", "MultipleOf"),
        ("required", "Required"),
        ("items", "Items"),
        ("properties", "Properties"),
        ("externalDocs", "ExternalDocs"),
        ("example", "Example"),
        ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
        ("x-kubernetes-validations", "XValidations"),
    ];
    let fields = raw.as_object()?;
    if let Some(other) = fields.get("type").filter(|name| *name != "object" && *name != "") {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return Some(FieldError::invalid(at.child("type"), other, detail));
    }
    let says = |value: &Value| !matches!(value, Value::Null | Value::Bool(false)) && value != "";
    let known = |name: &str| Props::KEYWORDS.contains(&name);
    let allowed = |name: &str| ALLOWED.iter().any(|(keyword, _)| *keyword == name);
    fields
        .iter()
        .find(|(name, value)| known(name) && says(value) && !allowed(name))
        .map(|_| {
            let names: Vec<_> = ALLOWED.iter().map(|(_, name)| *name).collect();
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                names.join(" ")
            );
            FieldError::invalid(at.clone(), raw, detail)
        })
}

#[cfg(test)]
mod tests;
