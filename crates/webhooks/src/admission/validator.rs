//! The `Validator` trait, and how validators are called.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::{MatchCondition, RuleWithOperations};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::AdmissionRequest;

/// Allows or denies writes.
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

    /// The present rules of its webhook. A validator without rules has no webhook.
    fn rules(&self) -> Vec<RuleWithOperations>;

    /// The match conditions of its webhook, in CEL. The API server evaluates them: a write that is allowed anyway costs no call.
    fn conditions(&self) -> Vec<MatchCondition> {
        Vec::new()
    }

    /// Whether its rules are known yet. Until then, the registered ones stay.
    fn knows_rules(&self) -> bool {
        true
    }

    /// Changes whenever [`Validator::rules`] may answer something else. Nothing, if they stay as they are.
    fn rules_changed(&self) -> Option<watch::Receiver<()>> {
        None
    }

    /// What becomes of a deletion while nobody answers. [`Unanswered::Allow`] where a finalizer keeps what is in use anyway: a manager
    /// that is gone must not make anything undeletable.
    fn unanswered_deletions(&self) -> Unanswered {
        Unanswered::Refuse
    }

    /// Decides. It may take its time up to the time-out, after which the answer is no. Panics are answers too.
    fn validate<'a>(&'a self, request: &'a AdmissionRequest) -> BoxFuture<'a, Verdict>;
}

/// Whether a write is refused or allowed while no replica answers: the `failurePolicy` of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unanswered {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes on.
    Allow,
}

/// The answer of a validator.
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
        /// Why it is denied, and what to do.
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

    /// Denies, because the check itself failed.
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

/// Asks, in a task of its own.
pub(crate) async fn ask(
    validator: Arc<dyn Validator>,
    request: AdmissionRequest,
    timeout: Duration,
) -> Verdict {
    let asked = Asked {
        what: "validator",
        path: validator.path(),
    };
    let answer = async move { validator.validate(&request).await };
    in_time(asked, timeout, answer)
        .await
        .unwrap_or_else(|denied| denied)
}

/// Who is asked.
pub(super) struct Asked {
    pub(super) what: &'static str,
    pub(super) path: &'static str,
}

/// Runs a check as a task of its own, with a timeout: a panic ends that task alone, and a check that blocks its thread times out all the same.
pub(super) async fn in_time<T: Send + 'static>(
    Asked { what, path }: Asked,
    timeout: Duration,
    answer: impl Future<Output = T> + Send + 'static,
) -> Result<T, Verdict> {
    // Which ends with this value: nobody decides for a client that has gone.
    let mut task = JoinSet::new();
    task.spawn(answer);
    match tokio::time::timeout(timeout, task.join_next()).await {
        Ok(Some(Ok(answer))) => Ok(answer),
        Ok(failed) => {
            let error = failed.and_then(Result::err).map(|error| error.to_string());
            tracing::error!(path, error, "a {what} failed");
            let message = format!("the {what} {path:?} failed; the log of the manager has the reason");
            Err(Verdict::failed(message))
        }
        Err(_) => {
            tracing::warn!(path, ?timeout, "a {what} timed out");
            let message = format!("the {what} {path:?} timed out after {timeout:?}; try again");
            // As the API server says it of a webhook that is late. At 504, clients would try again by themselves, and hang.
            Err(Verdict::failed(message))
        }
    }
}
