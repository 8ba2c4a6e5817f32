//! The wanted resources of a composite resource, rendered from templates.

use super::Object;
use crate::Layout;
use cambium_api::names::{annotation, label};
use cambium_compositions_render::{Composition, desired};
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
    /// The object that is there for it, or will be, though it cannot be made now.
    pub meant: Option<Object>,
}

/// How resources that are there are told apart.
#[derive(Debug, Clone, Copy)]
pub enum Called<'a> {
    /// By the templates that made them.
    ByTemplates(&'a Composition),
    /// By the names that functions gave them.
    ByFunctions,
}

/// How many characters tell the names of composed resources apart.
const SUFFIX: usize = 12;

/// The resources that are there, by what the composition calls them: by the annotation that they carry, or where templates have no
/// names, by their place among the references.
pub fn associate(
    called: Called<'_>,
    layout: Layout,
    composite: &Value,
    live: &BTreeMap<Object, Value>,
) -> BTreeMap<String, Value> {
    let uid = composite["metadata"]["uid"].as_str().unwrap_or_default();
    let references = layout.resource_refs(composite);
    let mut known = BTreeMap::new();
    let mut unmarked = BTreeMap::new();
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
        if cambium_objects::controller_of(object).is_some_and(|(owner, _)| owner != uid) {
            continue;
        }
        let annotated = object["metadata"]["annotations"][annotation::COMPOSITION_RESOURCE_NAME].as_str();
        match called.name(annotated, place) {
            Some(name) => drop(known.insert(name, object.clone())),
            None if annotated.is_none() => drop(unmarked.insert(place, object)),
            None => {}
        }
    }
    if let Called::ByTemplates(composition) = called
        && known.is_empty()
        && references.len() == composition.templates().len()
    {
        return by_place(composition, &unmarked);
    }
    known
}

/// The resources of templates that have been given names: what they made before has no name yet, and is told by its place, as in Crossplane. If a kind is
/// another one, templates were changed, too, and nobody knows.
fn by_place(composition: &Composition, unmarked: &BTreeMap<usize, &Value>) -> BTreeMap<String, Value> {
    let mut known = BTreeMap::new();
    for (place, object) in unmarked {
        let template = &composition.templates()[*place];
        let base = template.base.as_ref();
        if base
            .is_none_or(|base| base["kind"] != object["kind"] || base["apiVersion"] != object["apiVersion"])
        {
            return BTreeMap::new();
        }
        known.insert(template.label.clone(), (*object).clone());
    }
    known
}

impl Called<'_> {
    /// The name of a resource with this annotation, at this place among the references.
    fn name(self, annotated: Option<&str>, place: usize) -> Option<String> {
        let Self::ByTemplates(composition) = self else {
            return annotated.map(str::to_owned);
        };
        let templates = composition.templates();
        let by_name = annotated.and_then(|name| {
            let named = templates
                .iter()
                .find(|template| template.name.as_deref() == Some(name));
            named.map(|template| template.label.clone())
        });
        by_name.or_else(|| {
            let template = templates.get(place)?;
            template.name.is_none().then(|| template.label.clone())
        })
    }
}

/// What the templates of a composition make of a composite resource.
pub fn wanted(composition: &Composition, composite: &Value, known: &BTreeMap<String, Value>) -> Vec<Wanted> {
    let desired = desired(composition, composite, known).into_iter();
    desired
        .zip(composition.templates())
        .map(|(desired, template)| {
            let outcome = desired.outcome.map_err(|error| {
                let name = &desired.name;
                format!("cannot render FromComposite patches for composed resource {name:?}: {error}")
            });
            let there = known.get(&desired.name).map(Object::of);
            let meant = there.or_else(|| Some(to_be(&desired.name, template.base.as_ref()?, composite)));
            Wanted {
                meant,
                ..name_it(desired.name, outcome, composite)
            }
        })
        .collect()
}

