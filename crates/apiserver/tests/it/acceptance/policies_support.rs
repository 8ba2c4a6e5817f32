//! Test support: policies that apply to the test's namespace only.

use anyhow::{Context as _, Result, ensure};
use cambium_testing::{Answer, Raw, TestCluster, eventually};
use serde_json::{Value, json};

pub(crate) const API: &str = "/apis/admissionregistration.k8s.io/v1";

/// A namespace, and policies with its name as prefix.
pub(crate) struct Place {
    _cluster: TestCluster,
    pub(crate) raw: Raw,
    pub(crate) namespace: String,
}

impl Place {
    pub(crate) async fn start(prefix: &str) -> Result<Self> {
        // A policy that cannot be configured concerns what carries its label in every namespace.
        let cluster = TestCluster::alone().await?;
        let namespace = cluster.namespace(prefix).await?;
        let raw = cluster.raw();
        Ok(Self {
            _cluster: cluster,
            raw,
            namespace,
        })
    }

    /// The name of a policy, and of its binding.
    pub(crate) fn name(&self, case: &str) -> String {
        format!("{}.{case}.example.com", self.namespace)
    }

    /// The ConfigMaps of the namespace.
    pub(crate) fn config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    /// Creates a policy for ConfigMaps of the namespace that carry the label `case`, with its binding.
    pub(crate) async fn install(
        &self,
        sort: &str,
        case: &str,
        spec: Value,
        binding: Value,
    ) -> Result<String> {
        let name = self.name(case);
        let (policy, binding) = (self.policy(sort, case, spec), self.binding(sort, case, binding));
        for (plural, object) in [("policies", policy), ("policybindings", binding)] {
            let sort = sort.to_lowercase();
            let path = format!("{API}/{sort}admission{plural}");
            let made = self.raw.post(&path, &object).await;
            let made = made.with_context(|| case.to_owned())?;
            ensure!(made.code == 201, "{case}: {made:?}");
        }
        Ok(name)
    }

    pub(crate) fn policy(&self, sort: &str, case: &str, spec: Value) -> Value {
        let mut policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{sort}AdmissionPolicy"),
            "metadata": {"name": self.name(case)},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
                    "objectSelector": {"matchLabels": {"case": case}},
                },
            },
        });
        overlay(&mut policy["spec"], spec);
        policy
    }

    pub(crate) fn binding(&self, sort: &str, case: &str, spec: Value) -> Value {
        let mut binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{sort}AdmissionPolicyBinding"),
            "metadata": {"name": self.name(case)},
            "spec": {
                "policyName": self.name(case),
                "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}},
            },
        });
        if sort == "Validating" {
            binding["spec"]["validationActions"] = json!(["Deny"]);
        }
        overlay(&mut binding["spec"], spec);
        binding
    }

    /// Waits until all policies installed so far are in effect.
    pub(crate) async fn in_force(&self, sort: &str) -> Result<()> {
        let spec = match sort {
            "Validating" => json!({"validations": [{"expression": "false", "message": "marked"}]}),
            _ => json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": "Object{metadata: Object.metadata{annotations: {'marked': 'yes'}}}"}}]}),
        };
        self.install(sort, "marker", spec, json!({})).await?;
        let (path, marker) = (
            format!("{}?dryRun=All", self.config_maps()),
            config_map("marker", "marker", json!({})),
        );
        eventually("the policies are in force", || async {
            let made = self.raw.post(&path, &marker).await?;
            Ok(made.code == 422 || made.body["metadata"]["annotations"]["marked"] == "yes")
        })
        .await
    }

    /// Creates a ConfigMap with the label `case`.
    pub(crate) async fn create(&self, case: &str, data: Value) -> Result<Answer> {
        self.raw
            .post(&self.config_maps(), &config_map(case, case, data))
            .await
    }
}

/// A ConfigMap with the label `case`.
pub(crate) fn config_map(name: &str, case: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"case": case}}, "data": data})
}

/// Replaces fields; null removes one.
pub(crate) fn overlay(value: &mut Value, fields: Value) {
    for (name, field) in fields.as_object().cloned().unwrap_or_default() {
        match field {
            Value::Null => {
                value.as_object_mut().map(|fields| fields.remove(&name));
            }
            field => value[&name] = field,
        }
    }
}
