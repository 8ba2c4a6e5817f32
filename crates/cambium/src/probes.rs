//! Serves `/metrics`, `/healthz` and `/readyz` over HTTP with `--metrics-bind-address`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use cambium_metrics::{CONTENT_TYPE, Metrics};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The limit of concurrent connections; others wait.
const CONNECTIONS: usize = 32;

/// The limit of time in which a client must send the headers of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server; it ends with the value.
pub(crate) struct Probes {
    address: SocketAddr,
    ready: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Probes {
    /// Listens at an address. `/readyz` says no until [`Probes::set_ready`].
    pub(crate) async fn start(address: SocketAddr, metrics: Metrics) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen for metrics on {address}"))?;
        let (address, ready) = (listener.local_addr()?, Arc::<AtomicBool>::default());
        let task = tokio::spawn(serve(listener, metrics, ready.clone()));
        tracing::info!("metrics at http://{address}/metrics");
        Ok(Self { address, ready, task })
    }

    /// The address that it listens on.
    #[cfg(test)]
    fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets `/readyz` to ready: all caches have synced.
    pub(crate) fn set_ready(&self) {
        tracing::debug!(address = %self.address, "ready");
        self.ready.store(true, Ordering::Relaxed);
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, metrics: Metrics, ready: Arc<AtomicBool>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = connections.clone().acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, as a rule: others close theirs.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (metrics, ready) = (metrics.clone(), ready.clone());
        tokio::spawn(async move {
            let _permit = permit;
            connection(stream, &metrics, &ready).await;
        });
    }
}

async fn connection(stream: TcpStream, metrics: &Metrics, ready: &AtomicBool) {
    let answer = |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), metrics, ready);
        async { Ok::<_, Infallible>(answer) }
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    // Whose client went away is nobody's business.
    let _ = served.await;
}

fn answer(method: &Method, path: &str, metrics: &Metrics, ready: &AtomicBool) -> Response<Full<Bytes>> {
    let plain = "text/plain; charset=utf-8";
    let (code, media, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, CONTENT_TYPE, metrics.encode()),
        (&Method::GET | &Method::HEAD, "/healthz") => (StatusCode::OK, plain, "ok".to_owned()),
        (&Method::GET | &Method::HEAD, "/readyz") => match ready.load(Ordering::Relaxed) {
            true => (StatusCode::OK, plain, "ok".to_owned()),
            false => (
                StatusCode::SERVICE_UNAVAILABLE,
                plain,
                "not ready: caches have not synced\n".to_owned(),
            ),
        },
        (_, "/metrics" | "/healthz" | "/readyz") => (
            StatusCode::METHOD_NOT_ALLOWED,
            plain,
            "the method must be GET or HEAD\n".to_owned(),
        ),
        _ => (
            StatusCode::NOT_FOUND,
            plain,
            "there are /metrics, /healthz and /readyz\n".to_owned(),
        ),
    };
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = code;
    let media = header::HeaderValue::from_static(media);
    answer.headers_mut().insert(header::CONTENT_TYPE, media);
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn get(address: SocketAddr, request: &str) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn metrics_and_probes_are_answered() {
        let metrics = Metrics::default();
        metrics.leads("cambium", true);
        let address = "127.0.0.1:0".parse().unwrap();
        let probes = Probes::start(address, metrics).await.unwrap();
        let ask = |request: &'static str| {
            let address = probes.address();
            tokio::task::spawn_blocking(move || get(address, request))
        };
        let text = ask("GET /metrics").await.unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(
            text.contains("leader_election_master_status{name=\"cambium\"} 1"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert!(ask("GET /healthz").await.unwrap().starts_with("HTTP/1.1 200"));
        assert!(ask("GET /readyz").await.unwrap().starts_with("HTTP/1.1 503"));
        probes.set_ready();
        assert!(ask("GET /readyz").await.unwrap().starts_with("HTTP/1.1 200"));
        assert!(ask("POST /metrics").await.unwrap().starts_with("HTTP/1.1 405"));
        assert!(ask("GET /elsewhere").await.unwrap().starts_with("HTTP/1.1 404"));
    }
}
