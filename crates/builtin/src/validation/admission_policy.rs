//! Validation of admission policies and bindings, except their expressions, which the server compiles.

use std::collections::BTreeSet;

use cambium_schema::{FieldError, names};
use serde_json::Value;

use super::at::At;
use super::rule::{self, Errors};
use super::{selector, webhook};

/// The type of a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Mutating,
    Validating,
}

/// Operations that mutating policies support.
const CHANGES: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(super) fn policy(at: &At, sort: Sort, errors: &mut Errors) {
    let (spec, name) = (at.field("spec"), at.field("metadata").field("name"));
    let failure = spec.field("failurePolicy");
    if rule::required(&failure, errors) {
        rule::one_of(&failure, &["Fail", "Ignore"], errors);
    }
    let kind = spec.field("paramKind");
    if kind.is_set() {
        param_kind(&kind, errors);
    }
    let constraints = spec.field("matchConstraints");
    match constraints.is_set() {
        true => {
            match_resources(&constraints, errors);
            rule::required(&constraints.field("resourceRules"), errors);
            if sort == Sort::Mutating {
                changes_only(&constraints, errors);
            }
        }
        false => rule::required_because(&constraints, "", errors),
    }
    match_conditions(&spec.field("matchConditions"), errors);
    for variable in spec.field("variables").items() {
        self::variable(&variable, errors);
    }
    match sort {
        Sort::Mutating => mutations(&spec, errors),
        Sort::Validating => validations(&spec, name.text(), errors),
    }
}

pub(super) fn binding(at: &At, sort: Sort, errors: &mut Errors) {
    let spec = at.field("spec");
    let policy = spec.field("policyName");
    if rule::required(&policy, errors) {
        rule::complain(&policy, names::dns1123_subdomain(policy.text()), errors);
    }
    let params = spec.field("paramRef");
    if params.is_set() {
        param_ref(&params, errors);
    }
    let resources = spec.field("matchResources");
    if resources.is_set() {
        match_resources(&resources, errors);
    }
    match sort {
        Sort::Mutating => changes_only(&resources, errors),
        Sort::Validating => actions(&spec.field("validationActions"), errors),
    }
}

fn param_kind(at: &At, errors: &mut Errors) {
    let (version, kind) = (at.field("apiVersion"), at.field("kind"));
    if rule::required(&version, errors) {
        let text = version.text();
        let complain = |value: &str, complaints: Vec<String>, errors: &mut Errors| {
            if !complaints.is_empty() {
                rule::invalid_as(&version, &Value::from(value), complaints.join(","), errors);
            }
        };
        match text.split('/').collect::<Vec<_>>().as_slice() {
            [_, _, _, ..] => {
                rule::invalid(
                    &version,
                    format!("unexpected GroupVersion string: {text}"),
                    errors,
                );
            }
            [group, ""] => {
                if !group.is_empty() {
                    complain(group, names::dns1123_subdomain(group), errors);
                }
                rule::invalid(&version, "version must be specified", errors);
            }
            [group, name] => {
                if !group.is_empty() {
                    complain(group, names::dns1123_subdomain(group), errors);
                }
                complain(name, names::dns1035_label(name), errors);
            }
            [name] => complain(name, names::dns1035_label(name), errors),
            [] => {}
        }
    }
    if rule::required(&kind, errors) {
        let complaints = names::dns1035_label(&kind.text().to_lowercase());
        if !complaints.is_empty() {
            let detail = format!(
                "may have mixed case, but should otherwise match: {}",
                complaints.join(",")
            );
            rule::invalid(&kind, detail, errors);
        }
    }
}

fn match_resources(at: &At, errors: &mut Errors) {
    let policy = at.field("matchPolicy");
    if rule::required(&policy, errors) {
        rule::one_of(&policy, &["Equivalent", "Exact"], errors);
    }
    selector::check(&at.field("namespaceSelector"), errors);
    selector::check(&at.field("objectSelector"), errors);
    for field in ["resourceRules", "excludeResourceRules"] {
        for named in at.field(field).items() {
            let mut seen = BTreeSet::new();
            for name in named.field("resourceNames").items() {
                rule::complain(&name, names::path_segment(name.text()), errors);
                if !seen.insert(name.text()) {
                    rule::duplicate(&name, errors);
                }
            }
            webhook::rules(&named, errors);
        }
    }
}

fn changes_only(at: &At, errors: &mut Errors) {
    let rules = at.field("resourceRules");
    let path = rules.path.child("operations");
    for operation in rules.items().flat_map(|one| one.field("operations").items()) {
        if !CHANGES.contains(&operation.text()) {
            let error = FieldError::not_supported(path.clone(), operation.value, &CHANGES);
            errors.push(error);
        }
    }
}

