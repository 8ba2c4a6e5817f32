//! A client whose requests time out.
//!
//! kube's client has no limit on how long an answer may take, since a watch has none; a request that a broken
//! network swallows would hold its worker for good.

use std::time::Duration;

use cambium_metrics::Metrics;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tower::service_fn;

/// Wraps a client so that requests fail when their answer, body included, does not arrive in time. Of a watch or a log only the beginning has a
/// timeout. Requests are counted.
pub fn with_timeouts(client: &Client, limit: Duration, metrics: &Metrics) -> Client {
    let (inner, metrics) = (client.clone(), metrics.clone());
    let service = service_fn(move |request: http::Request<Body>| {
        let (inner, metrics) = (inner.clone(), metrics.clone());
        async move {
            let method = request.method().clone();
            let answer = match tokio::time::timeout(limit, answer(&inner, request)).await {
                Ok(answer) => answer,
                Err(elapsed) => Err(kube::Error::Service(elapsed.into())),
            };
            let code = answer.as_ref().ok().map(|answer| answer.status().as_u16());
            metrics.requested(method.as_str(), code);
            answer
        }
    });
    Client::new(service, client.default_namespace())
}

async fn answer(client: &Client, request: http::Request<Body>) -> kube::Result<http::Response<Body>> {
    let streams = |query: &str| query.contains("watch=true") || query.contains("follow=true");
    let endless = request.uri().query().is_some_and(streams);
    let answer = client.send(request).await?;
    if endless {
        return Ok(answer);
    }
    let (parts, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(http::Response::from_parts(parts, Body::from(body)))
}
