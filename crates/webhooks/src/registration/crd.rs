//! Lays a CRD of Cambium over the existing one.

use std::collections::BTreeSet;

use cambium_api::crds::{Committed, with_conversion};
use k8s_openapi::ByteString;
use semver::Version;
use serde_json::{Value, json};

use super::Registration;
use super::plan::{named, put_over};
use crate::certificates::{Fingerprint, bundle_ids};
use crate::names;

/// The CRD that is created.
pub(super) fn wanted(registration: &Registration, crd: &Committed, bundle: &str) -> Value {
    let config = registration.reach.client_config("/convert", bundle);
    let mut crd = json!(with_conversion(crd.read(), config));
    crd["metadata"]["labels"][names::KEPT_BY] = json!(registration.configuration);
    crd["metadata"]["annotations"][names::SCHEMA_VERSION] = json!(env!("CARGO_PKG_VERSION"));
    crd
}

/// The wanted CRD laid over the existing one. Schemas that a newer release wrote are unchanged: during an upgrade, replicas of two releases run at
/// once.
pub(super) fn overlay(wanted: &Value, observed: &Value) -> Value {
    let mut result = observed.clone();
    put_over(&wanted["metadata"]["labels"], &mut result["metadata"]["labels"]);
    let conversion = &wanted["spec"]["conversion"];
    if !conversion.is_null() {
        result["spec"]["conversion"] = conversion.clone();
    }
    if schema_version(observed) > schema_version(wanted) {
        return result;
    }
    put_over(
        &wanted["metadata"]["annotations"],
        &mut result["metadata"]["annotations"],
    );
    put_over(&wanted["spec"]["names"], &mut result["spec"]["names"]);
    result["spec"]["versions"] = versions(&wanted["spec"]["versions"], &observed["spec"]["versions"]);
    result
}

/// Own versions as wanted, in their existing order; then missing ones. Unknown versions are unchanged: a newer release may have added them.
fn versions(wanted: &Value, observed: &Value) -> Value {
    let there = observed.as_array().cloned().unwrap_or_default();
    let mut all: Vec<Value> = there
        .into_iter()
        .map(|mut version| {
            if let Some(ours) = named(wanted, &version["name"]) {
                put_over(ours, &mut version);
            }
            version
        })
        .collect();
    let ours = wanted.as_array().into_iter().flatten();
    all.extend(
        ours.filter(|one| named(observed, &one["name"]).is_none())
            .cloned(),
    );
    Value::Array(all)
}

/// Older than everything, if nobody says.
fn schema_version(crd: &Value) -> Option<Version> {
    crd["metadata"]["annotations"][names::SCHEMA_VERSION]
        .as_str()?
        .parse()
        .ok()
}

/// The certificates that the API server trusts for conversion.
pub(super) fn carried(observed: Option<&Value>) -> BTreeSet<Fingerprint> {
    let bundle = observed.and_then(|crd| crd.pointer("/spec/conversion/webhook/clientConfig/caBundle"));
    bundle.map(ids).unwrap_or_default()
}

/// The certificates in a `caBundle`.
pub(super) fn ids(bundle: &Value) -> BTreeSet<Fingerprint> {
    let bytes: Result<ByteString, _> = serde_json::from_value(bundle.clone());
    bytes.map(|bytes| bundle_ids(&bytes.0)).unwrap_or_default()
}
