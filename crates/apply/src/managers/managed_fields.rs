//! Decodes and encodes `metadata.managedFields`.

use serde_json::{Map, Value};
use thiserror::Error;

use super::entry::{Entry, ManagerId, Operation};
use super::timestamp::{Timestamp, TimestampError};
use crate::fieldpath::{FieldsError, Set};
use cambium_go_text::quote;

/// The managers of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ManagedFields {
    /// One per manager, operation, subresource and, for updates, version.
    pub entries: Vec<Entry>,
}

/// Invalid `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ManagedFieldsError {
    /// It is not a list of objects, or one of their fields is not a string.
    #[error("managedFields must be a list of entries")]
    NotEntries,
    /// An entry's operation is neither `Apply` nor `Update`.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// An entry has no `apiVersion`.
    #[error("apiVersion must not be empty")]
    NoApiVersion,
    /// An entry has no `fieldsType`.
    #[error("missing fieldsType in managed fields entry {0}")]
    NoFieldsType(usize),
    /// An entry's `fieldsType` is unknown.
    #[error("invalid fieldsType {} in managed fields entry {index}", quote(fields_type))]
    FieldsType {
        /// The `fieldsType`.
        fields_type: String,
        /// The index of the entry.
        index: usize,
    },
    /// An entry's time is invalid.
    #[error(transparent)]
    Time(#[from] TimestampError),
    /// An entry's fields are invalid.
    #[error("error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

impl ManagedFields {
    /// Decodes `metadata.managedFields`.
    pub fn decode(value: &Value) -> Result<Self, ManagedFieldsError> {
        let entries = match value {
            Value::Null => &[][..],
            Value::Array(entries) => entries,
            _ => return Err(ManagedFieldsError::NotEntries),
        };
        let mut out = Self {
            entries: Vec::with_capacity(entries.len()),
        };
        for (index, entry) in entries.iter().enumerate() {
            let entry = decode_entry(entry, index)?;
            out.remove(&entry.id);
            out.entries.push(entry);
        }
        Ok(out)
    }

    /// Decodes the managed fields of an object; empty if it has none.
    pub fn of(object: &Value) -> Result<Self, ManagedFieldsError> {
        match raw(object) {
            Some(value) => Self::decode(value),
            None => Ok(Self::default()),
        }
    }

    /// Encodes `metadata.managedFields`: appliers first, then by time and name.
    pub fn encode(&self) -> Value {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        let seconds = |entry: &Entry| entry.time.map_or(0, Timestamp::seconds);
        entries.sort_by(|left, right| {
            (left.id.operation.cmp(&right.id.operation))
                .then_with(|| seconds(left).cmp(&seconds(right)))
                .then_with(|| left.id.manager.cmp(&right.id.manager))
                .then_with(|| left.api_version.cmp(&right.api_version))
                .then_with(|| left.id.subresource.cmp(&right.id.subresource))
        });
        Value::Array(entries.into_iter().map(encode_entry).collect())
    }

    /// The entry of a manager.
    pub fn get(&self, id: &ManagerId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &ManagerId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.id == *id)
    }

    pub(super) fn remove(&mut self, id: &ManagerId) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.id == *id)?;
        Some(self.entries.remove(index))
    }

    pub(super) fn drop_empty(&mut self) {
        self.entries.retain(|entry| !entry.fields.is_empty());
    }

    /// Sets the managed fields of an object.
    pub(super) fn store(&self, object: &mut Value) {
        let Some(object) = object.as_object_mut() else {
            return;
        };
        if self.entries.is_empty() {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.remove("managedFields");
            }
            return;
        }
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        if metadata.is_null() {
            *metadata = Value::Object(Map::new());
        }
        if let Value::Object(metadata) = metadata {
            metadata.insert("managedFields".to_owned(), self.encode());
        }
    }
}

/// The raw `metadata.managedFields` of an object.
pub(super) fn raw(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields")
}

/// Whether a client resets managed fields: `managedFields: []` or `managedFields: [{}]`.
pub(super) fn is_reset(object: &Value) -> bool {
    match raw(object).and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([Value::Object(only)]) => only.values().all(|value| value.is_null() || *value == ""),
        _ => false,
    }
}

