//! The server's state, and how a request finds its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request};
use tokio::sync::watch;

use crate::admission::{DefaultPriority, Hooks};
use crate::auth::{Action, Authorizer, ResourceAction, Tokens, User, refusal};
use crate::loopback::Loopback;
use crate::quota::Ledger;
use crate::registry::Registry;
use crate::request::{IncludeObject, Options, ResourcePath};
use crate::rest::{self, Call, Warnings};
use crate::source::Sources;
use crate::status::{Result, Status};
use crate::store::Store;
use crate::webhook::Webhooks;
use crate::wire::{self, Encoding, Representation, Response, Shape};
use crate::{discovery, health, openapi};

/// Everything one API server is.
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) sources: Sources,
    pub(crate) tokens: Tokens,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) namespaces: Arc<str>,
    pub(crate) definitions: Arc<str>,
    pub(crate) openapi: openapi::Cache,
    pub(crate) webhooks: Webhooks,
    pub(crate) hooks: Hooks,
    pub(crate) priorities: DefaultPriority,
    pub(crate) quotas: Ledger,
    /// How long the body of a request may take to arrive.
    pub(crate) body_patience: Duration,
    /// Watches that are open.
    pub(crate) watches: AtomicUsize,
    registry: ArcSwap<Registry>,
    /// What discovery and OpenAPI tell of.
    announced: ArcSwap<Registry>,
    stop: watch::Sender<bool>,
    ready: AtomicBool,
}

impl Server {
    pub(crate) fn new(
        store: Store,
        sources: Sources,
        tokens: Tokens,
        authorizer: Arc<dyn Authorizer>,
        webhooks: Webhooks,
    ) -> Self {
        Self {
            store,
            sources,
            tokens,
            authorizer,
            namespaces: "/namespaces".into(),
            definitions: "apiextensions.k8s.io/customresourcedefinitions".into(),
            openapi: openapi::Cache::default(),
            webhooks,
            hooks: Hooks::default(),
            priorities: DefaultPriority::default(),
            quotas: Ledger::default(),
            body_patience: wire::BODY_PATIENCE,
            watches: AtomicUsize::new(0),
            registry: ArcSwap::from_pointee(Registry::builtin()),
            announced: ArcSwap::from_pointee(Registry::builtin()),
            stop: watch::channel(false).0,
            ready: AtomicBool::new(false),
        }
    }

    /// The resources of this moment.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Changes which resources there are. Only the CRD controller does, so nobody else's change is lost.
    pub(crate) fn change_registry(&self, change: impl FnOnce(&mut Registry)) {
        let mut registry = Registry::clone(&self.registry.load());
        change(&mut registry);
        self.registry.store(Arc::new(registry));
    }

    /// The resources that clients are told of. Those of a new CRD are served a moment before: whoever reads in the
    /// CRD that it is established finds them, and whoever finds them in discovery reads a CRD that does not change
    /// under them.
    pub(crate) fn announced(&self) -> Arc<Registry> {
        self.announced.load_full()
    }

    /// Tells clients of the resources of this moment.
    pub(crate) fn announce(&self) {
        self.announced.store(self.registry.load_full());
    }

    /// A client inside the server, which goes through everything that other clients go through.
    pub(crate) fn loopback(self: &Arc<Self>, name: &str) -> Loopback {
        Loopback::new(self.clone(), name)
    }

