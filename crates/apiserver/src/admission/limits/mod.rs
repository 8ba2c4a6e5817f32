//! `LimitRanger`: default requests and limits of containers, and bounds for containers, pods and claims.

mod bounds;
mod defaults;

use cambium_builtin::{AdmissionPlugin, LimitedAs};
use serde_json::Value;

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

/// Sets the default requests and limits of a pod's containers.
pub(super) fn fill_in(server: &Server, attributes: &Attributes<'_>, object: &mut Value) {
    if limited_as(attributes) == Some(LimitedAs::Pod) {
        for range in ranges(server, attributes) {
            defaults::fill_in(&range, object);
        }
    }
}

/// Denies resources outside the bounds of a LimitRange.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
    let (Some(object), Some(limited_as)) = (object, limited_as(attributes)) else {
        return Ok(());
    };
    for range in ranges(server, attributes) {
        let problems = match limited_as {
            LimitedAs::Pod => bounds::of_pod(&range, object),
            LimitedAs::PersistentVolumeClaim => bounds::of_claim(&range, object),
        };
        if let Some(why) = bounds::joined(problems) {
            let resource = attributes.resource;
            return Err(Status::forbidden(
                &resource.group,
                &resource.plural,
                attributes.name,
                &why,
            ));
        }
    }
    Ok(())
}

/// The type of limits that applies to this write, if any.
fn limited_as(attributes: &Attributes<'_>) -> Option<LimitedAs> {
    let limited_as = [LimitedAs::Pod, LimitedAs::PersistentVolumeClaim]
        .into_iter()
        .find(|limited| attributes.concerns(AdmissionPlugin::LimitRanger(*limited)))?;
    // An object that is being deleted must stay writable, or its finalizers could never be removed.
    if attributes.old.is_some_and(object::is_deleting) {
        return None;
    }
    let is_bounded = match (attributes.operation, attributes.subresource) {
        (Operation::Create, "") => true,
        // The resources of a pod change through `resize` alone, and those of a claim by a plain update.
        (Operation::Update, "") => limited_as == LimitedAs::PersistentVolumeClaim,
        (Operation::Update, "resize") => limited_as == LimitedAs::Pod,
        _ => false,
    };
    is_bounded.then_some(limited_as)
}

fn ranges(server: &Server, attributes: &Attributes<'_>) -> Vec<Value> {
    let bucket = server.store.bucket(&"/limitranges".into());
    let entries = bucket.list(&format!("{}/", attributes.namespace)).0;
    entries.iter().map(|entry| entry.value()).collect()
}

/// The limits of a LimitRange with this `type`.
fn about<'v>(range: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    let limits = object::at(range, "spec.limits").and_then(Value::as_array);
    limits
        .into_iter()
        .flatten()
        .filter(move |limit| limit["type"] == kind)
}
