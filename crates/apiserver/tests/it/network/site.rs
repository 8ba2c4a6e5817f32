//! A server on a real socket, and misbehaving clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cambium_apiserver::pki::{Authority, Identity};
use cambium_apiserver::serve::{self, Timeouts};
use cambium_apiserver::{ApiServer, Builder, MASTERS};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service as _;

/// The protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// A server on a socket.
pub(crate) struct Site {
    pub(crate) server: ApiServer,
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) admin: Identity,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::with(ApiServer::builder(), Timeouts::default()).await
    }

    pub(crate) async fn with(builder: Builder, patience: Timeouts) -> Self {
        let now = jiff::Timestamp::now();
        let server = builder.build().await.unwrap();
        let authority = Authority::generate(now).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let identity = authority.server(&["127.0.0.1".to_owned()], now).unwrap();
        let acceptor = serve::tls(&identity, authority.certificate()).unwrap();
        let admin = authority.client("admin", &[MASTERS], now).unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(serve::serve_with(
            listener,
            acceptor,
            server.clone(),
            patience,
            stopped,
        ));
        Self {
            server,
            address,
            authority,
            admin,
            stop: Some(stop),
            task: Some(task),
        }
    }

    /// Stops the server, and returns when it has stopped.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection after the handshake.
    pub(crate) async fn tls(
        &self,
        protocol: Protocol,
        identity: Option<&Identity>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.authority.certificate().as_bytes()).unwrap())
            .unwrap();
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        let name = ServerName::from(self.address.ip());
        TlsConnector::from(Arc::new(config))
            .connect(name, self.tcp().await)
            .await
    }

    pub(crate) async fn http2(&self, identity: Option<&Identity>) -> http2::SendRequest<Full<Bytes>> {
        let stream = self.tls(Protocol::Http2, identity).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        sender
    }

    pub(crate) fn get(&self, path: &str) -> http::Request<Full<Bytes>> {
        http::Request::get(format!("https://{}{path}", self.address))
            .body(Full::default())
            .unwrap()
    }

    /// One request on a new connection; `None` when the server closes the connection.
    pub(crate) async fn ask(
        &self,
        protocol: Protocol,
        identity: Option<&Identity>,
        headers: &[(&'static str, &str)],
        path: &str,
    ) -> Option<(u16, Value)> {
        let stream = TokioIo::new(self.tls(protocol, identity).await.ok()?);
        let mut request = self.get(path);
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let response = match protocol {
            Protocol::Http1 => {
                request.headers_mut().insert("host", "x".parse().unwrap());
                let (mut sender, connection) = http1::handshake(stream).await.ok()?;
                tokio::spawn(connection);
                sender.send_request(request).await.ok()?
            }
            Protocol::Http2 => {
                let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.ok()?;
                tokio::spawn(connection);
                sender.send_request(request).await.ok()?
            }
        };
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.ok()?.to_bytes();
        Some((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    pub(crate) async fn still_answers(&self) {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let asked = self
                .ask(protocol, Some(&self.admin), &[], "/api/v1/namespaces/default")
                .await;
            assert_eq!(asked.unwrap().0, 200);
        }
    }

    async fn write(&self, method: &str, path: &str, media: &str, body: &Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media);
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let response = self.server.clone().call(request).await.unwrap();
        assert!(response.status().is_success(), "{}", response.status());
    }

    /// Creates a ConfigMap in-process.
    pub(crate) async fn create(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.write(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            "application/json",
            &object,
        )
        .await;
    }

    /// Annotates a ConfigMap in-process.
    pub(crate) async fn annotate(&self, name: &str, text: &str) {
        let path = format!("/api/v1/namespaces/default/configmaps/{name}");
        let patch = json!({"metadata": {"annotations": {"note": text}}});
        self.write("PATCH", &path, "application/merge-patch+json", &patch)
            .await;
    }
}

/// Waits for a condition; only a failing test waits long.
pub(crate) async fn eventually(what: &str, ask: impl Fn() -> bool) {
    for _ in 0..6000 {
        if ask() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("{what}: still not so");
}

/// Status code and body of an HTTP/1.1 response.
pub(crate) fn parse(answer: &[u8]) -> (u16, Value) {
    let text = String::from_utf8_lossy(answer);
    let code = text
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_default();
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (code, serde_json::from_str(body).unwrap_or_default())
}
