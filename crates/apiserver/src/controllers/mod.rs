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
//! | [`api_services`] | the aggregator's checks of backends |
//! | [`flows`] | the keeper of flow schemas and priority levels |
//! | [`account_secrets`] | the tokens controller: Secrets that hold a token |
//! | [`root_authority`] | the root CA publisher: `kube-root-ca.crt` in every namespace |
//! | [`cluster_roles`] | the cluster role aggregation controller |
//! | [`mirrors`] | the EndpointSlice mirroring controller: Endpoints written by hand, as slices |
//! | [`disruptions`] | the disruption controller: how many pods may be evicted, in the status of budgets |
//! | [`volumes`] | the persistent volume controller: claims get the volumes that are there |
//! | [`quotas`] | the resource quota controller: what a namespace uses, in the status of its quotas |
//! | [`policies`] | the type checker of admission policies |
//! | [`workloads`] | the workload controllers, the scheduler and the kubelets: a simulation |
//!
//! None of them polls: a look follows an event, a time that was announced, or a refusal.

mod account_secrets;
mod accounts;
mod api_services;
mod cluster_roles;
mod disruptions;
mod flows;
mod garbage;
mod mirrors;
mod namespaces;
mod place;
mod policies;
mod quotas;
mod root_authority;
mod volumes;
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
    /// Keeps a `default` ServiceAccount and the ConfigMap `kube-root-ca.crt` in every namespace, and fills in Secrets
    /// for tokens. Without it, pods are not given an account, either.
    pub service_accounts: bool,
    /// Finds out whether the backends of APIServices can be reached.
    pub api_services: bool,
    /// Keeps the flow schemas and priority levels of every cluster, and says which lead nowhere.
    pub flows: bool,
    /// Keeps the rules of aggregated ClusterRoles.
    pub cluster_roles: bool,
    /// Mirrors Endpoints that somebody writes by hand as EndpointSlices.
    pub mirrors: bool,
    /// Keeps the status of PodDisruptionBudgets, which evictions ask.
    pub disruptions: bool,
    /// Keeps the status of ResourceQuotas; they are enforced without it.
    pub quotas: bool,
    /// Binds PersistentVolumeClaims to volumes that are there; provisions none.
    pub volumes: bool,
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
            api_services: true,
            flows: true,
            cluster_roles: true,
            mirrors: true,
            disruptions: true,
            quotas: true,
            volumes: true,
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
            api_services: false,
            flows: false,
            cluster_roles: false,
            mirrors: false,
            disruptions: false,
            quotas: false,
            volumes: false,
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
        account_secrets::start(server);
        root_authority::start(server);
    }
    if controllers.cluster_roles {
        cluster_roles::start(server);
    }
    if controllers.api_services {
        api_services::start(server);
    }
    if controllers.flows {
        flows::start(server);
    }
    if controllers.mirrors {
        mirrors::start(server);
    }
    if controllers.disruptions {
        disruptions::start(server);
    }
    if controllers.quotas {
        quotas::start(server);
    }
    if controllers.volumes {
        volumes::start(server);
    }
    if controllers.policy_types {
        policies::start(server);
    }
    if let Some(simulation) = &controllers.workloads {
        workloads::start(server, simulation.clone());
    }
}
