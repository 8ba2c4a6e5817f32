//! Test support: a custom kind, and writers that change it continuously.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

/// The custom kind of these tests.
pub(crate) fn probes() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("test.cambium.dev", "v1", "Probe"))
}

/// Creates its CRD; returns when it is served.
pub(crate) async fn define(client: &Client) -> Result<()> {
    let raw = cambium_testing::Raw::new(client.clone());
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "probes.test.cambium.dev"},
        "spec": {"group": "test.cambium.dev", "scope": "Namespaced",
            "names": {"plural": "probes", "singular": "probe", "kind": "Probe"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}}}]},
    });
    raw.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &definition,
    )
    .await?;
    cambium_testing::eventually("probes are served", || async {
        Ok(raw.get("/apis/test.cambium.dev/v1/probes").await?.code == 200)
    })
    .await
}

/// A seeded pseudo-random number generator.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Creates, updates, relabels and deletes probes, `count` times, with pauses of up to `pause`. Several writers conflict
/// on purpose; failed writes are not retried.
pub(crate) async fn write(client: Client, seed: u64, count: usize, pause: Duration) -> Result<usize> {
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &probes());
    let (mut dice, mut done) = (Dice(seed), 0);
    for round in 0..count {
        let name = format!("probe-{:02}", dice.below(40));
        let color = ["red", "blue"][usize::from(dice.below(2) == 0)];
        let merge = |value: Value| async {
            api.patch(&name, &PatchParams::default(), &Patch::Merge(value))
                .await
        };
        let result = match dice.below(10) {
            0 => api.delete(&name, &DeleteParams::default()).await.map(drop),
            1 | 2 => merge(json!({"metadata": {"labels": {"color": color}}}))
                .await
                .map(drop),
            3..6 => {
                let mut object = DynamicObject::new(&name, &probes()).data(json!({"spec": {"round": round}}));
                object.metadata.labels = Some(BTreeMap::from([("color".to_owned(), color.to_owned())]));
                api.create(&PostParams::default(), &object).await.map(drop)
            }
            _ => merge(json!({"spec": {"round": round, "writer": seed}}))
                .await
                .map(drop),
        };
        match result {
            Ok(()) => done += 1,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
            Err(error) => return Err(error.into()),
        }
        if !pause.is_zero() {
            let most = u64::try_from(pause.as_millis())?;
            tokio::time::sleep(Duration::from_millis(dice.below(most))).await;
        }
    }
    Ok(done)
}
