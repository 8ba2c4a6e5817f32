//! Templates of bootstrap objects, encoded once per process: each server fills in UIDs and timestamps only.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::object;
use crate::server::Server;
use crate::store::{Draft, Expect, Write};

/// Placeholders that are replaced for each server.
pub(crate) const UID: &str = "00000000-0000-0000-0000-000000000000";
pub(crate) const TIME: &str = "0000-00-00T00:00:00Z";

/// An encoded object with placeholders for UID and timestamps.
pub(crate) struct ObjectTemplate {
    pub(crate) bucket: Arc<str>,
    pub(crate) key: Arc<str>,
    draft: Draft,
    /// The placeholders in the two parts of the draft.
    holes: [Vec<Hole>; 2],
}

/// An offset in a text, and the placeholder there: [`UID`] or [`TIME`].
type Hole = (usize, &'static str);

impl ObjectTemplate {
    /// A template of a defaulted object. `manager` owns its fields; `status_manager`, if any, owns its initial conditions.
    pub(crate) fn with_managed_fields(
        bucket: &str,
        mut object: Value,
        manager: &str,
        status_manager: Option<&str>,
    ) -> Self {
        let mut fields = json!({});
        for part in ["annotations", "labels"] {
            if let Some(value) = object::metadata(&object).get(part) {
                fields["f:metadata"][format!("f:{part}")] = owned(value);
            }
        }
        if let Some(spec) = object.get("spec") {
            fields["f:spec"] = owned(spec);
        }
        let entry = |manager: &str, fields: Value| {
            json!({"apiVersion": object["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
                "manager": manager, "operation": "Update", "time": TIME})
        };
        let mut managers = vec![entry(manager, fields)];
        if let Some(manager) = status_manager {
            let conditions = object::at(&object, "status.conditions").and_then(Value::as_array);
            let mut fields = json!({".": {}});
            for condition in conditions.into_iter().flatten() {
                fields[format!("k:{}", json!({"type": condition["type"]}))] = owned(condition);
            }
            let mut of_status = entry(manager, json!({"f:status": {"f:conditions": fields}}));
            of_status["subresource"] = json!("status");
            managers.insert(0, of_status);
        }
        let key = object::key(object::namespace(&object), object::name(&object));
        let metadata = object::metadata_mut(&mut object);
        metadata.insert("creationTimestamp".to_owned(), json!(TIME));
        metadata.insert("managedFields".to_owned(), Value::Array(managers));
        metadata.insert("uid".to_owned(), json!(UID));
        Self::of(bucket, &key, Draft::new(&object))
    }

    /// A template of a draft that contains [`UID`] and [`TIME`].
    pub(crate) fn of(bucket: &str, key: &str, draft: Draft) -> Self {
        Self {
            bucket: bucket.into(),
            key: key.into(),
            holes: draft.parts().map(holes),
            draft,
        }
    }

    /// The write that creates the object.
    pub(crate) fn write(&self, server: &Server) -> Write {
        let (uid, now) = (server.sources.uid(), object::timestamp(server.sources.now()));
        let [before, after] = self.draft.parts();
        let [in_before, in_after] = &self.holes;
        let draft = self.draft.with_parts(
            &uid,
            filled(before, in_before, &uid, &now),
            filled(after, in_after, &uid, &now),
        );
        Write {
            bucket: self.bucket.clone(),
            key: self.key.clone(),
            expect: Expect::Absent,
            put: Some(draft),
        }
    }

    /// Whether the object exists.
    pub(crate) fn exists(&self, server: &Server) -> bool {
        server.store.bucket(&self.bucket).get(&self.key).is_some()
    }
}

/// The placeholders in a text, in order.
fn holes(text: &[u8]) -> Vec<Hole> {
    let text = std::str::from_utf8(text).expect("drafts are JSON");
    let mut holes: Vec<Hole> = [UID, TIME]
        .into_iter()
        .flat_map(|mark| text.match_indices(mark).map(move |(at, _)| (at, mark)))
        .collect();
    holes.sort_unstable();
    holes
}

fn filled(text: &[u8], holes: &[Hole], uid: &str, time: &str) -> Vec<u8> {
    let mut filled = Vec::with_capacity(text.len());
    let mut done = 0;
    for &(at, mark) in holes {
        filled.extend_from_slice(&text[done..at]);
        filled.extend_from_slice(if mark == UID { uid } else { time }.as_bytes());
        done = at + mark.len();
    }
    filled.extend_from_slice(&text[done..]);
    filled
}

/// The managed fields of a manager that wrote all of this; lists are owned as a whole.
fn owned(value: &Value) -> Value {
    let Value::Object(map) = value else {
        return json!({});
    };
    let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
    fields.extend(
        map.iter()
            .map(|(name, value)| (format!("f:{name}"), owned(value))),
    );
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_fills_in_takes_the_place_of_what_stood_there() {
        let text = format!("{TIME} a {UID}{UID} b {TIME}");
        let found = holes(text.as_bytes());
        let result = filled(text.as_bytes(), &found, "me", "now, and later");
        assert_eq!(result, b"now, and later a meme b now, and later");
        assert_eq!(filled(b"nothing", &holes(b"nothing"), "me", "now"), b"nothing");
    }
}
