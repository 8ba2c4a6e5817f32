//! The `Mutator` trait, and how mutators are called.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use json_patch::Patch;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use serde_json::Value;

use super::validator::{Asked, in_time};
use super::{AdmissionRequest, Verdict};

/// Changes objects before they are validated and stored.
///
/// It is asked once for each write (`reinvocationPolicy: Never`), must answer the same to a dry run, and must change nothing but the
/// object (`sideEffects: None`).
pub trait Mutator: Send + Sync + 'static {
    /// The last part of the URL, `/mutate/<path>`, and the first of the webhook's name. A DNS label.
    fn path(&self) -> &'static str;

    /// The rules of its webhook.
    fn rules(&self) -> Vec<RuleWithOperations>;

    /// Decides. It may take its time up to the time-out, after which the write is refused. Panics refuse it, too.
    fn mutate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Mutation>;
}

/// The answer of a mutator.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    /// Whether the write may go on.
    pub verdict: Verdict,
    /// What becomes of the object, if it may. Empty: it stays as it was sent.
    pub patch: Patch,
}

impl Mutation {
    /// Leaves the object as it is.
    pub fn unchanged() -> Self {
        Verdict::allowed().into()
    }

    /// The patch that makes one object of another.
    pub fn between(sent: &Value, wanted: &Value) -> Self {
        Self {
            verdict: Verdict::allowed(),
            patch: json_patch::diff(sent, wanted),
        }
    }

    /// The same, and this is shown to the client.
    #[must_use]
    pub fn with_warnings(mut self, told: impl IntoIterator<Item = String>) -> Self {
        if let Verdict::Allowed { warnings } = &mut self.verdict {
            warnings.extend(told);
        }
        self
    }
}

impl From<Verdict> for Mutation {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            patch: Patch::default(),
        }
    }
}

/// Asks, in a task of its own, as validators are asked.
pub(crate) async fn ask(mutator: Arc<dyn Mutator>, request: AdmissionRequest, timeout: Duration) -> Mutation {
    let asked = Asked {
        what: "mutator",
        path: mutator.path(),
    };
    let answer = async move { mutator.mutate(&request).await };
    match in_time(asked, timeout, answer).await {
        Ok(mutation) => mutation,
        Err(denied) => denied.into(),
    }
}
