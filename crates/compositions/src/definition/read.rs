//! Validates a CompositeResourceDefinition.

use std::collections::BTreeSet;

use cambium_api::crossplane::{CompositeResourceDefinition, DefinitionVersion, Names, Scope};
use cambium_schema::{FieldPath, names};

use super::parsed::Definition;
use super::problem::{Problem, Problems};
use super::schema;

/// Reads a definition.
///
/// A scope that is not given is that of v1, `LegacyCluster`: it is filled in when the object is stored, by the version it was written at.
///
/// # Errors
/// Everything that is wrong with it, each with the path of its field.
pub fn read(source: &CompositeResourceDefinition) -> Result<Definition, Problems> {
    let scope = source.spec.scope.unwrap_or(Scope::LegacyCluster);
    let mut problems = Vec::new();
    check_names(source, &mut problems);
    check_claim(source, scope, &mut problems);
    check_versions(&source.spec.versions, &mut problems);
    if let Some(conversion) = &source.spec.conversion
        && conversion.strategy == "Webhook"
        && conversion.webhook.is_none()
    {
        problems.push(Problem::NoWebhook);
    }
    let mut definition = Definition {
        source: source.clone(),
        scope,
        schemas: Vec::new(),
        warnings: Vec::new(),
        referenceable: referenceable(&source.spec.versions)
            .into_iter()
            .next()
            .unwrap_or_default(),
    };
    for (at, version) in source.spec.versions.iter().enumerate() {
        let path = FieldPath::new("spec.versions").index(at);
        match schema::whole(&definition, version, &path) {
            Ok((schemas, warnings)) => {
                definition.schemas.push(schemas);
                definition.warnings.extend(warnings);
            }
            Err(wrong) => problems.extend(wrong),
        }
    }
    let selector = definition.default_revision_selector();
    if selector.is_some_and(|selector| selector.match_expressions.is_some()) {
        definition.warnings.push(
            "spec.defaultCompositionRevisionSelector.matchExpressions: composite resources select by labels alone: \
             only matchLabels is used"
                .to_owned(),
        );
    }
    match problems.is_empty() {
        true => Ok(definition),
        false => Err(Problems(problems)),
    }
}

fn check_names(source: &CompositeResourceDefinition, problems: &mut Vec<Problem>) {
    let spec = &source.spec;
    let expected = format!("{}.{}", spec.names.plural, spec.group);
    let name = source.metadata.name.as_deref().unwrap_or_default();
    if name != expected {
        problems.push(Problem::Name {
            name: name.to_owned(),
            expected,
        });
    }
    let mut reasons = names::dns1123_subdomain(&spec.group);
    if reasons.is_empty() && !spec.group.contains('.') {
        reasons.push("should be a domain with at least one dot".to_owned());
    }
    bad_name(FieldPath::new("spec.group"), &spec.group, reasons, problems);
    check_kind(&FieldPath::new("spec.names"), &spec.names, problems);
}

fn check_kind(path: &FieldPath, given: &Names, problems: &mut Vec<Problem>) {
    let plural = names::dns1035_label(&given.plural);
    bad_name(path.child("plural"), &given.plural, plural, problems);
    let kind = names::dns1035_label(&given.kind.to_lowercase());
    bad_name(path.child("kind"), &given.kind, kind, problems);
    if let Some(singular) = &given.singular {
        let reasons = names::dns1035_label(singular);
        bad_name(path.child("singular"), singular, reasons, problems);
    }
}

fn bad_name(path: FieldPath, name: &str, reasons: Vec<String>, problems: &mut Vec<Problem>) {
    if !reasons.is_empty() {
        problems.push(Problem::BadName {
            path,
            name: name.to_owned(),
            reasons,
        });
    }
}

fn check_claim(source: &CompositeResourceDefinition, scope: Scope, problems: &mut Vec<Problem>) {
    let spec = &source.spec;
    let at = FieldPath::new("spec.claimNames");
    let given = [
        (spec.claim_names.is_some(), at.clone()),
        (
            spec.connection_secret_keys.is_some(),
            FieldPath::new("spec.connectionSecretKeys"),
        ),
    ];
    for (given, path) in given {
        if given && scope != Scope::LegacyCluster {
            problems.push(Problem::LegacyOnly { path, scope });
        }
    }
    let Some(claim) = &spec.claim_names else {
        return;
    };
    check_kind(&at, claim, problems);
    let optional = |name: &Option<String>| name.clone().unwrap_or_default();
    let pairs = [
        ("kind", claim.kind.clone(), spec.names.kind.clone()),
        ("plural", claim.plural.clone(), spec.names.plural.clone()),
        (
            "singular",
            optional(&claim.singular),
            optional(&spec.names.singular),
        ),
        (
            "listKind",
            optional(&claim.list_kind),
            optional(&spec.names.list_kind),
        ),
    ];
    for (field, name, other) in pairs {
        if !name.is_empty() && name == other {
            let path = at.child(field);
            problems.push(Problem::ClaimName { path, name });
        }
    }
}

fn check_versions(versions: &[DefinitionVersion], problems: &mut Vec<Problem>) {
    if versions.is_empty() {
        problems.push(Problem::NoVersions);
        return;
    }
    let referenceable = referenceable(versions);
    if referenceable.len() != 1 {
        problems.push(Problem::Referenceable { names: referenceable });
    }
    let mut seen = BTreeSet::new();
    for (at, version) in versions.iter().enumerate() {
        let path = FieldPath::new("spec.versions").index(at);
        let name = version.name.clone();
        let reasons = names::dns1035_label(&name);
        bad_name(path.child("name"), &name, reasons, problems);
        if !seen.insert(&version.name) {
            let (path, name) = (path.clone(), name.clone());
            problems.push(Problem::DuplicateVersion { path, name });
        }
        if version.referenceable && !version.served {
            problems.push(Problem::NotServed { path, name });
        }
    }
}

fn referenceable(versions: &[DefinitionVersion]) -> Vec<String> {
    let referenceable = versions.iter().filter(|version| version.referenceable);
    referenceable.map(|version| version.name.clone()).collect()
}
