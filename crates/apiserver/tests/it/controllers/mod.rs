//! What kube-controller-manager and nodes do.

mod deployments;
mod gc;
mod namespaces;
mod support;
mod workloads;
