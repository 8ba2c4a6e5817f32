//! Connection secrets: reads those of composed resources, and writes that of the composite resource.

use super::Reconciler;
use crate::write::is_verdict;
use cambium_api::names::{FIELD_MANAGER, reason};
use cambium_compositions::composite::{Happened, Note};
use cambium_compositions_render::{Composition, ConnectionDetails, DetailSource, ObservedResource};
use cambium_objects::without_secret_values;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of Secrets that hold connection details.
pub(in crate::compositions) const CONNECTION: &str = "connection.crossplane.io/v1alpha1";

impl Reconciler<'_> {
    /// Reads the connection secrets of composed resources, if a template takes connection details from one.
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

    /// Adds the data of their connection secrets to composed resources.
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

    /// The data of the connection secret of the composite resource.
    pub(super) async fn connection_details(&self) -> kube::Result<ConnectionDetails> {
        let layout = self.defined.definition.layout();
        match layout.connection_secret_ref(&self.composite) {
            Some(secret) => {
                self.details(secret.namespace.unwrap_or_default(), secret.name, &[self.uid()])
                    .await
            }
            None => Ok(ConnectionDetails::new()),
        }
    }

    fn uid(&self) -> &str {
        self.composite["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// The data of a Secret that one of these UIDs controls. A user who may write composite resources could name any Secret of the cluster: one with
    /// another controller is not read.
    async fn details(
        &self,
        namespace: &str,
        name: &str,
        controllers: &[&str],
    ) -> kube::Result<ConnectionDetails> {
        let api: Api<Secret> = self.context.cluster.namespaced(namespace);
        let Some(secret) = api.get_opt(name).await? else {
            return Ok(ConnectionDetails::new());
        };
        let mut owners = secret.metadata.owner_references.iter().flatten();
        let controller = owners.find(|owner| owner.controller == Some(true));
        if controller.is_none_or(|controller| !controllers.contains(&controller.uid.as_str())) {
            let why = format!(
                "cannot read connection secret {namespace}/{name}: neither the composite resource nor a resource that it is composed of controls it"
            );
            self.context
                .state
                .emitted_about_secrets
                .is_news(
                    &self.key,
                    &[Note::warning(reason::PUBLISH_CONNECTION, why.as_str())],
                )
                .then(|| self.emit(Note::warning(reason::PUBLISH_CONNECTION, why)));
            return Ok(ConnectionDetails::new());
        }
        let data = secret.data.unwrap_or_default().into_iter();
        Ok(data.map(|(key, value)| (key, value.0)).collect())
    }

    /// The data of the connection secret of a composed resource, in the namespace of the resource unless the reference names another.
    async fn secret_of(&self, object: &Value) -> kube::Result<ConnectionDetails> {
        let reference = &object["spec"]["writeConnectionSecretToRef"];
        let own = object["metadata"]["namespace"].as_str();
        match (
            reference["name"].as_str(),
            reference["namespace"].as_str().or(own),
        ) {
            (Some(name), Some(namespace)) => {
                let resource = object["metadata"]["uid"].as_str().unwrap_or_default();
                self.details(namespace, name, &[resource, self.uid()]).await
            }
            _ => Ok(ConnectionDetails::new()),
        }
    }

    /// Writes the connection secret, if it has changed.
    pub(super) async fn publish(&mut self, details: &ConnectionDetails) -> kube::Result<Published> {
        let definition = &self.defined.definition;
        let Some(secret) = definition.layout().connection_secret_ref(&self.composite) else {
            return Ok(Published::AsBefore);
        };
        let Some(namespace) = secret.namespace else {
            return Ok(Published::AsBefore);
        };
        let allowed = definition.connection_secret_keys();
        let data: BTreeMap<String, ByteString> = details
            .iter()
            .filter(|(key, _)| allowed.is_none_or(|allowed| allowed.contains(key)))
            .map(|(key, value)| (key.clone(), ByteString(value.clone())))
            .collect();
        let api: Api<Secret> = self.context.cluster.namespaced(namespace);
        let uid = self.composite["metadata"]["uid"].as_str().unwrap_or_default();
        if let Some(live) = api.get_opt(secret.name).await? {
            if let Some(why) = not_ours(&live, uid) {
                return Ok(self.unpublished(&why));
            }
            if live.data.unwrap_or_default() == data {
                return Ok(Published::AsBefore);
            }
        }
        let manifest = json!({
            "apiVersion": "v1", "kind": "Secret", "type": CONNECTION,
            "metadata": {"name": secret.name, "namespace": namespace, "ownerReferences": [{
                "apiVersion": self.composite["apiVersion"], "kind": self.composite["kind"],
                "name": self.at.name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }]},
            "data": data,
        });
        let params = PatchParams::apply(FIELD_MANAGER).force();
        match api.patch(secret.name, &params, &Patch::Apply(&manifest)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if is_verdict(status.code) => {
                return Ok(self.unpublished(&without_secret_values(&manifest, &status.message)));
            }
            Err(error) => return Err(error),
        }
        self.context.state.requeue_claim(&self.composite);
        Ok(Published::Anew)
    }

    /// Emits an event about connection details that are not published.
    fn unpublished(&self, why: &str) -> Published {
        let why = format!("cannot publish connection details: cannot apply connection secret: {why}");
        if self.is_news(&why) {
            self.emit(Note::warning(reason::PUBLISH_CONNECTION, why.as_str()));
        }
        Published::Refused(why)
    }
}

/// The result of publishing connection details.
pub(super) enum Published {
    /// Unchanged, or none.
    AsBefore,
    /// Written.
    Anew,
    /// Not written, for this reason.
    Refused(String),
}

/// Why an owner with this UID may not write a Secret, if it may not: another controller has it, or it is no connection secret.
pub(in crate::compositions) fn not_ours(live: &Secret, uid: &str) -> Option<String> {
    let mut owners = live.metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    let type_ = live.type_.as_deref().unwrap_or_default();
    match controller {
        Some(controller) if controller.uid != uid => {
            Some(format!("existing secret is not controlled by UID {uid:?}"))
        }
        None if type_ != CONNECTION => Some(format!(
            "refusing to modify uncontrolled secret of type {type_:?}"
        )),
        _ => None,
    }
}
