//! Compositions, their revisions and the composite resources of a cluster, read once.

use anyhow::Result;
use cambium_api::crossplane::{CompositeResourceDefinition, Composition, CompositionRevision, Names};
use cambium_compositions::definition::{Definition, read};
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{Catalogue, Consumer, Consumers, Consuming, Live, Selector, Wish, composite_of};
use kube::Client;
use kube::api::ApiResource;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::world::{is_forbidden, list, list_if_there};
use crate::exit::{NotFound, WrongUse, said};
use crate::output;

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
    claims: Option<Claims>,
}

/// A kind of claims, and all of them.
struct Claims {
    resource: ApiResource,
    objects: Vec<Value>,
}

/// A composite resource, and the object that says how it follows: itself, or its claim.
pub(super) struct Subject<'f> {
    pub(super) kind: &'f Kind,
    pub(super) composite: &'f Value,
    pub(super) steered: (&'f ApiResource, &'f Value),
}

impl Fleet {
    /// Reads everything. A cluster without the kinds has none of it.
    pub(super) async fn read(client: &Client) -> Result<Self> {
        let mut fleet = Self::published(client).await?;
        fleet.read_users(client).await?;
        Ok(fleet)
    }

    /// Compositions and their revisions, without those who use them.
    pub(super) async fn published(client: &Client) -> Result<Self> {
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
        Ok(fleet)
    }

    /// Composite resources and their claims, as far as one may see; what is left out is said.
    pub(super) async fn read_users_if_allowed(&mut self, client: &Client) -> Result<()> {
        match self.read_users(client).await {
            Err(error) if is_forbidden(&error) => {
                output::note(&format!("not all users are shown: {}", said(&error)));
                Ok(())
            }
            read => read,
        }
    }

    /// Composite resources and their claims.
    async fn read_users(&mut self, client: &Client) -> Result<()> {
        let definitions = ApiResource::erase::<CompositeResourceDefinition>(&());
        for object in list_if_there(client, &definitions).await? {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let typed: CompositeResourceDefinition = serde_json::from_value(object)?;
            match read(&typed) {
                Ok(definition) => self.add(client, definition).await?,
                Err(problems) => tracing::warn!(%problems, "{name} is left out"),
            }
        }
        Ok(())
    }

    async fn add(&mut self, client: &Client, definition: Definition) -> Result<()> {
        let type_ = Arc::new(definition.composite_type());
        let default = definition.default_revision_selector();
        let default =
            default.map(|selector| Selector::new(selector.match_labels.clone().unwrap_or_default()));
        self.consumers.set_default(&type_, default);
        let resource = |names: &Names| ApiResource {
            group: definition.group().to_owned(),
            version: definition.referenceable().to_owned(),
            api_version: type_.api_version.clone(),
            kind: names.kind.clone(),
            plural: names.plural.clone(),
        };
        let claims = match definition.claim_names().map(resource) {
            Some(resource) => {
                let objects = list_if_there(client, &resource).await?;
                Some(Claims { resource, objects })
            }
            None => None,
        };
        let resource = resource(definition.names());
        let composites = match list(client, &resource, None).await {
            Err(error) if error.is::<NotFound>() => {
                tracing::warn!("{} is left out: its kind is not served", definition.name());
                return Ok(());
            }
            listed => listed?,
        };
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
            claims,
        });
        Ok(())
    }

    /// The composite resource that KIND/NAME means, by its own name or by its claim's.
    pub(super) fn composite<'f>(&'f self, subject: &str, namespace: &str) -> Result<Subject<'f>> {
        let Some((kind, name)) = subject.split_once('/') else {
            return Err(WrongUse(format!("{subject:?} is not KIND/NAME, as in xdatabase/orders")).into());
        };
        let wanted = kind.to_lowercase();
        let own = self
            .kinds
            .iter()
            .filter(|one| is_called(&one.definition, one.definition.names(), &wanted));
        let claimed = self.kinds.iter().filter_map(|one| {
            let names = one.definition.claim_names()?;
            is_called(&one.definition, names, &wanted).then_some((one, one.claims.as_ref()))
        });
        let meant: Vec<(&Kind, Option<&Claims>)> = own.map(|one| (one, None)).chain(claimed).collect();
        let [(one, claims)] = meant.as_slice() else {
            let message = match meant.is_empty() {
                true => format!("no CompositeResourceDefinition defines {kind:?}"),
                false => {
                    format!("{kind:?} is defined more than once; add the group, as in xdatabases.example.org")
                }
            };
            return Err(NotFound(message).into());
        };
        let find = |objects: &'f [Value], name: &str| {
            objects.iter().find(|object| {
                let found = object["metadata"]["namespace"].as_str();
                object["metadata"]["name"] == name && found.is_none_or(|found| found == namespace)
            })
        };
        let Some(Claims { resource, objects }) = claims else {
            let missing = || NotFound(format!("no {} {name:?}", one.definition.names().kind));
            let composite = find(&one.composites, name).ok_or_else(missing)?;
            if let Some(claim) = one.definition.layout().claim_ref(composite) {
                let kind = one.definition.claim_names().map_or("", |names| &names.kind);
                return Err(WrongUse(format!(
                    "{subject} belongs to a claim, which says how it follows: use {}/{} -n {}",
                    kind.to_lowercase(),
                    claim.name,
                    claim.namespace
                ))
                .into());
            }
            return Ok(Subject {
                kind: one,
                composite,
                steered: (&one.resource, composite),
            });
        };
        let missing = || NotFound(format!("no {} {name:?} in namespace {namespace}", resource.kind));
        let claim = find(objects, name).ok_or_else(missing)?;
        let composite = composite_of(claim).and_then(|composite| find(&one.composites, composite.name?));
        let composite =
            composite.ok_or_else(|| NotFound(format!("{subject} has no composite resource yet")))?;
        Ok(Subject {
            kind: one,
            composite,
            steered: (resource, claim),
        })
    }
}

/// Whether people may mean this kind by that word, as kubectl understands it.
fn is_called(definition: &Definition, names: &Names, wanted: &str) -> bool {
    let singular = names
        .singular
        .clone()
        .unwrap_or_else(|| names.kind.to_lowercase());
    let short = names.short_names.iter().flatten();
    let group = definition.group();
    let plain = [names.kind.to_lowercase(), names.plural.clone(), singular];
    let full = plain.iter().map(|name| format!("{name}.{group}"));
    plain
        .iter()
        .cloned()
        .chain(full)
        .chain(short.cloned())
        .any(|name| name == wanted)
}
