//! LimitRanges: what containers, pods and claims get when they ask for nothing, and the least and most they may have.

mod bounds;
mod defaults;

use serde_json::Value;

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};

/// Fills in what the containers of a pod left open.
pub(super) fn fill_in(server: &Server, attributes: &Attributes<'_>, object: &mut Value) {
    if attributes.is("", "pods") && concerns(attributes) {
        for range in ranges(server, attributes) {
            defaults::fill_in(&range, object);
        }
    }
}

/// Refuses what is below the least or above the most.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
    let Some(object) = object.filter(|_| concerns(attributes)) else {
        return Ok(());
    };
    for range in ranges(server, attributes) {
        let problems = match attributes.is("", "pods") {
            true => bounds::of_pod(&range, object),
            false => bounds::of_claim(&range, object),
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

/// A pod's containers never change but through `resize`.
fn concerns(attributes: &Attributes<'_>) -> bool {
    let is_going = attributes.old.is_some_and(object::is_deleting);
    let is_pod = attributes.is("", "pods");
    let is_claim = attributes.is("", "persistentvolumeclaims");
    !is_going
        && match (attributes.operation, attributes.subresource) {
            (Operation::Create, "") => is_pod || is_claim,
            (Operation::Update, "") => is_claim,
            (Operation::Update, "resize") => is_pod,
            _ => false,
        }
}

fn ranges(server: &Server, attributes: &Attributes<'_>) -> Vec<Value> {
    let bucket = server.store.bucket(&"/limitranges".into());
    let entries = bucket.list(&format!("{}/", attributes.namespace)).0;
    entries.iter().map(|entry| entry.value()).collect()
}

/// The limits of a range that are about something.
fn about<'v>(range: &'v Value, kind: &'v str) -> impl Iterator<Item = &'v Value> {
    let limits = object::at(range, "spec.limits").and_then(Value::as_array);
    limits
        .into_iter()
        .flatten()
        .filter(move |limit| limit["type"] == kind)
}
