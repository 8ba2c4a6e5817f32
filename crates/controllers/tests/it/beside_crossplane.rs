//! The same manifests on Crossplane and on Cambium, each on a Kubernetes of its own: object by object and condition by condition the same, but
//! for differences that are meant, each of which is named with its reason (`beside/scenarios`, `beside/differences.rs`).

use crate::beside::differences::{between, is_everywhere, reason};
use crate::beside::scenario::{Scenario, read_all};
use crate::beside::side::Side;
use crate::beside::snapshot::Snapshot;
use anyhow::{Result, ensure};
use cambium_testing::{Crossplane, skip};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How long nothing changes before it is rest.
const REST: Duration = Duration::from_secs(3);
/// How long rest is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn crossplane_and_cambium_make_the_same_of_the_same_manifests() {
    let test = "crossplane_and_cambium_make_the_same_of_the_same_manifests";
    let crossplane = match Crossplane::built() {
        Ok(crossplane) => crossplane,
        Err(error) => return skip(test, &format!("{error:#}")),
    };
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        return skip(
            test,
            "KUBEBUILDER_ASSETS is not set (`cargo xtask kubernetes` prints a value)",
        );
    }
    compare(&crossplane).await.expect("the same on both sides");
}

async fn compare(crossplane: &Crossplane) -> Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/beside/scenarios");
    let only = std::env::var("CAMBIUM_SCENARIO").unwrap_or_default();
    let mut scenarios = read_all(&directory)?;
    scenarios.retain(|scenario| scenario.name.contains(&only));
    let (mut theirs, mut ours) = tokio::try_join!(Side::crossplane(crossplane), Side::cambium())?;
    for side in [&theirs, &ours] {
        for scenario in &scenarios {
            side.define(scenario).await?;
        }
    }
    for side in [&theirs, &ours] {
        for scenario in &scenarios {
            side.defined(scenario).await?;
        }
    }
    let steps = scenarios
        .iter()
        .map(|scenario| scenario.steps.len())
        .max()
        .unwrap_or(0);
    let mut problems = Vec::new();
    let mut found: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); scenarios.len()];
    for step in 0..steps {
        for scenario in &scenarios {
            if let Some(what) = scenario.steps.get(step) {
                let (theirs, ours) = tokio::try_join!(theirs.act(scenario, what), ours.act(scenario, what))?;
                if theirs != ours {
                    problems.push(format!(
                        "{} in step {step}: Crossplane refuses {theirs:?}, Cambium {ours:?}",
                        scenario.name
                    ));
                }
            }
        }
        let (theirs, ours) =
            tokio::try_join!(at_rest(&mut theirs, &scenarios), at_rest(&mut ours, &scenarios))?;
        for (place, scenario) in scenarios.iter().enumerate() {
            if scenario.steps.len() <= step {
                continue;
            }
            for difference in between(&theirs[place], &ours[place]) {
                if is_everywhere(&difference) {
                    continue;
                }
                match reason(scenario, step, &difference) {
                    Some(meant) => drop(found[place].insert(meant)),
                    None => problems.push(format!("{} after step {step}: {difference}", scenario.name)),
                }
            }
        }
    }
    for (scenario, found) in scenarios.iter().zip(found) {
        for (place, meant) in scenario.differs.iter().enumerate() {
            if !found.contains(&place) && !meant.sometimes {
                let text = format!(
                    "{}: {} is meant to differ and does not ({})",
                    scenario.name, meant.at, meant.because
                );
                problems.push(text);
            }
        }
    }
    ensure!(
        problems.is_empty(),
        "{} differences:\n{}",
        problems.len(),
        problems.join("\n")
    );
    Ok(())
}

/// What there is once nothing has changed for a while.
async fn at_rest(side: &mut Side, scenarios: &[Scenario]) -> Result<Vec<Snapshot>> {
    let (begin, mut since) = (Instant::now(), Instant::now());
    let mut last = Vec::new();
    loop {
        let shared = side.shared().await?;
        let mut now = Vec::new();
        for scenario in scenarios {
            now.push(side.snapshot(scenario, &shared).await?);
        }
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() >= REST {
            return Ok(last);
        }
        ensure!(begin.elapsed() < PATIENCE, "no rest after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
