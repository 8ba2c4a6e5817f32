//! Connection details: what Secrets hold, and the one that a composite resource writes.

use super::composite::Run;
use cambium_api::names::{FIELD_MANAGER, reason};
use cambium_compose::{Composition, ConnectionDetails, DetailSource, ObservedResource};
use cambium_composites::composite::{Happened, Note};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl Run<'_> {
    /// Reads the connection secrets of what was made, if the templates read from any.
    pub(super) async fn read_secrets(
        &self,
        happened: &mut Happened,
        templates: &Composition,
    ) -> kube::Result<()> {
        let reads = templates.templates().iter().any(|template| {
            let mut details = template.connection_details.iter();
            details.any(|detail| matches!(detail.source, DetailSource::Key(_)))
        });
        if reads {
            for resource in happened.there.values_mut() {
                resource.secret = self.secret_of(&resource.object).await?;
            }
        }
        Ok(())
    }

    /// Composed resources, each with what its connection secret holds.
    pub(super) async fn with_secrets(
        &self,
        known: BTreeMap<String, Value>,
    ) -> kube::Result<BTreeMap<String, ObservedResource>> {
        let mut with = BTreeMap::new();
        for (name, object) in known {
            let secret = self.secret_of(&object).await?;
            with.insert(name, ObservedResource { object, secret });
        }
        Ok(with)
    }

    /// What the composite resource's own connection secret holds.
    pub(super) async fn published(&self) -> kube::Result<ConnectionDetails> {
        let layout = self.defined.definition.layout();
        match layout.connection_secret_ref(&self.composite) {
            Some(secret) => {
                let namespace = secret.namespace.unwrap_or_default();
                let data = self.context.secret(namespace, secret.name).await?;
                Ok(data.unwrap_or_default())
            }
            None => Ok(ConnectionDetails::new()),
        }
    }

    /// What the connection secret of a composed resource holds. One that names no namespace means its own.
    async fn secret_of(&self, object: &Value) -> kube::Result<ConnectionDetails> {
        let reference = &object["spec"]["writeConnectionSecretToRef"];
        let own = object["metadata"]["namespace"].as_str();
        match (
            reference["name"].as_str(),
            reference["namespace"].as_str().or(own),
        ) {
            (Some(name), Some(namespace)) => {
                let data = self.context.secret(namespace, name).await?;
                Ok(data.unwrap_or_default())
            }
            _ => Ok(ConnectionDetails::new()),
        }
    }

    /// Writes the connection secret, if it has changed.
    pub(super) async fn publish(&mut self, details: &ConnectionDetails) -> kube::Result<()> {
        let definition = &self.defined.definition;
        let Some(secret) = definition.layout().connection_secret_ref(&self.composite) else {
            return Ok(());
        };
        let Some(namespace) = secret.namespace else {
            return Ok(());
        };
        let allowed = definition.connection_secret_keys();
        let data: BTreeMap<String, ByteString> = details
            .iter()
            .filter(|(key, _)| allowed.is_none_or(|allowed| allowed.contains(key)))
            .map(|(key, value)| (key.clone(), ByteString(value.clone())))
            .collect();
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), namespace);
        let live = api.get_opt(secret.name).await?;
        let uid = self.composite["metadata"]["uid"].as_str();
        let ours = |live: &Secret| {
            let mut owners = live.metadata.owner_references.iter().flatten();
            owners.any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid)
        };
        match &live {
            Some(live) if !ours(live) => {
                let text = format!(
                    "cannot publish connection details: Secret {namespace}/{} exists and is somebody else's",
                    secret.name
                );
                self.tell(Note::warning(reason::PUBLISH_CONNECTION, text));
                return Ok(());
            }
            Some(live) if live.data.clone().unwrap_or_default() == data => return Ok(()),
            None if data.is_empty() => return Ok(()),
            _ => {}
        }
        let manifest = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
            "metadata": {"name": secret.name, "namespace": namespace, "ownerReferences": [{
                "apiVersion": self.composite["apiVersion"], "kind": self.composite["kind"],
                "name": self.at.name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }]},
            "data": data,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        api.patch(secret.name, &params, &Patch::Apply(&manifest)).await?;
        self.context.state.tell_claim(&self.composite);
        Ok(())
    }
}
