//! The seam: who decides, and how they are asked.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::AdmissionRequest;

/// Somebody who decides about writes.
///
/// ```
/// use cambium_webhooks::admission::{AdmissionRequest, Validator, Verdict};
/// use futures::future::{BoxFuture, FutureExt};
/// use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
///
/// struct NoSecrets;
///
/// impl Validator for NoSecrets {
///     fn path(&self) -> &'static str {
///         "no-secrets"
///     }
///     fn rules(&self) -> Vec<RuleWithOperations> {
///         let one = |text: &str| Some(vec![text.to_owned()]);
///         vec![RuleWithOperations {
///             api_groups: one(""),
///             api_versions: one("v1"),
///             operations: one("CREATE"),
///             resources: one("secrets"),
///             scope: None,
///         }]
///     }
///     fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict> {
///         async move { Verdict::forbidden(format!("no secret {} here", request.name)) }.boxed()
///     }
/// }
/// ```
pub trait Validator: Send + Sync + 'static {
    /// The last part of the URL, `/admit/<path>`, and the first of the webhook's name. A DNS label.
    fn path(&self) -> &'static str;

    /// What it wants to be asked about now. Nobody is told of a validator that wants nothing.
    fn rules(&self) -> Vec<RuleWithOperations>;

    /// Whether it knows yet what it wants to be asked about. Until then, what is registered stays.
    fn knows_rules(&self) -> bool {
        true
    }

    /// Changes whenever [`Validator::rules`] may answer something else. Nothing, if they stay as they are.
    fn rules_changed(&self) -> Option<watch::Receiver<()>> {
        None
    }

    /// Decides. It may take its time up to the time-out, after which the answer is no. Panics are answers too.
    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict>;
}

/// What a validator says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Allowed {
        /// Shown to the client, each in a line of its own.
        warnings: Vec<String>,
    },
    /// No.
    Denied {
        /// The HTTP status that the client gets.
        code: u16,
        /// One word for programs: `Forbidden`, `Invalid`.
        reason: String,
        /// What is wrong and what to do, for people.
        message: String,
    },
}

impl Verdict {
    /// Yes, and nothing more to say.
    pub fn allowed() -> Self {
        Self::Allowed { warnings: Vec::new() }
    }

    /// No: not now, or not by you.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::denied(403, "Forbidden", message)
    }

    /// No: the object is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::denied(422, "Invalid", message)
    }

    /// No: nobody can say whether the object is right.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::denied(500, "InternalError", message)
    }

    fn denied(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self::Denied {
            code,
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// Asks, in a task of its own: a panic ends that task and nothing else, and whoever blocks a thread is still too late.
pub(crate) async fn ask(
    validator: Arc<dyn Validator>,
    request: AdmissionRequest,
    timeout: Duration,
) -> Verdict {
    let path = validator.path();
    // Which ends with this value: nobody decides for a client that has gone.
    let mut task = JoinSet::new();
    task.spawn(async move { validator.validate(&request).await });
    match tokio::time::timeout(timeout, task.join_next()).await {
        Ok(Some(Ok(verdict))) => verdict,
        Ok(failed) => {
            let error = failed.and_then(Result::err).map(|error| error.to_string());
            tracing::error!(validator = path, error, "a validator failed");
            let message = format!(
                "the validator {path:?} failed and cannot say whether this is right; its log says why"
            );
            Verdict::failed(message)
        }
        Err(_) => {
            tracing::warn!(validator = path, ?timeout, "a validator took too long");
            let message = format!("the validator {path:?} did not decide within {timeout:?}; try again");
            // As the API server says it of a webhook that is late. At 504, clients would try again by themselves, and hang.
            Verdict::failed(message)
        }
    }
}
