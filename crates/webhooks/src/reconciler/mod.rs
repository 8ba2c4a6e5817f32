//! Reconciles the Secret with the certificate authorities, the caBundles that trust them, and this replica's serving certificate: observe, decide,
//! act.
//!
//! Every replica reconciles, without a leader. They write the same, and no write overtakes another: objects with a caBundle are read *before* the
//! Secret, and are written at the resource version that was read. So a caBundle is always written from a Secret that is at least as new as the one
//! that the caBundle before it was written from, and no replica takes a published authority back because it has not seen it yet.

mod act;
mod backoff;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::GetParams;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::Notify;

use self::backoff::{Backoff, Cause};
use crate::admission::{Admission, Mutator, Unanswered, Validator};
use crate::certificates::{
    CertificateError, Fingerprint, Leaf, LeafStep, Lifetimes, Observed, Plan, Resolver, SecretStep, Stored,
    plan,
};
use crate::registration::{self, Registration, Target, Webhook, Write};

/// Time, given.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Why certificates or registration could not be reconciled.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A request to the API server failed.
    #[error("{what} {name}: {source}")]
    Api {
        /// The action that failed.
        what: &'static str,
        /// The object.
        name: String,
        /// The error.
        #[source]
        source: Box<kube::Error>,
    },
    /// The Secret cannot be used.
    #[error("use the Secret {namespace}/{name}: {why}")]
    Refused {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Why, and what to do.
        why: String,
    },
    /// A certificate could not be issued.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Another client modifies the same objects as fast as they are reconciled.
    #[error("converge: another client keeps modifying our webhook configuration")]
    Restless,
}

impl ReconcileError {
    fn api(what: &'static str, name: &str) -> impl FnOnce(kube::Error) -> Self {
        let name = name.to_owned();
        move |source| Self::Api {
            what,
            name,
            source: Box::new(source),
        }
    }

    /// Whether a retry may succeed without a change by an administrator.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Api { source, .. } => match &**source {
                kube::Error::Api(status) => status.code >= 500 || status.code == 429,
                _ => true,
            },
            Self::Restless => true,
            Self::Refused { .. } | Self::Certificate(_) => false,
        }
    }
}

/// What to reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The Secret and the serving certificate: what a server needs before it is registered.
    Certificates,
    /// The registration, too.
    Everything,
}

/// The result of a reconcile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rest {
    /// When the next certificate has to be renewed, or an authority changes.
    pub(crate) look_again: Timestamp,
    /// Steps that it took.
    pub(crate) steps: usize,
    /// CRDs that are not established yet.
    pub(crate) unserved: Vec<String>,
}

/// The reconciler of certificates and registration.
pub(crate) struct Reconciler {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) secret: String,
    /// The registration without validating webhooks: the rules of validators change.
    pub(crate) registration: Registration,
    pub(crate) admission: Admission,
    pub(crate) names: Vec<String>,
    pub(crate) lifetimes: Lifetimes,
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) clock: Clock,
    pub(crate) wake: Arc<Notify>,
    /// See [`Observed::published_before`].
    pub(crate) published: Mutex<Option<Timestamp>>,
}

/// What was observed, in the order of the reads.
struct Seen {
    registration: Registration,
    looks: Vec<Look>,
    secret: Option<Secret>,
    stored: Stored,
}

/// One observed object.
struct Look {
    target: Target,
    /// The object as JSON: as a tree it takes ten times the memory, and there are many.
    found: Option<String>,
    /// See [`Registration::carried`].
    carried: Option<BTreeSet<Fingerprint>>,
    /// Whether it is a CRD that is not served yet.
    unserved: bool,
}

/// How many objects are written concurrently.
const AT_ONCE: usize = 2;

/// More steps than any rotation has.
const STEPS: usize = 20;

impl Reconciler {
    /// Takes steps until there is none to take.
    pub(crate) async fn settle(&self, extent: Extent) -> Result<Rest, ReconcileError> {
        for steps in 0..STEPS {
            if let Some(rest) = self.step(extent).await? {
                return Ok(Rest { steps, ..rest });
            }
        }
        Err(ReconcileError::Restless)
    }

    /// Observes, decides, acts. `None` if there may be more to do.
    async fn step(&self, extent: Extent) -> Result<Option<Rest>, ReconcileError> {
        let seen = self.observe().await?;
        // After the reads: an authority that is recorded as published at this time was in every caBundle by then.
        let now = (self.clock)();
        let plan = self.decide(&seen, now);
        if plan.secret != SecretStep::Keep {
            self.write_secret(&seen, &plan.secret, now).await?;
            return Ok(None);
        }
        if let (LeafStep::Sign { until }, Stored::Whole(authorities)) = (&plan.leaf, &seen.stored) {
            let leaf = Leaf::sign(&authorities.current, &self.names, now, *until)?;
            tracing::info!(by = %leaf.facts().by, %until, "issued a serving certificate");
            self.resolver.swap(leaf);
            return Ok(None);
        }
        if extent == Extent::Everything && self.register(&seen, &plan).await? > 0 {
            return Ok(None);
        }
        let unserved = seen.looks.iter().filter(|look| look.unserved);
        Ok(Some(Rest {
            look_again: plan.look_again,
            steps: 0,
            unserved: unserved.map(|look| look.target.name().to_owned()).collect(),
        }))
    }

