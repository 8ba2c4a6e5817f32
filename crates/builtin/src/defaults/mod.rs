//! What the server fills in.
//!
//! Defaults belong to types, not to kinds: a pod template has the same ones wherever it is. One walk along the
//! schema visits every value of a named type, parents before children, and fills in what that type leaves open.
//!
//! ```text
//! pod, volume          pods and their templates
//! workload, batch      what makes pods
//! network              services, endpoints, ingresses, policies
//! storage, cluster     claims, classes, namespaces, limits
//! autoscaling          how many replicas there should be
//! access, extension    RBAC, webhooks, custom resource definitions
//! flow                 priority and fairness
//! device               requests for devices
//! create               what only a new object gets
//! fields               the words that all of these are written in
//! ```

mod access;
mod autoscaling;
mod batch;
mod cluster;
mod create;
mod device;
mod extension;
mod fields;
mod flow;
mod network;
mod pod;
mod storage;
mod volume;
mod workload;

use cambium_schema::Schema;
use serde_json::{Map, Value};

pub use self::create::{initial_status, prepare_for_create, quality_of_service};
use crate::generated::DEFAULTS;
use crate::{Resource, decode};

/// Fills in what was left out.
///
/// The object is brought into the form of its type first, so that a patched object needs no other treatment;
/// what does not fit its type is left as it is.
pub fn default(resource: &Resource, object: &mut Value) {
    // Refusing is for `decode`; here an object that does not fit is only filled in less.
    let _ = decode(resource, object);
    fill_in(resource.schema, object);
}

/// Fills in a value of some type.
fn fill_in(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some((package, name)) = schema.name.rsplit_once('.') {
                published(schema.name, fields);
                let (rest, version) = package.rsplit_once('.').unwrap_or_default();
                let group = rest.rsplit('.').next().unwrap_or_default();
                of_type(group, version, name, fields);
            }
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = schema.field(name) {
                    fill_in(schema, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                items.iter_mut().for_each(|item| fill_in(schema, item));
            }
        }
        _ => {}
    }
}

/// The defaults that the published schema states.
fn published(name: &str, fields: &mut Map<String, Value>) {
    let first = DEFAULTS.partition_point(|(of, _, _)| *of < name);
    for (_, field, text) in DEFAULTS[first..].iter().take_while(|(of, _, _)| *of == name) {
        if fields::is_unset(fields, field)
            && let Ok(value) = serde_json::from_str(text)
        {
            fields.insert((*field).to_owned(), value);
        }
    }
}

/// The defaults that are code upstream, by the Go package and the name of the type.
fn of_type(group: &str, version: &str, name: &str, fields: &mut Map<String, Value>) {
    match group {
        "core" => {
            pod::of_type(name, fields);
            volume::of_type(name, fields);
            workload::of_type(name, fields);
            network::of_core_type(name, fields);
            storage::of_type(name, fields);
            cluster::of_type(name, fields);
        }
        "apps" => workload::of_type(name, fields),
        "batch" => batch::of_type(name, fields),
        "networking" | "discovery" => network::of_type(name, fields),
        "storage" | "scheduling" => storage::of_type(name, fields),
        "autoscaling" => autoscaling::of_type(version, name, fields),
        "rbac" => access::of_type(name, fields),
        "admissionregistration" | "apiextensions" | "apiregistration" => extension::of_type(name, fields),
        "flowcontrol" => flow::of_type(name, fields),
        "resource" => device::of_type(name, fields),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
