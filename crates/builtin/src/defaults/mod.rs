//! Defaulting of built-in kinds.
//!
//! Defaults belong to types, not to kinds: a pod template has the same ones everywhere. One walk along the schema visits
//! every value of a named type, parents before children, and sets its defaults.
//!
//! ```text
//! pod, volume          pods and their templates
//! workload, batch      workload kinds
//! network              services, endpoints, ingresses, policies
//! storage, cluster     claims, classes, namespaces, limits
//! autoscaling          HorizontalPodAutoscalers
//! access, extension    RBAC, webhooks, custom resource definitions
//! flow                 priority and fairness
//! device               device requests
//! create               values set on creation only
//! fields               helpers for writing defaults
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

/// Sets the defaults of an object.
///
/// The object is decoded first, so that patched objects are canonical, too; values of the wrong type are left as they
/// are.
pub fn default(resource: &Resource, object: &mut Value) {
    // Refusing is for `decode`; here an object that does not fit is only filled in less.
    let _ = decode(resource, object);
    fill_in(resource.schema, object);
}

/// Sets the defaults of a value.
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

/// Sets the defaults of the OpenAPI schema.
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

/// Sets the defaults that are code upstream, by Go package and type name.
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
