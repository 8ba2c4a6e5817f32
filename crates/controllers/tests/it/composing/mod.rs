//! A platform API of a test's own, its compositions and its composite resources.

use crate::platform::{self, Platform};
use anyhow::{Result, ensure};
use cambium_controllers::Settings;
use cambium_testing::{Answer, Raw, eventually, eventually_some, rights};
use serde_json::{Value, json};

const GROUP_PATH: &str = "/apis/apiextensions.crossplane.io/v1";

/// Settings that do not wait, and keep nothing because it is young.
pub(crate) fn settings() -> Settings {
    Settings {
        revision_grace: jiff::SignedDuration::ZERO,
        ..platform::settings()
    }
}

pub(crate) struct Stage {
    pub(crate) platform: Platform,
    /// The group of this test's composite resources. Compositions are named after it too: all share one cluster.
    pub(crate) group: String,
    scope: &'static str,
}

impl Stage {
    /// With composite resources as Crossplane 1.x has them: in no namespace.
    pub(crate) async fn start() -> Result<Self> {
        Self::with(settings(), json!({})).await
    }

    pub(crate) async fn with(settings: Settings, definition: Value) -> Result<Self> {
        Self::scoped(settings, "LegacyCluster", definition).await
    }

    /// With composite resources of a scope, and more in the definition's spec.
    pub(crate) async fn scoped(settings: Settings, scope: &'static str, definition: Value) -> Result<Self> {
        let mut platform = Platform::without_manager(settings).await?;
        let client = platform.cluster.manager().await?;
        platform.start_manager(client).await?;
        let stage = Self::on(platform, scope);
        stage.define(definition).await?;
        Ok(stage)
    }

