//! Resources that functions require besides composed resources: which composite resources a change of them requeues.

use super::CompositeKey;
use crate::runtime::Key;
use cambium_compositions_render::function::ResourceSelector;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The selectors of required resources, by composite resource.
#[derive(Default)]
pub(super) struct Required(Mutex<HashMap<CompositeKey, Vec<Looked>>>);

struct Looked {
    selector: ResourceSelector,
    /// The objects that it selected; nothing until they are read, and then every change of the kind matters.
    found: Option<BTreeSet<Key>>,
}

impl Required {
    /// Adds a selector, before its objects are read.
    pub(super) fn add(&self, key: &CompositeKey, selector: &ResourceSelector) {
        let mut all = self.all();
        let looked = all.entry(key.clone()).or_default();
        match looked.iter_mut().find(|looked| looked.selector == *selector) {
            Some(looked) => looked.found = None,
            None => looked.push(Looked {
                selector: selector.clone(),
                found: None,
            }),
        }
    }

    /// Sets the objects that a selector selected.
    pub(super) fn found(&self, key: &CompositeKey, selector: &ResourceSelector, found: BTreeSet<Key>) {
        let mut all = self.all();
        let mut looked = all.get_mut(key).into_iter().flatten();
        if let Some(looked) = looked.find(|looked| looked.selector == *selector) {
            looked.found = Some(found);
        }
    }

    /// Removes the selectors that the last pipeline run did not use.
    pub(super) fn settle(&self, key: &CompositeKey, selectors: &[ResourceSelector]) {
        let mut all = self.all();
        if let Some(looked) = all.get_mut(key) {
            looked.retain(|looked| selectors.contains(&looked.selector));
            if looked.is_empty() {
                all.remove(key);
            }
        }
    }

    /// The composite resources that a change of this object concerns; `labels` are those that it has now.
    pub(super) fn of(
        &self,
        kind: (&str, &str),
        object: &Key,
        labels: &BTreeMap<String, String>,
    ) -> Vec<CompositeKey> {
        self.those(|looked| looked.is_of(kind) && looked.concerns(object, labels))
    }

    /// The composite resources that require resources of a kind.
    pub(super) fn of_kind(&self, kind: (&str, &str)) -> Vec<CompositeKey> {
        self.those(|looked| looked.is_of(kind))
    }

    fn those(&self, concerns: impl Fn(&Looked) -> bool) -> Vec<CompositeKey> {
        let all = self.all();
        let concerned = all.iter().filter(|(_, looked)| looked.iter().any(&concerns));
        concerned.map(|(key, _)| key.clone()).collect()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<CompositeKey, Vec<Looked>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Looked {
    fn is_of(&self, (api_version, kind): (&str, &str)) -> bool {
        self.selector.api_version == api_version && self.selector.kind == kind
    }

    fn concerns(&self, object: &Key, labels: &BTreeMap<String, String>) -> bool {
        let selector = &self.selector;
        let namespace = selector.namespace.as_deref().unwrap_or_default();
        if let Some(name) = &selector.match_name {
            return object.name == *name && object.namespace == namespace;
        }
        if !namespace.is_empty() && object.namespace != namespace {
            return false;
        }
        let mut wanted = selector.match_labels.iter().flat_map(|labels| &labels.labels);
        let matches = wanted.all(|(name, value)| labels.get(name) == Some(value));
        // One that no longer has the labels was seen by those who looked before.
        matches || self.found.as_ref().is_none_or(|found| found.contains(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambium_api::crossplane::TypeReference;
    use cambium_compositions::Consuming;
    use serde_json::json;
    use std::sync::Arc;

    const KIND: (&str, &str) = ("v1", "ConfigMap");

    fn key(name: &str) -> CompositeKey {
        Arc::new(Consuming {
            type_: Arc::new(TypeReference {
                api_version: "example.org/v1".to_owned(),
                kind: "XThing".to_owned(),
            }),
            namespace: String::new(),
            name: name.to_owned(),
        })
    }

    fn selector(more: serde_json::Value) -> ResourceSelector {
        let mut selector = json!({"apiVersion": KIND.0, "kind": KIND.1});
        for (field, value) in more.as_object().into_iter().flatten() {
            selector[field] = value.clone();
        }
        serde_json::from_value(selector).expect("a selector")
    }

    fn labels(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    fn names(keys: Vec<CompositeKey>) -> BTreeSet<String> {
        keys.iter().map(|key| key.name.clone()).collect()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_object_concerns_those_who_named_it_selected_it_or_saw_it() {
        let required = Required::default();
        let asks = [
            ("by-name", json!({"matchName": "a", "namespace": "n"})),
            ("elsewhere", json!({"matchName": "a", "namespace": "other"})),
            ("by-label", json!({"matchLabels": {"labels": {"for": "all"}}})),
            (
                "by-label-here",
                json!({"matchLabels": {"labels": {"for": "all"}}, "namespace": "n"}),
            ),
            ("saw-it", json!({"matchLabels": {"labels": {"once": "mine"}}})),
        ];
        for (name, more) in asks {
            let selector = selector(more);
            required.add(&key(name), &selector);
            let found = match name {
                "saw-it" => BTreeSet::from([Key::new("n", "a")]),
                _ => BTreeSet::new(),
            };
            required.found(&key(name), &selector, found);
        }
        let of = |object: &Key, given: &[(&str, &str)]| names(required.of(KIND, object, &labels(given)));
        assert_eq!(of(&Key::new("n", "a"), &[]), set(&["by-name", "saw-it"]));
        assert_eq!(
            of(&Key::new("n", "b"), &[("for", "all")]),
            set(&["by-label", "by-label-here"])
        );
        assert_eq!(of(&Key::new("m", "b"), &[("for", "all")]), set(&["by-label"]));
        assert_eq!(of(&Key::new("m", "b"), &[("for", "some")]), set(&[]));
        assert_eq!(names(required.of_kind(("v1", "Secret"))), set(&[]));
        assert_eq!(names(required.of_kind(KIND)).len(), 5);
    }

    #[test]
    fn while_it_is_not_known_what_is_there_anything_may_matter() {
        let required = Required::default();
        let selector = selector(json!({"matchLabels": {"labels": {"for": "all"}}}));
        required.add(&key("a"), &selector);
        let leaving = Key::new("n", "leaving");
        assert_eq!(names(required.of(KIND, &leaving, &labels(&[]))), set(&["a"]));
        required.found(&key("a"), &selector, BTreeSet::new());
        assert_eq!(names(required.of(KIND, &leaving, &labels(&[]))), set(&[]));
    }

    #[test]
    fn what_functions_no_longer_look_at_does_not_concern_them() {
        let required = Required::default();
        let (one, two) = (
            selector(json!({"matchName": "one"})),
            selector(json!({"matchName": "two"})),
        );
        for selector in [&one, &two] {
            required.add(&key("a"), selector);
            required.found(&key("a"), selector, BTreeSet::new());
        }
        required.settle(&key("a"), std::slice::from_ref(&two));
        assert_eq!(
            names(required.of(KIND, &Key::new("", "one"), &labels(&[]))),
            set(&[])
        );
        assert_eq!(
            names(required.of(KIND, &Key::new("", "two"), &labels(&[]))),
            set(&["a"])
        );
        required.settle(&key("a"), &[]);
        assert_eq!(names(required.of_kind(KIND)), set(&[]));
    }
}