fn decode_entry(entry: &Value, index: usize) -> Result<Entry, ManagedFieldsError> {
    let Value::Object(entry) = entry else {
        return Err(ManagedFieldsError::NotEntries);
    };
    let text = |name: &str| match entry.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(ManagedFieldsError::NotEntries),
    };
    let operation = match text("operation")? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedFieldsError::Operation),
    };
    let api_version = text("apiVersion")?;
    if api_version.is_empty() {
        return Err(ManagedFieldsError::NoApiVersion);
    }
    match text("fieldsType")? {
        "FieldsV1" => {}
        "" => return Err(ManagedFieldsError::NoFieldsType(index)),
        other => {
            return Err(ManagedFieldsError::FieldsType {
                fields_type: other.to_owned(),
                index,
            });
        }
    }
    let time = match text("time")? {
        "" => None,
        time => Some(Timestamp::parse(time)?),
    };
    let id = match operation {
        Operation::Apply => ManagerId::applier(text("manager")?, text("subresource")?),
        Operation::Update => ManagerId::updater(text("manager")?, api_version, text("subresource")?),
    };
    let fields = Set::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
    Ok(Entry {
        id,
        api_version: api_version.to_owned(),
        time,
        fields,
    })
}

fn encode_entry(entry: &Entry) -> Value {
    let mut out = Map::new();
    let mut text = |name: &str, value: &str| {
        if !value.is_empty() {
            out.insert(name.to_owned(), Value::from(value));
        }
    };
    text("manager", &entry.id.manager);
    text("operation", entry.id.operation.as_str());
    text("apiVersion", &entry.api_version);
    if let Some(time) = entry.time {
        text("time", &time.to_string());
    }
    text("fieldsType", "FieldsV1");
    text("subresource", &entry.id.subresource);
    out.insert("fieldsV1".to_owned(), entry.fields.to_fields_v1());
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, time: &str, subresource: &str) -> Value {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}});
        if !time.is_empty() {
            entry["time"] = json!(time);
        }
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    #[test]
    fn entries_are_sorted_by_operation_time_manager_version_subresource() {
        let sorted = json!([
            entry("z", "Apply", "v1", "", ""),
            entry("a", "Apply", "v1", "2024-01-01T00:00:00Z", ""),
            entry("a", "Update", "v1", "2023-01-01T00:00:00Z", ""),
            entry("b", "Update", "v1", "2023-01-01T00:00:00Z", ""),
            entry("b", "Update", "v2", "2023-01-01T00:00:00Z", ""),
            entry("b", "Update", "v2", "2023-01-01T00:00:00Z", "status"),
            entry("a", "Update", "v1", "2024-01-01T00:00:00Z", "scale"),
        ]);
        let mut shuffled = sorted.as_array().unwrap().clone();
        shuffled.reverse();
        assert_eq!(
            ManagedFields::decode(&Value::Array(shuffled)).unwrap().encode(),
            sorted
        );
    }

    #[test]
    fn the_last_of_two_equal_entries_counts() {
        let mut second = entry("a", "Apply", "v2", "", "");
        second["fieldsV1"] = json!({"f:b": {}});
        let decoded = ManagedFields::decode(&json!([entry("a", "Apply", "v1", "", ""), second])).unwrap();
        assert_eq!(decoded.encode(), json!([second]));
    }

    #[test]
    fn bad_entries_are_refused() {
        let with = |name: &str, value: Value| {
            let mut entry = entry("a", "Update", "v1", "", "");
            entry[name] = value;
            json!([entry])
        };
        for (value, message) in [
            (json!({}), "managedFields must be a list of entries"),
            (json!([1]), "managedFields must be a list of entries"),
            (json!([{}]), "operation must be `Apply` or `Update`"),
            (
                with("manager", json!(1)),
                "managedFields must be a list of entries",
            ),
            (
                with("operation", json!("Patch")),
                "operation must be `Apply` or `Update`",
            ),
            (with("apiVersion", json!("")), "apiVersion must not be empty"),
            (
                with("fieldsType", json!(null)),
                "missing fieldsType in managed fields entry 0",
            ),
            (
                with("fieldsType", json!("FieldsV2")),
                "invalid fieldsType \"FieldsV2\" in managed fields entry 0",
            ),
            (
                with("time", json!("noon")),
                "parsing time \"noon\": expected RFC 3339, like 2006-01-02T15:04:05Z",
            ),
            (
                with("fieldsV1", json!({"x": {}})),
                "error decoding set: key must be 2 characters long: \"x\"",
            ),
        ] {
            assert_eq!(ManagedFields::decode(&value).unwrap_err().to_string(), message);
        }
        assert!(ManagedFields::decode(&with("fieldsV1", json!(null))).is_ok());
    }

    #[test]
    fn reset_is_an_empty_list_or_one_empty_entry() {
        for (managed, expected) in [
            (json!([]), true),
            (json!([{}]), true),
            (json!([{"manager": "", "time": null}]), true),
            (json!(null), false),
            (json!([{"manager": "a"}]), false),
            (json!([{}, {}]), false),
        ] {
            assert_eq!(
                is_reset(&json!({"metadata": {"managedFields": managed}})),
                expected,
                "{managed}"
            );
        }
        assert!(!is_reset(&json!({})));
    }
}
