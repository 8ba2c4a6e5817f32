//! The metadata of whole objects, which no schema of a CRD specifies.

use serde_json::{Value, json};

/// Why an object cannot be decoded: a field of metadata has the wrong type. Worded as Go words it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) String);

/// Gives an object's own metadata the form that it has after Go has read it into `ObjectMeta` and written it again.
///
/// # Errors
/// The first field of the wrong type.
pub fn decode_metadata(object: &mut Value) -> Result<(), Malformed> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(());
    };
    // Any built-in kind has the metadata of all of them.
    let row = cambium_builtin::find("", "v1", "configmaps").expect("every cluster has config maps");
    let mut bare = json!({"metadata": metadata.take()});
    let decoded = cambium_builtin::decode(row, &mut bare);
    *metadata = bare["metadata"].take();
    decoded.map_err(|why| Malformed(why.replace("ObjectMeta.metadata.", "ObjectMeta.")))
}