    /// With everything checked before it is stored, composite resources too.
    pub(crate) async fn checked(scope: &'static str, definition: Value) -> Result<Self> {
        let stage = Self::on(Platform::checked(settings()).await?, scope);
        stage.define(definition).await?;
        // An API server hears of a webhook a little later than we tell it.
        let pin = json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": "nowhere"},
            "compositionRef": {"name": "nothing"}});
        let probe = stage.composite("probe", pin);
        eventually("composite resources are checked", || async {
            let path = stage.path("");
            let path = format!("{}?dryRun=All", path.trim_end_matches('/'));
            Ok(!stage.platform.raw.post(&path, &probe).await?.warnings.is_empty())
        })
        .await?;
        Ok(stage)
    }

    fn on(platform: Platform, scope: &'static str) -> Self {
        let group = format!("{}.example.org", platform.namespace);
        Self {
            platform,
            group,
            scope,
        }
    }

    /// Applies the definition, with more in its spec, and waits until composite resources can be made.
    pub(crate) async fn define(&self, more: Value) -> Result<Value> {
        let name = format!("xthings.{}", self.group);
        // What a platform grants for its own kinds, and for what they compose.
        rights::grant_composing(&self.platform.raw, &self.group, &["*"]).await?;
        rights::grant_composing(&self.platform.raw, "", &["configmaps", "secrets", "services"]).await?;
        let mut object = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": self.group, "scope": self.scope,
                "names": {"kind": "XThing", "plural": "xthings"},
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {
                            "text": {"type": "string"}, "copy": {"type": "string"},
                            "parts": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        }},
                        "status": {"type": "object", "properties": {
                            "seen": {"type": "string"}, "said": {"type": "string"}, "count": {"type": "integer"},
                        }},
                    }}},
                }],
            },
        });
        for (field, value) in more.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        let path = format!("{GROUP_PATH}/compositeresourcedefinitions/{name}");
        self.applied(&path, &object).await?;
        eventually_some(&format!("{name} is established"), || async {
            let found = self.platform.raw.get(&path).await?.body;
            Ok(holds(&found, "Established").then_some(found))
        })
        .await
    }

    /// A composition that makes one ConfigMap with this text beside the composite resource's own.
    pub(crate) fn composition(&self, name: &str, text: &str) -> Value {
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": self.called(name)},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{}/v1", self.group), "kind": "XThing"},
                "mode": "Resources",
                "resources": [{
                    "name": "main",
                    "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": self.platform.namespace},
                        "data": {"says": text}},
                    "patches": [{"fromFieldPath": "spec.text", "toFieldPath": "data.text"}],
                    "readinessChecks": [{"type": "None"}],
                }],
            },
        })
    }

    /// A name of a cluster-wide object that no other test has.
    pub(crate) fn called(&self, name: &str) -> String {
        format!("{name}-{}", self.platform.namespace)
    }

    /// Applies a composition and waits until it is published.
    pub(crate) async fn publish(&self, composition: &Value) -> Result<Value> {
        let name = composition["metadata"]["name"].as_str().unwrap();
        let path = format!("{GROUP_PATH}/compositions/{name}");
        let stored = self.applied(&path, composition).await?;
        eventually_some(&format!("{name} is published"), || async {
            let found = self.platform.raw.get(&path).await?.body;
            let seen = found["status"]["observedGeneration"] == stored["metadata"]["generation"];
            Ok((seen && holds(&found, "Ready")).then_some(found))
        })
        .await
    }

    /// The current revision of a composition, by name.
    pub(crate) async fn current(&self, name: &str) -> Result<String> {
        let path = format!("{GROUP_PATH}/compositions/{}", self.called(name));
        let found = self.platform.raw.get(&path).await?.body;
        Ok(found["status"]["currentRevision"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// The revisions of a composition, by number.
    pub(crate) async fn revisions(&self, name: &str) -> Result<Vec<Value>> {
        let selector = format!("crossplane.io/composition-name={}", self.called(name));
        let path = format!("{GROUP_PATH}/compositionrevisions?labelSelector={selector}");
        let mut found = self.platform.raw.get(&path).await?.body["items"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        found.sort_by_key(|revision| revision["spec"]["revision"].as_i64());
        Ok(found)
    }

    /// The numbers of a composition's revisions.
    pub(crate) async fn numbers(&self, name: &str) -> Result<Vec<i64>> {
        let revisions = self.revisions(name).await?;
        Ok(revisions
            .iter()
            .filter_map(|revision| revision["spec"]["revision"].as_i64())
            .collect())
    }

    pub(crate) fn revision_path(&self, name: &str) -> String {
        format!("{GROUP_PATH}/compositionrevisions/{name}")
    }

    pub(crate) fn composition_path(&self, name: &str) -> String {
        format!("{GROUP_PATH}/compositions/{}", self.called(name))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        let place = match self.scope {
            "Namespaced" => format!("/namespaces/{}", self.platform.namespace),
            _ => String::new(),
        };
        format!("/apis/{}/v1{place}/xthings/{name}", self.group)
    }

    /// A composite resource with this machinery.
    pub(crate) fn composite(&self, name: &str, machinery: Value) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "XThing",
            "metadata": {"name": name}, "spec": {"text": name},
        });
        match self.scope {
            "LegacyCluster" => {
                for (field, value) in machinery.as_object().into_iter().flatten() {
                    object["spec"][field] = value.clone();
                }
            }
            _ => object["spec"]["crossplane"] = machinery,
        }
        object
    }

    /// Applies a composite resource.
    pub(crate) async fn compose(&self, name: &str, machinery: Value) -> Result<Value> {
        self.applied(&self.path(name), &self.composite(name, machinery))
            .await
    }

    /// Applies a composite resource that is composed of a ConfigMap already: its resource `main`, under the name that Crossplane gave it. It has lost its
    /// label, so that no watch shows it. The ConfigMap.
    pub(crate) async fn compose_unseen(&self, name: &str, machinery: Value) -> Result<Value> {
        let mark = json!({"crossplane.io/composition-resource-name": "main"});
        self.compose_unseen_marked(name, machinery, mark).await
    }

    /// The same, with these annotations on the ConfigMap.
    pub(crate) async fn compose_unseen_marked(
        &self,
        name: &str,
        machinery: Value,
        annotations: Value,
    ) -> Result<Value> {
        let mut composite = self.composite(name, machinery);
        composite["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
        let stored = self.applied(&self.path(name), &composite).await?;
        let namespace = &self.platform.namespace;
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("{name}-x7h2k"),
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": stored["apiVersion"], "kind": "XThing", "name": name, "uid": stored["metadata"]["uid"],
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "data": {"says": "before"},
        });
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let answer = self.platform.raw.post(&path, &config_map).await?;
        ensure!(answer.code == 201, "{answer:?}");
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": format!("{name}-x7h2k")});
        self.edit(
            &self.path(name),
            json!({"metadata": {"annotations": null}, "spec": {"resourceRefs": [reference]}}),
        )
        .await?;
        Ok(answer.body)
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Value> {
        Ok(self.platform.raw.get(&self.path(name)).await?.body)
    }

    /// Changes some fields of a composite resource.
    pub(crate) async fn edit(&self, path: &str, change: Value) -> Result<Value> {
        let answer = self.platform.raw.patch("merge", path, &change).await?;
        ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        Ok(answer.body)
    }

    /// The machinery of a composite resource.
    pub(crate) fn machinery<'a>(&self, composite: &'a Value) -> &'a Value {
        match self.scope {
            "LegacyCluster" => &composite["spec"],
            _ => &composite["spec"]["crossplane"],
        }
    }

    /// Waits until a composite resource is ready and uses this revision.
    pub(crate) async fn uses(&self, name: &str, revision: &str) -> Result<Value> {
        eventually_some(&format!("{name} uses {revision}"), || async {
            let found = self.get(name).await?;
            let there = self.machinery(&found)["compositionRevisionRef"]["name"] == revision;
            Ok((there && holds(&found, "Ready") && holds(&found, "Synced")).then_some(found))
        })
        .await
    }

    /// Waits until the ConfigMap of a composite resource says this.
    pub(crate) async fn says(&self, name: &str, text: &str) -> Result<Value> {
        eventually_some(&format!("{name} says {text}"), || async {
            let found = self.composed(name).await?;
            Ok(found.into_iter().find(|object| object["data"]["says"] == text))
        })
        .await
    }

    /// The ConfigMaps of a composite resource.
    pub(crate) async fn composed(&self, name: &str) -> Result<Vec<Value>> {
        let path = format!(
            "/api/v1/namespaces/{}/configmaps?labelSelector=crossplane.io/composite={name}",
            self.platform.namespace
        );
        let found = self.platform.raw.get(&path).await?.body;
        Ok(found["items"].as_array().cloned().unwrap_or_default())
    }

    /// Waits until a composite resource is not synced; what it says about that.
    pub(crate) async fn refused(&self, name: &str, text: &str) -> Result<String> {
        eventually_some(&format!("{name} is refused with {text:?}"), || async {
            let found = self.get(name).await?;
            let synced = condition(&found, "Synced").cloned().unwrap_or_default();
            let message = synced["message"].as_str().unwrap_or_default().to_owned();
            Ok((synced["status"] == "False" && message.contains(text)).then_some(message))
        })
        .await
    }

    /// Waits for the events about a composite resource whose text has this in it: they are sent beside the work.
    pub(crate) async fn told(&self, name: &str, text: &str) -> Result<Vec<Value>> {
        let uid = self.get(name).await?["metadata"]["uid"].clone();
        eventually_some(&format!("an event about {name} says {text:?}"), || async {
            let mut events = items(&self.platform.raw, "/apis/events.k8s.io/v1/events").await?;
            events.retain(|event| {
                let note = event["note"].as_str().unwrap_or_default();
                event["regarding"]["uid"] == uid && note.contains(text)
            });
            Ok((!events.is_empty()).then_some(events))
        })
        .await
    }

    pub(crate) async fn applied(&self, path: &str, object: &Value) -> Result<Value> {
        let answer = self.apply(path, object).await?;
        ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        Ok(answer.body)
    }

    pub(crate) async fn apply(&self, path: &str, object: &Value) -> Result<Answer> {
        let path = format!("{path}?fieldManager=test&force=true");
        self.platform
            .raw
            .patch("application/apply-patch+yaml", &path, object)
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<()> {
        let answer = self.platform.raw.delete(path, &json!({})).await?;
        ensure!(answer.code < 300, "{}: {}", answer.code, answer.body);
        Ok(())
    }

    /// The end of every scenario. The law: *at rest, composing again changes nothing*.
    pub(crate) async fn at_rest(mut self) -> Result<()> {
        let (group, namespace) = (&self.group, &self.platform.namespace);
        let lists = [
            format!("/apis/{group}/v1/xthings"),
            format!("/apis/{group}/v1/things"),
            format!("/api/v1/namespaces/{namespace}/configmaps"),
            format!("/api/v1/namespaces/{namespace}/secrets"),
            format!("/api/v1/namespaces/{namespace}/services"),
            format!("{GROUP_PATH}/compositeresourcedefinitions"),
            format!("{GROUP_PATH}/compositions"),
            format!("{GROUP_PATH}/compositionrevisions"),
        ];
        // The API server makes a kind in its own time, and the definition says so then.
        for _ in 0..150 {
            let definitions = items(&self.platform.raw, &lists[5]).await?;
            let waits = |definition: &Value| {
                let established = condition(definition, "Established");
                established.is_none_or(|known| known["reason"] == "WaitingForCRD")
            };
            if !definitions.iter().any(waits) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        self.platform.at_rest(&lists).await
    }

    pub(crate) async fn gone(&self, path: &str) -> Result<()> {
        eventually(&format!("{path} is gone"), || async {
            Ok(self.platform.raw.get(path).await?.code == 404)
        })
        .await
    }
}

async fn items(raw: &Raw, path: &str) -> Result<Vec<Value>> {
    let found = raw.get(path).await?.body;
    Ok(found["items"].as_array().cloned().unwrap_or_default())
}

pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|known| known["type"] == type_)
}

pub(crate) fn holds(object: &Value, type_: &str) -> bool {
    condition(object, type_).is_some_and(|known| known["status"] == "True")
}
