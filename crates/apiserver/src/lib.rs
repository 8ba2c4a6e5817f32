//! An embedded Kubernetes API server.
//!
//! In-process it is a [`tower_service::Service`] that `kube::Client::new` takes directly; over the
//! network it speaks TLS to `kubectl` and any other client. It keeps its objects in memory and,
//! optionally, on disk.
//!
//! ```text
//!            HTTP request
//!                 │
//!   serve ── TLS, client certificates           (over the network only)
//!                 │
//!   server ── authenticate, impersonate, priority and fairness, authorize (auth), route
//!      │          │            │                      │
//!   health    discovery      rest ── verbs         aggregation ── to another API server
//!   openapi                    │
//!                          admission ── ServiceAccount, LimitRanger, Priority, …, policies, webhooks
//!                              │
//!                          registry ── built-in kinds │ crd;   quota
//!                              │
//!                            store ── buckets in memory, redb on disk
//!                              │
//!                         controllers ── of kube-controller-manager, and simulated nodes
//! ```
//!
//! # Testing a controller
//!
//! ```
//! use std::sync::Arc;
//!
//! use cambium_apiserver::ApiServer;
//! use futures::StreamExt as _;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Patch, PatchParams, PostParams};
//! use kube::runtime::{Controller, controller::Action, wait::await_condition, watcher};
//! use kube::{Api, Client, ResourceExt as _};
//! use serde_json::json;
//!
//! /// Greets whoever is named in a ConfigMap.
//! async fn greet(map: Arc<ConfigMap>, client: Arc<Client>) -> Result<Action, kube::Error> {
//!     let name = map.data.as_ref().and_then(|data| data.get("name")).cloned().unwrap_or_default();
//!     let patch = json!({"metadata": {"annotations": {"greeting": format!("Hello, {name}!")}}});
//!     let maps: Api<ConfigMap> = Api::default_namespaced(Client::clone(&client));
//!     maps.patch(&map.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
//!     Ok(Action::await_change())
//! }
//!
//! # fn main() -> anyhow::Result<()> { tokio::runtime::Runtime::new()?.block_on(async {
//! let server = ApiServer::builder().build().await?; // milliseconds, no process, no socket
//! let client = Client::new(server, "default");
//! let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
//! let controller = Controller::new(maps.clone(), watcher::Config::default().labels("greet=me"))
//!     .run(greet, |_, _, _| Action::await_change(), Arc::new(client));
//! tokio::spawn(controller.for_each(async |_| ()));
//!
//! let map = json!({"metadata": {"name": "ada", "labels": {"greet": "me"}}, "data": {"name": "Ada"}});
//! maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
//! let greeted = |map: Option<&ConfigMap>| map.is_some_and(|map| map.annotations().contains_key("greeting"));
//! let map = await_condition(maps, "ada", greeted).await?;
//! assert_eq!(map.unwrap().annotations()["greeting"], "Hello, Ada!");
//! # anyhow::Ok(()) }) }
//! ```
//!
//! [`Builder`] configures a server; [`ApiServer::as_user`] is a handle that acts as another user, with RBAC enforced;
//! under tokio's paused time and with [`Builder::clock`], hours pass in milliseconds. The crate has no feature flags;
//! [`Controllers`] disables controllers that a test does not want.

mod admission;
mod aggregation;
mod allocate;
mod auth;
mod blocking;
mod bootstrap;
mod builder;
mod controllers;
mod convert;
mod crd;
mod discovery;
mod disruption;
mod fairness;
mod health;
mod loopback;
mod metrics;
mod object;
mod openapi;
pub mod pki;
pub mod private;
mod quota;
mod registry;
mod request;
mod rest;
mod selector;
pub mod serve;
mod server;
mod source;
pub mod status;
pub mod store;
mod trust;
mod validation;
mod webhook;
mod wire;

pub use auth::{
    Action, Authorizer, Decision, Held, MASTERS, MastersOnly, Rbac, ResourceAction, Rule, SigningKey, Tokens,
    User,
};
pub use builder::{ApiServer, Builder};
pub use controllers::{Controllers, Simulation, annotations};
pub use health::KUBERNETES_VERSION;
pub use source::{Clock, Entropy};
pub use webhook::{ServiceReference, ServiceResolver};
pub use wire::Body;
