//! Settings of a manager.

use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_compositions::revision::LabelEdits;
use cambium_definitions::LocalDefinitions;
use cambium_definitions::identity::Identities;
use cambium_functions::Plain;
use cambium_lineage::Retention;
use cambium_metrics::Metrics;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// How a manager works.
#[derive(Clone)]
pub struct Settings {
    /// Where the manager keeps objects of its own.
    pub namespace: String,
    /// How many revisions of a definition are kept besides the current one and those in use.
    pub definition_revision_limit: usize,
    /// How many revisions of an application are kept besides the current one.
    pub application_revision_limit: usize,
    /// How many revisions of a composition are kept besides the current one and those in use.
    pub composition_revision_limit: usize,
    /// How long a revision of a composition is kept after it was issued, whatever uses it.
    pub revision_grace: SignedDuration,
    /// Whether composite resources use revisions, and not compositions as they are.
    pub composition_revisions: bool,
    /// Whether edits of a composition's labels make revisions.
    pub label_edits: LabelEdits,
    /// How long an unused revision is marked before it is deleted.
    pub deletion_delay: SignedDuration,
    /// How long one piece of work that runs templates, patches or functions may take.
    pub template_time_limit: Duration,
    /// How many Applications, and how many composite resources, are reconciled concurrently.
    pub workers: usize,
    /// How many composite resources of a kind follow a publish per second; no limit if there is none.
    pub automatic_moves_per_second: Option<NonZeroU32>,
    /// The timeout of a request to the API server.
    pub request_timeout: Duration,
    /// Endpoints of functions as `host:port`, by the names of functions. They override those of Function objects, which need not exist.
    pub functions: BTreeMap<String, String>,
    /// Where functions may be called without TLS.
    pub plain_functions: Plain,
    /// How long a function may take to answer.
    pub function_deadline: Duration,
    /// Whether the API server serves definitions at v2beta1, which needs the webhook.
    pub serves_v2beta1: bool,
    /// Whether applications use definitions of their own namespace.
    pub local_definitions: LocalDefinitions,
    /// The identities with which objects of Applications are applied.
    pub identities: Identities,
    /// The reporting instance of its events.
    pub instance: String,
    /// Its metrics.
    pub metrics: Metrics,
    /// Its clock.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            namespace: SYSTEM_NAMESPACE.to_owned(),
            definition_revision_limit: 20,
            application_revision_limit: 10,
            composition_revision_limit: 10,
            revision_grace: SignedDuration::from_secs(60),
            composition_revisions: true,
            label_edits: LabelEdits::default(),
            deletion_delay: SignedDuration::from_secs(30),
            template_time_limit: Duration::from_secs(3),
            workers: 8,
            automatic_moves_per_second: None,
            request_timeout: Duration::from_secs(30),
            functions: BTreeMap::new(),
            plain_functions: Plain::default(),
            function_deadline: Duration::from_secs(20),
            serves_v2beta1: true,
            local_definitions: LocalDefinitions::Used,
            identities: Identities::default(),
            instance: "cambium".to_owned(),
            metrics: Metrics::default(),
            clock: Arc::new(Timestamp::now),
        }
    }
}

impl Settings {
    pub(crate) fn retention(&self) -> Retention {
        Retention {
            newest: self.definition_revision_limit,
            grace: SignedDuration::ZERO,
            delay: self.deletion_delay,
        }
    }
}