fn match_conditions(at: &At, errors: &mut Errors) {
    let count = at.items().count();
    if count > 64 {
        errors.push(FieldError::too_many(at.path.clone(), count, 64));
    }
    let mut seen = BTreeSet::new();
    for condition in at.items() {
        let name = condition.field("name");
        if rule::required(&name, errors) {
            rule::qualified(&name, errors);
            if !seen.insert(name.text()) {
                rule::duplicate(&name, errors);
            }
        }
    }
}

fn variable(at: &At, errors: &mut Errors) {
    let name = at.field("name");
    let text = name.text();
    if text.trim().is_empty() {
        return rule::required_because(&name, "name is not specified", errors);
    }
    let is_word = text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    if !is_word || is_number || names::CEL_KEYWORDS.contains(&text) {
        rule::invalid(&name, "must be a valid CEL identifier", errors);
    }
}

fn validations(spec: &At, name: &str, errors: &mut Errors) {
    let (validations, annotations) = (spec.field("validations"), spec.field("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        rule::required_because(&validations, detail, errors);
        return rule::required_because(&annotations, detail, errors);
    }
    for validation in validations.items() {
        let message = validation.field("message");
        if !message.is_empty() && message.text().trim().is_empty() {
            rule::invalid(&message, "must be non-empty if specified", errors);
        } else if message.text().trim().contains(['\n', '\r']) {
            rule::invalid(&message, "must not contain line breaks", errors);
        }
        let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        rule::one_of_if_set(&validation.field("reason"), &reasons, errors);
    }
    if annotations.items().count() > 20 {
        rule::invalid(
            &annotations,
            "must not have more than 20 auditAnnotations",
            errors,
        );
    }
    let mut seen = BTreeSet::new();
    for annotation in annotations.items() {
        let key = annotation.field("key");
        match name.is_empty() {
            true => rule::invalid(&key, "requires metadata.name be non-empty", errors),
            false => {
                let whole = format!("{name}/{}", key.text());
                for complaint in names::qualified_name(&whole) {
                    rule::invalid_as(&key, &Value::from(whole.as_str()), complaint, errors);
                }
            }
        }
        if !seen.insert(key.text()) {
            rule::duplicate(&key, errors);
        }
    }
}

fn mutations(spec: &At, errors: &mut Errors) {
    let mutations = spec.field("mutations");
    if mutations.is_empty() {
        rule::required_because(&mutations, "mutations must contain at least one item", errors);
    }
    for mutation in mutations.items() {
        self::mutation(&mutation, errors);
    }
    let again = spec.field("reinvocationPolicy");
    if rule::required(&again, errors) {
        rule::one_of(&again, &["IfNeeded", "Never"], errors);
    }
}

fn mutation(at: &At, errors: &mut Errors) {
    let kind = at.field("patchType");
    if !rule::required(&kind, errors) {
        return;
    }
    let (wanted, other) = match kind.text() {
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return rule::one_of(&kind, &["ApplyConfiguration", "JSONPatch"], errors),
    };
    if !at.field(wanted).is_set() {
        let detail = format!("must be specified when patchType is {}", kind.text());
        rule::required_because(&at.field(wanted), &detail, errors);
    }
    if at.field(other).is_set() {
        let detail = format!("must not be specified when patchType is {}", kind.text());
        let shown = Value::from(format!("{{{other}}}"));
        rule::invalid_as(&at.field(other), &shown, detail, errors);
    }
}

fn param_ref(at: &At, errors: &mut Errors) {
    let (name, selector) = (at.field("name"), at.field("selector"));
    let exclusive = "name and selector are mutually exclusive";
    let both = !name.is_empty() && selector.is_set();
    if !name.is_empty() {
        rule::complain(&name, names::path_segment(name.text()), errors);
    }
    if both {
        rule::forbidden(&name, exclusive, errors);
    }
    if selector.is_set() {
        selector::check(&selector, errors);
    }
    if both {
        rule::forbidden(&selector, exclusive, errors);
    }
    if name.is_empty() && !selector.is_set() {
        rule::required_because(at, "one of name or selector must be specified", errors);
    }
    let action = at.field("parameterNotFoundAction");
    if rule::required(&action, errors) {
        rule::one_of(&action, &["Deny", "Allow"], errors);
    }
}

fn actions(at: &At, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for action in at.items() {
        rule::one_of(&action, &["Audit", "Deny", "Warn"], errors);
        if !seen.insert(action.text()) {
            rule::duplicate(&action, errors);
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        rule::invalid(at, detail, errors);
    }
    if seen.is_empty() {
        rule::required_because(at, "at least one validation action is required", errors);
    }
}
