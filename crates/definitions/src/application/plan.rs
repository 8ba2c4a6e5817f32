//! The plan for the objects of an Application: which to apply, which to keep, which to prune.

use super::object::{LONGEST_LABEL, applied_object, is_applied_by_us};
use super::status::is_healthy;
use super::{Recorded, Work, is_made_by, order};
use crate::Refused;
use cambium_api::names::{annotation, finalizer, label, reason};
use cambium_api::v1beta1::{ApplicationStatus, AppliedResource};
use cambium_definitions_render::{Origin, Stage};
use cambium_lineage::{Digest, RevisionName};
use cambium_objects::{Object, is_within, lay_over, without_fields};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The plan for the objects of an Application.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// All objects that should be there.
    pub wanted: Vec<Applied>,
    /// Which of them are not as they should be, in the order to apply them: places in `wanted`.
    pub apply: Vec<usize>,
    /// Which of them wait until their component's workload, or another component, is healthy: places in `wanted`.
    pub waiting: Vec<usize>,
    /// Objects that should be there no longer, with their identities.
    pub prune: Vec<(Object, String)>,
    /// The reasons that nothing is applied or pruned.
    pub refused: Vec<Refused>,
    /// Objects that one component renders more than once: what is rendered later is laid over the earlier.
    pub overlaps: Vec<String>,
}

/// An object that should be there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The component that it belongs to.
    pub component: String,
    /// Which object.
    pub object: Object,
    /// Its manifest.
    pub manifest: Value,
    /// The first digits of the manifest's digest.
    pub digest: String,
}

/// Whether kinds have namespaces, or why that is not known.
pub type Scopes = BTreeMap<(String, String), Result<bool, String>>;

/// Compares what should be there with what is.
///
/// `live` holds every wanted object that exists, whoever made it, and everything else that this application made.
pub fn plan(
    application: &Value,
    recorded: &[Recorded],
    work: &Work,
    scopes: &Scopes,
    live: &BTreeMap<Object, Value>,
) -> Plan {
    let mut plan = Plan::default();
    let (namespace, name) = (text(application, "namespace"), text(application, "name"));
    let mut stages = Vec::new();
    for (component, manifest) in work.manifests() {
        let mut manifest_object = manifest.object.clone();
        let kind = (
            text_at(&manifest_object, "apiVersion"),
            text_at(&manifest_object, "kind"),
        );
        match scopes.get(&kind) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => {
                if let Some(metadata) = manifest_object["metadata"].as_object_mut() {
                    metadata.remove("namespace");
                }
            }
            Some(Err(error)) => {
                plan.refuse(reason::APPLY_FAILED, format!("component {component:?}: {error}"))
            }
            None => plan.refuse(
                reason::APPLY_FAILED,
                format!(
                    "component {component:?}: no matches for kind {:?} in version {:?}",
                    kind.1, kind.0
                ),
            ),
        }
        set_identity(&mut manifest_object, namespace, name);
        if !text(application, "uid").is_empty() {
            manifest_object["metadata"]["annotations"][annotation::APPLICATION_UID] =
                application["metadata"]["uid"].clone();
        }
        let object = Object::of(&manifest_object);
        if let Some(other) = plan.wanted.iter_mut().find(|other| other.object.is(&object)) {
            if other.component == component {
                lay_over(&mut other.manifest, &manifest_object);
                other.digest = Digest::of(&other.manifest).short();
                // At the API version that its manifest has now.
                other.object = object.clone();
                plan.overlaps.push(format!(
                    "component {component:?} renders {object} more than once; {} wins where they differ",
                    maker(&manifest.origin)
                ));
            } else {
                let message = format!(
                    "components {:?} and {component:?} both render {object}",
                    other.component
                );
                plan.refuse(reason::RENDER_FAILED, message);
            }
            continue;
        }
        stages.push(manifest.stage);
        plan.wanted.push(Applied {
            component: component.to_owned(),
            digest: Digest::of(&manifest_object).short(),
            object,
            manifest: manifest_object,
        });
    }
    let foreign: Vec<String> = plan
        .wanted
        .iter()
        .filter_map(|wanted| {
            let live = live.get(&wanted.object)?;
            (!is_ours(application, &wanted.object, live)).then(|| owned_by_another(&wanted.object, live))
        })
        .collect();
    for message in foreign {
        plan.refuse(reason::OWNED_BY_ANOTHER, message);
    }
    if !plan.refused.is_empty() {
        return plan;
    }
    let status: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let works = |component: &str| {
        let mut objects = plan.wanted.iter().filter(|wanted| wanted.component == component);
        objects.all(|wanted| {
            let live = live.get(&wanted.object);
            is_settled(wanted, live, &status) || live.is_some() && as_applied(wanted, &status).is_some()
        }) && is_healthy(work, component, live)
    };
    let must_wait = |index: usize, wanted: &Applied| {
        let late = stages[index] == Stage::PostDispatch && !is_healthy(work, &wanted.component, live);
        late || !order::needs(&work.snapshot, &wanted.component)
            .into_iter()
            .all(works)
    };
    for (index, wanted) in plan.wanted.iter().enumerate() {
        if is_settled(wanted, live.get(&wanted.object), &status) {
            continue;
        }
        // What was applied once is put back without waiting.
        match as_applied(wanted, &status).is_none() && must_wait(index, wanted) {
            true => plan.waiting.push(index),
            false => plan.apply.push(index),
        }
    }
    if !plan.waiting.is_empty() {
        // What goes may be what those who wait take the place of.
        return plan;
    }
    let made = made(application, recorded, live);
    plan.prune = made
        .filter(|(object, live)| {
            live["metadata"]["deletionTimestamp"].is_null()
                && plan.wanted.iter().all(|wanted| !wanted.object.is(object))
        })
        .map(|(object, live)| (object.clone(), text(live, "uid").to_owned()))
        .collect();
    plan
}

