//! `cargo xtask cue-conformance`: compares `crates/cue` with Go's `cue` on the test archives of Go's module.
//!
//! The archives are read from the Go module cache, not copied. Two figures: whole files (`cue export`), and every value at
//! a path of up to three names (`cue export -e`), because one wrong field makes a whole file an error.

mod archive;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use cambium_cue_judge::{Answer, Oracle, Verdict, ours};
use clap::Args;

use crate::oracle;
use archive::Case;

/// Maximum length of paths for the second figure.
const DEPTH: usize = 3;
/// Maximum number of paths per file.
const MAXIMUM_PATHS: usize = 60;

/// One comparison.
struct Finding {
    file: String,
    /// Empty for the whole file.
    path: String,
    verdict: Verdict,
    ours: Answer,
    oracle: Answer,
}

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Also prints the differences
    #[arg(long)]
    list: bool,
}

/// Compares all archives, and prints the figures; with `--list`, also the differences.
#[expect(clippy::print_stdout, reason = "the figures are this task's answer")]
pub(crate) fn run(options: &Options) -> Result<()> {
    oracle::built()?;
    let oracle = Oracle::find().map_err(anyhow::Error::msg)?.remembering();
    let tests = oracle::CUE.download()?.join("cue/testdata");
    let selection = archive::cases(&tests).context("reading the test archives")?;
    let findings = compare_all(&oracle, &selection.cases)?;
    println!(
        "{} files without user packages ({} archives with them are left out), Go's cue {}\n",
        selection.cases.len(),
        selection.left_out,
        oracle::CUE.version
    );
    let (whole, paths): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.path.is_empty());
    print_figures("whole files", &whole);
    print_figures(&format!("values by path, {DEPTH} deep"), &paths);
    if options.list {
        for finding in whole.iter().chain(&paths) {
            if finding.verdict != Verdict::Agree {
                println!("\n{}: {} {}", finding.verdict.name(), finding.file, finding.path);
                println!("  Go:   {}", brief(&finding.oracle));
                println!("  ours: {}", brief(&finding.ours));
            }
        }
    }
    Ok(())
}

fn compare_all(oracle: &Oracle, cases: &[Case]) -> Result<Vec<Finding>> {
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let found = compare(oracle, case)?;
                findings
                    .lock()
                    .map_err(|_| anyhow::anyhow!("another comparison failed"))?
                    .extend(found);
            }
            Ok(())
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in running {
            thread
                .join()
                .map_err(|_| anyhow::anyhow!("a comparison panicked"))??;
        }
        anyhow::Ok(())
    })?;
    let mut findings = findings
        .into_inner()
        .map_err(|_| anyhow::anyhow!("a comparison failed"))?;
    findings.sort_by(|left, right| (&left.file, &left.path).cmp(&(&right.file, &right.path)));
    Ok(findings)
}

fn compare(oracle: &Oracle, case: &Case) -> Result<Vec<Finding>> {
    let finding = |path: String, ours: Answer, oracle: Answer| Finding {
        file: case.name.clone(),
        path,
        verdict: Verdict::of(&ours, &oracle),
        ours,
        oracle,
    };
    let mut found = vec![finding(
        String::new(),
        ours::export(&case.text),
        oracle.export(&case.text)?,
    )];
    match ours::export_each(&case.text, DEPTH, MAXIMUM_PATHS) {
        Ok(answers) => {
            for (path, ours) in answers {
                let answer = oracle.export_at(&case.text, &path)?;
                found.push(finding(path, ours, answer));
            }
        }
        Err(trouble) => {
            let nothing = Answer::Error(String::new());
            found.push(finding("(every path)".to_owned(), trouble, nothing));
        }
    }
    Ok(found)
}

#[expect(clippy::print_stdout, reason = "the figures are this task's answer")]
fn print_figures(title: &str, findings: &[&Finding]) {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.verdict).or_default() += 1;
    }
    println!("{title}: {}", findings.len());
    for verdict in Verdict::ALL {
        let count = counts.get(&verdict).copied().unwrap_or(0);
        let share = permille(count, findings.len());
        println!(
            "  {:17} {count:6} {:3}.{} %",
            verdict.name(),
            share / 10,
            share % 10
        );
    }
    let values = findings
        .iter()
        .filter(|finding| matches!(finding.oracle, Answer::Value(_)))
        .count();
    println!("  (Go gives a value to {values})");
}

fn permille(count: usize, of: usize) -> usize {
    (count * 1_000).checked_div(of).unwrap_or(0)
}

fn brief(answer: &Answer) -> String {
    let text = match answer {
        Answer::Value(data) => data.to_json(),
        Answer::Incomplete(message) => format!("incomplete: {message}"),
        Answer::Error(message) => format!("error: {message}"),
        Answer::Unsupported(message) => format!("not supported: {message}"),
        Answer::Panic(message) => format!("panic: {message}"),
        Answer::Hang => "hang".to_owned(),
    };
    text.replace('\n', " ").chars().take(300).collect()
}
