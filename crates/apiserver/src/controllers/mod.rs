//! What a cluster does by itself: the controllers that stand in for kube-controller-manager.
//!
//! Each follows the store's feed, keeps the index it needs, and writes through the same door as
//! everybody else ([`crate::loopback`]), so that admission, validation and managed fields apply.
//!
//! | module | in place of |
//! |---|---|
//! | [`garbage`] | the garbage collector: owner references, and the three ways to delete an owner |
//! | [`namespaces`] | the namespace controller: empties a namespace that is being deleted |
//! | [`accounts`] | the service account controller: `default` in every namespace |
//! | [`policies`] | the type checker of admission policies |
//! | [`workloads`] | the workload controllers, the scheduler and the kubelets: a simulation |
//!
//! None of them polls: a look follows an event, a time that was announced, or a refusal.

mod accounts;
mod garbage;
mod namespaces;
mod place;
mod policies;
mod work;
mod workloads;

use std::sync::Arc;

use crate::server::Server;

pub(crate) use place::Place;
pub use workloads::{Simulation, annotations};

/// Under this name the controllers appear in managed fields, as upstream's do.
const MANAGER: &str = "kube-controller-manager";

/// Which built-in controllers run; by default, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controllers {
    /// Deletes objects whose owners are gone, and carries out foreground and orphan deletion.
    pub garbage_collection: bool,
    /// Empties namespaces that are being deleted, and lets them go.
    pub namespaces: bool,
    /// Keeps a `default` ServiceAccount in every namespace.
    pub service_accounts: bool,
    /// Checks the types of what ValidatingAdmissionPolicies say, and writes it into their status.
    pub policy_types: bool,
    /// Runs workloads without running anything: pods that start, become ready, fail and end by script.
    pub workloads: Option<Simulation>,
}

impl Controllers {
    /// All of them.
    pub fn all() -> Self {
        Self {
            garbage_collection: true,
            namespaces: true,
            service_accounts: true,
            policy_types: true,
            workloads: Some(Simulation::default()),
        }
    }

    /// None of them: objects stay as their writers leave them.
    pub fn none() -> Self {
        Self {
            garbage_collection: false,
            namespaces: false,
            service_accounts: false,
            policy_types: false,
            workloads: None,
        }
    }
}

impl Default for Controllers {
    fn default() -> Self {
        Self::all()
    }
}

/// Starts the controllers; what they need to know of the past they read from the store.
pub(crate) fn start(server: &Arc<Server>, controllers: &Controllers) {
    if controllers.garbage_collection {
        garbage::start(server);
    }
    if controllers.namespaces {
        namespaces::start(server);
    }
    if controllers.service_accounts {
        accounts::start(server);
    }
    if controllers.policy_types {
        policies::start(server);
    }
    if let Some(simulation) = &controllers.workloads {
        workloads::start(server, simulation.clone());
    }
}