/// The objects to delete with an Application: all that it made.
pub fn plan_deletion(
    application: &Value,
    recorded: &[Recorded],
    live: &BTreeMap<Object, Value>,
) -> Vec<(Object, String)> {
    made(application, recorded, live)
        .map(|(object, live)| (object.clone(), text(live, "uid").to_owned()))
        .collect()
}

/// Whether what an application made stays when it goes.
pub fn is_orphaning(application: &Value) -> bool {
    let finalizers = application["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|names| names.iter().any(|name| name == finalizer::ORPHAN))
}

/// The objects that an Application may have made: from its revisions before anything is applied, from its status afterwards.
pub fn ever_wanted(application: &Value, recorded: &[Recorded]) -> BTreeSet<Object> {
    let recorded = recorded.iter().flat_map(|recorded| recorded.resources.clone());
    recorded.chain(applied(application)).collect()
}

/// The live objects that an Application made. A label alone proves nothing: users and controllers copy labels.
fn made<'l>(
    application: &Value,
    recorded: &[Recorded],
    live: &'l BTreeMap<Object, Value>,
) -> impl Iterator<Item = (&'l Object, &'l Value)> {
    let (namespace, name) = (
        text(application, "namespace").to_owned(),
        text(application, "name").to_owned(),
    );
    let wanted = ever_wanted(application, recorded);
    live.iter().filter(move |(object, live)| {
        is_made_by(live, &namespace, &name) && wanted.iter().any(|wanted| wanted.is(object))
    })
}

/// Of what is there, what an application may apply.
pub(super) fn ours(application: &Value, live: &BTreeMap<Object, Value>) -> BTreeMap<Object, Value> {
    live.iter()
        .filter(|(object, live)| is_ours(application, object, live))
        .map(|(object, live)| (object.clone(), live.clone()))
        .collect()
}

/// Whether an object that is there may be applied: it carries our labels, and a uid beside them or a place in the status, since labels are
/// copied; or we have applied it and somebody took the labels away. A uid of another Application of that name is one of an Application that is
/// gone, as after a restore: what it left is nobody's.
fn is_ours(application: &Value, object: &Object, live: &Value) -> bool {
    let listed = || applied(application).iter().any(|applied| applied.is(object));
    if is_made_by(live, text(application, "namespace"), text(application, "name")) {
        return live["metadata"]["annotations"][annotation::APPLICATION_UID].is_string() || listed();
    }
    live["metadata"]["labels"][label::APPLICATION].is_null() && is_applied_by_us(live) && listed()
}

/// The objects that were applied, from the status.
pub fn applied(application: &Value) -> BTreeSet<Object> {
    let status: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    status.applied_resources.iter().map(applied_object).collect()
}

/// The kinds of objects of which fields were left out, because those kinds did not know them.
pub fn kinds_with_ignored_fields(status: &ApplicationStatus) -> BTreeSet<(String, String)> {
    let ignoring = status.applied_resources.iter();
    let ignoring = ignoring.filter(|applied| !applied.ignored_fields.is_empty());
    ignoring.map(|applied| applied_object(applied).kind()).collect()
}

