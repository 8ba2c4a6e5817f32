//! Proxies a request to an aggregated API server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, BodyStream, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::Remote;
use crate::auth::User;
use crate::pki::Identity;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::trust::Bundle;
use crate::webhook::{Connector, root_cause};
use crate::wire::{Body, Response, text_response};

/// Timeout for the response headers of a backend.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout for discovery and OpenAPI requests.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Headers not forwarded: hop-by-hop ones, and those that authenticate a user, which only the front proxy may set.
const NOT_FORWARDED: [HeaderName; 10] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::AUTHORIZATION,
    header::HOST,
    // What comes back is compressed for the client by us.
    header::ACCEPT_ENCODING,
];

type HttpsClient = Client<Connector, Full<Bytes>>;

/// HTTPS clients by CA bundle and address of the backend.
pub(super) struct Clients {
    identity: Identity,
    clients: Mutex<HashMap<(String, bool, String), HttpsClient>>,
}

/// A request to be proxied.
pub(crate) struct Forwarded<'a> {
    pub(crate) method: Method,
    pub(crate) target: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Bytes,
    /// Whether it is long-running (watch, upgrade): no timeout.
    pub(crate) lasts: bool,
}

/// Proxies a request to its backend.
pub(crate) async fn forward(
    server: &Server,
    remote: &Remote,
    user: &User,
    request: Forwarded<'_>,
) -> Result<Response> {
    let unavailable = |why: &str| Ok(text_response(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")));
    if !remote.available {
        return unavailable("service unavailable");
    }
    if request.headers.contains_key(header::UPGRADE) {
        return Err(Status::not_implemented(
            "connections to aggregated API servers cannot be upgraded here",
        ));
    }
    let mut headers: HeaderMap = request
        .headers
        .iter()
        .filter(|(name, _)| !NOT_FORWARDED.contains(name) && !is_identity_header(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    introduce(user, &mut headers);
    let sent = send(
        server,
        remote,
        request.method,
        request.target,
        headers,
        request.body,
    );
    let answer = match request.lasts {
        true => sent.await,
        false => match tokio::time::timeout(TIMEOUT, sent).await {
            Ok(answer) => answer,
            Err(_) => {
                return Err(Status::timeout(
                    "the aggregated API server did not answer in time",
                ));
            }
        },
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return unavailable(&format!("error trying to reach service: {why}")),
    };
    let (mut parts, body) = answer.into_parts();
    if parts.status.is_redirection() && parts.headers.contains_key(header::LOCATION) {
        let why = "the backend attempted to redirect this request, which is not permitted";
        return Ok(text_response(StatusCode::BAD_GATEWAY, why));
    }
    for name in NOT_FORWARDED {
        parts.headers.remove(name);
    }
    let frames = BodyStream::new(body).take_while(|frame| std::future::ready(frame.is_ok()));
    let bytes = frames.filter_map(async |frame| frame.ok()?.into_data().ok());
    Ok(Response::from_parts(parts, Body::stream(bytes)))
}

/// A request for a backend's discovery or OpenAPI.
pub(super) struct ProbeRequest<'a> {
    pub(super) path: &'a str,
    pub(super) user: User,
    /// The ETag of the cached response.
    pub(super) known: Option<HeaderValue>,
    /// Size limit of the response.
    pub(super) limit: usize,
}

/// The response.
pub(super) struct ProbeResponse {
    pub(super) status: StatusCode,
    /// Its ETag.
    pub(super) tag: Option<HeaderValue>,
    pub(super) bytes: Bytes,
}

/// Requests a backend's discovery or OpenAPI; the error says why there is no response.
pub(super) async fn probe(
    server: &Server,
    remote: &Remote,
    question: ProbeRequest<'_>,
) -> Result<ProbeResponse, String> {
    let json = HeaderValue::from_static("application/json");
    let mut headers = HeaderMap::from_iter([(header::ACCEPT, json)]);
    headers.extend(question.known.map(|known| (header::IF_NONE_MATCH, known)));
    introduce(&question.user, &mut headers);
    let url = url(remote, question.path);
    let asked = async {
        let answer = send(server, remote, Method::GET, question.path, headers, Bytes::new()).await?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, question.limit).collect().await;
        Ok(ProbeResponse {
            status: parts.status,
            tag: parts.headers.get(header::ETAG).cloned(),
            bytes: body.map_err(|error| error.to_string())?.to_bytes(),
        })
    };
    match tokio::time::timeout(PROBE_TIMEOUT, asked).await {
        Ok(Ok(told)) => Ok(told),
        Ok(Err::<_, String>(why)) => Err(format!("failing or missing response from {url}: {why}")),
        Err(_) => Err(format!("timed out waiting for {url}")),
    }
}

/// The URL of a path at a backend.
pub(super) fn url(remote: &Remote, path: &str) -> String {
    format!("https://{}{path}", host(remote))
}

async fn send(
    server: &Server,
    remote: &Remote,
    method: Method,
    target: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<http::Response<hyper::body::Incoming>, String> {
    let address = server
        .webhooks
        .find(server, &remote.service)
        .map_err(|error| error.0)?;
    let client = server.aggregation.clients.client(remote, &address)?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.headers_mut() = headers;
    *request.uri_mut() = url(remote, target)
        .parse()
        .map_err(|_| "the path is not valid".to_owned())?;
    client.request(request).await.map_err(|error| root_cause(&error))
}

fn host(remote: &Remote) -> String {
    let service = &remote.service;
    format!("{}.{}.svc:{}", service.name, service.namespace, service.port)
}

fn is_identity_header(name: &HeaderName) -> bool {
    name.as_str().starts_with("x-remote-") || name.as_str().starts_with("impersonate-")
}

/// Sets the `X-Remote-*` headers of the user.
fn introduce(user: &User, headers: &mut HeaderMap) {
    let mut add = |name: HeaderName, value: &str| {
        // A user name that is not a valid header value is omitted; the backend then sees an unauthenticated request.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(name, value);
        }
    };
    add(HeaderName::from_static("x-remote-user"), &user.name);
    if !user.uid.is_empty() {
        add(HeaderName::from_static("x-remote-uid"), &user.uid);
    }
    for group in &user.groups {
        add(HeaderName::from_static("x-remote-group"), group);
    }
    for (key, values) in &user.extra {
        let key = utf8_percent_encode(key, NON_ALPHANUMERIC).to_string();
        let Ok(name) = HeaderName::try_from(format!("x-remote-extra-{key}")) else {
            continue;
        };
        for value in values {
            add(name.clone(), value);
        }
    }
}

impl Clients {
    pub(super) fn new(identity: Identity) -> Self {
        Self {
            identity,
            clients: Mutex::default(),
        }
    }

    fn client(&self, remote: &Remote, address: &str) -> Result<HttpsClient, String> {
        let key = (remote.ca_bundle.clone(), remote.insecure, address.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let connector = Connector {
            tls: self.tls(remote)?,
            address: Some(address.to_owned()),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(TIMEOUT)
            .build(connector);
        clients.insert(key, client.clone());
        Ok(client)
    }

    fn tls(&self, remote: &Remote) -> Result<TlsConnector, String> {
        let broken = |error: &dyn std::fmt::Display| format!("unable to load certificates: {error}");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| broken(&error))?;
        let trusting = if remote.insecure {
            let anybody = Arc::new(Anybody(
                provider.signature_verification_algorithms.supported_schemes(),
            ));
            builder.dangerous().with_custom_certificate_verifier(anybody)
        } else {
            let bundle = Bundle::read(&remote.ca_bundle, provider).map_err(|error| broken(&error))?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(bundle))
        };
        let chain =
            CertificateDer::pem_slice_iter(self.identity.certificate.as_bytes()).collect::<Result<_, _>>();
        let key =
            PrivateKeyDer::from_pem_slice(self.identity.key.as_bytes()).map_err(|error| broken(&error))?;
        let config = trusting
            .with_client_auth_cert(chain.map_err(|error| broken(&error))?, key)
            .map_err(|error| broken(&error))?;
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Accepts every certificate: `insecureSkipTLSVerify`.
#[derive(Debug)]
struct Anybody(Vec<SignatureScheme>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
