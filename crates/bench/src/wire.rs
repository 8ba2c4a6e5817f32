//! A client with one TLS connection and sequential requests.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The address and credentials of a server.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) port: u16,
    /// A client certificate and key, as PEM.
    pub(crate) identity: Option<(String, String)>,
    pub(crate) token: Option<String>,
}

/// A connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

impl Address {
    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Connection> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            // The servers are ours, on loopback, started a moment ago.
            .with_custom_certificate_verifier(Arc::new(Anybody));
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder.with_client_auth_cert(
                CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>()?,
                PrivateKeyDer::from_pem_slice(key.as_bytes())?,
            )?,
        };
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost")?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Connection {
            sender,
            token: self.token.clone(),
        })
    }
}

impl Connection {
    /// Sends a request; returns status code and unread body.
    pub(crate) async fn start(
        &mut self,
        method: &str,
        path: &str,
        media: &str,
        body: &Bytes,
    ) -> Result<(u16, Incoming)> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("accept", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !body.is_empty() {
            request = request.header("content-type", media);
        }
        self.sender.ready().await?;
        let response = self
            .sender
            .send_request(request.body(Full::new(body.clone()))?)
            .await?;
        Ok((response.status().as_u16(), response.into_body()))
    }

    /// Sends a request and reads the response.
    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        media: &str,
        body: &Bytes,
    ) -> Result<(u16, Bytes)> {
        let (code, body) = self
            .start(method, path, media, body)
            .await
            .context("the connection broke")?;
        Ok((code, body.collect().await?.to_bytes()))
    }
}

#[derive(Debug)]
struct Anybody;

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
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
