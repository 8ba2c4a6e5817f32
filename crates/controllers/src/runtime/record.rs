//! An object as compact JSON text, as caches hold it.
//!
//! A tree of JSON values takes several times the memory of its text. What is kept is the text, without the
//! parts that no controller reads (who manages which field, what kubectl last applied), and trees and structs
//! are made of it for as long as somebody looks at them.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject};
use kube::core::DynamicResourceScope;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::{Map, Value};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How every record's text begins, so that its metadata can be read without the rest.
const OPENING: &[u8] = b"{\"metadata\":{";

/// Names an object among those of its resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Empty for objects that are in no namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

impl Key {
    /// The key of an object in a namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of an object that is in no namespace.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self::new("", name)
    }

    /// The key of the object with this metadata.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self::new(
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        )
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => formatter.write_str(&self.name),
            namespace => write!(formatter, "{namespace}/{}", self.name),
        }
    }
}

/// An object as a server sends it, decoded once and no further than to a tree.
#[derive(Debug, Clone)]
pub struct Object {
    /// Name, namespace and resource version, for whoever watches; the tree has the rest.
    metadata: ObjectMeta,
    tree: Map<String, Value>,
}

impl Object {
    /// Which object it is.
    pub fn key(&self) -> Key {
        Key::of(&self.metadata)
    }

    /// The object's unique identifier.
    pub fn uid(&self) -> Option<&str> {
        self.tree.get("metadata")?.get("uid")?.as_str()
    }
}

impl From<Map<String, Value>> for Object {
    fn from(tree: Map<String, Value>) -> Self {
        let text = |field: &str| Some(tree.get("metadata")?.get(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Self { metadata, tree }
    }
}

impl From<DynamicObject> for Object {
    fn from(object: DynamicObject) -> Self {
        match serde_json::to_value(object) {
            Ok(Value::Object(tree)) => tree.into(),
            _ => Map::new().into(),
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

impl kube::Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// One object as it was at one resource version.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    uid: Box<str>,
    version: u64,
    generation: i64,
    terminating: bool,
    /// The object as JSON, metadata first, without its resource version: two records with the same bytes
    /// have the same content.
    bytes: Box<[u8]>,
}

impl Record {
    /// The record of an object that a server answered. Objects of lists may lack their type: `resource` has it.
    pub fn new(object: Object, resource: &ApiResource) -> Self {
        let mut rest = object.tree;
        let mut metadata = match rest.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        for (field, known) in [("apiVersion", &resource.api_version), ("kind", &resource.kind)] {
            rest.entry(field).or_insert_with(|| Value::String(known.clone()));
        }
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        let version = object.metadata.resource_version.unwrap_or_default();
        Self {
            uid: text("uid").into(),
            version: version.parse().unwrap_or(0),
            generation: metadata.get("generation").and_then(Value::as_i64).unwrap_or(0),
            terminating: !text("deletionTimestamp").is_empty(),
            bytes: encode(&metadata, &rest).into(),
        }
    }

    /// The object's unique identifier.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The object's resource version, which servers count upwards; 0 if it is not a number.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// `metadata.generation`: how often what is wanted has changed; 0 if the server does not count.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether the object is being deleted: `metadata.deletionTimestamp` is set.
    pub fn terminating(&self) -> bool {
        self.terminating
    }

    /// Whether both have the same content, whatever their resource versions and managed fields.
    pub fn same_content(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }

    /// How many bytes the content takes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The object as a tree.
    pub fn value(&self) -> Value {
        self.read()
            .expect("what was encoded from a tree decodes to a tree")
    }

    /// The object as a type of somebody's own.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.text())
    }

    /// The object's metadata; the rest is not even looked at.
    pub fn metadata(&self) -> ObjectMeta {
        let metadata = &self.bytes[OPENING.len() - 1..];
        let mut read = serde_json::Deserializer::from_slice(metadata).into_iter::<ObjectMeta>();
        let mut metadata = read.next().and_then(Result::ok).unwrap_or_default();
        metadata.resource_version = Some(self.version.to_string());
        metadata
    }

    /// The object as JSON text, with its resource version.
    fn text(&self) -> Vec<u8> {
        let version = format!("\"resourceVersion\":\"{}\"", self.version);
        let rest = &self.bytes[OPENING.len()..];
        let mut text = Vec::with_capacity(OPENING.len() + version.len() + 1 + rest.len());
        text.extend_from_slice(OPENING);
        text.extend_from_slice(version.as_bytes());
        if rest.first() != Some(&b'}') {
            text.push(b',');
        }
        text.extend_from_slice(rest);
        text
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Record({})", String::from_utf8_lossy(&self.text()))
    }
}

fn encode(metadata: &Map<String, Value>, rest: &Map<String, Value>) -> Vec<u8> {
    let encoded = "trees have only text as keys";
    let mut text = br#"{"metadata":"#.to_vec();
    serde_json::to_writer(&mut text, metadata).expect(encoded);
    text.push(b',');
    let rest = serde_json::to_vec(rest).expect(encoded);
    text.extend_from_slice(&rest[1..]);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource() -> ApiResource {
        ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&())
    }

    fn object(value: Value) -> Object {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn gives_back_what_it_was_made_of_but_for_bookkeeping() {
        let record = Record::new(
            object(json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "12", "generation": 3,
                    "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"l": "1"},
                    "annotations": {"keep": "me", LAST_APPLIED: "{}"},
                    "managedFields": [{"manager": "m", "operation": "Apply"}],
                },
                "data": {"x": "ü"}, "unknown": [1, null, {"": 1.5}],
            })),
            &resource(),
        );
        assert_eq!(
            (
                record.uid(),
                record.version(),
                record.generation(),
                record.terminating()
            ),
            ("u", 12, 3, true)
        );
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "12", "generation": 3,
                "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"l": "1"},
                "annotations": {"keep": "me"},
            },
            "data": {"x": "ü"}, "unknown": [1, null, {"": 1.5}],
        });
        assert_eq!(record.value(), expected);
        assert_eq!(
            serde_json::to_value(record.metadata()).expect("a tree"),
            expected["metadata"]
        );
    }

    #[test]
    fn an_object_of_a_list_gets_its_type() {
        let record = Record::new(object(json!({"metadata": {"resourceVersion": "7"}})), &resource());
        assert_eq!(
            record.value(),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "7"}})
        );
    }

    #[test]
    fn a_new_resource_version_alone_is_the_same_content() {
        let at = |version: &str, data: &str| {
            let value = json!({
                "metadata": {"name": "a", "resourceVersion": version, "managedFields": [{"manager": version}]},
                "data": {"x": data},
            });
            Record::new(object(value), &resource())
        };
        assert!(at("1", "same").same_content(&at("2", "same")));
        assert!(!at("1", "same").same_content(&at("2", "other")));
    }
}
