//! Aggregation: groups and versions that another API server answers.
//!
//! ```text
//!  APIService with a service ─► Remotes: which group and version goes where?
//!        request ─► proxy ─► HTTPS to the backend, as the front proxy, in the caller's name
//!        /apis    ─► what backends said of themselves when they were looked at last
//!        /openapi ─► documents: the same, in OpenAPI
//!  registry ─► local: an APIService for every group and version that this server answers
//! ```
//!
//! Whether a backend can be reached is found out by `controllers::api_services`, and kept in the APIService.

mod discovery;
mod documents;
mod local;
mod priorities;
mod proxy;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use documents::Library;
use serde_json::Value;

use crate::object;
use crate::pki::{Authority, Identity, PkiError};
use crate::store::{Derived, Store};
use crate::webhook::ServiceReference;

pub(crate) use discovery::learn;
pub(crate) use documents::learn_documents;
pub(crate) use local::{available as locally_available, keep as keep_local, missing as missing_local};
pub(crate) use priorities::{Priority, of as priority_of, order, version_order};
pub(crate) use proxy::{Forwarded, forward};

/// Where APIServices are kept.
pub(crate) const API_SERVICES: &str = "apiregistration.k8s.io/apiservices";

/// Names the front proxy to backends.
const FRONT_PROXY: &str = "front-proxy-client";

/// A group and version.
type Place = (String, String);

/// What is answered elsewhere.
pub(crate) struct Aggregation {
    remotes: Derived<Remotes, 1>,
    clients: proxy::Clients,
    /// What each group and version of a backend holds, as discovery tells it.
    discovered: Mutex<BTreeMap<Place, Value>>,
    /// What it says of itself in OpenAPI.
    documents: Mutex<Library>,
    authority: String,
}

/// A group and version that a backend answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remote {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) service: ServiceReference,
    /// Base64 of PEM; empty for the authorities of the system.
    ca_bundle: String,
    insecure: bool,
    pub(crate) priority: Priority,
    pub(crate) available: bool,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Remotes(Vec<Arc<Remote>>);

impl Aggregation {
    /// With a front proxy, whom backends know by what is said in `kube-system`. Without an authority to vouch for it, it gets one
    /// of its own.
    pub(crate) fn new(store: &Store, authority: Option<Authority>) -> Self {
        let (authority, identity) =
            front_proxy(authority).expect("keys can be made, and the names are fixed");
        Self {
            remotes: Derived::new(store, [API_SERVICES], |[services]| {
                Remotes(
                    services
                        .iter()
                        .filter_map(|entry| Remote::read(&entry.value()))
                        .map(Arc::new)
                        .collect(),
                )
            }),
            clients: proxy::Clients::new(identity),
            discovered: Mutex::default(),
            documents: Mutex::default(),
            authority,
        }
    }

    /// Every group and version that somebody else answers.
    pub(crate) fn remotes(&self) -> Arc<Remotes> {
        self.remotes.get()
    }

    /// What backends need in order to believe the front proxy: the data of `extension-apiserver-authentication`.
    pub(crate) fn authentication(&self) -> Value {
        serde_json::json!({
            "requestheader-allowed-names": format!("[{FRONT_PROXY:?}]"),
            "requestheader-client-ca-file": self.authority,
            "requestheader-extra-headers-prefix": r#"["X-Remote-Extra-"]"#,
            "requestheader-group-headers": r#"["X-Remote-Group"]"#,
            "requestheader-uid-headers": r#"["X-Remote-Uid"]"#,
            "requestheader-username-headers": r#"["X-Remote-User"]"#,
        })
    }

    /// Forgets what a backend said; `name` is that of its APIService.
    pub(crate) fn forget(&self, name: &str) {
        if let Some((version, group)) = name.split_once('.') {
            let place = (group.to_owned(), version.to_owned());
            self.discovered().remove(&place);
            self.documents().forget(&place);
        }
    }

    fn discovered(&self) -> MutexGuard<'_, BTreeMap<Place, Value>> {
        self.discovered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn documents(&self) -> MutexGuard<'_, Library> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The certificate of an authority, and what it made for the front proxy. Backends judge it by their own clocks, so it
/// is made by the machine's, not by the server's.
fn front_proxy(authority: Option<Authority>) -> Result<(String, Identity), PkiError> {
    let now = jiff::Timestamp::now();
    let authority = match authority {
        Some(authority) => authority,
        None => Authority::generate(now)?,
    };
    let identity = authority.client(FRONT_PROXY, &[], now)?;
    Ok((authority.certificate().to_owned(), identity))
}

impl Remotes {
    /// Who answers a path such as `/apis/metrics.k8s.io/v1beta1/nodes`.
    pub(crate) fn find(&self, path: &str) -> Option<&Arc<Remote>> {
        if self.0.is_empty() {
            return None;
        }
        let mut parts = path.strip_prefix("/apis/")?.split('/');
        let (group, version) = (parts.next()?, parts.next()?);
        self.0
            .iter()
            .find(|remote| remote.group == group && remote.version == version)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Remote>> {
        self.0.iter()
    }
}

impl Remote {
    /// Reads an APIService; `None` for one that this server answers itself.
    pub(crate) fn read(api_service: &Value) -> Option<Self> {
        let service = object::at(api_service, "spec.service").filter(|service| service.is_object())?;
        let text = |path: &str| {
            object::at(api_service, path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let number = |path: &str| {
            object::at(api_service, path)
                .and_then(Value::as_i64)
                .unwrap_or_default()
        };
        let port = service.get("port").and_then(Value::as_u64).unwrap_or(443);
        let conditions = object::at(api_service, "status.conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        Some(Self {
            group: text("spec.group"),
            version: text("spec.version"),
            service: ServiceReference {
                namespace: text("spec.service.namespace"),
                name: text("spec.service.name"),
                port: u16::try_from(port).unwrap_or(443),
            },
            ca_bundle: text("spec.caBundle"),
            insecure: object::at(api_service, "spec.insecureSkipTLSVerify")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            priority: Priority {
                group: number("spec.groupPriorityMinimum"),
                version: number("spec.versionPriority"),
            },
            available: conditions.any(|one| one["type"] == "Available" && one["status"] == "True"),
        })
    }

    /// Where a backend says what it holds.
    pub(crate) fn root(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }

    /// The name of its APIService.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    /// How indexes of OpenAPI v3 call its document.
    fn document_name(&self) -> String {
        format!("apis/{}/{}", self.group, self.version)
    }

    fn place(&self) -> Place {
        (self.group.clone(), self.version.clone())
    }
}