    async fn observe(&self) -> Result<Seen, ReconcileError> {
        let registration = Registration {
            validating: webhooks(&self.admission.validators),
            mutating: mutating(&self.admission.mutators),
            ..self.registration.clone()
        };
        let looks = registration.targets().into_iter();
        let looks = try_join_all(looks.map(|target| self.look(&registration, target))).await?;
        let secret = self.secrets().get_opt(&self.secret).await;
        let secret = secret.map_err(ReconcileError::api("read the Secret", &self.secret))?;
        let stored = Stored::read(secret.as_ref());
        Ok(Seen {
            registration,
            looks,
            secret,
            stored,
        })
    }

    async fn look(&self, registration: &Registration, target: Target) -> Result<Look, ReconcileError> {
        let request = kube::core::Request::new(target.collection());
        let found = match request.get(target.name(), &GetParams::default()) {
            Ok(request) => act::existing(self.client.request_text(request).await),
            Err(error) => Err(kube::Error::BuildRequest(error)),
        };
        let found = found.map_err(ReconcileError::api("read", target.name()))?;
        let object = found.as_deref().map(|text| read(&target, text)).transpose()?;
        let is_crd = matches!(target, Target::Crd(_));
        Ok(Look {
            carried: registration.carried(&target, object.as_ref()),
            unserved: is_crd && !object.as_ref().is_some_and(registration::is_established),
            target,
            found,
        })
    }

    fn decide(&self, seen: &Seen, now: Timestamp) -> Plan {
        let carried = seen.looks.iter().filter_map(|look| look.carried.clone());
        let secret = seen.stored.facts();
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = Observed {
            published_before: std::mem::replace(&mut published, secret.published()),
            secret,
            bundles: carried.collect(),
            leaf: self.resolver.leaf().map(|leaf| leaf.facts().clone()),
        };
        plan(&observed, &self.lifetimes, now)
    }

    /// Writes the objects that differ; how many. An object that cannot be written does not keep the others from it.
    async fn register(&self, seen: &Seen, plan: &Plan) -> Result<usize, ReconcileError> {
        let certificates = seen.stored.certificates();
        let pem = |id: &Fingerprint| {
            let found = certificates.iter().find(|one| one.facts().id == *id);
            found.map(|one| one.pem())
        };
        let bundle: String = plan.bundle.iter().filter_map(pem).collect();
        let write = async |look: &Look| {
            let object = look.found.as_deref().map(|text| read(&look.target, text));
            let object = object.transpose()?;
            match registration::plan(&seen.registration, &look.target, object.as_ref(), &bundle) {
                Write::Nothing => Ok(false),
                write => self.write_target(&look.target, write).await.map(|()| true),
            }
        };
        let written: Vec<Result<bool, ReconcileError>> = stream::iter(&seen.looks)
            .map(write)
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut count = 0;
        for written in written {
            count += usize::from(written?);
        }
        Ok(count)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Reconciles at every change, and when certificates have to be renewed, until it is dropped.
    pub(crate) async fn run(&self, mut look_again: Timestamp) {
        let mut backoff = Backoff::default();
        let mut rules = self.rules_changed();
        let mut wanted = webhooks(&self.admission.validators);
        loop {
            let wait = Duration::try_from((self.clock)().duration_until(look_again)).unwrap_or_default();
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(wait.clamp(SHORTEST, LONGEST)) => {}
            }
            let before = std::mem::replace(&mut wanted, webhooks(&self.admission.validators));
            match self.settle(Extent::Everything).await {
                Ok(rest) => {
                    look_again = rest.look_again;
                    let same = before == wanted && wanted == webhooks(&self.admission.validators);
                    backoff.settled(rest.steps, if same { Cause::Drift } else { Cause::OwnChange });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to reconcile certificates and webhook configurations; backing off");
                    backoff.failed();
                    self.wake.notify_one();
                }
            }
            if backoff.rest(&mut rules).await {
                self.wake.notify_one();
            }
        }
    }
}

fn read(target: &Target, text: &str) -> Result<Value, ReconcileError> {
    serde_json::from_str(text)
        .map_err(kube::Error::SerdeError)
        .map_err(ReconcileError::api("read", target.name()))
}

/// The webhooks of validators. One without rules has no webhook.
fn webhooks(validators: &[Arc<dyn Validator>]) -> Vec<Webhook> {
    let wanted = validators.iter().flat_map(|validator| {
        let rules = validator.knows_rules().then(|| validator.rules());
        let webhook = Webhook::new(validator.path(), rules).under(validator.conditions());
        match validator.unanswered_deletions() {
            Unanswered::Refuse => vec![webhook],
            Unanswered::Allow => webhook.letting_go().into(),
        }
    });
    let asks = |webhook: &Webhook| webhook.rules.as_ref().is_none_or(|rules| !rules.is_empty());
    wanted.filter(asks).collect()
}

/// The webhooks of mutators.
fn mutating(mutators: &[Arc<dyn Mutator>]) -> Vec<Webhook> {
    let wanted = mutators
        .iter()
        .map(|mutator| Webhook::new(mutator.path(), Some(mutator.rules())));
    wanted.collect()
}

/// The longest time between two reconciles: clocks are set, and machines sleep.
const LONGEST: Duration = Duration::from_secs(3600);

/// The shortest time between two reconciles that time alone asks for.
const SHORTEST: Duration = Duration::from_secs(1);
