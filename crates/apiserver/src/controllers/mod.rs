//! The built-in controllers, which stand in for kube-controller-manager.
//!
//! Each follows the store's feed of events, keeps the index it needs, and writes through the API
//! ([`crate::loopback`]), so that admission, validation and managed fields apply.
//!
//! | module | stands in for |
//! |---|---|
//! | [`garbage`] | the garbage collector: owner references, and the three ways to delete an owner |
//! | [`namespaces`] | the namespace controller: empties a namespace that is being deleted |
//! | [`service_accounts`] | the service account controller: `default` in every namespace |
//! | [`api_services`] | the aggregator's availability controller |
//! | [`flow_control`] | the API priority and fairness controller |
//! | [`service_account_tokens`] | the tokens controller: Secrets that hold a token |
//! | [`root_ca_publisher`] | the root CA publisher: `kube-root-ca.crt` in every namespace |
//! | [`cluster_roles`] | the cluster role aggregation controller |
//! | [`endpoint_slice_mirroring`] | the EndpointSlice mirroring controller: Endpoints written by hand, as slices |
//! | [`disruptions`] | the disruption controller: how many pods may be evicted, in the status of budgets |
//! | [`volumes`] | the persistent volume controller: binds claims to existing volumes |
//! | [`quotas`] | the resource quota controller: what a namespace uses, in the status of its quotas |
//! | [`policy_status`] | the type checker of ValidatingAdmissionPolicies |
//! | [`workloads`] | the workload controllers, the scheduler and the kubelets: a simulation |
//!
//! None of them polls: a reconcile follows an event, a timer, or the back-off after a failed write.

mod api_services;
mod cluster_roles;
mod disruptions;
mod endpoint_slice_mirroring;
mod flow_control;
mod garbage;
mod namespaces;
mod object_key;
mod policy_status;
mod quotas;
mod root_ca_publisher;
mod service_account_tokens;
mod service_accounts;
mod volumes;
mod work_queue;
mod workloads;

use std::sync::Arc;

use crate::server::Server;

pub(crate) use object_key::ObjectKey;
pub use workloads::{Simulation, annotations};

/// The field manager of the controllers, as upstream.
const MANAGER: &str = "kube-controller-manager";

/// Which built-in controllers run; by default, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controllers {
    /// The garbage collector: background, foreground and orphan deletion.
    pub garbage_collection: bool,
    /// Deletes the content of terminating namespaces, then finalizes them.
    pub namespaces: bool,
    /// Keeps a `default` ServiceAccount and the ConfigMap `kube-root-ca.crt` in every namespace, and fills in token
    /// Secrets. Without it, the ServiceAccount admission plugin is disabled, too.
    pub service_accounts: bool,
    /// Checks the availability of the backends of APIServices.
    pub api_services: bool,
    /// Maintains the bootstrap flow schemas and priority levels, and marks dangling flow schemas.
    pub flows: bool,
    /// Fills in the rules of aggregated ClusterRoles.
    pub cluster_roles: bool,
    /// Mirrors custom Endpoints as EndpointSlices.
    pub mirrors: bool,
    /// Keeps the status of PodDisruptionBudgets, which evictions check.
    pub disruptions: bool,
    /// Keeps the status of ResourceQuotas; quotas are enforced without it.
    pub quotas: bool,
    /// Binds PersistentVolumeClaims to existing volumes; provisions none.
    pub volumes: bool,
    /// Type checks ValidatingAdmissionPolicies and writes warnings into their status.
    pub policy_types: bool,
    /// Simulates the workload controllers, the scheduler and kubelets: pods run nothing, but become ready, fail and end.
    pub workloads: Option<Simulation>,
}

impl Controllers {
    /// All controllers.
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

    /// No controllers: objects stay as clients write them.
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

/// Starts the enabled controllers; each builds its index from the store first.
pub(crate) fn start(server: &Arc<Server>, controllers: &Controllers) {
    if controllers.garbage_collection {
        garbage::start(server);
    }
    if controllers.namespaces {
        namespaces::start(server);
    }
    if controllers.service_accounts {
        service_accounts::start(server);
        service_account_tokens::start(server);
        root_ca_publisher::start(server);
    }
    if controllers.cluster_roles {
        cluster_roles::start(server);
    }
    if controllers.api_services {
        api_services::start(server);
    }
    if controllers.flows {
        flow_control::start(server);
    }
    if controllers.mirrors {
        endpoint_slice_mirroring::start(server);
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
        policy_status::start(server);
    }
    if let Some(simulation) = &controllers.workloads {
        workloads::start(server, simulation.clone());
    }
}
