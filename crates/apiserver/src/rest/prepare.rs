//! PrepareForCreate and PrepareForUpdate: the fields that the server sets, not the client.

use cambium_builtin::{Generation, OnWrite, Termination};
use serde_json::{Value, json};

use super::Call;
use crate::aggregation;
use crate::object;
use crate::registry::{Origin, Served};

/// Sets name, UID, creation timestamp and generation of a new object, and clears server-owned fields.
pub(super) fn for_create(call: &Call, value: &mut Value) {
    let sources = &call.server.sources;
    let now = object::timestamp(sources.now());
    let on_write = call.resource.strategy().on_write;
    let generation = call.resource.strategy().generation;
    let metadata = object::metadata_mut(value);
    for field in [
        "selfLink",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), json!(sources.uid()));
    metadata.insert("creationTimestamp".to_owned(), json!(now));
    if generation != Generation::Uncounted {
        metadata.insert("generation".to_owned(), json!(1));
    }
    drop_empty(metadata);
    if call.resource.status {
        clear_status(&call.resource, value);
    }
    if let Origin::Builtin(row) = &call.resource.origin {
        if on_write == OnWrite::RegisterGroup && object::at(value, "spec.service").is_none_or(Value::is_null)
        {
            value["status"] = aggregation::locally_available(&object::timestamp(sources.now()));
        }
        cambium_builtin::prepare_for_create(row, value);
    }
    if on_write == OnWrite::RecordRequester {
        record_requester(call, value);
    }
    generate_name(call, value);
}

/// Sets the requesting user of a CertificateSigningRequest, whatever the client sent.
fn record_requester(call: &Call, value: &mut Value) {
    let mut info = call.user.to_json();
    for field in ["username", "uid", "groups", "extra"] {
        let known = info.get_mut(field).map(Value::take).unwrap_or_default();
        object::set_at(value, &format!("spec.{field}"), known);
    }
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, known| !known.is_null());
    }
}

/// Sets what depends on fields that admission may have changed: `generation` of updates, the QoS class of new pods.
pub(super) fn after_admission(call: &Call, value: &mut Value, old: Option<&Value>) {
    match old {
        Some(old) => count_change(call, value, old),
        None if call.resource.strategy().on_write == OnWrite::DeriveQualityOfService => {
            let class = cambium_builtin::quality_of_service(&value["spec"]);
            object::set_at(value, "status.qosClass", json!(class));
        }
        None => {}
    }
}

/// Generates a name from `generateName`.
fn generate_name(call: &Call, value: &mut Value) {
    let prefix = object::meta_text(value, "generateName").to_owned();
    if object::name(value).is_empty() && !prefix.is_empty() {
        let name = call.server.sources.generated_name(&prefix);
        object::metadata_mut(value).insert("name".to_owned(), json!(name));
    }
}

/// Restores immutable metadata, and the parts that the subresource does not write.
pub(super) fn for_update(call: &Call, new: &mut Value, old: &Value) {
    let resource = &call.resource;
    match call.path.subresource.as_str() {
        // Fields that a request does not write are ignored, not refused: clients send the whole object to the main resource
        // and to `/status`.
        "status" => only_status(resource, new, old),
        "approval" => only_conditions(resource, new, old),
        "resize" => only_resources(resource, new, old),
        _ if resource.status => restore(new, old, "status"),
        _ => {}
    }
    if resource.strategy().on_write == OnWrite::RecordRequester {
        restore(new, old, "spec");
    }
    let before = object::metadata(old);
    let metadata = object::metadata_mut(new);
    metadata.remove("selfLink");
    for field in [
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        // A client that sets a deletion timestamp is not ignored but refused: validation compares it with the stored one.
        let restored = before
            .get(field)
            .or_else(|| metadata.get(field).filter(|_| field.starts_with("deletion")));
        match restored.cloned() {
            Some(value) => metadata.insert(field.to_owned(), value),
            None => metadata.remove(field),
        };
    }
    if metadata
        .get("uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
        && let Some(uid) = before.get("uid")
    {
        metadata.insert("uid".to_owned(), uid.clone());
    }
    drop_empty(metadata);
    resource.default(new);
}

/// Increments `generation` if the counted part of the object changed.
fn count_change(call: &Call, new: &mut Value, old: &Value) {
    let resource = &call.resource;
    let generation = resource.strategy().generation;
    if generation == Generation::Uncounted {
        return;
    }
    let annotated = generation == Generation::SpecAndAnnotations
        && call.path.subresource.is_empty()
        && object::metadata(new).get("annotations") != object::metadata(old).get("annotations");
    // Counted after admission, which may have changed the spec.
    if annotated || wanted(resource, new) != wanted(resource, old) {
        let generation = object::generation(old) + 1;
        object::metadata_mut(new).insert("generation".to_owned(), json!(generation));
    }
}

/// The part of an object whose changes `generation` counts.
fn wanted<'a>(resource: &Served, value: &'a Value) -> Vec<(&'a String, &'a Value)> {
    let counted = |field: &str| match resource.strategy().generation {
        Generation::AllButStatus => !resource.status || field != "status",
        _ => resource.schema().property("spec").is_none() || field == "spec",
    };
    let fields = value.as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") && counted(name))
        .collect()
}

