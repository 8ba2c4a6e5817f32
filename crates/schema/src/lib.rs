//! Kubernetes' structural schemas: validation, defaulting, pruning, ratcheting.
//!
//! One [`Schema`] type describes built-in kinds (static tables, no start-up cost, may be cyclic) and the
//! `openAPIV3Schema` of a CustomResourceDefinition (parsed, owned). Everything that walks an object by its type takes a
//! `&Schema`: validation, defaulting, pruning, server-side apply, strategic merge, protobuf.
//!
//! The steps of processing a request body, and their functions:
//!
//! ```text
//!   prune ─▶ drop_nulls ─▶ coerce_object, coerce_embedded ─▶ default ─▶ validate ─▶ visit_rules
//!   unknown    nulls that      metadata takes its shape      absent      types,       where CEL
//!   fields     mean absence                                  values      limits       rules apply
//! ```
//!
//! This crate is pure: JSON trees in, JSON trees and [`FieldError`]s out. Behaviour and messages are those of Kubernetes.

mod field;
mod model;
pub mod names;
mod show;

mod parse;
mod pattern;

mod correlate;
mod default;
mod formats;
mod lists;
mod metadata;
mod prune;
mod rules;
mod validate;

pub use default::{default, drop_nulls};
pub use field::{ErrorKind, FieldError, FieldPath};
pub use formats::check as check_format;
pub use lists::{list_map_key, validate_lists};
pub use metadata::{
    Malformed, coerce_embedded, coerce_object, object_meta, validate_embedded, validate_object,
};
pub use model::{
    Additional, Child, Constraints, JsonType, ListType, MapType, PatchStrategy, Property, Rule, Schema,
};
pub use parse::{check_status_root, parse, rule_field_path, visit_defaults};
pub use pattern::{Matcher, Pattern, compile as compile_pattern};
pub use prune::{prune, unknown_fields};
pub use rules::{RuleSite, visit_rules};
pub use validate::{validate, validate_values};
