//! A REST mapper: discovers resources by API version and kind, and remembers them.
//!
//! A manifest names a kind; requests need its plural, and whether it is in namespaces. Discovery knows. Only the group
//! version that is asked about is discovered, once; what was not found is asked for again, but not more often
//! than every few seconds, and at once after [`Mapper::forget`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::{GroupVersion, GroupVersionKind};
use tokio::time::Instant;

/// How soon discovery of a missing kind is repeated.
const PAUSE: Duration = Duration::from_secs(5);

/// A kind and its resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Group, version, kind and plural.
    pub api_resource: ApiResource,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// Group, version and kind.
    pub fn gvk(&self) -> GroupVersionKind {
        let ApiResource {
            group, version, kind, ..
        } = &self.api_resource;
        GroupVersionKind::gvk(group, version, kind)
    }

    /// A client of its objects: in this namespace, if they are namespaced.
    pub fn api(&self, client: Client, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced {
            Api::namespaced_with(client, namespace, &self.api_resource)
        } else {
            Api::all_with(client, &self.api_resource)
        }
    }
}

/// Why a kind could not be resolved.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ResolveError {
    /// The text is no API version.
    #[error("{api_version:?} is no apiVersion: expected \"version\" or \"group/version\"")]
    Malformed {
        /// The text.
        api_version: String,
    },
    /// The server does not serve the kind.
    #[error("no kind {kind:?} in {api_version:?}; is its CRD installed?")]
    NoKind {
        /// The API version that was asked for.
        api_version: String,
        /// The kind that it does not have.
        kind: String,
    },
    /// Discovery failed.
    #[error("failed to discover {api_version:?}: {source}")]
    Discovery {
        /// The API version that was asked for.
        api_version: String,
        /// What went wrong.
        #[source]
        source: Arc<kube::Error>,
    },
}

/// The discovered kinds of a server. Clones share them.
#[derive(Clone)]
pub struct Mapper {
    client: Client,
    versions: Arc<Mutex<HashMap<GroupVersion, Arc<Version>>>>,
}

/// The kinds of one group version. The lock is held during discovery, so that it is sent once.
#[derive(Default)]
struct Version(tokio::sync::Mutex<Option<Kinds>>);

struct Kinds {
    kinds: HashMap<String, Resource>,
    asked: Instant,
}

impl Mapper {
    /// A mapper that has discovered nothing yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            versions: Arc::default(),
        }
    }

    /// The resource of a kind.
    pub async fn resolve(&self, api_version: &str, kind: &str) -> Result<Resource, ResolveError> {
        let malformed = || ResolveError::Malformed {
            api_version: api_version.to_owned(),
        };
        let parsed: GroupVersion = api_version.parse().map_err(|_| malformed())?;
        let versioned = !parsed.version.is_empty() && !parsed.version.contains('/');
        if !versioned || (parsed.group.is_empty() && api_version.contains('/')) {
            return Err(malformed());
        }
        let version = self.versions().entry(parsed.clone()).or_default().clone();
        let mut known = version.0.lock().await;
        if let Some(Kinds { kinds, asked }) = &*known {
            if let Some(resource) = kinds.get(kind) {
                return Ok(resource.clone());
            }
            if asked.elapsed() < PAUSE {
                return Err(no_kind(api_version, kind));
            }
        }
        let kinds = self
            .discover(&parsed)
            .await
            .map_err(|source| ResolveError::Discovery {
                api_version: api_version.to_owned(),
                source: Arc::new(source),
            })?;
        let found = kinds.get(kind).cloned();
        let asked = Instant::now();
        *known = Some(Kinds { kinds, asked });
        found.ok_or_else(|| no_kind(api_version, kind))
    }

    /// Invalidates a group, whose kinds may have changed.
    pub fn forget(&self, group: &str) {
        self.versions().retain(|version, _| version.group != group);
    }

    async fn discover(&self, version: &GroupVersion) -> kube::Result<HashMap<String, Resource>> {
        let answer = if version.group.is_empty() {
            self.client.list_core_api_resources(&version.version).await
        } else {
            self.client.list_api_group_resources(&version.api_version()).await
        };
        let list = match answer {
            Ok(list) => list,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(HashMap::new()),
            Err(error) => return Err(error),
        };
        let resources = list
            .resources
            .into_iter()
            .filter(|resource| !resource.name.contains('/'));
        let kinds = resources.map(|resource| {
            let api_resource = ApiResource {
                group: version.group.clone(),
                version: version.version.clone(),
                api_version: version.api_version(),
                kind: resource.kind.clone(),
                plural: resource.name,
            };
            let namespaced = resource.namespaced;
            (
                resource.kind,
                Resource {
                    api_resource,
                    namespaced,
                },
            )
        });
        Ok(kinds.collect())
    }

    fn versions(&self) -> MutexGuard<'_, HashMap<GroupVersion, Arc<Version>>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_kind(api_version: &str, kind: &str) -> ResolveError {
    ResolveError::NoKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    }
}
