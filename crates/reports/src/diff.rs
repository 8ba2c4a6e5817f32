//! `cambium diff`: the differences between two versions of a definition, or two revisions of a composition.

use crate::{Inventory, Unanswered};
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_compositions::revision;
use cambium_definitions::{Asked, Consuming, Follow, Stored, resolve};
use cambium_lineage::{Digest, Policy, Reference, RevisionName};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// Two revisions of a definition, part by part.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionDiff {
    /// The first revision.
    pub from: Side,
    /// The second one.
    pub to: Side,
    /// The spec as YAML without the template, and the template.
    pub parts: Vec<Part>,
}

/// One of two revisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Its name.
    pub revision: RevisionName,
    /// Its digest.
    pub digest: Digest,
}

/// A part of a definition, in both revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// `spec` or `template`.
    pub part: &'static str,
    /// Its value in the first.
    pub from: String,
    /// Its value in the second.
    pub to: String,
}

/// Two revisions of a composition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionDiff {
    /// The first revision.
    pub from: CompositionSide,
    /// The second one.
    pub to: CompositionSide,
}

/// One of two revisions of a composition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSide {
    /// Its name.
    pub revision: RevisionName,
    /// Its number.
    pub number: u64,
    /// Its digest.
    pub digest: Digest,
    /// The composition's spec that it holds, as YAML.
    pub spec: String,
}

/// The differences between two references to a definition. The kind may be left out if only one definition has the name.
pub fn definitions(
    inventory: &Inventory,
    namespace: &str,
    type_: Option<DefinitionType>,
    (from, to): (&str, &str),
) -> Result<DefinitionDiff, Unanswered> {
    let parse = |text: &str| -> Result<Reference, Unanswered> {
        text.parse()
            .map_err(|error: cambium_lineage::ReferenceError| Unanswered::Unclear(error.to_string()))
    };
    let (reference, _) = (parse(from)?, parse(to)?);
    let type_ = match type_ {
        Some(type_) => type_,
        None => only_kind(inventory, namespace, reference.artifact())?,
    };
    let from = find(inventory, namespace, type_, from)?;
    let to = find(inventory, namespace, type_, to)?;
    let ((spec_from, template_from), (spec_to, template_to)) = (parts(&from.spec), parts(&to.spec));
    let side = |stored: &Stored| Side {
        revision: stored.revision.name().clone(),
        digest: stored.revision.digest(),
    };
    let part = |part, from, to| Part { part, from, to };
    Ok(DefinitionDiff {
        from: side(&from),
        to: side(&to),
        parts: vec![
            part("spec", spec_from, spec_to),
            part("template", template_from, template_to),
        ],
    })
}

/// The differences between two revisions of compositions.
pub fn compositions(inventory: &Inventory, from: &str, to: &str) -> Result<CompositionDiff, Unanswered> {
    let side = |name: &str| {
        let stored = inventory.compositions.catalogue().revision(name);
        let missing = || Unanswered::NotFound(format!("no CompositionRevision {name:?}"));
        stored.map(|stored| composition_side(stored)).ok_or_else(missing)
    };
    Ok(CompositionDiff {
        from: side(from)?,
        to: side(to)?,
    })
}

fn composition_side(stored: &revision::Stored) -> CompositionSide {
    CompositionSide {
        revision: stored.revision.name().clone(),
        number: stored.revision.number(),
        digest: stored.revision.digest(),
        spec: yaml(stored.content.spec()),
    }
}

/// The spec without the template, as YAML, and the template.
fn parts(spec: &Value) -> (String, String) {
    let mut rest = spec.clone();
    let template = rest
        .pointer_mut("/schematic/cue/template")
        .map(Value::take)
        .and_then(|template| template.as_str().map(str::to_owned))
        .unwrap_or_default();
    if let Some(cue) = rest.pointer_mut("/schematic/cue").and_then(Value::as_object_mut) {
        cue.remove("template");
    }
    (yaml(&rest), template)
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).expect("a JSON value can be written as YAML")
}

/// The kind of definition that has this name, if only one has.
fn only_kind(inventory: &Inventory, namespace: &str, name: &str) -> Result<DefinitionType, Unanswered> {
    let catalogue = inventory.definitions.catalogue();
    let is_there = |type_: &DefinitionType| catalogue.find(namespace, *type_, name).is_some();
    let known: Vec<DefinitionType> = DefinitionType::ALL.into_iter().filter(is_there).collect();
    match known.as_slice() {
        [one] => Ok(*one),
        [] => Err(Unanswered::NotFound(format!(
            "no definition {name:?} in namespace {namespace} or {SYSTEM_NAMESPACE}"
        ))),
        several => {
            let kinds: Vec<&str> = several.iter().map(|type_| type_.kind()).collect();
            Err(Unanswered::Unclear(format!(
                "{name:?} is a {}; say which with --kind",
                kinds.join(" and a ")
            )))
        }
    }
}

fn find(
    inventory: &Inventory,
    namespace: &str,
    type_: DefinitionType,
    text: &str,
) -> Result<Arc<Stored>, Unanswered> {
    let asked = Asked {
        path: String::new(),
        type_,
        text: text.to_owned(),
    };
    let follow = Follow {
        edited: false,
        policy: Policy::ByReference,
        lock: None,
        publish_version: None,
    };
    let anybody = Consuming::new(namespace, "");
    let answer = resolve(inventory.definitions.catalogue(), &anybody, &follow, &asked, None);
    let resolved = answer.outcome.map_err(|refused| vec![refused])?;
    Ok(resolved.stored)
}
