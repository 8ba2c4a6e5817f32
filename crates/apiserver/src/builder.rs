//! `Builder` configures and starts a server; `ApiServer` is the in-process handle to it.

use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};

use crate::aggregation::{self, Aggregation};
use crate::auth::{Authorizer, SigningKey, Tokens, User};
use crate::controllers::Controllers;
use crate::pki::Authority;
use crate::server::{Access, Server, handle};
use crate::source::{Clock, Entropy, Sources};
use crate::store::{History, OpenError, Store};
use crate::webhook::{ServiceResolver, Webhooks};
use crate::wire::Body;
use crate::{bootstrap, controllers, crd};

/// A running API server. Clones are handles to the same one.
///
/// As a `Service` it treats callers as members of `system:masters`: the handle is a cluster-admin credential.
#[derive(Clone)]
pub struct ApiServer {
    server: Arc<Server>,
    caller: Option<Arc<User>>,
}

/// The configuration of an [`ApiServer`].
#[derive(Default)]
pub struct Builder {
    store: Option<Store>,
    file: Option<PathBuf>,
    history: History,
    sources: Sources,
    tokens: Tokens,
    signing_key: Option<SigningKey>,
    authority: Option<String>,
    front_proxy: Option<Authority>,
    authorizer: Option<Arc<dyn Authorizer>>,
    services: Option<ServiceResolver>,
    controllers: Controllers,
    body_timeout: Option<Duration>,
}

impl ApiServer {
    /// A configuration with defaults: everything in memory, all controllers enabled.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A handle whose requests are made as `caller`; `None` leaves authentication to the request's bearer token.
    #[must_use]
    pub fn as_user(&self, caller: Option<User>) -> Self {
        Self {
            server: self.server.clone(),
            caller: caller.map(Arc::new),
        }
    }

    /// The latest resource version of its store.
    pub fn revision(&self) -> u64 {
        self.server.store.revision()
    }

    /// The number of open watches.
    pub fn open_watches(&self) -> usize {
        self.server.watches.load(Ordering::Acquire)
    }

    /// Stops controllers and closes watches. Requests are still answered.
    pub fn stop(&self) {
        self.server.stop();
    }
}

impl Builder {
    /// Persists objects in this file.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Uses a store that is already open; takes precedence over [`Builder::file`].
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// How much history is kept for watches and paginated lists.
    #[must_use]
    pub fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// The clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.sources.clock = clock;
        self
    }

    /// The source of randomness for UIDs and generated names.
    #[must_use]
    pub fn entropy(mut self, entropy: Entropy) -> Self {
        self.sources.entropy = entropy;
        self
    }

    /// Static bearer tokens.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// The key that signs ServiceAccount tokens; without one, tokens are invalid after a restart.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.signing_key = Some(key);
        self
    }

    /// The CA certificate that clients should trust, as PEM; published in the ConfigMap `kube-root-ca.crt` of every namespace.
    #[must_use]
    pub fn authority(mut self, certificate: impl Into<String>) -> Self {
        self.authority = Some(certificate.into());
        self
    }

    /// The CA of the front proxy that authenticates this server to aggregated API servers. Without it, each start generates
    /// another one, and backends that read the CA only once have to be restarted, too.
    #[must_use]
    pub fn front_proxy(mut self, authority: Authority) -> Self {
        self.front_proxy = Some(authority);
        self
    }

    /// The authorizer; by default, RBAC over the roles and bindings in the cluster.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Resolves the `service` of a webhook's `clientConfig` to an address.
    #[must_use]
    pub fn service_resolver(mut self, resolver: ServiceResolver) -> Self {
        self.services = Some(resolver);
        self
    }

    /// Which built-in controllers run; by default, all of them.
    #[must_use]
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Read timeout for the body of a request; one minute by default.
    #[must_use]
    pub fn body_timeout(mut self, patience: Duration) -> Self {
        self.body_timeout = Some(patience);
        self
    }

    /// Opens the store, creates the bootstrap objects, and starts the controllers.
    pub async fn build(self) -> Result<ApiServer, OpenError> {
        let store = match (self.store, &self.file) {
            (Some(store), _) => store,
            (None, Some(path)) => Store::open(path, self.history)?,
            (None, None) => Store::in_memory(self.history),
        };
        let access = Access {
            tokens: self.tokens,
            signing_key: self.signing_key.unwrap_or_else(|| {
                SigningKey::generate().expect("the operating system has randomness for a key")
            }),
            authority: self.authority,
            authorizer: self.authorizer,
        };
        let webhooks = Webhooks::new(self.services);
        let aggregation = Aggregation::new(&store, self.front_proxy);
        let mut server = Server::new(store, self.sources, access, webhooks, aggregation);
        server.body_timeout = self.body_timeout.unwrap_or(server.body_timeout);
        server.service_accounts = self.controllers.service_accounts;
        let server = Arc::new(server);
        bootstrap::run(&server).await;
        let feed = server.store.feed();
        crd::load(&server).await;
        tokio::spawn(crd::run(server.clone(), feed));
        tokio::spawn(aggregation::run_local(server.clone()));
        controllers::start(&server, &self.controllers);
        server.set_ready();
        Ok(ApiServer {
            server,
            caller: Some(Arc::new(User::master("system:admin"))),
        })
    }
}

impl<B> tower_service::Service<Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (server, caller) = (self.server.clone(), self.caller.clone());
        Box::pin(async move { Ok(handle(&server, caller, request).await) })
    }
}