/// The object that a template will make once it can.
fn to_be(name: &str, base: &Value, composite: &Value) -> Object {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let own = &composite["metadata"];
    let prefix = text(&own["labels"][label::COMPOSITE]).or_else(|| text(&own["name"]));
    let namespace = text(&own["namespace"]).or_else(|| text(&base["metadata"]["namespace"]));
    Object {
        namespace: namespace.unwrap_or_default(),
        name: generated(
            &format!("{}-", prefix.unwrap_or_default()),
            name,
            &Object::of(base),
            composite,
        ),
        ..Object::of(base)
    }
}

/// Gives an object without a name one that is always the same for this resource of this composite resource.
pub(crate) fn name_it(name: String, mut outcome: Result<Value, String>, composite: &Value) -> Wanted {
    let mut named = true;
    if let Ok(object) = &mut outcome
        && object["metadata"]["name"].as_str().is_none_or(str::is_empty)
    {
        named = false;
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
        object["metadata"]["name"] = json!(generated(prefix, &name, &Object::of(object), composite));
    }
    Wanted {
        name,
        outcome,
        named,
        meant: None,
    }
}

/// A name that is always the same for this resource of this composite resource, and not longer than its kind may have it: what is cut off is in
/// the digits that follow. A name that was given before stays, whatever its length.
fn generated(prefix: &str, name: &str, object: &Object, composite: &Value) -> String {
    let identity = Digest::of(&json!([composite["metadata"]["uid"], name])).hex();
    let digits = &identity[..SUFFIX];
    let whole = format!("{prefix}{digits}");
    let longest = longest_name(&object.api_version, &object.kind);
    if whole.len() <= longest || was_given(&whole, object, composite) {
        return whole;
    }
    let kept = &prefix[..prefix.floor_char_boundary(longest - SUFFIX - 1)];
    format!("{}-{digits}", kept.trim_end_matches(['-', '.']))
}

/// Whether a composite resource says that it is composed of an object of this kind and name.
fn was_given(name: &str, object: &Object, composite: &Value) -> bool {
    let layouts = [Layout::Legacy, Layout::V2].into_iter();
    let mut references = layouts.flat_map(|layout| layout.resource_refs(composite));
    references.any(|known| {
        known.name == Some(name) && known.kind == object.kind && known.api_version == object.api_version
    })
}

/// How long the name of an object may be. API servers take up to 253 characters, and less where the name becomes a label, or a part of other names.
fn longest_name(api_version: &str, kind: &str) -> usize {
    match (api_version, kind) {
        ("v1", "Service" | "Namespace") => 63,
        ("batch/v1", "Job") | ("apps/v1", "ReplicaSet" | "DaemonSet") => 63,
        // Pods and jobs that are made of it have a suffix of their own.
        ("batch/v1", "CronJob") | ("apps/v1", "StatefulSet") => 52,
        _ => 253,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_name_fits_its_kind_and_one_that_was_given_stays() {
        let long = format!("{}-", "x".repeat(60));
        let object = |api_version: &str, kind: &str| Object {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        let mut composite = json!({"metadata": {"uid": "one"}});
        let length = |object: &Object, composite: &Value| generated(&long, "main", object, composite).len();
        for (api_version, kind, expected) in [
            ("v1", "ConfigMap", 61 + SUFFIX),
            ("v1", "Service", 63),
            ("v1", "Namespace", 63),
            ("batch/v1", "CronJob", 52),
            ("example.org/v1", "Service", 61 + SUFFIX),
        ] {
            assert_eq!(length(&object(api_version, kind), &composite), expected, "{kind}");
        }
        let service = object("v1", "Service");
        let cut = generated(&long, "main", &service, &composite);
        assert_ne!(cut, generated(&long, "other", &service, &composite));
        let whole = generated(&long, "main", &object("v1", "ConfigMap"), &composite);
        composite["spec"]["resourceRefs"] = json!([{"apiVersion": "v1", "kind": "Service", "name": whole}]);
        assert_eq!(generated(&long, "main", &service, &composite), whole);
    }
}
