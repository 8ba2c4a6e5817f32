//! What a composite resource should be composed of.

use super::Object;
use crate::Layout;
use cambium_api::names::annotation;
use cambium_compose::{Composition, desired};
use cambium_lineage::Digest;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A resource that a composite resource should have.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// What the composition calls it.
    pub name: String,
    /// The object, with a name; or why it cannot be made.
    pub outcome: Result<Value, String>,
    /// Whether somebody who read the composition gave it its name, and not we.
    pub named: bool,
}

/// How many characters tell the names of composed resources apart.
const SUFFIX: usize = 12;

/// The resources that are there, by what the composition calls them: by the annotation that they carry, or where templates have no
/// names, by their place among the references.
pub fn associate(
    composition: &Composition,
    layout: Layout,
    composite: &Value,
    live: &BTreeMap<Object, Value>,
) -> BTreeMap<String, Value> {
    let uid = composite["metadata"]["uid"].as_str().unwrap_or_default();
    let references = layout.resource_refs(composite);
    let mut known = BTreeMap::new();
    for (place, reference) in references.iter().enumerate() {
        let found = live.iter().find(|(object, _)| {
            object.kind == reference.kind
                && object.api_version == reference.api_version
                && reference.name == Some(&object.name)
                && reference
                    .namespace
                    .is_none_or(|namespace| namespace == object.namespace)
        });
        let Some((_, object)) = found else {
            continue;
        };
        // What somebody else controls is not ours, whatever it says.
        if super::controller_of(object).is_some_and(|(owner, _)| owner != uid) {
            continue;
        }
        let annotated = object["metadata"]["annotations"][annotation::COMPOSITION_RESOURCE_NAME].as_str();
        let by_name = annotated.and_then(|name| {
            let template = composition
                .templates()
                .iter()
                .find(|template| template.name.as_deref() == Some(name));
            template.map(|template| template.label.clone())
        });
        let by_place = || {
            let template = composition.templates().get(place)?;
            template.name.is_none().then(|| template.label.clone())
        };
        if let Some(label) = by_name.or_else(by_place) {
            known.insert(label, object.clone());
        }
    }
    known
}

/// What the templates of a composition make of a composite resource.
pub fn wanted(composition: &Composition, composite: &Value, known: &BTreeMap<String, Value>) -> Vec<Wanted> {
    let desired = desired(composition, composite, known).into_iter();
    desired
        .map(|desired| {
            let outcome = desired.outcome.map_err(|error| {
                let name = &desired.name;
                format!("cannot render FromComposite patches for composed resource {name:?}: {error}")
            });
            name_it(desired.name, outcome, composite)
        })
        .collect()
}

/// Gives an object without a name one that is always the same for this resource of this composite resource.
fn name_it(name: String, mut outcome: Result<Value, String>, composite: &Value) -> Wanted {
    let mut named = true;
    if let Ok(object) = &mut outcome
        && object["metadata"]["name"].as_str().is_none_or(str::is_empty)
    {
        named = false;
        let identity = Digest::of(&json!([composite["metadata"]["uid"], name])).hex();
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
        object["metadata"]["name"] = json!(format!("{prefix}{}", &identity[..SUFFIX]));
    }
    Wanted { name, outcome, named }
}
