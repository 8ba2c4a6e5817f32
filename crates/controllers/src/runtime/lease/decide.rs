//! The rules of leader election, as a pure function.

use std::time::Duration;

use tokio::time::Instant;

use super::Settings;

/// A lease as the server shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The holder; none if it was released.
    pub holder: Option<String>,
    /// The lease duration that its holder promises.
    pub duration: Option<Duration>,
    /// Its resource version.
    pub version: String,
}

/// The knowledge of a candidate. All times are of its own monotonic clock: clocks of other machines are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The lease, if there is one.
    pub lease: Option<Seen>,
    /// When the lease was first seen at its present resource version.
    pub since: Option<Instant>,
    /// When it was last read.
    pub looked: Option<Instant>,
    /// Whether a conflict has shown that it is out of date.
    pub stale: bool,
    /// When the last successful renewal was begun, if this candidate holds the lease.
    pub renewed: Option<Instant>,
}

impl Observed {
    /// Takes in the lease as the API server has it.
    pub fn learn(&mut self, lease: Option<Seen>, now: Instant) {
        if self.looked.is_none() || self.lease != lease {
            self.since = Some(now);
        }
        self.lease = lease;
        self.looked = Some(now);
        self.stale = false;
    }

    /// The holder of the lease, as far as is known.
    pub fn holder(&self) -> Option<&str> {
        self.lease.as_ref()?.holder.as_deref()
    }

    /// When to stop leading unless the lease is renewed before: the renew deadline.
    pub fn give_up_at(&self, settings: &Settings) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + settings.renew_deadline)
    }
}

/// The next step of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Read the lease.
    Look,
    /// Acquire the lease.
    Take,
    /// Renew the lease.
    Renew,
    /// Wait.
    Wait(Duration),
    /// Stop leading: another candidate may acquire the lease soon.
    GiveUp,
}

/// Decides the next step of a candidate.
pub fn decide(settings: &Settings, observed: &Observed, now: Instant) -> Step {
    if observed.give_up_at(settings).is_some_and(|at| now >= at) {
        return Step::GiveUp;
    }
    let Some(looked) = observed.looked.filter(|_| !observed.stale) else {
        return Step::Look;
    };
    if let Some(renewed) = observed.renewed {
        return match (renewed + settings.retry).checked_duration_since(now) {
            Some(left) if !left.is_zero() => Step::Wait(left),
            _ => Step::Renew,
        };
    }
    let Some(lease) = &observed.lease else {
        return Step::Take;
    };
    match &lease.holder {
        None => return Step::Take,
        // Held by an earlier process with this identity.
        Some(holder) if *holder == settings.identity => return Step::Take,
        Some(_) => {}
    }
    let good_for = lease.duration.unwrap_or(settings.duration);
    if observed.since.is_some_and(|since| now >= since + good_for) {
        // If it was renewed in the meantime, its resource version has changed and the write is a conflict.
        return Step::Take;
    }
    match (looked + settings.retry).checked_duration_since(now) {
        Some(left) if !left.is_zero() => Step::Wait(left),
        _ => Step::Look,
    }
}
