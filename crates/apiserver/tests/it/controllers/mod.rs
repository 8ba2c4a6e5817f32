//! The built-in controllers.

mod deployments;
mod gc;
mod namespaces;
mod support;
mod workloads;
