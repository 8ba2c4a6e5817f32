//! Webhooks on a cluster, embedded or real.

#![expect(clippy::panic, reason = "a validator that panics is part of the play")]

use std::sync::Arc;

use anyhow::Result;
use cambium_testing::{Answer, Raw, TestCluster};
use cambium_webhooks::admission::{
    Admission, AdmissionRequest, Mutation, Mutator, Operation, Validator, Verdict,
};
use cambium_webhooks::registration::Reach;
use cambium_webhooks::{Options, Webhooks};
use futures::future::{BoxFuture, FutureExt};
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
pub(crate) const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// A cluster for webhooks. Our kinds have one name each, so each test has a cluster for itself.
pub(crate) struct Stage {
    pub(crate) cluster: TestCluster,
    /// With the rights of the manager, and no others.
    pub(crate) manager: Client,
    pub(crate) raw: Raw,
    pub(crate) namespace: String,
    pub(crate) configuration: String,
}

impl Stage {
    pub(crate) async fn set() -> Result<Self> {
        let cluster = TestCluster::alone().await?;
        let raw = cluster.raw();
        // What the test before this one left would ask a server that is gone.
        for collection in [CONFIGURATIONS, MUTATING] {
            let all = raw.get(collection).await?;
            for one in all.body["items"].as_array().into_iter().flatten() {
                let path = format!("{collection}/{}", text(&one["metadata"]["name"]));
                raw.delete(&path, &Value::Null).await?;
            }
        }
        Ok(Self {
            manager: cluster.manager().await?,
            namespace: cluster.namespace("webhooks").await?,
            configuration: cluster.unique("webhooks"),
            raw,
            cluster,
        })
    }

    pub(crate) async fn listener() -> Result<TcpListener> {
        Ok(TcpListener::bind("127.0.0.1:0").await?)
    }

    pub(crate) fn options(&self, listener: &TcpListener) -> Result<Options> {
        let mut options = Options::new(self.namespace.clone(), Reach::local(listener.local_addr()?));
        options.configuration = self.configuration.clone();
        Ok(options)
    }

    /// Webhooks with the usual options.
    pub(crate) async fn webhooks(&self, admission: Admission) -> Result<Webhooks> {
        let listener = Self::listener().await?;
        let options = self.options(&listener)?;
        Ok(Webhooks::start(self.manager.clone(), listener, options, admission).await?)
    }

    pub(crate) async fn create(&self, object: &Value) -> Result<Answer> {
        self.raw.post(&self.collection(object), object).await
    }

    pub(crate) fn collection(&self, object: &Value) -> String {
        let plural = format!("{}s", text(&object["kind"]).to_lowercase());
        format!(
            "/apis/{}/namespaces/{}/{plural}",
            text(&object["apiVersion"]),
            self.namespace
        )
    }

    /// The path of a definition at a version.
    pub(crate) fn path(&self, version: &str, kind: &str, name: &str) -> String {
        let object = json!({"apiVersion": format!("core.oam.dev/{version}"), "kind": kind});
        format!("{}/{name}", self.collection(&object))
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn definition(version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("core.oam.dev/{version}"), "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Refuses what is annotated so, in the words of the annotation.
pub(crate) struct AsAnnotated;

impl Validator for AsAnnotated {
    fn path(&self) -> &'static str {
        "as-annotated"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let all = |texts: &[&str]| Some(texts.iter().map(|one| (*one).to_owned()).collect());
        vec![RuleWithOperations {
            api_groups: all(&["core.oam.dev"]),
            api_versions: all(&["v1beta1"]),
            operations: all(&["CREATE", "UPDATE", "DELETE"]),
            resources: all(&["componentdefinitions"]),
            scope: None,
        }]
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
        async move {
            let object = match request.operation {
                Operation::Delete => &request.old_object,
                _ => &request.object,
            };
            let object = object.clone().unwrap_or_default();
            let said = |what: &str| {
                object["metadata"]["annotations"][what]
                    .as_str()
                    .map(str::to_owned)
            };
            if said("panic").is_some() {
                panic!("as it was told");
            }
            if said("hang").is_some() {
                std::future::pending::<()>().await;
            }
            match (said("deny"), said("warn"), said("keep")) {
                (Some(why), ..) => Verdict::invalid(why),
                (_, _, Some(why)) if request.operation == Operation::Delete => Verdict::forbidden(why),
                (_, warning, _) => Verdict::Allowed {
                    warnings: warning.into_iter().collect(),
                },
            }
        }
        .boxed()
    }
}

/// Writes down who wrote, as an annotation that nobody else can set.
pub(crate) struct Signs;

impl Mutator for Signs {
    fn path(&self) -> &'static str {
        "signs"
    }

    fn rules(&self) -> Vec<RuleWithOperations> {
        let mut rules = AsAnnotated.rules();
        rules[0].operations = Some(vec!["CREATE".to_owned(), "UPDATE".to_owned()]);
        rules
    }

    fn mutate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Mutation> {
        async move {
            let Some(object) = &request.object else {
                return Mutation::unchanged();
            };
            let annotations = &object["metadata"]["annotations"];
            if !annotations["panic"].is_null() {
                panic!("as it was told");
            }
            if !annotations["hang"].is_null() {
                std::future::pending::<()>().await;
            }
            if let Some(why) = annotations["deny"].as_str() {
                return Verdict::forbidden(why).into();
            }
            let mut signed = object.clone();
            signed["metadata"]["annotations"]["example.dev/signed"] = json!(request.user_info.username);
            let told = annotations["warn"].as_str().map(str::to_owned);
            Mutation::between(object, &signed).with_warnings(told)
        }
        .boxed()
    }
}

/// Those who sign alone.
pub(crate) fn signing() -> Admission {
    Admission {
        mutators: vec![Arc::new(Signs)],
        validators: Vec::new(),
    }
}