/// `approval` writes conditions only.
fn only_conditions(resource: &Served, new: &mut Value, old: &Value) {
    let conditions = new.pointer("/status/conditions").cloned();
    only_status(resource, new, old);
    restore(new, old, "status");
    if let Some(conditions) = conditions {
        new["status"]["conditions"] = conditions;
    }
}

/// `resize` writes the resources of containers only. With other containers it is left unchanged, for validation to refuse.
fn only_resources(resource: &Served, new: &mut Value, old: &Value) {
    let mut spec = old["spec"].clone();
    let mut fits = true;
    for list in ["containers", "initContainers"] {
        let empty = Vec::new();
        let wanted = new["spec"][list].as_array().unwrap_or(&empty);
        let names = |list: &[Value]| list.iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
        let containers = match spec.get_mut(list) {
            Some(Value::Array(containers)) => containers.as_mut_slice(),
            _ => &mut [],
        };
        fits &= names(wanted) == names(containers);
        for (container, wanted) in containers.iter_mut().zip(wanted) {
            restore(container, wanted, "resources");
            restore(container, wanted, "resizePolicy");
        }
    }
    let spec = if fits { spec } else { new["spec"].clone() };
    only_status(resource, new, old);
    restore(new, old, "status");
    new["spec"] = spec;
}

/// `status` writes the status only. Built-in kinds accept some metadata changes, custom resources none.
fn only_status(resource: &Served, new: &mut Value, old: &Value) {
    let custom = matches!(resource.origin, Origin::Custom(..));
    let given = object::metadata(new).clone();
    let status = new.get("status").cloned();
    let mut result = old.clone();
    match status {
        Some(status) => result["status"] = status,
        None => {
            result.as_object_mut().map(|map| map.remove("status"));
        }
    }
    let metadata = object::metadata_mut(&mut result);
    let through: &[&str] = match custom {
        true => &["managedFields", "resourceVersion"],
        false => &[
            "managedFields",
            "resourceVersion",
            "annotations",
            "finalizers",
            "ownerReferences",
        ],
    };
    for field in through {
        match given.get(*field) {
            Some(value) => metadata.insert((*field).to_owned(), value.clone()),
            None => metadata.remove(*field),
        };
    }
    *new = result;
}

fn restore(new: &mut Value, old: &Value, field: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => map.insert(field.to_owned(), value.clone()),
        None => map.remove(field),
    };
}

/// Clears the status of a new object, or sets the initial one of its kind.
fn clear_status(resource: &Served, value: &mut Value) {
    // A CRD's own status is filled by its controller; the rest begins with what defaulting gives.
    if let Some(map) = value.as_object_mut() {
        map.remove("status");
    }
    if let Origin::Builtin(row) = &resource.origin {
        cambium_builtin::initial_status(row, value);
    }
}

/// Whether a deleted object can be removed: no finalizers and no grace period are left.
pub(super) fn is_finished(call: &Call, value: &Value) -> bool {
    let held = match call.resource.strategy().termination {
        Termination::SpecFinalizers => has_spec_finalizers(value),
        _ => false,
    };
    object::is_deleting(value) && object::finalizers(value).is_empty() && !has_grace(value) && !held
}

/// A pod that is being deleted stays for its grace period even without finalizers.
fn has_grace(object: &Value) -> bool {
    object::metadata(object)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default()
        > 0
}

/// Whether a namespace still waits for its content to be removed.
pub(super) fn has_spec_finalizers(object: &Value) -> bool {
    object::at(object, "spec.finalizers")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty())
}

/// Drops empty maps and lists of metadata.
fn drop_empty(metadata: &mut serde_json::Map<String, Value>) {
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}
