//! Waiting for something to become true.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};

/// Far longer than anything takes; only a test that has failed waits for it. The garbage collector of Kubernetes pauses for half a
/// minute at times, when kinds come and go.
const PATIENCE: Duration = Duration::from_secs(180);
const STEP: Duration = Duration::from_millis(20);

/// Asks until the answer is yes.
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

/// Asks until there is something.
pub async fn eventually_some<T, F: Future<Output = Result<Option<T>>>>(
    what: &str,
    mut ask: impl FnMut() -> F,
) -> Result<T> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(found) = ask().await? {
            return Ok(found);
        }
        if tokio::time::Instant::now() > deadline {
            bail!("{what}: still not so after {PATIENCE:?}");
        }
        tokio::time::sleep(STEP).await;
    }
}
