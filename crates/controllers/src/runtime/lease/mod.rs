//! Leader election: one replica of the manager holds a `coordination.k8s.io/v1` Lease and writes.
//!
//! Two clocks never meet here. A candidate takes a lease over when *it* has not seen it change for as long as
//! the lease is good for; a holder gives up when *it* has not renewed for a shorter time, counted from before
//! it sent its last successful renewal. Timestamps in the lease are for people. Writes carry the resource
//! version, so of two candidates one gets a conflict.
//!
//! Every replica computes; only the leader writes:
//!
//! ```no_run
//! # use cambium_controllers::runtime::lease::{Election, Settings, run_while_leader};
//! # async fn example(client: kube::Client) {
//! let election = Election::start(client, Settings::new("cambium-system", "cambium", "pod-1"));
//! run_while_leader(election.leadership(), || async { /* write */ }).await;
//! election.release().await; // after the work has stopped
//! # }
//! ```

mod decide;

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

pub use decide::{Observed, Seen, Step, decide};

/// The lease of an election, and its timing.
#[derive(Clone)]
pub struct Settings {
    /// The namespace of the lease.
    pub namespace: String,
    /// The name of the lease.
    pub name: String,
    /// The identity of this candidate. No two candidates may have the same.
    pub identity: String,
    /// The lease duration: how long other candidates wait for a renewal.
    pub duration: Duration,
    /// The renew deadline: a leader that has not renewed for so long stops. It must be shorter than `duration`, or two replicas would write at once.
    pub renew_deadline: Duration,
    /// The retry period: how often a leader renews and a candidate reads the lease.
    pub retry: Duration,
    /// The clock for the timestamps in the Lease, which only people read.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Settings {
    /// The durations that Kubernetes' own controllers use: 15 s, 10 s and 2 s.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
            clock: Arc::new(Timestamp::now),
        }
    }
}

/// Whether we may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leadership {
    /// It leads, until told otherwise.
    Leading {
        /// Counts its terms, so that a loss between two reads is noticed.
        term: u64,
    },
    /// Another replica leads, or none.
    Following {
        /// The leader, as far as is known.
        holder: Option<String>,
    },
}

impl Leadership {
    /// Whether we may write.
    pub fn is_leading(&self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}

/// A candidate that runs in the background.
pub struct Election {
    leadership: watch::Receiver<Leadership>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Election {
    /// Starts to stand for election. Dropping what is returned without [`Election::release`] is like losing power:
    /// we lead no longer, and others wait until the lease has run out.
    pub fn start(client: Client, settings: Settings) -> Self {
        let (tell, leadership) = watch::channel(Leadership::Following { holder: None });
        let (stop, stopped) = oneshot::channel();
        let api = Api::namespaced(client, &settings.namespace);
        let candidate = Candidate {
            api,
            settings,
            tell,
            observed: Observed::default(),
            lease: None,
            warned: false,
            conflicted: false,
            term: 0,
        };
        let task = tokio::spawn(candidate.run(stopped));
        Self {
            leadership,
            stop,
            task,
        }
    }

    /// Whether this replica leads, now and from now on.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.clone()
    }

    /// Releases the lease, so that another replica takes over at once. All writers must have stopped before.
    pub async fn release(self) {
        // A candidate that has ended holds nothing.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// Runs what `make` makes whenever we lead, and drops it when we no longer do. Ends when it ends by itself while we
/// lead, with what it gave, or with nothing when the election is over.
pub async fn run_while_leader<M, W>(
    mut leadership: watch::Receiver<Leadership>,
    mut make: M,
) -> Option<W::Output>
where
    M: FnMut() -> W,
    W: Future,
{
    loop {
        let term = leadership.wait_for(Leadership::is_leading).await.ok()?.clone();
        tokio::select! {
            biased;
            lost = leadership.wait_for(|now| *now != term) => drop(lost.ok()?),
            output = make() => return Some(output),
        }
    }
}

struct Candidate {
    api: Api<Lease>,
    settings: Settings,
    tell: watch::Sender<Leadership>,
    observed: Observed,
    /// The lease as last read: writes name its resource version.
    lease: Option<Lease>,
    warned: bool,
    /// Whether the last write was a conflict; two in a row are followed by a pause.
    conflicted: bool,
    term: u64,
}

impl Candidate {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let turn = async {
                if let Some(pause) = self.step().await {
                    let wake = Instant::now() + pause;
                    let wake = self
                        .observed
                        .give_up_at(&self.settings)
                        .map_or(wake, |at| at.min(wake));
                    tokio::time::sleep_until(wake).await;
                }
            };
            tokio::select! {
                biased;
                told = &mut stopped => {
                    let held = self.stand_down();
                    // A dropped sender means that nobody cares any more, not that the lease should be given back.
                    if told.is_ok() && held {
                        self.give_back().await;
                    }
                    return;
                }
                () = turn => {}
            }
        }
    }

    /// Takes one step; how long to wait before the next.
    async fn step(&mut self) -> Option<Duration> {
        match decide(&self.settings, &self.observed, Instant::now()) {
            Step::Look => self.attempt(Self::look).await,
            Step::Take | Step::Renew => self.attempt(Self::hold).await,
            Step::Wait(pause) => Some(pause),
            Step::GiveUp => {
                tracing::warn!(lease = %self.settings.name, "failed to renew the lease in time; no longer the leader");
                self.stand_down();
                None
            }
        }
    }

