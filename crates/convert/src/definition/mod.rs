//! Conversion of definitions between v1beta1 (one spec) and v2beta1 (`spec.versions`).
//!
//! - *Down*: the spec of the highest version; the others, and where it stood among them, go into the annotation.
//! - *Up* from an object that has that annotation: the spec takes its place again, whatever it says now.
//! - *Up* from an object written at v1beta1: one version. Its name is `spec.version`, as it is written there; an object without one
//!   gets [`LEGACY_VERSION`]. The annotation says that it was so, and *down* undoes it.
//!
//! The spec itself is never in the annotation. That is why an edit made through either version cannot be undone by what was carried.

mod annotation;
mod carrier;
mod down;
mod highest;
mod marker;
mod origin;
mod size;
mod up;

use cambium_api::v1beta1::DefinitionType;
use cambium_api::{GROUP, v1beta1, v2beta1};
use serde_json::Value;

use crate::registry::check_versions;
use crate::{ConvertError, Converter, Registry};

pub use highest::highest;
pub use origin::{WrittenAt, edited_elsewhere, written_at};
pub use size::{ANNOTATIONS_LIMIT, check_size};

/// The version that v2beta1 shows of an object that has none. It is a pre-release, so that no reference selects it by accident.
pub const LEGACY_VERSION: &str = "0.0.0-legacy";

const API_VERSIONS: [&str; 2] = [v1beta1::API_VERSION, v2beta1::API_VERSION];

/// Registers the converter of every kind of definition.
pub(crate) fn register(registry: &mut Registry) {
    for kind in DefinitionType::ALL {
        registry.register(GROUP, kind.kind(), Converter::new(API_VERSIONS, convert));
    }
}

/// The object at another API version. At the one that it has already, it is unchanged.
pub fn convert(object: Value, desired: &str) -> Result<Value, ConvertError> {
    let Value::Object(mut object) = object else {
        return Err(ConvertError::NotAnObject);
    };
    let text = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (kind, found) = (text("kind"), text("apiVersion"));
    if DefinitionType::of_kind(&kind).is_none() {
        return Err(ConvertError::UnknownKind { kind });
    }
    check_versions(&found, desired, &API_VERSIONS)?;
    annotation::check(&object)?;
    if found != desired {
        if desired == v2beta1::API_VERSION {
            up::up(&mut object);
        } else {
            down::down(&mut object);
            size::check(&object)?;
        }
        object.insert("apiVersion".to_owned(), Value::String(desired.to_owned()));
    }
    Ok(Value::Object(object))
}
