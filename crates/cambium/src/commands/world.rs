//! What is in a cluster, read once.

use anyhow::{Context as _, Result};
use cambium_api::names::label;
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_oam::application::Recorded;
use cambium_oam::definition::scheme_of;
use cambium_oam::{Artifact, Catalogue, Consumers, Consuming, Stored};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::exit::NotFound;

/// Definitions, applications and all their revisions.
pub(super) struct World {
    pub(super) catalogue: Catalogue,
    pub(super) consumers: Consumers,
    /// Definitions at v1beta1.
    pub(super) definitions: BTreeMap<Artifact, Value>,
    pub(super) applications: BTreeMap<Consuming, Value>,
    pub(super) recorded: BTreeMap<Consuming, Vec<Recorded>>,
}

/// Pages are this large.
const PAGE: u32 = 500;

impl World {
    /// Reads all namespaces: what a reference means depends on two, and who uses a revision on all.
    pub(super) async fn read(client: &Client) -> Result<Self> {
        let mut world = Self {
            catalogue: Catalogue::default(),
            consumers: Consumers::default(),
            definitions: BTreeMap::new(),
            applications: BTreeMap::new(),
            recorded: BTreeMap::new(),
        };
        for type_ in DefinitionType::ALL {
            for definition in list(client, &type_.resource()).await? {
                if let Some(artifact) = Artifact::of(&definition) {
                    let issued = definition["status"]["highWaterMark"].as_u64().unwrap_or(0);
                    world.catalogue.declare(&artifact, scheme_of(&definition), issued);
                    world.definitions.insert(artifact, definition);
                }
            }
        }
        for revision in list(client, &ApiResource::erase::<DefinitionRevision>(&())).await? {
            match Stored::read(&revision) {
                Ok(stored) => world.catalogue.put(Arc::new(stored)),
                Err(error) => tracing::warn!(%error, "a DefinitionRevision is left out"),
            }
        }
        for application in list(client, &ApiResource::erase::<Application>(&())).await? {
            let key = consuming(&application);
            world.consumers.put(&key, &application);
            world.applications.insert(key, application);
        }
        for revision in list(client, &ApiResource::erase::<ApplicationRevision>(&())).await? {
            let name = revision["metadata"]["labels"][label::APPLICATION].as_str();
            let namespace = revision["metadata"]["namespace"].as_str().unwrap_or_default();
            match (name, Recorded::read(&revision)) {
                (Some(name), Ok(recorded)) => {
                    let key = Consuming::new(namespace, name);
                    world.consumers.put_recorded(&key, &recorded);
                    world.recorded.entry(key).or_default().push(recorded);
                }
                (None, _) => {}
                (_, Err(error)) => tracing::warn!(%error, "an ApplicationRevision is left out"),
            }
        }
        for recorded in world.recorded.values_mut() {
            recorded.sort_by_key(|one| one.revision.number());
        }
        Ok(world)
    }

    /// An application from a file, with the status of the one in the cluster that has its name: a file says nothing of what is in use.
    pub(super) fn as_if_live(&self, namespace: &str, application: &Value) -> Value {
        let mut application = application.clone();
        let live = self.applications.get(&named(namespace, &application));
        application["metadata"]["namespace"] = Value::String(namespace.to_owned());
        application["status"] = live.map_or(Value::Null, |live| live["status"].clone());
        application
    }

    /// The revisions of the application in the cluster that has the name of this one.
    pub(super) fn recorded_of(&self, namespace: &str, application: &Value) -> &[Recorded] {
        let recorded = self.recorded.get(&named(namespace, application));
        recorded.map(Vec::as_slice).unwrap_or_default()
    }

    /// One application.
    pub(super) fn application(&self, namespace: &str, name: &str) -> Result<(Consuming, &Value)> {
        let key = Consuming::new(namespace, name);
        match self.applications.get(&key) {
            Some(application) => Ok((key, application)),
            None => Err(NotFound(format!("no Application {name:?} in namespace {namespace}")).into()),
        }
    }
}

/// Applications of one namespace.
pub(super) fn applications(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Application>(&()))
}

/// All objects of a kind; none if the cluster does not have the kind.
pub(super) async fn list_if_there(client: &Client, resource: &ApiResource) -> Result<Vec<Value>> {
    match list(client, resource).await {
        Err(error) if error.is::<NotFound>() => Ok(Vec::new()),
        listed => listed,
    }
}

pub(super) async fn list(client: &Client, resource: &ApiResource) -> Result<Vec<Value>> {
    let kind = &resource.kind;
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let mut params = ListParams::default().limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = match api.list(&params).await {
            // A kind that is not served is answered in plain text, without a reason.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                anyhow::bail!(NotFound(format!(
                    "the cluster has no {kind}s; `cambium manager` installs the kinds"
                )));
            }
            other => other.with_context(|| format!("failed to list {kind}s"))?,
        };
        for mut object in page.items {
            object.managed_fields_mut().clear();
            let mut value = serde_json::to_value(&object)?;
            value["apiVersion"] = Value::String(resource.api_version.clone());
            value["kind"] = Value::String(kind.clone());
            objects.push(value);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

fn named(namespace: &str, application: &Value) -> Consuming {
    Consuming::new(
        namespace,
        application["metadata"]["name"].as_str().unwrap_or_default(),
    )
}

fn consuming(application: &Value) -> Consuming {
    let text = |field: &str| application["metadata"][field].as_str().unwrap_or_default();
    Consuming::new(text("namespace"), text("name"))
}
