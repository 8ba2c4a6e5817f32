//! Waits for conditions.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};

/// Timeout, which only failing tests reach. Kubernetes' garbage collector pauses for up to half a minute when CRDs come
/// and go.
const TIMEOUT: Duration = Duration::from_secs(180);
const STEP: Duration = Duration::from_millis(20);

/// Polls until the condition is true.
pub async fn eventually<F: Future<Output = Result<bool>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<()> {
    eventually_some(what, || {
        let answer = ask();
        async move { Ok(answer.await?.then_some(())) }
    })
    .await
}

/// Polls until there is a value.
pub async fn eventually_some<T, F: Future<Output = Result<Option<T>>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<T> {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = ask().await? {
            return Ok(found);
        }
        if tokio::time::Instant::now() > deadline {
            bail!("timed out after {TIMEOUT:?} waiting for: {what}");
        }
        tokio::time::sleep(STEP).await;
    }
}
