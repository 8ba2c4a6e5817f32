//! Converts a definition from v1beta1 to v2beta1.

use serde_json::{Map, Value, json};

use super::carrier::Carrier;
use super::marker::Marker;
use super::{LEGACY_VERSION, annotation};

/// Makes the object what v2beta1 shows of it.
pub(super) fn up(object: &mut Map<String, Value>) {
    let written = annotation::get(object).map(str::to_owned);
    let carrier = written.as_deref().and_then(Carrier::read);
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        // A part of an object: nothing to put together, and the annotation belongs to the part that is missing.
        annotation::object_at(object, "metadata");
        return;
    };
    let mut spec = std::mem::take(spec);
    match carrier {
        Some(mut carrier) => {
            let text = carrier.annotation.take();
            object.insert("spec".to_owned(), Value::Object(together(spec, carrier)));
            annotation::set(object, text);
            if Marker::of(object).is_some() {
                // Going down would not have carried a marker; this one was forged.
                annotation::set(object, None);
            }
        }
        None => {
            let legacy = !spec.contains_key("version");
            if legacy {
                spec.insert("version".to_owned(), json!(LEGACY_VERSION));
            }
            object.insert("spec".to_owned(), json!({"versions": [spec]}));
            annotation::set(
                object,
                Some(
                    Marker {
                        legacy,
                        annotation: written,
                    }
                    .write(),
                ),
            );
        }
    }
}

/// All versions, the spec at its place among them.
fn together(body: Map<String, Value>, carrier: Carrier) -> Map<String, Value> {
    let edited = !carrier.belongs_to(&body);
    let Carrier {
        at,
        mut versions,
        mut spec,
        ..
    } = carrier;
    match at {
        Some(at) => {
            versions.insert(at.min(versions.len()), Value::Object(body));
            spec.insert("versions".to_owned(), Value::Array(versions));
        }
        // There was no version to take a spec from; if there is a spec now, somebody wrote it.
        None if edited => match spec.get_mut("versions") {
            Some(Value::Array(versions)) => versions.push(Value::Object(body)),
            _ => {
                spec.insert("versions".to_owned(), json!([body]));
            }
        },
        None => {}
    }
    spec
}
