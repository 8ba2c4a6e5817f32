//! The plan of one composite resource: which objects to garbage collect, which patch to record, which resources to apply.

use super::status::Note;
use super::wanted::Wanted;
use crate::definition::Definition;
use crate::select::{Fetched, Wish};
use crate::{Field, Layout};
use cambium_api::crossplane::{Mode, UpdatePolicy};
use cambium_api::names::{annotation, finalizer, label, reason};
use cambium_lineage::Digest;
use cambium_objects::{Object, controller_of, is_within, without_fields};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Whether kinds are namespaced, or why that is unknown.
pub type Scopes = BTreeMap<(String, String), Result<bool, String>>;

/// Everything that the plan of a composite resource depends on.
pub struct Observed<'a> {
    /// Its CompositeResourceDefinition.
    pub definition: &'a Definition,
    /// The composite resource.
    pub composite: &'a Value,
    /// The composition that it asks for.
    pub wish: &'a Wish,
    /// The revision that was selected for it.
    pub fetched: &'a Fetched,
    /// The resources that it should have.
    pub wanted: &'a [Wanted],
    /// The existing objects that it refers to, and those that have the names of wanted resources.
    pub live: &'a BTreeMap<Object, Value>,
    /// Whether kinds have namespaces.
    pub scopes: &'a Scopes,
    /// The namespace of its connection secret, if the Composition has one.
    pub secret_namespace: Option<&'a str>,
    /// How the API server has rewritten the manifest with this digest, if it has.
    pub became: &'a (dyn Fn(&Object, &str) -> Option<Became> + Sync),
}

/// How the API server has rewritten a manifest: defaulted or mutated values, and unknown fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Became {
    /// The object's generation since then.
    pub generation: Option<i64>,
    /// The paths of fields that its kind does not know, and that were left out.
    pub ignored: Vec<String>,
}

impl Became {
    /// Whether an object has not changed since then.
    pub fn is(&self, live: &Value) -> bool {
        self.generation.is_some() && self.generation == live["metadata"]["generation"].as_i64()
    }
}

/// The plan of a composite resource, carried out in this order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Objects that it is composed of no longer, with their UIDs: to be garbage collected.
    pub collect: Vec<(Object, String)>,
    /// A merge patch of the composite resource, written before anything is applied: references, finalizer, label.
    pub record: Option<Value>,
    /// Resources to apply.
    pub resources: Vec<Apply>,
    /// Resources that cannot be applied, and why.
    pub failed: Vec<(String, String)>,
    /// The revision that it leaves, and the one that it moves to.
    pub moved: Option<(Option<String>, String)>,
}

impl Plan {
    /// Whether carrying it out changes what the composite resource is composed of.
    pub fn changes(&self) -> bool {
        !self.collect.is_empty() || self.resources.iter().any(|apply| !apply.settled)
    }

    /// The event about the move to another revision.
    pub fn moved_note(&self) -> Option<Note> {
        let text = match self.moved.as_ref()? {
            (Some(from), to) => format!("Moved from composition revision {from} to {to}"),
            (None, to) => format!("Selected composition revision: {to}"),
        };
        Some(Note::normal(reason::SELECT_COMPOSITION, text))
    }
}

/// A wanted resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Apply {
    /// The name of the resource in the Composition.
    pub name: String,
    /// The object.
    pub object: Object,
    /// Its manifest.
    pub manifest: Value,
    /// The first digits of the manifest's digest.
    pub digest: String,
    /// Whether the object has all of the manifest already.
    pub settled: bool,
    /// If it is: the paths of fields that its kind does not know, and that were left out.
    pub ignored: Vec<String>,
}

/// The field manager under which a composite resource applies what it is composed of, as Crossplane has it.
pub fn field_manager(composite: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&composite["apiVersion"]);
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let kind = match group {
        "" => text(&composite["kind"]),
        group => format!("{}.{group}", text(&composite["kind"])),
    };
    let name = text(&composite["metadata"]["name"]);
    format!("{PREFIX}/{}", sha256(&format!("{name}{kind}")))
}

const PREFIX: &str = "apiextensions.crossplane.io/composed";

fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Plans one reconcile of a composite resource.
pub fn plan(observed: &Observed<'_>) -> Plan {
    let mut plan = Plan::default();
    let composite = observed.composite;
    let layout = observed.definition.layout();
    let uid = composite["metadata"]["uid"].as_str().unwrap_or_default();
    let mut references = Vec::new();
    let places = observed.wanted.iter().map(|wanted| {
        let manifest = wanted.outcome.clone();
        manifest.and_then(|manifest| place(observed, wanted, manifest))
    });
    let places: Vec<Result<Apply, String>> = places.collect();
    let unmarked = unmarked(observed, &places);
    let mut named = BTreeSet::new();
    for (wanted, placed) in observed.wanted.iter().zip(places) {
        if let Ok(apply) = &placed
            && let Some(object) = may_be(observed, apply, &unmarked)
        {
            named.insert(object);
            let (name, why) = (&wanted.name, lost_mark(object));
            let message = format!("cannot apply composed resource {name:?}: {why}");
            plan.failed.push((name.clone(), message));
            continue;
        }
        match placed {
            Ok(apply) => {
                if let Some(other) = plan.resources.iter().find(|other| other.object.is(&apply.object)) {
                    let message = format!("{} is composed twice, by {:?} too", apply.object, other.name);
                    plan.failed.push((wanted.name.clone(), message));
                    continue;
                }
                references.push(reference(&apply.object, composite));
                plan.resources.push(apply);
            }
            Err(message) => {
                references.extend(kept(observed, wanted));
                plan.failed.push((wanted.name.clone(), message));
            }
        }
    }
    // What cannot be seen now may be there, and stays known.
    for known in layout.resource_refs(composite) {
        let kind = (known.api_version.to_owned(), known.kind.to_owned());
        if let (Some(Err(_)), Some(name)) = (observed.scopes.get(&kind), known.name) {
            let mut reference = json!({"apiVersion": known.api_version, "kind": known.kind, "name": name});
            if let Some(namespace) = known.namespace {
                reference["namespace"] = json!(namespace);
            }
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
    }
    // Nobody knows what it is of: it stays known, and what it is called is said.
    for object in unmarked {
        if !is_referred(&references, object) {
            references.push(reference(object, composite));
            if !named.contains(object) {
                plan.failed.push((object.to_string(), lost_mark(object)));
            }
        }
    }
    let stays = |object: &Object| {
        is_referred(&references, object) || plan.resources.iter().any(|apply| apply.object.is(object))
    };
    plan.collect = observed
        .live
        .iter()
        .filter(|(object, live)| {
            live["metadata"]["deletionTimestamp"].is_null()
                && controller_of(live).is_some_and(|(owner, _)| owner == uid)
                && !stays(object)
        })
        .map(|(object, live)| {
            (
                object.clone(),
                live["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    record(observed, layout, references, &mut plan);
    plan
}

/// Whether an object is among these references.
fn is_referred(references: &[Value], object: &Object) -> bool {
    references.iter().any(|kept| {
        kept["kind"] == object.kind.as_str()
            && kept["apiVersion"] == object.api_version.as_str()
            && kept["name"] == object.name.as_str()
            && kept["namespace"]
                .as_str()
                .is_none_or(|namespace| namespace == object.namespace)
    })
}

/// The objects that a composite resource controls and that do not say which of its resources they are, though everything that it is composed of does: they
/// have lost that. Those that are applied anyhow get it back.
fn unmarked<'a>(observed: &Observed<'a>, places: &[Result<Apply, String>]) -> Vec<&'a Object> {
    let content = &observed.fetched.content;
    // Templates without names are told apart by their place.
    let are_named = content.mode() != Some(Mode::Resources)
        || content.templates().is_ok_and(|composition| {
            let mut templates = composition.templates().iter();
            templates.all(|template| template.name.is_some())
        });
    let uid = observed.composite["metadata"]["uid"].as_str().unwrap_or_default();
    let live = observed.live.iter().filter(|(object, live)| {
        let metadata = &live["metadata"];
        let mark = metadata["annotations"][annotation::COMPOSITION_RESOURCE_NAME].as_str();
        are_named
            && mark.is_none_or(str::is_empty)
            && metadata["deletionTimestamp"].is_null()
            && controller_of(live).is_some_and(|(owner, _)| owner == uid)
            && !places.iter().flatten().any(|apply| apply.object.is(object))
    });
    live.map(|(object, _)| object).collect()
}

/// Which of the objects that have lost their mark a resource may be that would be created otherwise.
fn may_be<'a>(observed: &Observed<'_>, apply: &Apply, unmarked: &[&'a Object]) -> Option<&'a Object> {
    if observed.live.keys().any(|object| object.is(&apply.object)) {
        return None;
    }
    let same = |object: &&&Object| object.kind == apply.object.kind && object.group() == apply.object.group();
    unmarked.iter().find(same).copied()
}

fn lost_mark(object: &Object) -> String {
    format!(
        "{object} has lost its resource name, and is neither deleted nor replaced; annotate it with {}: NAME, the name of its resource in the Composition, or delete it",
        annotation::COMPOSITION_RESOURCE_NAME
    )
}

/// The plan of a composite resource that cannot be composed: it records the revision that was selected, and composed resources are unchanged.
pub fn plan_selection(observed: &Observed<'_>) -> Plan {
    let layout = observed.definition.layout();
    let known = layout.get(observed.composite, Field::ResourceRefs);
    let references = known.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut plan = Plan::default();
    record(observed, layout, references, &mut plan);
    plan
}

/// What is said about a resource that cannot be made now. What is there of it stays known, and what is not there yet keeps its place: by
/// that, resources without names are told apart.
fn kept(observed: &Observed<'_>, wanted: &Wanted) -> Option<Value> {
    let (composite, layout) = (observed.composite, observed.definition.layout());
    let uid = composite["metadata"]["uid"].as_str().unwrap_or_default();
    let there = observed.live.iter().find(|(_, live)| {
        live["metadata"]["annotations"][annotation::COMPOSITION_RESOURCE_NAME] == wanted.name.as_str()
            && controller_of(live).is_some_and(|(owner, _)| owner == uid)
    });
    if let Some((object, _)) = there {
        return Some(reference(object, composite));
    }
    let mut object = match &wanted.outcome {
        Ok(manifest) => Object::of(manifest),
        Err(_) => wanted.meant.clone()?,
    };
    match observed.scopes.get(&object.kind()) {
        Some(Ok(true)) => (!object.namespace.is_empty()).then(|| reference(&object, composite)),
        Some(Ok(false)) if composite["metadata"]["namespace"].is_string() => None,
        Some(Ok(false)) => {
            object.namespace.clear();
            Some(reference(&object, composite))
        }
        // A kind that nobody serves has no objects. Those that were seen once stay known below.
        _ => {
            let known = layout.resource_refs(composite).into_iter();
            let mut same =
                known.filter(|known| known.kind == object.kind && known.api_version == object.api_version);
            let none = same.all(|known| known.name.is_none());
            none.then(|| json!({"apiVersion": object.api_version, "kind": object.kind}))
        }
    }
}

/// Puts a resource where it belongs, and looks whether it may be there.
fn place(observed: &Observed<'_>, wanted: &Wanted, mut manifest: Value) -> Result<Apply, String> {
    let composite = observed.composite;
    let name = &wanted.name;
    let cannot = |why: String| format!("cannot apply composed resource {name:?}: {why}");
    let kind = Object::of(&manifest).kind();
    let own_namespace = composite["metadata"]["namespace"].as_str();
    match observed.scopes.get(&kind) {
        Some(Ok(true))
            if manifest["metadata"]["namespace"]
                .as_str()
                .is_none_or(str::is_empty) =>
        {
            let why = format!("{} is namespaced, and metadata.namespace is empty", kind.1);
            return Err(cannot(why));
        }
        Some(Ok(true)) => {}
        Some(Ok(false)) if own_namespace.is_some() => {
            let why = format!(
                "{} is cluster-scoped; a namespaced composite resource composes only resources in its namespace",
                kind.1
            );
            return Err(cannot(why));
        }
        Some(Ok(false)) => {
            if let Some(metadata) = manifest["metadata"].as_object_mut() {
                metadata.remove("namespace");
            }
        }
        Some(Err(error)) => return Err(cannot(error.clone())),
        None => {
            return Err(cannot(format!(
                "no matches for kind {:?} in version {:?}",
                kind.1, kind.0
            )));
        }
    }
    let object = Object::of(&manifest);
    let digest = Digest::of(&manifest).short();
    if manifest["metadata"]["annotations"].is_null() {
        manifest["metadata"]["annotations"] = json!({});
    }
    manifest["metadata"]["annotations"][annotation::APPLIED] = json!(digest);
    let live = observed
        .live
        .iter()
        .find(|(known, _)| known.is(&object))
        .map(|(_, live)| live);
    let uid = composite["metadata"]["uid"].as_str().unwrap_or_default();
    if let Some((owner, called)) = live.and_then(controller_of)
        && owner != uid
    {
        return Err(cannot(format!(
            "{object} exists and is controlled by {called} (UID {owner})"
        )));
    }
    let of_this = |live: &&Value| live["metadata"]["annotations"][annotation::APPLIED] == digest.as_str();
    let (settled, ignored) = match live.filter(of_this) {
        Some(live) if is_within(&manifest, live) => (true, Vec::new()),
        Some(live) => (observed.became)(&object, &digest)
            .filter(|became| has_become(&manifest, became, live))
            .map_or((false, Vec::new()), |became| (true, became.ignored)),
        None => (false, Vec::new()),
    };
    Ok(Apply {
        name: name.clone(),
        object,
        manifest,
        digest,
        settled,
        ignored,
    })
}

/// Whether an object still is what became of this manifest.
fn has_become(manifest: &Value, became: &Became, live: &Value) -> bool {
    let known = || without_fields(manifest, &became.ignored);
    (!became.ignored.is_empty() && known().is_some_and(|known| is_within(&known, live)))
        || (is_within(&manifest["metadata"], &live["metadata"]) && became.is(live))
}

/// A reference to a composed resource. In the namespace of its composite resource it names none.
fn reference(object: &Object, composite: &Value) -> Value {
    let mut reference = json!({"apiVersion": object.api_version, "kind": object.kind, "name": object.name});
    if !object.namespace.is_empty() && composite["metadata"]["namespace"] != object.namespace.as_str() {
        reference["namespace"] = json!(object.namespace);
    }
    reference
}

/// The merge patch of a composite resource that cannot be composed: the finalizer, and the Composition and revision that were selected, if any.
pub fn selection_patch(layout: Layout, composite: &Value, fetched: Option<&Fetched>) -> Option<Value> {
    let fields = fetched.map_or_else(Vec::new, |fetched| chosen(layout, composite, fetched).0);
    patch(layout, composite, fields, finalizers(composite))
}

/// What it is composed by, where it does not say so yet; and the revisions that it moves from and to.
fn chosen(layout: Layout, composite: &Value, fetched: &Fetched) -> (Vec<(Field, Value)>, Option<Move>) {
    let mut fields = Vec::new();
    let composition = &fetched.composition;
    if layout.composition_ref(composite) != Some(composition) {
        fields.push((Field::CompositionRef, json!({"name": composition})));
    }
    let mut moved = None;
    if let Some(stored) = &fetched.revision {
        let name = stored.revision.name().to_string();
        let before = layout.revision_ref(composite);
        if before != Some(&name) {
            moved = Some((before.map(str::to_owned), name.clone()));
            fields.push((Field::RevisionRef, json!({"name": name})));
        }
    }
    (fields, moved)
}

type Move = (Option<String>, String);

/// The finalizers with ours, if it is not there yet.
fn finalizers(composite: &Value) -> Map<String, Value> {
    let held = composite["metadata"]["finalizers"].as_array();
    let mut held = held.cloned().unwrap_or_default();
    let mut metadata = Map::new();
    if !held.iter().any(|name| name == finalizer::COMPOSITE) {
        held.push(json!(finalizer::COMPOSITE));
        metadata.insert("finalizers".to_owned(), json!(held));
    }
    metadata
}

/// What the composite resource must say before anything is made: what it uses, what it is composed of, and that it is ours.
fn record(observed: &Observed<'_>, layout: Layout, references: Vec<Value>, plan: &mut Plan) {
    let (composite, wish) = (observed.composite, observed.wish);
    let (mut fields, moved) = chosen(layout, composite, observed.fetched);
    plan.moved = moved;
    if let Some(selector) = &wish.revision_selector
        && layout.get(composite, Field::RevisionSelector).is_none()
        && wish.policy == UpdatePolicy::Automatic
    {
        fields.push((Field::RevisionSelector, json!({"matchLabels": selector.labels()})));
    }
    if layout.get(composite, Field::ResourceRefs).unwrap_or(&Value::Null) != &json!(references)
        && !(references.is_empty() && layout.get(composite, Field::ResourceRefs).is_none())
    {
        fields.push((Field::ResourceRefs, json!(references)));
    }
    if let Some(namespace) = observed.secret_namespace
        && layout.has(Field::ConnectionSecretRef)
        && layout.connection_secret_ref(composite).is_none()
    {
        let secret = json!({"name": composite["metadata"]["uid"], "namespace": namespace});
        fields.push((Field::ConnectionSecretRef, secret));
    }
    let mut metadata = finalizers(composite);
    if composite["metadata"]["labels"][label::COMPOSITE]
        .as_str()
        .is_none_or(str::is_empty)
    {
        let labels = json!({label::COMPOSITE: composite["metadata"]["name"]});
        metadata.insert("labels".to_owned(), labels);
    }
    plan.record = patch(layout, composite, fields, metadata);
}

/// A merge patch of what a composite resource is told, if it is told anything. Whoever changed it in the meantime wins, and it is looked at
/// again.
fn patch(
    layout: Layout,
    composite: &Value,
    fields: Vec<(Field, Value)>,
    mut metadata: Map<String, Value>,
) -> Option<Value> {
    if fields.is_empty() && metadata.is_empty() {
        return None;
    }
    let mut patch = match fields.is_empty() {
        true => json!({}),
        false => layout.patch(fields),
    };
    for field in ["resourceVersion", "uid"] {
        metadata.insert(field.to_owned(), composite["metadata"][field].clone());
    }
    patch["metadata"] = Value::Object(metadata);
    Some(patch)
}
