//! Compositions, their revisions and the composite resources of a cluster, read once.

use anyhow::Result;
use cambium_api::crossplane::{CompositeResourceDefinition, Composition, CompositionRevision};
use cambium_composites::definition::{Definition, read};
use cambium_composites::revision::{LabelEdits, Stored};
use cambium_composites::{Catalogue, Consumer, Consumers, Consuming, Live, Selector, Wish};
use kube::Client;
use kube::api::ApiResource;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::world::list_if_there;
use crate::exit::{NotFound, WrongUse};

/// Compositions, and who uses them.
pub(super) struct Fleet {
    pub(super) catalogue: Catalogue,
    pub(super) consumers: Consumers,
    pub(super) compositions: BTreeMap<String, Value>,
    pub(super) kinds: Vec<Kind>,
}

/// A kind of composite resources, and all of them.
pub(super) struct Kind {
    pub(super) definition: Definition,
    pub(super) resource: ApiResource,
    pub(super) composites: Vec<Value>,
}

impl Fleet {
    /// Reads everything. A cluster without the kinds has none of it.
    pub(super) async fn read(client: &Client) -> Result<Self> {
        let mut fleet = Self {
            catalogue: Catalogue::default(),
            consumers: Consumers::default(),
            compositions: BTreeMap::new(),
            kinds: Vec::new(),
        };
        for composition in list_if_there(client, &ApiResource::erase::<Composition>(&())).await? {
            let name = composition["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            fleet.catalogue.declare(&name, Some(Live::read(&composition)));
            fleet.compositions.insert(name, composition);
        }
        for revision in list_if_there(client, &ApiResource::erase::<CompositionRevision>(&())).await? {
            match Stored::read(&revision, LabelEdits::default()) {
                Ok(stored) => fleet.catalogue.put(Arc::new(stored)),
                Err(error) => tracing::warn!(%error, "a CompositionRevision is left out"),
            }
        }
        let definitions = ApiResource::erase::<CompositeResourceDefinition>(&());
        for object in list_if_there(client, &definitions).await? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let typed: CompositeResourceDefinition = serde_json::from_value(object)?;
            match read(&typed) {
                Ok(definition) => fleet.add(client, definition).await?,
                Err(problems) => tracing::warn!(%problems, "{name} is left out"),
            }
        }
        Ok(fleet)
    }

    async fn add(&mut self, client: &Client, definition: Definition) -> Result<()> {
        let type_ = Arc::new(definition.composite_type());
        let default = definition.default_revision_selector();
        let default =
            default.map(|selector| Selector::new(selector.match_labels.clone().unwrap_or_default()));
        self.consumers.set_default(&type_, default);
        let resource = ApiResource {
            group: definition.group().to_owned(),
            version: definition.referenceable().to_owned(),
            api_version: type_.api_version.clone(),
            kind: type_.kind.clone(),
            plural: definition.names().plural.clone(),
        };
        let composites = list_if_there(client, &resource).await?;
        for composite in &composites {
            let text = |field: &str| {
                composite["metadata"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let key = Consuming {
                type_: type_.clone(),
                namespace: text("namespace"),
                name: text("name"),
            };
            let consumer = Consumer {
                wish: Wish::of(&definition, composite),
                composes: true,
                failed: false,
            };
            self.consumers.put(Arc::new(key), consumer);
        }
        self.kinds.push(Kind {
            definition,
            resource,
            composites,
        });
        Ok(())
    }

    /// The composite resource that KIND/NAME means.
    pub(super) fn composite(&self, subject: &str, namespace: &str) -> Result<(&Kind, &Value)> {
        let Some((kind, name)) = subject.split_once('/') else {
            return Err(WrongUse(format!("{subject:?} is not KIND/NAME, as in xdatabase/orders")).into());
        };
        let wanted = kind.to_lowercase();
        let known = |one: &&Kind| {
            let names = one.definition.names();
            let singular = names
                .singular
                .clone()
                .unwrap_or_else(|| names.kind.to_lowercase());
            let short = names.short_names.iter().flatten();
            let group = one.definition.group();
            let plain = [names.kind.to_lowercase(), names.plural.clone(), singular];
            let full = plain.iter().map(|name| format!("{name}.{group}"));
            plain
                .iter()
                .cloned()
                .chain(full)
                .chain(short.cloned())
                .any(|name| name == wanted)
        };
        let kinds: Vec<&Kind> = self.kinds.iter().filter(known).collect();
        let [one] = kinds.as_slice() else {
            let message = match kinds.is_empty() {
                true => format!("no CompositeResourceDefinition defines {kind:?}"),
                false => {
                    format!("{kind:?} is defined more than once; add the group, as in xdatabases.example.org")
                }
            };
            return Err(NotFound(message).into());
        };
        let is = |composite: &&Value| {
            composite["metadata"]["name"] == name
                && composite["metadata"]["namespace"]
                    .as_str()
                    .is_none_or(|found| found == namespace)
        };
        let found = one.composites.iter().find(is);
        found
            .map(|composite| (*one, composite))
            .ok_or_else(|| NotFound(format!("no {} {name:?}", one.definition.names().kind)).into())
    }
}
