//! Migration from client-side apply to server-side apply, for `kubectl` only.

use serde_json::{Map, Value};

use super::apply_config::{Apply, ConfigError};
use super::conflicts::Conflicts;
use super::managed_fields::ManagedFields;
use super::ownership::{Force, OwnershipError};
use crate::fieldpath::Set;
use crate::typed::{self, Duplicates};

/// The annotation with the last configuration of client-side apply.
pub const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Size limit of an object's annotations.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// Applies, ignoring conflicts on fields that the annotation shows to be `kubectl`'s own.
pub(super) fn apply_over_last_applied(
    apply: Apply<'_>,
    managers: ManagedFields,
    force: Force,
) -> Result<(Value, ManagedFields), ConfigError> {
    if apply.manager.manager != "kubectl" || force == Force::Yes {
        return apply.run(managers, force);
    }
    let conflicts = match apply.run(managers.clone(), force) {
        Err(ConfigError::Ownership(OwnershipError::Conflicts(conflicts))) => conflicts,
        other => return other,
    };
    let Some(allowed) = fields_still_as_applied(&apply) else {
        return Err(OwnershipError::Conflicts(conflicts).into());
    };
    if conflicts.fields().difference(&allowed).is_empty() {
        return apply.run(managers, Force::Yes);
    }
    let left = conflicts
        .0
        .into_iter()
        .filter(|conflict| !allowed.contains(conflict.path.elements()));
    Err(OwnershipError::Conflicts(Conflicts(left.collect())).into())
}

/// The fields of the annotation that are unchanged since.
fn fields_still_as_applied(apply: &Apply<'_>) -> Option<Set> {
    let ty = apply.object_type().ok()?;
    let annotation = annotation(apply.live)?;
    let applied: Value = serde_json::from_str(annotation).ok()?;
    if applied.get("apiVersion")?.as_str()? != apply.api_version {
        return None;
    }
    typed::validate(ty, apply.live, Duplicates::Refused).ok()?;
    typed::validate(ty, &applied, Duplicates::Refused).ok()?;
    let since = typed::compare(ty, &applied, apply.live).ok()?;
    let fields = typed::to_field_set(ty, &applied);
    Some(
        fields
            .difference(&since.modified)
            .difference(&since.added)
            .difference(&since.removed),
    )
}

fn annotation(object: &Value) -> Option<&str> {
    let text = object
        .get("metadata")?
        .get("annotations")?
        .get(LAST_APPLIED_ANNOTATION)?
        .as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Updates the annotation after a server-side apply, so that `kubectl` can return to client-side apply.
pub(super) fn refresh_annotation(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let Some(annotations) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(
        LAST_APPLIED_ANNOTATION.to_owned(),
        Value::String(remembered(config)),
    );
    if size(annotations) > MAX_ANNOTATIONS_BYTES {
        annotations.remove(LAST_APPLIED_ANNOTATION);
    }
}

/// The configuration as one line of JSON, without the annotation itself.
fn remembered(config: &Value) -> String {
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
    {
        annotations.remove(LAST_APPLIED_ANNOTATION);
    }
    let mut text = cambium_go_text::json(&config);
    text.push('\n');
    text
}

fn size(annotations: &Map<String, Value>) -> usize {
    annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum()
}
