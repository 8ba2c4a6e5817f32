//! Converts a definition from v2beta1 to v1beta1.

use serde_json::{Map, Value};

use super::carrier::Carrier;
use super::marker::Marker;
use super::{LEGACY_VERSION, annotation, highest};
use crate::canonical::digest;

/// Makes the object what v1beta1 shows of it.
pub(super) fn down(object: &mut Map<String, Value>) {
    let marker = Marker::of(object);
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        // A part of an object: nothing to take apart, and the annotation belongs to the part that is missing.
        annotation::object_at(object, "metadata");
        return;
    };
    let spec = std::mem::take(spec);
    let (spec, text) = match marker {
        Some(marker) => (as_it_was_written(spec, &marker), marker.annotation),
        None => {
            let (spec, carrier) = apart(spec, annotation::get(object));
            (spec, Some(carrier.write()))
        }
    };
    object.insert("spec".to_owned(), Value::Object(spec));
    annotation::set(object, text);
}

/// The one version of an object that was written at v1beta1.
fn as_it_was_written(mut spec: Map<String, Value>, marker: &Marker) -> Map<String, Value> {
    let only = match spec.remove("versions") {
        Some(Value::Array(mut versions)) => versions.pop(),
        _ => None,
    };
    let Some(Value::Object(mut entry)) = only else {
        return Map::new();
    };
    if marker.legacy
        && entry
            .get("version")
            .is_some_and(|version| version == LEGACY_VERSION)
    {
        entry.remove("version");
    }
    entry
}

/// The highest version, and all the rest.
fn apart(mut spec: Map<String, Value>, shadowed: Option<&str>) -> (Map<String, Value>, Carrier) {
    let mut carrier = Carrier {
        annotation: shadowed.map(str::to_owned),
        ..Carrier::default()
    };
    let mut body = Map::new();
    if let Some(Value::Array(versions)) = spec.get_mut("versions")
        && let Some(at) = highest(versions)
        && let Value::Object(entry) = versions.remove(at)
    {
        body = entry;
        carrier.at = Some(at);
        carrier.versions = std::mem::take(versions);
        spec.remove("versions");
    }
    carrier.spec = spec;
    carrier.digest = digest(&body);
    (body, carrier)
}
