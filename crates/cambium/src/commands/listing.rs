//! Lists the objects that a report needs, as far as the user may list them, and feeds them to an inventory.

use anyhow::{Context as _, Result};
use cambium_api::crossplane::{CompositeResourceDefinition, Composition, CompositionRevision, Names};
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_compositions::definition::Definition;
use cambium_reports::{Inventory, NotListed, Visibility};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::exit::{NotFound, said};
use crate::output;

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

/// Pages are this large.
const PAGE: u32 = 500;

/// The objects that were listed from a cluster.
pub(super) struct Reading<'c> {
    client: &'c Client,
    pub(super) inventory: Inventory,
}

impl<'c> Reading<'c> {
    /// Begins with an empty inventory.
    pub(super) fn of(client: &'c Client) -> Self {
        Self::into(client, Inventory::default())
    }

    /// Goes on with an inventory.
    pub(super) fn into(client: &'c Client, inventory: Inventory) -> Self {
        Self { client, inventory }
    }

    /// Applications and what their references lead to.
    pub(super) async fn all_of_applications(client: &'c Client, reach: Reach<'_>) -> Result<Inventory> {
        let mut reading = Self::of(client);
        reading.definitions(reach, &DefinitionType::ALL).await?;
        reading.applications(reach).await?;
        note_not_listed(&reading.inventory);
        Ok(reading.inventory)
    }

    /// Definitions of these kinds and their revisions, without those who use them.
    pub(super) async fn definitions(&mut self, reach: Reach<'_>, types: &[DefinitionType]) -> Result<()> {
        for type_ in types {
            self.published(&type_.resource(), reach).await?;
        }
        let revisions = ApiResource::erase::<DefinitionRevision>(&());
        self.published(&revisions, reach).await
    }

    /// Applications and their revisions.
    pub(super) async fn applications(&mut self, reach: Reach<'_>) -> Result<()> {
        let namespace = match reach {
            Reach::Everything => None,
            Reach::From(namespace) | Reach::In(namespace) => Some(namespace),
        };
        self.list(&ApiResource::erase::<Application>(&()), namespace)
            .await?;
        let revisions = ApiResource::erase::<ApplicationRevision>(&());
        self.list(&revisions, namespace).await
    }

    /// Those who use definitions: in all namespaces, or as far as one may see, and then it is said.
    pub(super) async fn users(&mut self, namespace: &str) -> Result<()> {
        let Err(error) = self.applications(Reach::Everything).await else {
            return Ok(());
        };
        if !is_forbidden(&error) {
            return Err(error);
        }
        match self.applications(Reach::In(namespace)).await {
            Ok(()) => {
                self.inventory.users = Visibility::Part;
                let why = said(&error);
                output::note(&format!("only users in namespace {namespace} are shown: {why}"));
                Ok(())
            }
            Err(error) if is_forbidden(&error) => {
                self.inventory.users = Visibility::Nothing;
                output::note(&format!("users are not shown: {}", said(&error)));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Compositions and their revisions. A cluster without the kinds has none.
    pub(super) async fn compositions(&mut self) -> Result<()> {
        self.list_if_served(&ApiResource::erase::<Composition>(&()))
            .await?;
        let revisions = ApiResource::erase::<CompositionRevision>(&());
        self.list_if_served(&revisions).await?;
        Ok(())
    }

    /// Composite resources and their claims.
    pub(super) async fn composites(&mut self) -> Result<()> {
        let definitions = ApiResource::erase::<CompositeResourceDefinition>(&());
        self.list_if_served(&definitions).await?;
        let defined: Vec<(String, Vec<ApiResource>)> = self
            .inventory
            .compositions
            .kinds()
            .map(|kind| (kind.definition.name().to_owned(), resources(&kind.definition)))
            .collect();
        for (name, resources) in defined {
            for resource in resources {
                if !self.list_if_served(&resource).await? {
                    tracing::warn!("{name}: {} is not served", resource.kind);
                }
            }
            self.inventory.compositions.set_seen(&name);
        }
        Ok(())
    }

    /// Composite resources and their claims, as far as one may see; what is left out is said.
    pub(super) async fn composites_if_allowed(&mut self) -> Result<()> {
        match self.composites().await {
            Err(error) if is_forbidden(&error) => {
                output::note(&format!("not all users are shown: {}", said(&error)));
                Ok(())
            }
            read => read,
        }
    }

    /// Definitions, or their revisions: those that references can lead to. What may not be listed in a namespace is left out.
    async fn published(&mut self, resource: &ApiResource, reach: Reach<'_>) -> Result<()> {
        let namespaces = match reach {
            Reach::Everything => return self.list(resource, None).await,
            Reach::From(namespace) if namespace != SYSTEM_NAMESPACE => vec![namespace, SYSTEM_NAMESPACE],
            Reach::From(namespace) | Reach::In(namespace) => vec![namespace],
        };
        for namespace in namespaces {
            match self.list(resource, Some(namespace)).await {
                Err(error) if is_forbidden(&error) => self.inventory.not_listed(NotListed {
                    kind: resource.kind.clone(),
                    namespace: namespace.to_owned(),
                    why: said(&error),
                }),
                listed => listed?,
            }
        }
        Ok(())
    }

    /// All objects of a kind, if the cluster serves it; whether it does.
    async fn list_if_served(&mut self, resource: &ApiResource) -> Result<bool> {
        match self.list(resource, None).await {
            Err(error) if error.is::<NotFound>() => Ok(false),
            listed => listed.map(|()| true),
        }
    }

    async fn list(&mut self, resource: &ApiResource, namespace: Option<&str>) -> Result<()> {
        for object in list(self.client, resource, namespace).await? {
            if let Err(error) = self.inventory.put(&object) {
                tracing::warn!("{error}");
            }
        }
        Ok(())
    }
}

/// The composite resources of a definition, and their claims, at the version that compositions are written for.
fn resources(definition: &Definition) -> Vec<ApiResource> {
    let names = [Some(definition.names()), definition.claim_names()];
    let resource = |names: &Names| resource_of(definition, names);
    names.into_iter().flatten().map(resource).collect()
}

/// How the API server is asked for composite resources, or for claims.
pub(super) fn resource_of(definition: &Definition, names: &Names) -> ApiResource {
    ApiResource {
        group: definition.group().to_owned(),
        version: definition.referenceable().to_owned(),
        api_version: definition.composite_type().api_version,
        kind: names.kind.clone(),
        plural: names.plural.clone(),
    }
}

/// Says what was left out.
pub(super) fn note_not_listed(inventory: &Inventory) {
    let mut by_namespace: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in inventory.all_not_listed() {
        let kinds = by_namespace.entry(&one.namespace).or_default();
        kinds.push(format!("{}s", one.kind));
    }
    for (namespace, kinds) in by_namespace {
        let kinds = kinds.join(", ");
        output::note(&format!(
            "you may not list {kinds} in namespace {namespace}: they are left out"
        ));
    }
}

/// Applications of one namespace.
pub(super) fn applications(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Application>(&()))
}

/// Whether the API server does not let this user read it.
pub(super) fn is_forbidden(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<kube::Error>();
    matches!(cause, Some(kube::Error::Api(status)) if status.code == 403)
}

/// All objects of a kind, in one namespace or in all.
async fn list(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Result<Vec<Value>> {
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
