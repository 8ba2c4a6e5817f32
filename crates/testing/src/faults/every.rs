//! Exhaustive fault injection: each fault at each call of a scenario.

use std::panic::AssertUnwindSafe;

use anyhow::{Context as _, Result, anyhow, bail};
use futures::FutureExt as _;

use super::{Fault, Faults, Filter};

/// Runs a scenario once without faults, to count the calls that `filter` selects, and then once for each fault and each
/// call. The scenario creates its own cluster and clients ([`Faults::client`]), and fails by an error or a panic if the
/// final state is wrong.
///
/// The first failure is reported with the number of the call, the call, and the fault. The order of calls may vary
/// between runs; a run that does not reach its fault is only an error if no run did.
pub async fn for_every_call<S>(filter: &Filter, faults: &[Fault], mut scenario: S) -> Result<()>
where
    S: AsyncFnMut(Faults) -> Result<()>,
{
    let quiet = Faults::counting(filter);
    run(&mut scenario, &quiet).await.context("without faults")?;
    let calls = quiet.counted();
    if calls.is_empty() {
        bail!("the scenario makes no counted call");
    }
    let mut struck = 0;
    for fault in faults {
        for k in 1..=calls.len() {
            let line = Faults::counting(filter);
            line.arm(k, *fault);
            let result = run(&mut scenario, &line).await;
            let call = line.struck().pop();
            struck += usize::from(call.is_some());
            result.with_context(|| {
                let place = format!("call {k} of {}", calls.len());
                match call {
                    Some(call) => format!("{place}, {call}: {fault}"),
                    None => format!("{place}: {fault}, which was not reached"),
                }
            })?;
        }
    }
    if struck == 0 && !faults.is_empty() {
        bail!("no fault was ever reached");
    }
    Ok(())
}

async fn run<S: AsyncFnMut(Faults) -> Result<()>>(scenario: &mut S, faults: &Faults) -> Result<()> {
    let run = AssertUnwindSafe(scenario(faults.clone())).catch_unwind().await;
    run.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(anyhow!("{}", text.unwrap_or_else(|| "a panic".to_owned())))
    })
}
