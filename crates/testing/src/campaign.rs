//! Scenarios that a number makes: the same number, the same scenario.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

/// For how long a campaign goes on, with other numbers each time. Without it, a test tries a few fixed ones.
const SECONDS: &str = "CAMBIUM_CAMPAIGN_SECONDS";

/// The one number to try: what a failure has named.
const SEED: &str = "CAMBIUM_CAMPAIGN_SEED";

/// Runs a scenario for the numbers below `few`; or for as long as the environment says, with numbers that were never tried; or for the one
/// that the environment names. The first failure ends it, and says how to see it again.
#[expect(clippy::print_stderr, reason = "only a campaign says how much it tried")]
pub async fn campaign<S>(few: u64, mut scenario: S) -> Result<()>
where
    S: AsyncFnMut(u64) -> Result<()>,
{
    if let Some(seed) = number(SEED)? {
        return scenario(seed).await;
    }
    let Some(seconds) = number(SECONDS)? else {
        for seed in 0..few {
            scenario(seed).await.with_context(|| again(seed))?;
        }
        return Ok(());
    };
    let (begin, mut tried) = (Instant::now(), 0_u64);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let seed = fresh()?;
        scenario(seed).await.with_context(|| again(seed))?;
        tried += 1;
    }
    eprintln!("{tried} scenarios tried");
    Ok(())
}

fn again(seed: impl Display) -> String {
    format!("with {SEED}={seed}")
}

fn number(variable: &str) -> Result<Option<u64>> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(None);
    };
    let number = text.parse().with_context(|| format!("{variable}={text}"))?;
    Ok(Some(number))
}

fn fresh() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("random bytes: {error}"))?;
    Ok(u64::from_ne_bytes(bytes))
}
