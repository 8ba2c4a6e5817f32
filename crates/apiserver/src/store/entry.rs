//! A stored object: its encoded JSON, and the metadata that lists and watches need without decoding.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// An object at one revision. Immutable.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// `namespace/name`, or `name` for cluster-scoped objects.
    pub key: Arc<str>,
    /// The revision that wrote it.
    pub revision: u64,
    /// The whole object, `metadata.resourceVersion` included.
    pub json: Bytes,
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// The `apiVersion` it is stored at.
    pub api_version: Arc<str>,
    /// `metadata.labels`, sorted.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// Whether it has a `metadata.deletionTimestamp`.
    pub deleting: bool,
    /// The range of the revision's digits in `json`.
    revision_at: (u32, u32),
}

/// An encoded object without a revision, which the engine assigns.
#[derive(Debug, Clone)]
pub struct Draft {
    before: Vec<u8>,
    after: Vec<u8>,
    uid: Box<str>,
    api_version: Arc<str>,
    labels: Box<[(Box<str>, Box<str>)]>,
    deleting: bool,
}

impl Draft {
    /// Encodes an object, with a gap for its revision.
    pub fn new(object: &Value) -> Self {
        let mut before = Vec::with_capacity(512);
        let metadata = object.get("metadata").and_then(Value::as_object);
        before.extend_from_slice(b"{\"apiVersion\":");
        encode(&mut before, object.get("apiVersion").unwrap_or(&Value::Null));
        before.extend_from_slice(b",\"kind\":");
        encode(&mut before, object.get("kind").unwrap_or(&Value::Null));
        before.extend_from_slice(b",\"metadata\":{");
        for (name, value) in metadata
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "resourceVersion")
        {
            encode(&mut before, &Value::String(name.clone()));
            before.push(b':');
            encode(&mut before, value);
            before.push(b',');
        }
        before.extend_from_slice(b"\"resourceVersion\":\"");

        let mut after = b"\"}".to_vec();
        let rest = object.as_object().into_iter().flatten();
        for (name, value) in
            rest.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
        {
            after.push(b',');
            encode(&mut after, &Value::String(name.clone()));
            after.push(b':');
            encode(&mut after, value);
        }
        after.push(b'}');

        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let labels = metadata
            .and_then(|metadata| metadata.get("labels"))
            .and_then(Value::as_object);
        let mut labels: Vec<(Box<str>, Box<str>)> = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str().into(), value.as_str().unwrap_or_default().into()))
            .collect();
        labels.sort();
        Self {
            before,
            after,
            uid: text(metadata.and_then(|metadata| metadata.get("uid"))).into(),
            api_version: text(object.get("apiVersion")).into(),
            labels: labels.into(),
            deleting: metadata.is_some_and(|metadata| metadata.contains_key("deletionTimestamp")),
        }
    }

    /// A draft of JSON with an empty `metadata.resourceVersion`; `None` when it is not such an object.
    pub(crate) fn from_json(json: &str) -> Option<Self> {
        let head = Head::read(json.as_bytes())?;
        let revision = head.metadata.resource_version;
        if !revision.is_empty() {
            return None;
        }
        let (before, after) = json.as_bytes().split_at(offset(json.as_bytes(), revision));
        Some(Self {
            before: before.to_vec(),
            after: after.to_vec(),
            uid: head.metadata.uid,
            api_version: head.api_version.into(),
            labels: head.metadata.labels.into_iter().collect(),
            deleting: head.metadata.deletion_timestamp.is_some(),
        })
    }

    /// The text before and after the revision.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [&self.before, &self.after]
    }

    /// The same object with another UID and text.
    pub(crate) fn with_parts(&self, uid: &str, before: Vec<u8>, after: Vec<u8>) -> Self {
        Self {
            before,
            after,
            uid: uid.into(),
            api_version: self.api_version.clone(),
            labels: self.labels.clone(),
            deleting: self.deleting,
        }
    }

    /// The size of the stored object, without the revision's digits.
    pub fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Always false: even an empty object has braces.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has a `metadata.deletionTimestamp`.
    pub(crate) fn is_deleting(&self) -> bool {
        self.deleting
    }

    pub(crate) fn seal(self, key: Arc<str>, revision: u64) -> Entry {
        let digits = revision.to_string();
        let start = self.before.len();
        let mut json = self.before;
        json.reserve_exact(digits.len() + self.after.len());
        json.extend_from_slice(digits.as_bytes());
        json.extend_from_slice(&self.after);
        Entry {
            key,
            revision,
            json: json.into(),
            uid: self.uid,
            api_version: self.api_version,
            labels: self.labels,
            deleting: self.deleting,
            revision_at: span(start, digits.len()),
        }
    }
}

