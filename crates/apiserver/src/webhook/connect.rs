//! TLS connections to webhooks and backends.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The Service of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port of the Service.
    pub port: u16,
}

/// Resolves a Service to an address; `None` falls back to the Service's endpoints.
pub type ServiceResolver = Arc<dyn Fn(&ServiceReference) -> Option<SocketAddr> + Send + Sync>;

/// A connector with a CA bundle and an optional fixed address.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) tls: TlsConnector,
    /// The address to connect to instead of the URL's host.
    pub(crate) address: Option<String>,
}

/// A connection to a webhook.
pub(crate) struct Stream(TokioIo<TlsStream<TcpStream>>);

impl tower_service::Service<Uri> for Connector {
    type Response = Stream;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = std::io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { tls, address } = self.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            let port = uri.port_u16().unwrap_or(443);
            let stream = match &address {
                Some(address) => TcpStream::connect(address).await,
                None => TcpStream::connect((host.as_str(), port)).await,
            };
            let shown = address.unwrap_or_else(|| format!("{host}:{port}"));
            let stream = stream
                .map_err(|error| std::io::Error::new(error.kind(), format!("dial tcp {shown}: {error}")))?;
            stream.set_nodelay(true)?;
            let name = ServerName::try_from(host).map_err(std::io::Error::other)?;
            let stream = tls.connect(name, stream).await;
            let stream =
                stream.map_err(|error| std::io::Error::new(error.kind(), format!("tls: {error}")))?;
            Ok(Stream(TokioIo::new(stream)))
        })
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, buffer)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
