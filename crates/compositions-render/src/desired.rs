//! Renders the desired resources from templates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::budget::Budget;
use crate::metadata;
use crate::patch::{Patch, PatchError};
use crate::path::Repeats;
use crate::template::{Composition, Template};

/// What one template makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// The template's name, or `resource 1` by its place.
    pub name: String,
    /// The object, or why it cannot be made. An object without `metadata.name` is new: whoever applies it gives it a name that
    /// starts with its `metadata.generateName`, once.
    pub outcome: Result<Value, RenderError>,
}

/// Why a composed resource cannot be made. It says nothing about its siblings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A patch failed.
    #[error("cannot apply the \"{kind}\" patch at index {index}: {error}")]
    Patch {
        /// The patch's type.
        kind: &'static str,
        /// Its place among the template's patches, patch sets counted out.
        index: usize,
        /// Why.
        #[source]
        error: Box<PatchError>,
    },
    /// The template makes another kind of object than it once did.
    #[error(
        "cannot change the kind of a composed resource from {from} to {to} (possible composed resource template mismatch)"
    )]
    KindChanged {
        /// What exists.
        from: String,
        /// What the template makes.
        to: String,
    },
    /// There is nothing that a name could start with.
    #[error("cannot find top-level composite resource name label \"{label}\" in composite resource metadata", label = metadata::COMPOSITE_LABEL)]
    NoNamePrefix,
    /// The template has no base, and nothing else made the resource.
    #[error("the template has no base")]
    NoBase,
    /// The template names another controller.
    #[error("cannot set controller reference: {problem}")]
    Controlled {
        /// Which.
        problem: String,
    },
}

/// What `composition` makes of `composite`: one object for each template, in order.
///
/// `observed` holds what already exists, by the names of the templates ([`Template::label`]): such a resource keeps its name. Where a patch
/// merges, it merges with what exists. A resource of a composite in a namespace goes into that namespace; otherwise a base or a patch may say
/// which. A name in a base is dropped, for a base is made many times; a name that a patch sets is kept.
#[must_use]
pub fn desired(
    composition: &Composition,
    composite: &Value,
    observed: &BTreeMap<String, Value>,
) -> Vec<Desired> {
    let budget = Budget::default();
    let make = |template: &Template| Desired {
        name: template.label.clone(),
        outcome: render(template, composite, observed.get(&template.label), &budget),
    };
    composition.templates().iter().map(make).collect()
}

fn render(
    template: &Template,
    composite: &Value,
    observed: Option<&Value>,
    budget: &Budget,
) -> Result<Value, RenderError> {
    let mut object = template.base.clone().ok_or(RenderError::NoBase)?;
    metadata::set_text(
        &mut object,
        "name",
        observed.map_or("", |observed| metadata::text(observed, "name")),
    );
    if let Some(observed) = observed {
        let namespace = metadata::text(observed, "namespace");
        if !namespace.is_empty() {
            metadata::set_text(&mut object, "namespace", namespace);
        }
        if observed.get("kind") != object.get("kind") {
            return Err(RenderError::KindChanged {
                from: metadata::kind_text(observed),
                to: metadata::kind_text(&object),
            });
        }
    }
    for (index, patch) in template.patches.iter().enumerate() {
        if patch.kind.is_from_composite() {
            patch
                .apply(composite, &mut object, Repeats::Append, budget)
                .map_err(|error| RenderError::Patch {
                    kind: patch.kind.name(),
                    index,
                    error: error.into(),
                })?;
        }
    }
    if let Some(observed) = observed {
        template
            .patches
            .iter()
            .for_each(|patch| merge_with_observed(patch, &mut object, observed));
    }
    composed(object, composite, template.name.as_deref())
}

/// Makes an object one that `composite` is composed of, under this name: the labels, the annotation, the owner, the namespace, and what its
/// own name starts with where it has none yet.
pub fn composed(mut object: Value, composite: &Value, name: Option<&str>) -> Result<Value, RenderError> {
    let prefix = match metadata::label(composite, metadata::COMPOSITE_LABEL) {
        "" => metadata::text(composite, "name"),
        label => label,
    };
    if prefix.is_empty() {
        return Err(RenderError::NoNamePrefix);
    }
    metadata::mark(&mut object, composite, prefix, name);
    let namespace = metadata::text(composite, "namespace");
    if !namespace.is_empty() {
        metadata::set_text(&mut object, "namespace", namespace);
    }
    if !metadata::text(composite, "uid").is_empty() {
        metadata::own(&mut object, composite).map_err(|problem| RenderError::Controlled { problem })?;
    }
    Ok(object)
}

/// A patch that merges also merges with the object that exists: its new value goes into the old one.
///
/// Elements that the old value already has are left out everywhere. Crossplane does so only for the array that the patch itself names,
/// and lets arrays inside objects grow with each pass.
fn merge_with_observed(patch: &Patch, object: &mut Value, observed: &Value) {
    if !patch.merges_with_observed || !patch.kind.is_from_composite() || patch.to.expands() {
        return;
    }
    let (Some(options), Ok(new), Ok(old)) = (patch.merge, patch.to.get(object), patch.to.get(observed))
    else {
        return;
    };
    if new.is_null() {
        return;
    }
    let mut merged = object.clone();
    let (new, old) = (new.clone(), old.clone());
    let done = patch.to.set(&mut merged, old).is_ok_and(|()| {
        patch
            .to
            .merge(&mut merged, new, Some(options), Repeats::LeaveOut)
            .is_ok()
    });
    if done {
        *object = merged;
    }
}