impl Entry {
    /// The object as a tree.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json)
            .expect("stored objects were encoded by this store and checked at load")
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        let index = self
            .labels
            .binary_search_by(|(candidate, _)| (**candidate).cmp(key))
            .ok()?;
        Some(&self.labels[index].1)
    }

    /// The namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(_, name)| name)
    }

    /// The same object with a later revision, for DELETED events.
    pub(crate) fn at(&self, revision: u64) -> Self {
        let (start, length) = (self.revision_at.0 as usize, self.revision_at.1 as usize);
        let digits = revision.to_string();
        let mut json = Vec::with_capacity(self.json.len() + digits.len());
        json.extend_from_slice(&self.json[..start]);
        json.extend_from_slice(digits.as_bytes());
        json.extend_from_slice(&self.json[start + length..]);
        Self {
            key: self.key.clone(),
            revision,
            json: json.into(),
            uid: self.uid.clone(),
            api_version: self.api_version.clone(),
            labels: self.labels.clone(),
            deleting: self.deleting,
            revision_at: span(start, digits.len()),
        }
    }

    /// Reads an object from disk; `None` when it is not one that this store wrote.
    pub(crate) fn load(key: Arc<str>, json: Bytes) -> Option<Self> {
        let head = Head::read(&json)?;
        let digits = head.metadata.resource_version;
        Some(Self {
            revision: digits.parse().ok()?,
            revision_at: span(offset(&json, digits), digits.len()),
            uid: head.metadata.uid,
            api_version: head.api_version.into(),
            labels: head.metadata.labels.into_iter().collect(),
            deleting: head.metadata.deletion_timestamp.is_some(),
            key,
            json: json.clone(),
        })
    }
}

/// The metadata that is parsed without decoding the whole object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    api_version: &'a str,
    #[serde(borrow)]
    metadata: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    resource_version: &'a str,
    #[serde(default)]
    uid: Box<str>,
    deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    labels: std::collections::BTreeMap<Box<str>, Box<str>>,
}

impl<'a> Head<'a> {
    fn read(json: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }
}

/// The offset of a part of `json`.
fn offset(json: &[u8], part: &str) -> usize {
    part.as_ptr() as usize - json.as_ptr() as usize
}

fn span(start: usize, length: usize) -> (u32, u32) {
    let narrow = |number: usize| u32::try_from(number).expect("objects are limited to a few megabytes");
    (narrow(start), narrow(length))
}

fn encode(into: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(into, value).expect("a JSON tree always encodes into memory");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_holds_the_object_with_its_revision() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1", "labels": {"b": "2", "a": "1"}}});
        let entry = Draft::new(&object).seal("n/x".into(), 42);
        let mut expected = object;
        expected["metadata"]["resourceVersion"] = json!("42");
        assert_eq!(entry.value(), expected);
        assert_eq!((entry.label("a"), entry.label("c")), (Some("1"), None));
        assert!(!entry.deleting);
        assert_eq!((entry.namespace(), entry.name()), ("n", "x"));

        let later = entry.at(1234);
        expected["metadata"]["resourceVersion"] = json!("1234");
        assert_eq!(later.value(), expected);
        assert_eq!(Entry::load("n/x".into(), later.json.clone()), Some(later));
    }

    #[test]
    fn an_object_that_is_going_away_is_known_as_such() {
        let text = r#"{"apiVersion":"v1","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","resourceVersion":""}}"#;
        let entry = Draft::from_json(text).unwrap().seal("x".into(), 5);
        assert!(entry.deleting);
        assert!(Draft::new(&entry.value()).seal("x".into(), 5).deleting);
        assert!(Entry::load("x".into(), entry.json.clone()).unwrap().deleting);
        assert!(Draft::from_json(r#"{"apiVersion":"v1","metadata":{"resourceVersion":"5"}}"#).is_none());
    }

    #[test]
    fn what_this_store_did_not_write_is_not_loaded() {
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"apiVersion":"v1","metadata":{}}"#,
            r#"{"apiVersion":"v1","metadata":{"resourceVersion":"x"}}"#,
        ] {
            assert_eq!(
                Entry::load("x".into(), Bytes::from_static(bad.as_bytes())),
                None,
                "{bad}"
            );
        }
    }
}
