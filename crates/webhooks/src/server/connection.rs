//! Serves one connection, from the TLS handshake to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::limits::Limits;
use super::routes::Routes;
use super::told;

type Error = Box<dyn std::error::Error + Send + Sync>;

pub(super) async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    routes: Arc<Routes>,
    limits: Limits,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let stream = tokio::select! {
        accepted = tokio::time::timeout(limits.hello, acceptor.accept(stream)) => accepted??,
        () = told(&mut stopped) => return Ok(()),
    };
    let shown = stream.get_ref().1.peer_certificates().is_some();
    let activity = Arc::new(Activity::default());
    let open = activity.clone();
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let (routes, request_open) = (routes.clone(), Open::new(open.clone()));
        async move {
            let response = routes.answer(request, shown).await;
            drop(request_open);
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    // The handshake has settled the protocol; looking at the first bytes instead would wait for them for ever.
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => builder.http2_only(),
        _ => builder.http1_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .max_buf_size(limits.head)
        .header_read_timeout(limits.head_time);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(limits.head.try_into().unwrap_or(u32::MAX))
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .into_owned();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = activity.idle_for(limits.idle) => {}
        () = told(&mut stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::time::timeout(limits.farewell, connection).await?
}

/// What happens on a connection, as far as it matters for closing it.
#[derive(Default)]
struct Activity {
    open: AtomicUsize,
    /// Requests so far.
    seen: AtomicUsize,
}

impl Activity {
    /// Returns when there was no request for so long.
    async fn idle_for(&self, time: Duration) {
        let mut before = None;
        loop {
            let now = (
                self.open.load(Ordering::Acquire),
                self.seen.load(Ordering::Acquire),
            );
            if now.0 == 0 && before == Some(now) {
                return;
            }
            before = Some(now);
            tokio::time::sleep(time).await;
        }
    }
}

/// A request that is being answered.
struct Open(Arc<Activity>);

impl Open {
    fn new(activity: Arc<Activity>) -> Self {
        activity.open.fetch_add(1, Ordering::AcqRel);
        activity.seen.fetch_add(1, Ordering::AcqRel);
        Self(activity)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}
