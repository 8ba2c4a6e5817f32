//! What is in a cluster, read once.

use anyhow::{Context as _, Result};
use cambium_api::names::{SYSTEM_NAMESPACE, label, reason};
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_definitions::application::Recorded;
use cambium_definitions::definition::scheme_of;
use cambium_definitions::{Artifact, Asked, Catalogue, Consumers, Consuming, Refused, Stored, asked};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::exit::{NotAllowed, NotFound, said};
use crate::output;

/// Definitions, applications and all their revisions.
pub(super) struct World {
    pub(super) catalogue: Catalogue,
    pub(super) consumers: Consumers,
    /// Definitions at v1beta1.
    pub(super) definitions: BTreeMap<Artifact, Value>,
    pub(super) applications: BTreeMap<Consuming, Value>,
    pub(super) recorded: BTreeMap<Consuming, Vec<Recorded>>,
    /// How many of those who use definitions are known.
    pub(super) users: Sight,
    /// What whoever asks may not list, and so was left out.
    unseen: Vec<Unseen>,
}

/// How much of something whoever asks may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    All,
    Part,
    Nothing,
}

/// How much of a cluster is read: commands ask for what they show, and whoever has rights in one namespace can use them there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach<'n> {
    /// All namespaces.
    Everything,
    /// Applications of this namespace, and the definitions that its references can lead to.
    From(&'n str),
    /// This namespace alone.
    In(&'n str),
}

/// A kind of definitions, or their revisions, that may not be listed in a namespace.
#[derive(Debug)]
struct Unseen {
    kind: String,
    namespace: String,
    /// As the API server says it.
    why: String,
}

/// Pages are this large.
const PAGE: u32 = 500;

impl World {
    fn empty() -> Self {
        Self {
            catalogue: Catalogue::default(),
            consumers: Consumers::default(),
            definitions: BTreeMap::new(),
            applications: BTreeMap::new(),
            recorded: BTreeMap::new(),
            users: Sight::All,
            unseen: Vec::new(),
        }
    }

    /// Applications and what their references lead to.
    pub(super) async fn read(client: &Client, reach: Reach<'_>) -> Result<Self> {
        let mut world = Self::published(client, reach, &DefinitionType::ALL).await?;
        world.read_applications(client, reach).await?;
        world.note_unseen();
        Ok(world)
    }

    /// Applications and their revisions, without the definitions.
    pub(super) async fn of_applications(client: &Client, reach: Reach<'_>) -> Result<Self> {
        let mut world = Self::empty();
        world.read_applications(client, reach).await?;
        Ok(world)
    }

    /// Definitions of these kinds and their revisions, without those who use them.
    pub(super) async fn published(
        client: &Client,
        reach: Reach<'_>,
        types: &[DefinitionType],
    ) -> Result<Self> {
        let mut world = Self::empty();
        for type_ in types {
            for definition in world.list_published(client, &type_.resource(), reach).await? {
                if let Some(artifact) = Artifact::of(&definition) {
                    let issued = definition["status"]["highWaterMark"].as_u64().unwrap_or(0);
                    world.catalogue.declare(&artifact, scheme_of(&definition), issued);
                    world.definitions.insert(artifact, definition);
                }
            }
        }
        let revisions = ApiResource::erase::<DefinitionRevision>(&());
        for revision in world.list_published(client, &revisions, reach).await? {
            match Stored::read(&revision) {
                Ok(stored) => world.catalogue.put(Arc::new(stored)),
                Err(error) => tracing::warn!(%error, "a DefinitionRevision is left out"),
            }
        }
        Ok(world)
    }

    /// Those who use definitions: in all namespaces, or as far as one may see, and then it is said.
    pub(super) async fn read_users(&mut self, client: &Client, namespace: &str) -> Result<()> {
        let Err(error) = self.read_applications(client, Reach::Everything).await else {
            return Ok(());
        };
        if !is_forbidden(&error) {
            return Err(error);
        }
        match self.read_applications(client, Reach::In(namespace)).await {
            Ok(()) => {
                self.users = Sight::Part;
                let why = said(&error);
                output::note(&format!("only users in namespace {namespace} are shown: {why}"));
                Ok(())
            }
            Err(error) if is_forbidden(&error) => {
                self.users = Sight::Nothing;
                output::note(&format!("users are not shown: {}", said(&error)));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn read_applications(&mut self, client: &Client, reach: Reach<'_>) -> Result<()> {
        let namespace = match reach {
            Reach::Everything => None,
            Reach::From(namespace) | Reach::In(namespace) => Some(namespace),
        };
        let applications = list(client, &ApiResource::erase::<Application>(&()), namespace).await?;
        let revisions = ApiResource::erase::<ApplicationRevision>(&());
        let revisions = list(client, &revisions, namespace).await?;
        for application in applications {
            let key = consuming(&application);
            self.consumers.put(&key, &application);
            self.applications.insert(key, application);
        }
        for revision in revisions {
            let name = revision["metadata"]["labels"][label::APPLICATION].as_str();
            let namespace = revision["metadata"]["namespace"].as_str().unwrap_or_default();
            match (name, Recorded::read(&revision)) {
                (Some(name), Ok(recorded)) => {
                    let key = Consuming::new(namespace, name);
                    self.consumers.put_recorded(&key, &recorded);
                    self.recorded.entry(key).or_default().push(recorded);
                }
                (None, _) => {}
                (_, Err(error)) => tracing::warn!(%error, "an ApplicationRevision is left out"),
            }
        }
        for recorded in self.recorded.values_mut() {
            recorded.sort_by_key(|one| one.revision.number());
        }
        Ok(())
    }

    /// Definitions, or their revisions: those that references can lead to. What may not be listed in a namespace is left out.
    async fn list_published(
        &mut self,
        client: &Client,
        resource: &ApiResource,
        reach: Reach<'_>,
    ) -> Result<Vec<Value>> {
        let namespaces = match reach {
            Reach::Everything => return list(client, resource, None).await,
            Reach::From(namespace) if namespace != SYSTEM_NAMESPACE => vec![namespace, SYSTEM_NAMESPACE],
            Reach::From(namespace) | Reach::In(namespace) => vec![namespace],
        };
        let mut objects = Vec::new();
        for namespace in namespaces {
            match list(client, resource, Some(namespace)).await {
                Err(error) if is_forbidden(&error) => self.unseen.push(Unseen {
                    kind: resource.kind.clone(),
                    namespace: namespace.to_owned(),
                    why: said(&error),
                }),
                listed => objects.extend(listed?),
            }
        }
        Ok(objects)
    }

    /// Says what was left out.
    pub(super) fn note_unseen(&self) {
        let mut by_namespace: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for unseen in &self.unseen {
            let kinds = by_namespace.entry(&unseen.namespace).or_default();
            kinds.push(format!("{}s", unseen.kind));
        }
        for (namespace, kinds) in by_namespace {
            let kinds = kinds.join(", ");
            output::note(&format!(
                "you may not list {kinds} in namespace {namespace}: they are left out"
            ));
        }
    }

    /// Why definitions of this kind in this namespace are not known.
    pub(super) fn is_unseen(&self, type_: DefinitionType, namespace: &str) -> Option<String> {
        let kinds = [type_.kind(), "DefinitionRevision"];
        let mut unseen = self.unseen.iter();
        let unseen =
            unseen.find(|unseen| unseen.namespace == namespace && kinds.contains(&unseen.kind.as_str()))?;
        Some(match unseen.namespace == SYSTEM_NAMESPACE {
            true => format!("you may not list what namespace {SYSTEM_NAMESPACE} publishes"),
            false => format!("you may not list {}s in namespace {namespace}", unseen.kind),
        })
    }

    /// Why it is not known what a reference gets: something of its kind may not be listed. What the namespace has itself comes first, and
    /// nobody can say that it has none; what everybody shares matters to a reference that is found nowhere else.
    pub(super) fn hidden(&self, namespace: &str, asked: &Asked, refused: Option<&Refused>) -> Option<String> {
        let not_found = refused.is_some_and(|refused| refused.reason == reason::DEFINITION_NOT_FOUND);
        let shared = || {
            self.is_unseen(asked.type_, SYSTEM_NAMESPACE)
                .filter(|_| not_found)
        };
        self.is_unseen(asked.type_, namespace)
            .filter(|_| namespace != SYSTEM_NAMESPACE || not_found)
            .or_else(shared)
    }

    /// Refuses to go on if something that may not be listed matters to a reference of this application.
    pub(super) fn sees_all_of(&self, namespace: &str, application: &Value) -> Result<()> {
        for asked in asked(application) {
            let kinds = [asked.type_.kind(), "DefinitionRevision"];
            let matters =
                |unseen: &&Unseen| unseen.namespace == namespace && kinds.contains(&unseen.kind.as_str());
            if let Some(unseen) = self.unseen.iter().find(matters) {
                let (path, text) = (&asked.path, &asked.text);
                anyhow::bail!(NotAllowed(format!("{path} refers to {text}: {}", unseen.why)));
            }
        }
        Ok(())
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
