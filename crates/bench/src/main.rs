//! `cargo xtask bench apiserver`: the same load on the embedded API server and on Kubernetes, over
//! TLS, on this machine, in one run. It prints a table with both columns and the ratio.
//!
//! ```text
//! target    a server under test: start-up, memory
//! wire      the client: one TLS connection, sequential requests
//! load      the load and its figures
//! growth    scaling: many objects of another kind, many idle watches
//! moves     counts updated consumers by a watch
//! soak      memory over time: idle watches, and full load
//! rivals    our controllers beside KubeVela and Crossplane
//! table     output
//! ```

mod compositions;
mod definitions;
mod growth;
mod load;
mod moves;
mod rivals;
mod soak;
mod table;
mod target;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cambium_testing::Crossplane;

use rivals::{Rival, applications, composites};

/// `cargo xtask bench definitions`: how the cost of publishing grows with the number of applications.
#[expect(clippy::print_stdout, reason = "the figures are the program's answer")]
fn definitions(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let usage = "usage: cambium-bench definitions CAMBIUM APPLICATIONS…";
    let cambium = PathBuf::from(arguments.next().context(usage)?);
    let sizes: Vec<usize> = arguments
        .map(|size| size.parse().context(usage))
        .collect::<Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut columns = Vec::new();
    for size in &sizes {
        columns.push(runtime.block_on(definitions::measure(*size))?);
    }
    definitions::print(&columns);
    if let Some(largest) = sizes.into_iter().max() {
        let (base, full) = runtime.block_on(definitions::memory(&cambium, largest))?;
        let each = full.saturating_sub(base) as f64 / largest as f64;
        println!(
            "memory of `cambium manager`: {:.1} MB with one application, and {:.1} KB for each of {largest}",
            base as f64 / 1e6,
            each / 1e3
        );
    }
    Ok(())
}

/// `cargo xtask bench compositions`: how the cost of an edit grows with composite resources and with old revisions.
#[expect(clippy::print_stdout, reason = "the figures are the program's answer")]
fn compositions(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let usage = "usage: cambium-bench compositions CAMBIUM COMPOSITES:REVISIONS…";
    let cambium = PathBuf::from(arguments.next().context(usage)?);
    let cases: Vec<(usize, usize)> = arguments
        .map(|case| {
            let (composites, revisions) = case.split_once(':').context(usage)?;
            Ok((composites.parse()?, revisions.parse()?))
        })
        .collect::<Result<_>>()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut columns = Vec::new();
    for (composites, revisions) in &cases {
        columns.push(runtime.block_on(compositions::measure(*composites, *revisions))?);
    }
    compositions::print(&columns);
    if let Some((composites, revisions)) = cases.into_iter().max() {
        let memory = compositions::memory(&cambium, composites, revisions);
        let (base, full, more) = runtime.block_on(memory)?;
        let each =
            |grown: u64, from: u64, count: usize| grown.saturating_sub(from) as f64 / count as f64 / 1e3;
        println!(
            "memory of `cambium manager`: {:.1} MB with one composite resource, {:.1} KB for each of {composites}, \
             and {:.1} KB for each of {revisions} revisions",
            base as f64 / 1e6,
            each(full, base, composites),
            each(more, full, revisions),
        );
    }
    Ok(())
}

/// `cargo xtask bench definitions --peer` and `compositions --peer`: the same on Kubernetes, beside KubeVela or
/// Crossplane.
fn rivals(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let usage =
        "usage: cambium-bench rivals kubevela|crossplane CAMBIUM RIVAL RIVAL-CRDS KUBERNETES-BINARIES COUNT";
    let rival = arguments.next().context(usage)?;
    let mut path = || arguments.next().map(PathBuf::from).context(usage);
    let (cambium, binary, crds, assets) = (path()?, path()?, path()?, path()?);
    let count: usize = arguments.next().context(usage)?.parse()?;
    let cambium = Rival::Cambium { binary: cambium };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match rival.as_str() {
        "kubevela" => {
            let mut columns = Vec::new();
            for rival in [cambium, Rival::KubeVela { binary, crds }] {
                columns.push(runtime.block_on(applications::measure(&rival, &assets, count))?);
            }
            applications::print(&columns, count);
        }
        "crossplane" => {
            let mut columns = Vec::new();
            for rival in [cambium, Rival::Crossplane(Crossplane { binary, crds })] {
                columns.push(runtime.block_on(composites::measure(&rival, &assets, count))?);
            }
            composites::print(&columns, count);
        }
        _ => anyhow::bail!(usage),
    }
    Ok(())
}

/// `cargo xtask bench soak`: whether memory stays flat, and every response is a valid one.
#[expect(clippy::print_stdout, reason = "the figures are the program's answer")]
fn soak(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let usage = "usage: cambium-bench soak CAMBIUM SECONDS";
    let cambium = PathBuf::from(arguments.next().context(usage)?);
    let time = Duration::from_secs(arguments.next().context(usage)?.parse().context(usage)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Each has a server of its own, and the idle ones take no time from the others.
    let (idle, busy) = runtime
        .block_on(async { tokio::join!(soak::watches(&cambium, time / 6), soak::mixed(&cambium, time)) });
    for soak in [idle?, busy?] {
        println!("{}, {} s", soak.what, soak.seconds);
        let shown: Vec<String> = soak.memory.iter().map(|memory| format!("{memory:.1}")).collect();
        println!("  memory, MB: {}", shown.join(" "));
        println!(
            "  worst moment of the second half beside the first: {:+.1} %",
            soak.growth() * 100.0
        );
        if soak.requests > 0 {
            println!(
                "  {} requests; answers that were no success: {:?}",
                soak.requests, soak.refusals
            );
        }
    }
    Ok(())
}

/// Objects of one kind, while another is measured.
const MANY: usize = 100_000;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "definitions").is_some() {
        return definitions(arguments);
    }
    if arguments.next_if(|first| first == "compositions").is_some() {
        return compositions(arguments);
    }
    if arguments.next_if(|first| first == "soak").is_some() {
        return soak(arguments);
    }
    if arguments.next_if(|first| first == "rivals").is_some() {
        return rivals(arguments);
    }
    let cambium = PathBuf::from(
        arguments
            .next()
            .context("usage: cambium-bench CAMBIUM [KUBERNETES-BINARIES]")?,
    );
    let kubernetes = arguments.next().map(PathBuf::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut columns = vec![(
            "cambium",
            load::measure(&mut target::cambium(&cambium).await?).await?,
        )];
        if let Some(assets) = kubernetes {
            columns.push((
                "kubernetes",
                load::measure(&mut target::kubernetes(&assets).await?).await?,
            ));
        }
        let (alone, filled, watched) = (
            target::cambium(&cambium).await?,
            target::cambium(&cambium).await?,
            target::cambium(&cambium).await?,
        );
        let growth = growth::measure([&alone, &filled, &watched], MANY).await?;
        table::print(
            &columns,
            &load::in_process().await?,
            std::fs::metadata(&cambium)?.len(),
        );
        table::print_growth(&growth);
        Ok(())
    })
}
