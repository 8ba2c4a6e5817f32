//! Putting a server together, and talking to it in-process.

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
/// As a service it treats callers as members of `system:masters`: whoever has the handle has the server.
#[derive(Clone)]
pub struct ApiServer {
    server: Arc<Server>,
    caller: Option<Arc<User>>,
}

/// What an [`ApiServer`] is made of.
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
    body_patience: Option<Duration>,
}

impl ApiServer {
    /// A server in memory, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same server as somebody else sees it; `None` leaves it to the request's bearer token.
    #[must_use]
    pub fn as_user(&self, caller: Option<User>) -> Self {
        Self {
            server: self.server.clone(),
            caller: caller.map(Arc::new),
        }
    }

    /// The newest revision of its store.
    pub fn revision(&self) -> u64 {
        self.server.store.revision()
    }

    /// How many watches are open.
    pub fn open_watches(&self) -> usize {
        self.server.watches.load(Ordering::Acquire)
    }

    /// Ends watches and controllers. Requests are still answered.
    pub fn stop(&self) {
        self.server.stop();
    }
}

impl Builder {
    /// Keeps objects in this file.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Keeps objects in a store that is open already, whatever else is said about where they are kept.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// How much of the past is kept for watches and pages.
    #[must_use]
    pub fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Where time comes from.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.sources.clock = clock;
        self
    }

    /// Where identities and generated names come from.
    #[must_use]
    pub fn entropy(mut self, entropy: Entropy) -> Self {
        self.sources.entropy = entropy;
        self
    }

    /// Bearer tokens.
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// The key that service account tokens are signed with; without one, tokens end with the server.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.signing_key = Some(key);
        self
    }

    /// The certificate of the authority that clients should trust, as PEM: every namespace has it in the ConfigMap
    /// `kube-root-ca.crt`.
    #[must_use]
    pub fn authority(mut self, certificate: impl Into<String>) -> Self {
        self.authority = Some(certificate.into());
        self
    }

    /// Who vouches for this server when it hands requests to other API servers. Without it, each start has another authority, and
    /// backends that read of it only once have to be started again, too.
    #[must_use]
    pub fn front_proxy(mut self, authority: Authority) -> Self {
        self.front_proxy = Some(authority);
        self
    }

    /// Who may do what; without one, the roles and bindings in the cluster say.
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Finds webhooks that are given as a Service.
    #[must_use]
    pub fn service_resolver(mut self, resolver: ServiceResolver) -> Self {
        self.services = Some(resolver);
        self
    }

    /// Which built-in controllers run; without this, all of them.
    #[must_use]
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// How long the body of a request may take to arrive; without this, a minute.
    #[must_use]
    pub fn body_patience(mut self, patience: Duration) -> Self {
        self.body_patience = Some(patience);
        self
    }

    /// Opens the store, makes what every cluster has, starts the controllers.
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
        server.body_patience = self.body_patience.unwrap_or(server.body_patience);
        server.service_accounts = self.controllers.service_accounts;
        let server = Arc::new(server);
        bootstrap::run(&server).await;
        let feed = server.store.feed();
        crd::load(&server).await;
        tokio::spawn(crd::run(server.clone(), feed));
        tokio::spawn(aggregation::keep_local(server.clone()));
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
