//! Kubernetes clients against the embedded server.

mod control;
mod envtest;
mod hours;
mod informer;
mod restart;
mod support;
