//! What is in a cluster, read once.

use anyhow::{Context as _, Result};
use cambium_api::names::{SYSTEM_NAMESPACE, label};
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
    /// Whether whoever asks may not list what the system's namespace publishes: it was left out.
    pub(super) is_without_shared: bool,
}

/// How much of a cluster is read: commands ask for what they show, and whoever has rights in one namespace can use them there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach<'n> {
    /// All namespaces: who uses a revision depends on all.
    Everything,
    /// Applications of this namespace, and the definitions that its references can lead to.
    From(&'n str),
}

/// Pages are this large.
const PAGE: u32 = 500;

impl World {
    pub(super) async fn read(client: &Client, reach: Reach<'_>) -> Result<Self> {
        let mut world = Self {
            catalogue: Catalogue::default(),
            consumers: Consumers::default(),
            definitions: BTreeMap::new(),
            applications: BTreeMap::new(),
            recorded: BTreeMap::new(),
            is_without_shared: false,
        };
        let left_out = &mut world.is_without_shared;
        let mut definitions = Vec::new();
        for type_ in DefinitionType::ALL {
            definitions.extend(published(client, &type_.resource(), reach, left_out).await?);
        }
        let revisions = ApiResource::erase::<DefinitionRevision>(&());
        let revisions = published(client, &revisions, reach, left_out).await?;
        for definition in definitions {
            if let Some(artifact) = Artifact::of(&definition) {
                let issued = definition["status"]["highWaterMark"].as_u64().unwrap_or(0);
                world.catalogue.declare(&artifact, scheme_of(&definition), issued);
                world.definitions.insert(artifact, definition);
            }
        }
        for revision in revisions {
            match Stored::read(&revision) {
                Ok(stored) => world.catalogue.put(Arc::new(stored)),
                Err(error) => tracing::warn!(%error, "a DefinitionRevision is left out"),
            }
        }
        let namespace = match reach {
            Reach::Everything => None,
            Reach::From(namespace) => Some(namespace),
        };
        for application in list(client, &ApiResource::erase::<Application>(&()), namespace).await? {
            let key = consuming(&application);
            world.consumers.put(&key, &application);
            world.applications.insert(key, application);
        }
        let revisions = ApiResource::erase::<ApplicationRevision>(&());
        for revision in list(client, &revisions, namespace).await? {
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
    match list(client, resource, None).await {
        Err(error) if error.is::<NotFound>() => Ok(Vec::new()),
        listed => listed,
    }
}

/// Definitions, or their revisions: those that references from a namespace can lead to.
async fn published(
    client: &Client,
    resource: &ApiResource,
    reach: Reach<'_>,
    left_out: &mut bool,
) -> Result<Vec<Value>> {
    let Reach::From(namespace) = reach else {
        return list(client, resource, None).await;
    };
    let mut objects = list(client, resource, Some(namespace)).await?;
    if namespace != SYSTEM_NAMESPACE {
        match list(client, resource, Some(SYSTEM_NAMESPACE)).await {
            Err(error) if is_forbidden(&error) => *left_out = true,
            shared => objects.extend(shared?),
        }
    }
    Ok(objects)
}

/// Whether the API server does not let this user read it.
pub(super) fn is_forbidden(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<kube::Error>();
    matches!(cause, Some(kube::Error::Api(status)) if status.code == 403)
}

/// All objects of a kind, in one namespace or in all.
pub(super) async fn list(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
) -> Result<Vec<Value>> {
    let kind = &resource.kind;
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
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
