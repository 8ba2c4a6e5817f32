//! Printer cells of built-in kinds, as upstream prints them.
//!
//! A printer tolerates missing fields: they print as those of a new object.

pub(crate) mod access;
pub(crate) mod autoscaler;
pub(crate) mod batch;
pub(crate) mod cluster;
pub(crate) mod configuration;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod extension;
pub(crate) mod flow;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod storage;
pub(crate) mod workload;

mod age;
mod read;
mod selector;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::age::age;
pub use self::age::human_duration;

/// Computes the cells of a row from an object and the current time.
pub(crate) type Cells = fn(object: &Value, now: Timestamp) -> Vec<Value>;

/// Name and creation time, for kinds without printer columns.
pub(crate) fn name_created_at(object: &Value, _now: Timestamp) -> Vec<Value> {
    let created = read::text(&object["metadata"]["creationTimestamp"]);
    vec![read::name(object), json!(created)]
}

/// Name and age.
pub(crate) fn name_age(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![read::name(object), age(object, now)]
}

#[cfg(test)]
mod tests;
