//! `cargo xtask faults`: runs the randomized tests (`cambium_testing::campaign`) for a given time with new seeds.

use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::cargo::cargo;

/// Environment variables of campaigns: duration, and seed to reproduce.
const SECONDS: &str = "CAMBIUM_CAMPAIGN_SECONDS";
const SEED: &str = "CAMBIUM_CAMPAIGN_SEED";

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Total duration
    #[arg(default_value = "600")]
    seconds: u64,
    /// Only tests whose name or module contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A randomized test.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Campaign {
    /// The test, by the path of its module.
    test: String,
}

impl Campaign {
    /// The command that runs it.
    fn command(&self) -> Vec<String> {
        let words = format!("test --workspace --test it -- --exact {} --nocapture", self.test);
        words.split(' ').map(str::to_owned).collect()
    }
}

/// Runs all campaigns, one per core; a failure prints the seed that reproduces it.
#[expect(clippy::print_stdout, reason = "what was tried is this task's answer")]
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut campaigns = campaigns(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates"))?;
    if let Some(only) = &options.only {
        campaigns.retain(|campaign| campaign.test.contains(only));
    }
    if campaigns.is_empty() {
        bail!("no randomized tests found");
    }
    build()?;
    let cores = std::thread::available_parallelism()?.get().min(campaigns.len());
    let each = (options.seconds * u64::try_from(cores)? / u64::try_from(campaigns.len())?).max(1);
    println!("{} campaigns of {each} s, {cores} at a time", campaigns.len());
    let waiting = Mutex::new(campaigns.into_iter());
    let failed = Mutex::new(Vec::new());
    let next = || waiting.lock().ok()?.next();
    let work = || -> Result<()> {
        while let Some(campaign) = next() {
            match one(&campaign, each)? {
                Ok(tried) => println!("{}: {tried}", campaign.test),
                Err(output) => {
                    let again = again(&campaign, &output);
                    println!("{output}\n{}: failed; to see it again:\n  {again}", campaign.test);
                    failed
                        .lock()
                        .map_err(|_| anyhow::anyhow!("another campaign panicked"))?
                        .push(again);
                }
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for thread in running {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a campaign panicked"))??;
        }
        anyhow::Ok(())
    })?;
    let failed = failed.into_inner().context("a campaign panicked")?;
    if failed.is_empty() {
        return Ok(());
    }
    bail!("{} failed:\n  {}", failed.len(), failed.join("\n  "))
}

fn build() -> Result<()> {
    let mut build = cargo();
    build.args(["test", "--workspace", "--test", "it", "--no-run"]);
    if !build.status()?.success() {
        bail!("the build failed");
    }
    Ok(())
}

/// Runs a campaign; returns its summary, or its output on failure.
fn one(campaign: &Campaign, seconds: u64) -> Result<Result<String, String>> {
    let output = cargo()
        .args(campaign.command())
        .env(SECONDS, seconds.to_string())
        .env_remove(SEED)
        .output()?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let text = text.concat();
    if !output.status.success() {
        return Ok(Err(text));
    }
    let tried = text.lines().find(|line| line.ends_with("scenarios tried"));
    Ok(Ok(tried.unwrap_or("it did not say what it tried").to_owned()))
}

/// The command that reproduces a failure.
fn again(campaign: &Campaign, output: &str) -> String {
    let number = output.split(&format!("{SEED}=")).nth(1).unwrap_or_default();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    let command = format!("cargo {}", campaign.command().join(" "));
    match number.is_empty() {
        true => command,
        false => format!("{SEED}={number} {command}"),
    }
}

/// All tests in these crates that call `campaign`.
fn campaigns(crates: &Path) -> Result<Vec<Campaign>> {
    let mut found = Vec::new();
    for one in std::fs::read_dir(crates)? {
        find_campaigns(&one?.path().join("tests/it"), "", &mut found)?;
    }
    found.sort_by(|left, right| left.test.cmp(&right.test));
    Ok(found)
}

/// The same, under one directory of modules.
fn find_campaigns(directory: &Path, parent: &str, found: &mut Vec<Campaign>) -> Result<()> {
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry?.path();
        let module = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("main" | "mod") | None => parent.to_owned(),
            Some(name) => format!("{parent}{name}::"),
        };
        if path.is_dir() {
            find_campaigns(&path, &module, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            found.extend(campaigns_in(&module, &text));
        }
    }
    Ok(())
}

fn campaigns_in(module: &str, text: &str) -> Vec<Campaign> {
    let (mut test, mut found) = (None, Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.trim_start().strip_prefix("async fn ") {
            test = rest.split('(').next();
        }
        let calls = line.trim_start().starts_with("campaign(") || line.contains(" campaign(");
        if let Some(test) = test.filter(|_| calls) {
            found.push(Campaign {
                test: format!("{module}{test}"),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_make_up_scenarios_are_found() -> Result<()> {
        let text = "use cambium_testing::campaign;\n#[tokio::test]\nasync fn fixed() {}\n#[tokio::test]\n\
            async fn random() -> Result<()> {\n    campaign(3, async |seed| Ok(())).await\n}\n";
        let found = campaigns_in("edits::", text);
        let expected = Campaign {
            test: "edits::random".to_owned(),
        };
        assert_eq!(found, [expected]);
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        assert!(!campaigns(&crates)?.is_empty());
        Ok(())
    }

    #[test]
    fn a_failure_says_how_to_see_it_again() {
        let campaign = Campaign {
            test: "edits::random".to_owned(),
        };
        let again = again(&campaign, "Error: with CAMBIUM_CAMPAIGN_SEED=42\n\nCaused by: …");
        let command =
            "CAMBIUM_CAMPAIGN_SEED=42 cargo test --workspace --test it -- --exact edits::random --nocapture";
        assert_eq!(again, command);
    }
}