    /// Whether what every cluster has is there, and the controllers run.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Ends watches and controllers.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns when the server is stopping.
    pub(crate) async fn stopping(&self) {
        let mut stop = self.stop.subscribe();
        // The sender lives as long as the server, so waiting cannot fail.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// Answers one request.
pub(crate) async fn handle<B>(
    server: &Arc<Server>,
    caller: Option<Arc<User>>,
    request: Request<B>,
) -> Response
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let headers = request.headers().clone();
    let warnings = Arc::new(Warnings::default());
    let mut response = match route(server, caller, request, &warnings).await {
        Ok(response) => response,
        Err(status) => {
            let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
            wire::status_response(Encoding::of_failure(accept), &status)
        }
    };
    for warning in warnings.take() {
        let text: String = warning.chars().filter(|c| !c.is_control()).collect();
        let text = text.replace('\\', r"\\").replace('"', r#"\""#);
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append("warning", value);
        }
    }
    wire::compress(&headers, response)
}

async fn route<B>(
    server: &Arc<Server>,
    caller: Option<Arc<User>>,
    request: Request<B>,
    warnings: &Arc<Warnings>,
) -> Result<Response>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let uri = request.uri().clone();
    let options = Options::parse(uri.query().unwrap_or_default());
    let path = ResourcePath::parse(uri.path());
    let verb = match &path {
        Some(path) => rest::verb(request.method(), path, &options),
        None => plain_verb(request.method().as_str()),
    };
    options.check_timeout(verb)?;
    let user = authenticate(server, caller, request.headers())?;
    let action = Action {
        verb,
        resource: path.as_ref().map(ResourceAction::of),
        path: uri.path(),
    };
    if let Err(why) = server.authorizer.authorize(&user, &action) {
        return Err(refusal(&user, &action, &why));
    }
    let Some(path) = path else {
        return plain(
            server,
            request.headers(),
            uri.path(),
            uri.query().unwrap_or_default(),
            verb,
        );
    };
    let registry = server.registry();
    let Some(resource) = registry.find(&path.group, &path.version, &path.resource).cloned() else {
        return nothing_there(&registry, &path.group);
    };
    if path.inside && !resource.namespaced {
        return Err(Status::no_such_path());
    }
    if path.watch && verb != "watch" {
        return Err(Status::verb_not_allowed());
    }
    let (parts, body) = request.into_parts();
    let text = |name| {
        parts
            .headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
            .map(str::to_owned)
    };
    if let Some(warning) = resource.deprecation_warning() {
        warnings.add(warning);
    }
    let call = Call {
        representation: Representation::choose(text(ACCEPT).as_deref(), resource.custom().is_some())?,
        content_type: text(CONTENT_TYPE),
        user_agent: text(USER_AGENT).unwrap_or_default(),
        method: parts.method,
        body: wire::read_body(body, server.body_patience).await?,
        server: server.clone(),
        user,
        path,
        options,
        resource,
        warnings: warnings.clone(),
    };
    call.options.check(verb)?;
    if let (Shape::Table, IncludeObject::Unknown(value)) =
        (call.representation.shape, &call.options.include_object)
    {
        return Err(Status::bad_request(format!(
            "unrecognized includeObject value: {value:?}"
        )));
    }
    rest::serve(call).await
}

/// Groups that only CRDs can bring are unknown down to the last word.
fn nothing_there(registry: &Registry, group: &str) -> Result<Response> {
    match registry
        .all()
        .any(|served| &*served.group == group && served.custom().is_none())
    {
        true => Err(Status::no_such_path()),
        false => Ok(wire::text_response(
            http::StatusCode::NOT_FOUND,
            "404 page not found\n",
        )),
    }
}

fn authenticate(server: &Server, caller: Option<Arc<User>>, headers: &HeaderMap) -> Result<Arc<User>> {
    if let Some(caller) = caller {
        return Ok(caller);
    }
    match headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) {
        Some(header) => server.tokens.authenticate(header),
        None => Ok(Arc::new(User::anonymous())),
    }
}

fn plain_verb(method: &str) -> &'static str {
    match method {
        "GET" | "HEAD" => "get",
        "POST" => "post",
        "PUT" => "put",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// Paths that are not about objects.
fn plain(server: &Arc<Server>, headers: &HeaderMap, path: &str, query: &str, verb: &str) -> Result<Response> {
    if verb != "get" {
        return Err(Status::verb_not_allowed());
    }
    if path.contains("//") {
        return Err(Status::no_such_path());
    }
    if let Some(answer) = health::serve(server, path, query) {
        return Ok(answer);
    }
    let accept = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if path == "/openapi/v2" || path == "/openapi/v3" || path.starts_with("/openapi/v3/") {
        return openapi::serve(server, path, headers);
    }
    discovery::serve(&server.announced(), path, accept)
}
