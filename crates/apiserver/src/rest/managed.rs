//! Managed fields: who owns what, kept up to date by every write.

use serde_json::Value;

use super::Call;
use crate::object;
use crate::status::Result;

/// How a new state came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By a plain write: ownership follows from what changed.
    Update,
    /// By server-side apply, which has settled ownership already.
    Apply,
}

/// Records a plain write.
pub(super) async fn record(_call: &Call, _old: Option<&Value>, _new: &mut Value) -> Result<()> {
    Ok(())
}

/// Records what admission changed.
pub(super) async fn record_admission(_call: &Call, _before: &Value, _new: &mut Value) -> Result<()> {
    Ok(())
}

/// Whether two states differ in nothing but the times in their managed fields.
pub(super) fn same_but_for_times(new: &Value, old: &Value) -> bool {
    if new == old {
        return true;
    }
    without_times(new) == without_times(old)
}

fn without_times(object: &Value) -> Value {
    let mut copy = object.clone();
    if let Some(entries) = object::metadata_mut(&mut copy).get_mut("managedFields").and_then(Value::as_array_mut) {
        for entry in entries {
            if let Some(map) = entry.as_object_mut() {
                map.remove("time");
            }
        }
    }
    copy
}

/// Applies a configuration.
pub(super) async fn apply(_call: &Call, _old: Option<&Value>, config: &Value) -> Result<Value> {
    Ok(config.clone())
}

/// Applies a strategic merge patch.
pub(super) fn strategic(_call: &Call, old: &Value, patch: &Value) -> Result<Value> {
    let mut new = old.clone();
    json_patch::merge(&mut new, patch);
    Ok(new)
}
