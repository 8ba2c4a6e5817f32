//! Campaigns: seeded random scenarios, reproducible by seed.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

/// Duration of a campaign with random seeds. Without it, a test runs a few fixed seeds.
const SECONDS: &str = "CAMBIUM_CAMPAIGN_SECONDS";

/// The single seed to run, as printed by a failure.
const SEED: &str = "CAMBIUM_CAMPAIGN_SEED";

/// Runs a scenario for the seeds below `few`, or for the time in the environment with new seeds, or for the single seed in
/// the environment. Stops at the first failure, and prints how to reproduce it.
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
