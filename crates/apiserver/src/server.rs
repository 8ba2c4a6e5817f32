//! The server's state, and the handler chain of a request: authentication, impersonation, fairness, authorization, routing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;

use crate::admission::{DefaultPriority, Hooks, Policies};
use crate::aggregation::{self, Aggregation, Forwarded};
use crate::allocate::Addresses;
use crate::auth::{
    Action, Authorizer, Rbac, ResourceAction, SigningKey, Tokens, User, impersonation, require, tokens,
};
use crate::fairness::{Classification, Fairness};
use crate::loopback::Loopback;
use crate::quota::Ledger;
use crate::registry::Registry;
use crate::request::{self, IncludeObject, Options, ResourcePath};
use crate::rest::{self, Call, Warnings};
use crate::selector::FieldSelector;
use crate::source::Sources;
use crate::status::{Result, Status};
use crate::store::Store;
use crate::webhook::Webhooks;
use crate::wire::{self, Encoding, Representation, Response, Shape};
use crate::{discovery, health, metrics, openapi};

/// The state of one API server.
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) sources: Sources,
    pub(crate) tokens: Tokens,
    pub(crate) signing_key: SigningKey,
    /// The CA certificate that clients should trust, as PEM.
    pub(crate) authority: Option<String>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) fairness: Fairness,
    pub(crate) aggregation: Aggregation,
    pub(crate) rbac: Arc<Rbac>,
    pub(crate) namespaces: Arc<str>,
    pub(crate) definitions: Arc<str>,
    pub(crate) openapi: openapi::Cache,
    pub(crate) webhooks: Webhooks,
    pub(crate) hooks: Hooks,
    /// Whether the ServiceAccount admission plugin is enabled; it needs the controller that creates `default` accounts.
    pub(crate) service_accounts: bool,
    pub(crate) priorities: DefaultPriority,
    pub(crate) quotas: Ledger,
    pub(crate) addresses: Addresses,
    pub(crate) policies: Policies,
    /// Read timeout for the body of a request.
    pub(crate) body_timeout: Duration,
    /// The number of open watches.
    pub(crate) watches: AtomicUsize,
    registry: ArcSwap<Registry>,
    registry_changes: watch::Sender<()>,
    /// The resources that discovery and OpenAPI show.
    announced: ArcSwap<Registry>,
    stop: watch::Sender<bool>,
    ready: AtomicBool,
}

/// Authentication and authorization.
pub(crate) struct Access {
    pub(crate) tokens: Tokens,
    pub(crate) signing_key: SigningKey,
    pub(crate) authority: Option<String>,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
}

impl Server {
    pub(crate) fn new(
        store: Store,
        sources: Sources,
        access: Access,
        webhooks: Webhooks,
        aggregation: Aggregation,
    ) -> Self {
        let rbac = Arc::new(Rbac::new(&store));
        Self {
            fairness: Fairness::new(&store),
            hooks: Hooks::new(&store),
            priorities: DefaultPriority::new(&store),
            authorizer: access.authorizer.unwrap_or_else(|| rbac.clone()),
            rbac,
            tokens: access.tokens,
            signing_key: access.signing_key,
            authority: access.authority,
            store,
            sources,
            namespaces: "/namespaces".into(),
            definitions: "apiextensions.k8s.io/customresourcedefinitions".into(),
            openapi: openapi::Cache::default(),
            webhooks,
            aggregation,
            service_accounts: true,
            policies: Policies::default(),
            body_timeout: wire::BODY_TIMEOUT,
            watches: AtomicUsize::new(0),
            registry: ArcSwap::from(Registry::builtin()),
            registry_changes: watch::channel(()).0,
            announced: ArcSwap::from(Registry::builtin()),
            quotas: Ledger::default(),
            addresses: Addresses::default(),
            stop: watch::channel(false).0,
            ready: AtomicBool::new(false),
        }
    }

    /// The current resources.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Replaces the registry. Only the CRD controller calls this, so no concurrent change is lost.
    pub(crate) fn change_registry(&self, change: impl FnOnce(&mut Registry)) {
        let mut registry = Registry::clone(&self.registry.load());
        change(&mut registry);
        self.registry.store(Arc::new(registry));
        self.registry_changes.send_replace(());
    }

    /// Notifies of changes of the registry.
    pub(crate) fn registry_changes(&self) -> watch::Receiver<()> {
        self.registry_changes.subscribe()
    }

    /// The resources that discovery shows. Those of a new CRD are served a moment earlier: a client that reads
    /// `Established` in the CRD can use them, and a client that finds them in discovery reads a CRD whose status is final.
    pub(crate) fn announced(&self) -> Arc<Registry> {
        self.announced.load_full()
    }

