//! The inventory of definitions, Applications and their revisions.

use super::Change;
use crate::Unanswered;
use cambium_api::names::label;
use cambium_definitions::application::Recorded;
use cambium_definitions::definition::{Seen, scheme_of};
use cambium_definitions::{Artifact, Catalogue, Consumers, Consuming, Stored};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Definitions, applications and their revisions, with who uses what.
#[derive(Default)]
pub struct Definitions {
    catalogue: Catalogue,
    consumers: Consumers,
    /// At v1beta1.
    objects: BTreeMap<Artifact, Value>,
    applications: BTreeMap<Consuming, Value>,
    recorded: BTreeMap<Consuming, Vec<Recorded>>,
}

impl Definitions {
    /// The catalogue of published revisions.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The index of consumers.
    pub fn consumers(&self) -> &Consumers {
        &self.consumers
    }

    /// All applications, by namespace and name.
    pub fn applications(&self) -> impl Iterator<Item = (&Consuming, &Value)> {
        self.applications.iter()
    }

    /// One application.
    pub fn application(&self, namespace: &str, name: &str) -> Result<(&Consuming, &Value), Unanswered> {
        let key = Consuming::new(namespace, name);
        let missing = || Unanswered::NotFound(format!("no Application {name:?} in namespace {namespace}"));
        self.applications.get_key_value(&key).ok_or_else(missing)
    }

    /// The revisions of each application, in the order of their numbers.
    pub fn all_recorded(&self) -> impl Iterator<Item = (&Consuming, &[Recorded])> {
        self.recorded.iter().map(|(key, all)| (key, all.as_slice()))
    }

    /// The revisions of an application, in the order of their numbers.
    pub fn recorded(&self, application: &Consuming) -> &[Recorded] {
        let recorded = self.recorded.get(application);
        recorded.map(Vec::as_slice).unwrap_or_default()
    }

    /// The revisions of the application in the cluster that has the name of this one.
    pub fn recorded_of(&self, namespace: &str, application: &Value) -> &[Recorded] {
        self.recorded(&named(namespace, application))
    }

    /// An application from a file, with the status of the one in the cluster that has its name: a file says nothing of what is in use.
    pub fn as_if_live(&self, namespace: &str, application: &Value) -> Value {
        let mut application = application.clone();
        let live = self.applications.get(&named(namespace, &application));
        application["metadata"]["namespace"] = Value::String(namespace.to_owned());
        application["status"] = live.map_or(Value::Null, |live| live["status"].clone());
        application
    }

    /// The observed state that a plan for a definition depends on.
    pub fn seen(&self, artifact: &Artifact) -> Seen {
        let object = self.objects.get(artifact).cloned();
        Seen::of(artifact, object, &self.catalogue, &self.consumers)
    }

    pub(super) fn change(&mut self, kind: &str, object: &Value, change: Change) -> Result<(), String> {
        match (kind, change) {
            ("Application", Change::Put) => {
                let key = Consuming::of(object);
                self.consumers.put(&key, object);
                self.applications.insert(key, object.clone());
            }
            ("Application", Change::Remove) => {
                let key = Consuming::of(object);
                self.consumers.remove(&key);
                self.applications.remove(&key);
            }
            ("ApplicationRevision", change) => return self.change_recorded(object, change),
            ("DefinitionRevision", Change::Put) => {
                let stored = Stored::read(object).map_err(|error| error.to_string())?;
                self.catalogue.put(Arc::new(stored));
            }
            ("DefinitionRevision", Change::Remove) => {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                self.catalogue.remove(text("namespace"), text("name"));
            }
            (_, change) => {
                let artifact = Artifact::of(object).ok_or_else(|| "not a kind of definition".to_owned())?;
                self.change_definition(artifact, object, change);
            }
        }
        Ok(())
    }

    fn change_definition(&mut self, artifact: Artifact, object: &Value, change: Change) {
        match change {
            Change::Put => {
                let issued = object["status"]["highWaterMark"].as_u64().unwrap_or(0);
                self.catalogue.declare(&artifact, scheme_of(object), issued);
                self.objects.insert(artifact, object.clone());
            }
            Change::Remove => {
                self.catalogue.undeclare(&artifact);
                self.objects.remove(&artifact);
            }
        }
    }

    fn change_recorded(&mut self, object: &Value, change: Change) -> Result<(), String> {
        let metadata = &object["metadata"];
        let Some(application) = metadata["labels"][label::APPLICATION].as_str() else {
            return Err(format!("it has no label {}", label::APPLICATION));
        };
        let name = metadata["name"].as_str().unwrap_or_default();
        let key = Consuming::new(metadata["namespace"].as_str().unwrap_or_default(), application);
        let all = self.recorded.entry(key.clone()).or_default();
        all.retain(|known| known.revision.name().as_str() != name);
        match change {
            Change::Put => {
                let recorded = Recorded::read(object).map_err(|error| error.to_string())?;
                self.consumers.put_recorded(&key, &recorded);
                let after =
                    all.partition_point(|known| known.revision.number() <= recorded.revision.number());
                all.insert(after, recorded);
            }
            Change::Remove => {
                self.consumers.remove_recorded(&key, name);
                if all.is_empty() {
                    self.recorded.remove(&key);
                }
            }
        }
        Ok(())
    }
}

fn named(namespace: &str, application: &Value) -> Consuming {
    Consuming::new(
        namespace,
        application["metadata"]["name"].as_str().unwrap_or_default(),
    )
}
