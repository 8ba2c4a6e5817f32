//! The name, namespace, labels and annotations that every rendered object gets.

use crate::generated_name::generated_name;
use crate::parameters::settle_numbers;
use crate::{Application, Component, Environment};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The application and component that objects are rendered for.
pub(crate) struct Contract<'a> {
    pub(crate) application: &'a Application,
    pub(crate) component: &'a Component,
    pub(crate) environment: &'a Environment,
}

const APP_REVISION: &str = "app.oam.dev/appRevision";
const COMPONENT: &str = "app.oam.dev/component";
const NAME: &str = "app.oam.dev/name";
const NAMESPACE: &str = "app.oam.dev/namespace";
const RESOURCE_TYPE: &str = "app.oam.dev/resourceType";
const WORKLOAD_TYPE: &str = "workload.oam.dev/type";
const TRAIT_TYPE: &str = "trait.oam.dev/type";
const TRAIT_RESOURCE: &str = "trait.oam.dev/resource";

/// Annotations of an application that list what its objects do not get: label and annotation names, by commas.
const FILTER_LABELS: &str = "filter.oam.dev/label-keys";
const FILTER_ANNOTATIONS: &str = "filter.oam.dev/annotation-keys";

/// Annotations that never reach an object.
const FILTERED: [&str; 4] = [
    "app.oam.dev/inplace-upgrade",
    FILTER_LABELS,
    FILTER_ANNOTATIONS,
    "kubectl.kubernetes.io/last-applied-configuration",
];

impl Contract<'_> {
    /// The workload, complete.
    pub(crate) fn workload(&self, mut object: Value, kind: &str) -> Value {
        add_texts(&mut object, "labels", &self.base_labels());
        add_texts(&mut object, "labels", &texts([(WORKLOAD_TYPE, kind)]));
        if name_of(&object).is_empty() {
            set_metadata(&mut object, "name", json!(self.component.name));
        }
        self.set_namespace(&mut object);
        add_texts(&mut object, "labels", &texts([(RESOURCE_TYPE, "WORKLOAD")]));
        add_texts(&mut object, "labels", &self.common_labels());
        self.set_annotations(&mut object);
        settle_numbers(&mut object);
        object
    }

    /// Another object, complete. `reference` says where it wants to know the workload.
    pub(crate) fn auxiliary(
        &self,
        mut object: Value,
        kind: &str,
        resource: &str,
        workload: &Value,
        reference: &str,
    ) -> Value {
        add_texts(&mut object, "labels", &self.base_labels());
        add_texts(&mut object, "labels", &texts([(TRAIT_TYPE, kind)]));
        if !resource.is_empty() {
            add_texts(&mut object, "labels", &texts([(TRAIT_RESOURCE, resource)]));
        }
        if name_of(&object).is_empty() {
            let mut hashed = object.clone();
            remove_label(&mut hashed, APP_REVISION);
            set_metadata(
                &mut object,
                "name",
                json!(generated_name(&self.component.name, kind, &hashed)),
            );
        }
        add_texts(&mut object, "labels", &texts([(RESOURCE_TYPE, "TRAIT")]));
        add_texts(&mut object, "labels", &self.common_labels());
        self.set_annotations(&mut object);
        self.set_namespace(&mut object);
        if !reference.is_empty() {
            let target = json!({
                "apiVersion": workload["apiVersion"],
                "kind": workload["kind"],
                "name": workload["metadata"]["name"],
            });
            set_path(&mut object, reference, target);
        }
        settle_numbers(&mut object);
        object
    }

    fn base_labels(&self) -> BTreeMap<String, String> {
        texts([
            (NAME, &self.application.name),
            (COMPONENT, &self.component.name),
            (APP_REVISION, &self.environment.app_revision),
        ])
    }

    /// The application's labels and its identity, without those that it filters.
    fn common_labels(&self) -> BTreeMap<String, String> {
        let mut labels = self.application.labels.clone();
        labels.extend(self.base_labels());
        labels.insert(
            NAMESPACE.to_owned(),
            self.application.effective_namespace().to_owned(),
        );
        if let Some(filtered) = self.application.annotations.get(FILTER_LABELS) {
            labels.retain(|name, _| !filtered.split(',').any(|filtered| filtered.trim() == name));
        }
        labels
    }

    fn set_annotations(&self, object: &mut Value) {
        add_texts(object, "annotations", &self.application.annotations);
        let own = self.application.annotations.get(FILTER_ANNOTATIONS);
        let filtered = FILTERED
            .into_iter()
            .chain(own.into_iter().flat_map(|own| own.split(',')));
        if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
            for name in filtered {
                annotations.remove(name);
            }
        }
    }

    /// Namespaces themselves have none, and a namespace that the template sets stays.
    fn set_namespace(&self, object: &mut Value) {
        let is_namespace = object["kind"] == "Namespace" && object["apiVersion"] == "v1";
        let has_one = object["metadata"]["namespace"]
            .as_str()
            .is_some_and(|namespace| !namespace.is_empty());
        if !is_namespace && !has_one {
            set_metadata(object, "namespace", json!(self.application.effective_namespace()));
        }
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn texts<const N: usize>(texts: [(&str, &str); N]) -> BTreeMap<String, String> {
    texts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Sets a field of `metadata`, which is made if need be.
fn set_metadata(object: &mut Value, field: &str, value: Value) {
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.insert(field.to_owned(), value);
    }
}

/// Adds labels or annotations; what is added wins. Existing ones that are not all strings count as none.
fn add_texts(object: &mut Value, field: &str, added: &BTreeMap<String, String>) {
    let mut all = match &object["metadata"][field] {
        Value::Object(known) if known.values().all(Value::is_string) => known.clone(),
        _ => Map::new(),
    };
    all.extend(added.iter().map(|(name, value)| (name.clone(), json!(value))));
    set_metadata(object, field, Value::Object(all));
}

fn remove_label(object: &mut Value, name: &str) {
    if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
        labels.remove(name);
    }
}

/// Sets the value at a path such as `spec.workloadRef`; objects on the way are made.
fn set_path(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for step in path.split('.') {
        if at.is_null() {
            *at = json!({});
        }
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(step).or_insert(Value::Null);
    }
    *at = value;
}
