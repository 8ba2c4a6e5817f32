//! The aggregation layer: group versions that another API server serves.
//!
//! ```text
//!  APIService with a service ─► Remotes: which group version goes to which Service
//!        request ─► proxy ─► HTTPS to the backend, as the front proxy, with X-Remote-* headers
//!        /apis    ─► the backends' cached discovery
//!        /openapi ─► documents: the backends' cached OpenAPI
//!  registry ─► local: an APIService for every group version that this server serves
//! ```
//!
//! `controllers::api_services` checks the availability of backends and records it in the status of the APIService.

mod discovery;
mod documents;
mod local;
mod priorities;
mod proxy;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use documents::DocumentCache;
use serde_json::Value;

use crate::object;
use crate::pki::{Authority, Identity, PkiError};
use crate::store::{Derived, Store};
use crate::webhook::ServiceReference;

pub(crate) use discovery::learn;
pub(crate) use documents::learn_documents;
pub(crate) use local::{available as locally_available, missing as missing_local, run as run_local};
pub(crate) use priorities::{Priority, of as priority_of, order, version_order};
pub(crate) use proxy::{Forwarded, forward};

/// The bucket of APIServices.
pub(crate) const API_SERVICES: &str = "apiregistration.k8s.io/apiservices";

/// The common name of the front proxy's client certificate.
const FRONT_PROXY: &str = "front-proxy-client";

/// A group and version.
type Place = (String, String);

/// The state of the aggregation layer.
pub(crate) struct Aggregation {
    remotes: Derived<Remotes, 1>,
    clients: proxy::Clients,
    /// Cached discovery of each remote group version.
    discovered: Mutex<BTreeMap<Place, Value>>,
    /// Cached OpenAPI documents.
    documents: Mutex<DocumentCache>,
    authority: String,
}

/// A group version that a backend serves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remote {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) service: ServiceReference,
    /// `caBundle`; empty for the system's root CAs.
    ca_bundle: String,
    insecure: bool,
    pub(crate) priority: Priority,
    pub(crate) available: bool,
}

/// All remote group versions.
#[derive(Default)]
pub(crate) struct Remotes(Vec<Arc<Remote>>);

impl Aggregation {
    /// Creates the client certificate of the front proxy, whose CA backends read from `kube-system`. Without a given CA, one is
    /// generated.
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

    /// All remote group versions.
    pub(crate) fn remotes(&self) -> Arc<Remotes> {
        self.remotes.get()
    }

    /// The data of the ConfigMap `extension-apiserver-authentication`, by which backends authenticate the front proxy.
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

    /// Drops the cached discovery and OpenAPI of an APIService.
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

    fn documents(&self) -> MutexGuard<'_, DocumentCache> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The CA certificate and the front proxy's client certificate. Backends check its validity by their own clocks, so it
/// is dated by the machine's clock, not by the server's.
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
    /// The backend of a path such as `/apis/metrics.k8s.io/v1beta1/nodes`.
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
    /// Reads an APIService; `None` for a local one.
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

    /// The discovery path of the group version.
    pub(crate) fn root(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }

    /// The name of its APIService.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    /// The name of its document in the OpenAPI v3 index.
    fn document_name(&self) -> String {
        format!("apis/{}/{}", self.group, self.version)
    }

    fn place(&self) -> Place {
        (self.group.clone(), self.version.clone())
    }
}
