//! Validation of built-in kinds.
//!
//! Objects are decoded and defaulted already; metadata and CustomResourceDefinitions are validated in the server.
//!
//! ```text
//! at, rule, selector          shared helpers
//! pod                         pods and their templates
//! workload, batch, cron       workload kinds
//! service, endpoints, ingress, network_policy
//! configuration, storage      ConfigMaps, Secrets, volumes
//! autoscaling, policy, access, webhook, admission_policy, flow, aggregation, cluster, quota
//! ```

mod access;
mod admission_policy;
mod aggregation;
mod at;
mod autoscaling;
mod batch;
mod cluster;
mod configuration;
mod cron;
mod endpoints;
mod flow;
mod ingress;
mod network_policy;
mod pod;
mod policy;
mod quota;
mod rule;
mod selector;
mod service;
mod storage;
mod webhook;
mod workload;

use cambium_schema::FieldError;
use serde_json::Value;

use self::access::Reach;
use self::admission_policy::Sort;
use self::at::At;
use crate::Resource;

/// Validates an object, and its update from `old`.
pub fn validate(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut found = Vec::new();
    let errors = &mut found;
    let (at, before) = (At::root(new), old.map(At::root));
    let before = before.as_ref();
    match (resource.group, resource.kind) {
        ("", "Pod") => pod::check(new, old, errors),
        ("", "PodTemplate") => pod::template(&at.field("template"), &[], errors),
        ("", "ReplicationController") => workload::replication_controller(&at, errors),
        ("", "Service") => service::check(&at, before, errors),
        ("", "Endpoints") => endpoints::endpoints(&at, errors),
        ("", "ConfigMap") => configuration::config_map(&at, before, errors),
        ("", "Secret") => configuration::secret(&at, before, errors),
        ("", "Namespace") => cluster::namespace(&at, errors),
        ("", "Event") => cluster::event(&at, errors),
        ("", "PersistentVolumeClaim") => storage::claim(&at, before, errors),
        ("", "PersistentVolume") => storage::volume(&at, before, errors),
        ("", "LimitRange") => cluster::limit_range(&at, errors),
        ("", "ResourceQuota") => quota::check(&at, before, errors),
        ("apps", "Deployment") => workload::deployment(&at, before, errors),
        ("apps", "ReplicaSet") => workload::replica_set(&at, before, errors),
        ("apps", "StatefulSet") => workload::stateful_set(&at, before, errors),
        ("apps", "DaemonSet") => workload::daemon_set(&at, before, errors),
        ("apps", "ControllerRevision") => cluster::controller_revision(&at, before, errors),
        ("batch", "Job") => batch::job(&at, before, errors),
        ("batch", "CronJob") => batch::cron_job(&at, errors),
        ("networking.k8s.io", "Ingress") => ingress::check(&at, errors),
        ("networking.k8s.io", "IngressClass") => ingress::class(&at, before, errors),
        ("networking.k8s.io", "NetworkPolicy") => network_policy::check(&at, errors),
        ("discovery.k8s.io", "EndpointSlice") => endpoints::slice(&at, before, errors),
        ("autoscaling", "HorizontalPodAutoscaler") if resource.version == "v2" => {
            autoscaling::check(&at, errors);
        }
        ("policy", "PodDisruptionBudget") => policy::disruption_budget(&at, errors),
        ("rbac.authorization.k8s.io", "Role") => access::role(&at, Reach::Namespace, errors),
        ("rbac.authorization.k8s.io", "ClusterRole") => access::role(&at, Reach::Cluster, errors),
        ("rbac.authorization.k8s.io", "RoleBinding") => {
            access::binding(&at, before, Reach::Namespace, errors);
        }
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => {
            access::binding(&at, before, Reach::Cluster, errors);
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => webhook::check(&at, errors),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
            admission_policy::policy(&at, Sort::Mutating, errors);
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding") => {
            admission_policy::binding(&at, Sort::Mutating, errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            admission_policy::policy(&at, Sort::Validating, errors);
        }
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            admission_policy::binding(&at, Sort::Validating, errors);
        }
        ("storage.k8s.io", "StorageClass") => storage::storage_class(&at, before, errors),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver(&at, errors),
        ("scheduling.k8s.io", "PriorityClass") => cluster::priority_class(&at, before, errors),
        ("node.k8s.io", "RuntimeClass") => cluster::runtime_class(&at, before, errors),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flow::flow_schema(&at, errors),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => flow::priority_level(&at, errors),
        ("apiregistration.k8s.io", "APIService") => aggregation::api_service(&at, errors),
        ("coordination.k8s.io", "Lease") => cluster::lease(&at, errors),
        _ => {}
    }
    found
}

/// Validates a `resize` of a pod, which may only change the resources of containers.
pub fn validate_resize(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut found = Vec::new();
    pod::resize(new, old, &mut found);
    found
}

#[cfg(test)]
mod tests;
