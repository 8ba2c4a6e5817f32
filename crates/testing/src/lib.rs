//! Test clusters and test support: fault injection, webhooks, raw requests.
//!
//! [`TestCluster::start`] gives an embedded cluster, fresh and in milliseconds. With
//! `CAMBIUM_TEST_BACKEND=kubernetes` it gives a real one instead (etcd, kube-apiserver and
//! kube-controller-manager from `KUBEBUILDER_ASSETS`), so that the same test runs on both.
//! A real cluster is shared by the tests of one binary: use unique names ([`TestCluster::unique`],
//! [`TestCluster::namespace`]).

mod campaign;
mod clock;
mod cluster;
mod crossplane;
mod dice;
pub mod faults;
mod https;
mod network;
mod peer;
mod raw;
mod real;
pub mod rights;
mod sequence;
mod skip;
mod wait;
mod watch;
mod webhook;

pub use campaign::campaign;
pub use clock::virtual_clock;
pub use cluster::{Backend, TestCluster};
pub use crossplane::{Crossplane, RunningCrossplane};
pub use dice::Dice;
pub use faults::{Fault, Faults, Filter, Recorder, for_every_call};
pub use https::{HttpsServer, Respond};
pub use network::NetworkCluster;
pub use peer::peer;
pub use raw::{Answer, Raw};
pub use real::{Kubernetes, kubernetes_kubeconfig};
pub use sequence::run_and_shrink;
pub use skip::skip;
pub use wait::{eventually, eventually_some};
pub use watch::Watch;
pub use webhook::{Handler, WebhookServer};