    /// Sends a request that ends before the renew deadline: a leader without an answer must stop in time.
    async fn attempt(&mut self, ask: impl AsyncFnOnce(&mut Self) -> kube::Result<()>) -> Option<Duration> {
        let begun = Instant::now();
        let deadline = begun + self.settings.renew_deadline;
        let until = self
            .observed
            .give_up_at(&self.settings)
            .map_or(deadline, |at| at.min(deadline));
        let answer = tokio::time::timeout_at(until, ask(self)).await;
        let error = match answer {
            Ok(Ok(())) => {
                if std::mem::take(&mut self.warned) {
                    tracing::info!(lease = %self.settings.name, "the API server answers for the lease again");
                }
                return None;
            }
            // Somebody was faster, the lease was deleted, or our own last write was carried out and its answer lost: look,
            // and decide again.
            Ok(Err(kube::Error::Api(status)))
                if status.code == 409 || (matches!(status.code, 400 | 404) && self.lease.is_some()) =>
            {
                self.observed.stale = true;
                return std::mem::replace(&mut self.conflicted, true).then_some(self.settings.retry);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        self.observed.stale = true;
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(lease = %self.settings.name, %error, "failed to get or update the lease; retrying");
        }
        Some(self.settings.retry)
    }

    async fn look(&mut self) -> kube::Result<()> {
        let lease = self.api.get_opt(&self.settings.name).await?;
        self.learn(lease);
        Ok(())
    }

    async fn hold(&mut self) -> kube::Result<()> {
        // Counted from before the request: however long it takes, others count from later.
        let begun = Instant::now();
        let wanted = self.wanted();
        let lease = if self.lease.is_some() {
            self.api
                .replace(&self.settings.name, &PostParams::default(), &wanted)
                .await?
        } else {
            self.api.create(&PostParams::default(), &wanted).await?
        };
        self.conflicted = false;
        self.observed.renewed = Some(begun);
        self.learn(Some(lease));
        if begun + self.settings.renew_deadline > Instant::now() {
            let mut term = self.term;
            self.tell.send_if_modified(|now| {
                let news = !now.is_leading();
                if news {
                    term += 1;
                    *now = Leadership::Leading { term };
                }
                news
            });
            self.term = term;
        }
        Ok(())
    }

    /// The lease with this replica as holder.
    fn wanted(&self) -> Lease {
        let known = self.lease.clone().unwrap_or_default();
        let spec = known.spec.unwrap_or_default();
        let now = Some(self.now_after(spec.renew_time.as_ref()));
        let ours = spec.holder_identity.as_deref() == Some(&self.settings.identity);
        let transitions = spec.lease_transitions.unwrap_or(0);
        let metadata = ObjectMeta {
            name: Some(self.settings.name.clone()),
            namespace: Some(self.settings.namespace.clone()),
            ..known.metadata
        };
        Lease {
            metadata,
            spec: Some(LeaseSpec {
                holder_identity: Some(self.settings.identity.clone()),
                lease_duration_seconds: i32::try_from(self.settings.duration.as_secs()).ok(),
                acquire_time: if ours { spec.acquire_time } else { now.clone() },
                renew_time: now,
                lease_transitions: Some(if ours || self.lease.is_none() {
                    transitions
                } else {
                    transitions + 1
                }),
                ..spec
            }),
        }
    }

    /// The time, different from the last renew time: a renewal that changes nothing gets no new resource version, and other candidates
    /// would count it as missing.
    fn now_after(&self, before: Option<&MicroTime>) -> MicroTime {
        let now = (self.settings.clock)();
        let tick = SignedDuration::from_micros(1);
        match before.and_then(|before| before.0.checked_add(tick).ok()) {
            Some(next) if now < next && next.duration_since(now) <= tick => MicroTime(next),
            _ => MicroTime(now),
        }
    }

    /// Takes in the lease as the API server has it.
    fn learn(&mut self, lease: Option<Lease>) {
        let now = Instant::now();
        let seen = lease.as_ref().map(|lease| {
            let spec = lease.spec.clone().unwrap_or_default();
            Seen {
                holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
                duration: spec
                    .lease_duration_seconds
                    .and_then(|seconds| u64::try_from(seconds).ok())
                    .map(Duration::from_secs),
                version: lease.metadata.resource_version.clone().unwrap_or_default(),
            }
        });
        self.observed.learn(seen, now);
        self.lease = lease;
        if self.observed.holder() != Some(&self.settings.identity) {
            // Taken from us, by whatever means: the server's word counts.
            self.observed.renewed = None;
        }
        if self.observed.renewed.is_none() {
            self.follow();
        }
    }

    fn follow(&self) {
        let holder = self.observed.holder().map(str::to_owned);
        let following = Leadership::Following { holder };
        self.tell.send_if_modified(|now| {
            let news = *now != following;
            *now = following;
            news
        });
    }

    /// Stops leading; whether it led.
    fn stand_down(&mut self) -> bool {
        let held = self.observed.renewed.take().is_some();
        self.follow();
        held
    }

    /// Clears the holder of the lease.
    async fn give_back(&mut self) {
        let limit = self.settings.renew_deadline;
        let answer = match tokio::time::timeout(limit, self.write_nobody()).await {
            // Our last renewal may have been carried out without our knowing.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                let again = async {
                    self.look().await?;
                    self.write_nobody().await
                };
                tokio::time::timeout(limit, again).await
            }
            answer => answer,
        };
        match answer {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(lease = %self.settings.name, %error, "failed to release the lease")
            }
            Err(_) => tracing::debug!(lease = %self.settings.name, "failed to release the lease in time"),
        }
    }

    async fn write_nobody(&self) -> kube::Result<()> {
        if self.observed.holder() != Some(&self.settings.identity) {
            return Ok(());
        }
        let Some(mut lease) = self.lease.clone() else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(self.now_after(spec.renew_time.as_ref()));
        self.api
            .replace(&self.settings.name, &PostParams::default(), &lease)
            .await
            .map(drop)
    }
}

#[cfg(test)]
mod tests;
