//! Converts objects between the storage version and the version of a request.

use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::registry::{Origin, Served};
use crate::server::Server;
use crate::status::Result;
use crate::store::{Draft, Entry};

/// A stored object, converted to the resource's version.
pub(crate) async fn read(server: &Server, resource: &Served, entry: &Arc<Entry>) -> Result<Value> {
    let mut values = read_many(server, resource, std::slice::from_ref(entry)).await?;
    Ok(values.pop().unwrap_or_default())
}

/// Stored objects, converted to the resource's version in one ConversionReview.
pub(crate) async fn read_many(
    server: &Server,
    resource: &Served,
    entries: &[Arc<Entry>],
) -> Result<Vec<Value>> {
    let mut values: Vec<Value> = entries.iter().map(|entry| entry.value()).collect();
    match &resource.origin {
        Origin::Builtin(row) => {
            values = values
                .into_iter()
                .map(|value| cambium_builtin::convert::from_stored(row, value))
                .collect();
        }
        Origin::Custom(definition, _) => {
            // Objects written before the last change of the schema are pruned and defaulted at the version they are stored at,
            // before conversion.
            for (value, entry) in values.iter_mut().zip(entries) {
                if !resource.is_sent_as_stored(entry) {
                    definition.normalise_stored(value);
                }
            }
            values = definition.convert(server, values, &resource.version).await?;
        }
    }
    Ok(values)
}

/// An object at the storage version, ready to be written.
pub(crate) struct Settled {
    pub(crate) draft: Draft,
    /// The stored object, converted back to the resource's version: the response to the write.
    pub(crate) value: Value,
}

/// Converts an object to the storage version and back. The schema of the storage version prunes and defaults last, so
/// unknown fields are dropped and defaults are visible at every version.
pub(crate) async fn settle(server: &Server, resource: &Served, object: Value) -> Result<Settled> {
    if resource.stored_as == resource.api_version {
        return Ok(Settled {
            draft: draft(&object)?,
            value: object,
        });
    }
    match &resource.origin {
        Origin::Builtin(row) => {
            let stored = cambium_builtin::convert::to_stored(row, object.clone());
            Ok(Settled {
                draft: draft(&stored)?,
                value: object,
            })
        }
        Origin::Custom(definition, _) => {
            let storage = definition.storage_version().to_owned();
            let mut values = definition.convert(server, vec![object], &storage).await?;
            let mut stored = values.pop().unwrap_or_default();
            definition.normalise_stored(&mut stored);
            let draft = draft(&stored)?;
            // The response shows what was stored, so it is converted back.
            let mut values = definition
                .convert(server, vec![stored], &resource.version)
                .await?;
            Ok(Settled {
                draft,
                value: values.pop().unwrap_or_default(),
            })
        }
    }
}

fn draft(stored: &Value) -> Result<Draft> {
    match object::is_nested_deeper(stored, object::DEEPEST) {
        true => Err(object::too_deep()),
        false => Ok(Draft::new(stored)),
    }
}

/// Converts an object from one of the resource's versions to another; no pruning, no defaulting.
pub(crate) async fn between(server: &Server, resource: &Served, object: Value, to: &str) -> Result<Value> {
    let (group, version) = to.rsplit_once('/').unwrap_or(("", to));
    match &resource.origin {
        Origin::Builtin(row) => {
            let from = object
                .get("apiVersion")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let (from_group, from_version) = from.rsplit_once('/').unwrap_or(("", from));
            let from = cambium_builtin::find(from_group, from_version, row.plural);
            let to = cambium_builtin::find(group, version, row.plural);
            let (Some(from), Some(to)) = (from, to) else {
                return Ok(object);
            };
            let stored = cambium_builtin::convert::to_stored(from, object);
            Ok(cambium_builtin::convert::from_stored(to, stored))
        }
        Origin::Custom(definition, _) => {
            let mut values = definition.convert(server, vec![object], version).await?;
            Ok(values.pop().unwrap_or_default())
        }
    }
}
