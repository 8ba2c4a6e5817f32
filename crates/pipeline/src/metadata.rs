//! Decodes object metadata, which CRD schemas do not specify.

use serde_json::{Value, json};

/// A metadata field has the wrong type, with Go's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) String);

/// Decodes an object's metadata as a round trip through Go's `ObjectMeta` would.
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