    /// Publishes the current resources in discovery.
    pub(crate) fn announce(&self) {
        self.announced.store(self.registry.load_full());
    }

    /// A loopback client whose requests take the same path as everybody's.
    pub(crate) fn loopback(self: &Arc<Self>, name: &str) -> Loopback {
        Loopback::new(self.clone(), name)
    }

    /// Whether the bootstrap objects exist and the controllers run.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Stops controllers and closes watches.
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
    let mut classification = None;
    let mut response = match route(server, caller, request, &warnings, &mut classification).await {
        Ok(response) => response,
        Err(status) => {
            let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
            wire::status_response(Encoding::of_failure(accept), &status)
        }
    };
    if let Some(classification) = classification {
        classification.write_headers(response.headers_mut());
    }
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
    classification: &mut Option<Classification>,
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
    let mut user = authenticate(server, caller, request.headers())?;
    // Before authorization: RBAC and the backend of an aggregated API must read the same path.
    if !request::is_unambiguous(uri.path()) {
        return Err(Status::no_such_path());
    }
    let decoded = percent_decode_str(uri.path()).decode_utf8_lossy();
    let selected = selected_name(verb, &options);
    let mut action = Action {
        verb,
        resource: path.as_ref().map(ResourceAction::of),
        path: &decoded,
    };
    if let (Some(name), Some(resource)) = (&selected, &mut action.resource)
        && resource.name.is_empty()
    {
        resource.name = name;
    }
    if let Some(wanted) = impersonation::requested_user(request.headers())? {
        let other = impersonation::impersonate(&*server.authorizer, &user, &wanted, &action)?;
        user = Arc::new(other);
    }
    // Released when the response is made: a watch keeps its seat only until it starts streaming.
    let _seat = match server.fairness.acquire_seat(&user, &action, classification).await {
        Ok(seat) => seat,
        Err(too_many) => return Ok(too_many.response()),
    };
    require(&*server.authorizer, &user, &action)?;
    if let Some(remote) = server.aggregation.answering(uri.path()) {
        let (parts, body) = request.into_parts();
        let forwarded = Forwarded {
            method: parts.method,
            target: uri.path_and_query().map_or("/", |target| target.as_str()),
            headers: &parts.headers,
            body: wire::read_body(body, server.body_timeout).await?,
            lasts: verb == "watch",
        };
        return aggregation::forward(server, &remote, &user, forwarded).await;
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
        body: wire::read_body(body, server.body_timeout).await?,
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

/// The object that a list or watch selects by `metadata.name`: RBAC rules with `resourceNames` then apply, as upstream.
fn selected_name(verb: &str, options: &Options) -> Option<String> {
    if !matches!(verb, "list" | "watch") || options.field_selector.is_empty() {
        return None;
    }
    let selector = FieldSelector::parse(&options.field_selector, |_| None).ok()?;
    let name = selector.name()?;
    cambium_schema::names::path_segment(name)
        .is_empty()
        .then(|| name.to_owned())
}

/// 404 for a resource that does not exist: plain text for an unknown group, as upstream answers.
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
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match header.and_then(bearer_token) {
        Some(token) => tokens::recognise(server, token, &tokens::own_audiences())
            .map(|recognised| recognised.user)
            .map_err(|_| Status::unauthorized()),
        None => Ok(Arc::new(User::anonymous())),
    }
}

/// The bearer token of an `Authorization` header.
fn bearer_token(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next().filter(|token| !token.is_empty())?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
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

/// Answers non-resource paths.
fn plain(server: &Arc<Server>, headers: &HeaderMap, path: &str, query: &str, verb: &str) -> Result<Response> {
    if verb != "get" {
        return Err(Status::verb_not_allowed());
    }
    if let Some(answer) = identity(server, path) {
        return Ok(answer);
    }
    if path == "/metrics" {
        return Ok(metrics::serve(server));
    }
    if let Some(answer) = health::serve(server, path, query) {
        return Ok(answer);
    }
    let accept = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if path == "/openapi/v2" || path == "/openapi/v3" || path.starts_with("/openapi/v3/") {
        return openapi::serve(server, path, query, headers);
    }
    discovery::serve(server, path, accept)
}

/// OpenID Connect discovery of the ServiceAccount issuer; `None` for other paths.
fn identity(server: &Server, path: &str) -> Option<Response> {
    let (media, value) = match path {
        "/.well-known/openid-configuration" => ("application/json", tokens::configuration()),
        "/openid/v1/jwks" => ("application/jwk-set+json", server.signing_key.published()),
        _ => return None,
    };
    let mut response = wire::text_response(http::StatusCode::OK, value.to_string());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(
        http::header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=3600"),
    );
    Some(response)
}