/// The application as if nothing had been applied of which fields were left out: their kinds may know them by now.
pub fn without_ignored_fields(application: &Value) -> Value {
    let mut application = application.clone();
    let applied = application.pointer_mut("/status/appliedResources");
    for resource in applied.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(resource) = resource.as_object_mut()
            && resource.remove("ignoredFields").is_some()
        {
            resource.remove("applied");
        }
    }
    application
}

/// Sets the labels by which the controller finds its objects again, whatever a template or a trait writes there.
fn set_identity(manifest: &mut Value, namespace: &str, name: &str) {
    if manifest["metadata"]["labels"].is_null() {
        manifest["metadata"]["labels"] = json!({});
    }
    let Some(labels) = manifest["metadata"]["labels"].as_object_mut() else {
        return;
    };
    labels.insert(label::APPLICATION.to_owned(), json!(name));
    labels.insert(label::APPLICATION_NAMESPACE.to_owned(), json!(namespace));
    // The names of revisions and definitions may be longer than a label: it is for people, and left out then.
    for told in [
        label::APPLICATION_REVISION,
        label::WORKLOAD_TYPE,
        label::TRAIT_TYPE,
    ] {
        let value = labels.get(told).and_then(Value::as_str);
        if value.is_some_and(|value| value.len() > LONGEST_LABEL) {
            labels.remove(told);
        }
    }
}

/// The ApplicationRevisions to delete, by name and UID: all but the current one and the newest.
pub fn revisions_to_delete(
    recorded: &[Recorded],
    current: &RevisionName,
    limit: usize,
) -> Vec<(RevisionName, String)> {
    let mut others: Vec<&Recorded> = recorded
        .iter()
        .filter(|recorded| recorded.revision.name() != current)
        .collect();
    others.sort_by_key(|recorded| std::cmp::Reverse(recorded.revision.number()));
    others
        .into_iter()
        .skip(limit)
        .map(|recorded| (recorded.revision.name().clone(), recorded.uid.clone()))
        .collect()
}

impl Plan {
    fn refuse(&mut self, reason: &'static str, message: String) {
        self.refused.push(Refused { reason, message });
    }
}

/// Whether an object is as it should be. The API server rewrites some values (`0.5` of a CPU); then the object is as it should be if it
/// is what became of this very manifest.
fn is_settled(wanted: &Applied, live: Option<&Value>, status: &ApplicationStatus) -> bool {
    let Some(live) = live else {
        return false;
    };
    if is_within(&wanted.manifest, live) {
        return true;
    }
    as_applied(wanted, status).is_some_and(|applied| {
        let ignored = &applied.ignored_fields;
        let known = || without_fields(&wanted.manifest, ignored);
        if !ignored.is_empty() && known().is_some_and(|known| is_within(&known, live)) {
            return true;
        }
        applied.generation.is_some()
            && applied.generation == live["metadata"]["generation"].as_i64()
            && is_within(&wanted.manifest["metadata"], &live["metadata"])
    })
}

/// The entry of the status for this manifest, if it was applied unchanged.
fn as_applied<'s>(wanted: &Applied, status: &'s ApplicationStatus) -> Option<&'s AppliedResource> {
    status.applied_resources.iter().find(|applied| {
        applied_object(applied).is(&wanted.object)
            && applied.applied.as_deref() == Some(wanted.digest.as_str())
    })
}

/// The component, trait or output that rendered a manifest, for messages.
fn maker(origin: &Origin) -> String {
    match origin {
        Origin::Workload => "its output".to_owned(),
        Origin::Auxiliary { name } => format!("its output {name:?}"),
        Origin::Trait { definition, .. } => format!("its trait {definition:?}"),
    }
}

fn owned_by_another(object: &Object, live: &Value) -> String {
    let labels = &live["metadata"]["labels"];
    let marked = live["metadata"]["annotations"][annotation::APPLICATION_UID].is_string();
    match (
        labels[label::APPLICATION_NAMESPACE].as_str().filter(|_| marked),
        labels[label::APPLICATION].as_str(),
    ) {
        (Some(namespace), Some(name)) => {
            format!("{object} belongs to Application {namespace}/{name}; rename it in one of the two")
        }
        _ => not_ours(object).message,
    }
}

/// The refusal to touch an object that this Application did not make.
pub fn not_ours(object: &Object) -> Refused {
    Refused {
        reason: reason::OWNED_BY_ANOTHER,
        message: format!(
            "{object} exists and was not made by this Application; rename it, or delete the other one"
        ),
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn text_at(object: &Value, field: &str) -> String {
    object[field].as_str().unwrap_or_default().to_owned()
}
