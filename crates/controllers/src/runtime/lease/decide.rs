//! What to do about a lease, as a function of what is known.

use std::time::Duration;

use tokio::time::Instant;

use super::Settings;

/// A lease as the server shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Who holds it; nobody if it was given back.
    pub holder: Option<String>,
    /// For how long it is good, as its holder says.
    pub duration: Option<Duration>,
    /// Its resource version.
    pub version: String,
}

/// What a candidate knows. All times are its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// The lease, if there is one.
    pub lease: Option<Seen>,
    /// When the lease was first seen as it is.
    pub since: Option<Instant>,
    /// When it was last looked at; never, at first.
    pub looked: Option<Instant>,
    /// Whether what was seen is known to be out of date.
    pub stale: bool,
    /// When our last renewal that succeeded was begun, if we hold the lease.
    pub renewed: Option<Instant>,
}

impl Observed {
    /// Takes in what the server shows.
    pub fn note(&mut self, lease: Option<Seen>, now: Instant) {
        if self.looked.is_none() || self.lease != lease {
            self.since = Some(now);
        }
        self.lease = lease;
        self.looked = Some(now);
        self.stale = false;
    }

    /// Who holds the lease, as far as we know.
    pub fn holder(&self) -> Option<&str> {
        self.lease.as_ref()?.holder.as_deref()
    }

    /// When to stop leading unless the lease is renewed before.
    pub fn give_up_at(&self, settings: &Settings) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + settings.renew_deadline)
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Ask the server how the lease is.
    Look,
    /// Write ourselves into it.
    Take,
    /// Write again that it is ours.
    Renew,
    /// Nothing for a while.
    Wait(Duration),
    /// Stop leading: others may soon.
    GiveUp,
}

/// What to do next, given what is known.
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
        // Ours from a life before this one.
        Some(holder) if *holder == settings.identity => return Step::Take,
        Some(_) => {}
    }
    let good_for = lease.duration.unwrap_or(settings.duration);
    if observed.since.is_some_and(|since| now >= since + good_for) {
        // If it was renewed without our noticing, the resource version says so.
        return Step::Take;
    }
    match (looked + settings.retry).checked_duration_since(now) {
        Some(left) if !left.is_zero() => Step::Wait(left),
        _ => Step::Look,
    }
}
