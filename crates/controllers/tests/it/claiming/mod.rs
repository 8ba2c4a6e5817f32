//! Claims of a test's own platform API.

use crate::composing::{Stage, holds, settings};
use anyhow::{Result, ensure};
use cambium_testing::{eventually, eventually_some};
use serde_json::{Value, json};

/// A stage on which composite resources are claimed.
pub(crate) struct Claims {
    pub(crate) stage: Stage,
}

impl Claims {
    pub(crate) async fn start() -> Result<Self> {
        Self::with(json!({})).await
    }

    /// With more in the definition's spec.
    pub(crate) async fn with(definition: Value) -> Result<Self> {
        let claims = Self::on(Stage::with(settings(), json!({})).await?);
        claims.define(definition).await?;
        Ok(claims)
    }

    pub(crate) fn on(stage: Stage) -> Self {
        Self { stage }
    }

    /// Changes what the definition says, and waits until claims can be made.
    pub(crate) async fn define(&self, more: Value) -> Result<()> {
        let mut spec = json!({"claimNames": {"kind": "Thing", "plural": "things"}});
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        self.stage.define(spec).await?;
        let path = format!("/apis/{}/v1/things", self.stage.group);
        eventually("claims are offered", || async {
            Ok(self.definition().await? && self.stage.platform.raw.get(&path).await?.code == 200)
        })
        .await
    }

    async fn definition(&self) -> Result<bool> {
        let path = format!(
            "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions/xthings.{}",
            self.stage.group
        );
        Ok(holds(&self.stage.platform.raw.get(&path).await?.body, "Offered"))
    }

    pub(crate) fn path(&self, name: &str) -> String {
        let (group, namespace) = (&self.stage.group, &self.stage.platform.namespace);
        format!("/apis/{group}/v1/namespaces/{namespace}/things/{name}")
    }

    /// A claim with this in its spec.
    pub(crate) fn object(&self, name: &str, spec: Value) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.stage.group), "kind": "Thing",
            "metadata": {"name": name, "namespace": self.stage.platform.namespace}, "spec": {"text": name},
        });
        for (field, value) in spec.as_object().into_iter().flatten() {
            object["spec"][field] = value.clone();
        }
        object
    }

    /// Applies a claim with this in its spec. What an earlier one said besides is taken away.
    pub(crate) async fn claim(&self, name: &str, spec: Value) -> Result<Value> {
        self.stage
            .applied(&self.path(name), &self.object(name, spec))
            .await
    }

    pub(crate) async fn get(&self, name: &str) -> Result<Value> {
        Ok(self.stage.platform.raw.get(&self.path(name)).await?.body)
    }

    pub(crate) async fn edit(&self, name: &str, change: Value) -> Result<Value> {
        self.stage.edit(&self.path(name), change).await
    }

    /// Waits until a claim is as a test wants it.
    pub(crate) async fn until(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value> {
        let found = eventually_some(&format!("claim {name} {what}"), || async {
            let found = self.get(name).await?;
            Ok(is(&found).then_some(found))
        })
        .await;
        match found {
            Ok(found) => Ok(found),
            Err(error) => Err(error.context(self.get(name).await?.to_string())),
        }
    }

    /// Waits until a claim is ready.
    pub(crate) async fn ready(&self, name: &str) -> Result<Value> {
        self.until(name, "is ready", |claim| {
            holds(claim, "Ready") && holds(claim, "Synced")
        })
        .await
    }

    /// The composite resource of a claim.
    pub(crate) async fn composite(&self, name: &str) -> Result<Value> {
        let claim = self.get(name).await?;
        let composite = claim["spec"]["resourceRef"]["name"].as_str().unwrap_or_default();
        self.stage.get(composite).await
    }

    /// Waits until the composite resource of a claim is as a test wants it.
    pub(crate) async fn composite_until(
        &self,
        name: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let found = eventually_some(&format!("the composite resource of {name} {what}"), || async {
            let found = self.composite(name).await?;
            Ok(is(&found).then_some(found))
        })
        .await;
        match found {
            Ok(found) => Ok(found),
            Err(error) => {
                let both = json!([self.get(name).await?, self.composite(name).await?]);
                Err(error.context(both.to_string()))
            }
        }
    }

    /// Waits until a claim and its composite resource name this revision.
    pub(crate) async fn uses(&self, name: &str, revision: &str) -> Result<()> {
        let names = |object: &Value| object["spec"]["compositionRevisionRef"]["name"] == revision;
        self.composite_until(name, &format!("uses {revision}"), |found| {
            names(found) && holds(found, "Synced")
        })
        .await?;
        self.until(name, &format!("uses {revision}"), names).await?;
        Ok(())
    }

    /// All composite resources.
    pub(crate) async fn composites(&self) -> Result<Vec<Value>> {
        let path = format!("/apis/{}/v1/xthings", self.stage.group);
        let found = self.stage.platform.raw.get(&path).await?;
        ensure!(found.code == 200, "{}", found.body);
        Ok(found.body["items"].as_array().cloned().unwrap())
    }
}
