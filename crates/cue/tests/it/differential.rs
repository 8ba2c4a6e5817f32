//! Differential test: generated programs with `crates/cue` and Go's `cue`.
//!
//! `CAMBIUM_CUE_FUZZ=20` runs twenty times as many programs, `CAMBIUM_CUE_SEED=7` others. A difference is shrunk.
#![expect(clippy::disallowed_methods, reason = "a test reads its settings")]

use cambium_cue_judge::{Answer, Oracle, Verdict, generate, ours, shrink, skip};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of programs of a default run.
const PROGRAMS: u64 = 150;
/// Seeds of runs do not overlap.
const STRIDE: u64 = 1_000_000;

#[test]
fn generated_programs_are_what_the_oracle_says() {
    let oracle = match Oracle::find() {
        Ok(oracle) => oracle,
        Err(reason) => return skip("generated_programs_are_what_the_oracle_says", &reason),
    };
    let seed = number("CAMBIUM_CUE_SEED").unwrap_or(0) * STRIDE;
    let times = number("CAMBIUM_CUE_FUZZ");
    // Only the programs of an ordinary run come again: remembering the others would fill the cache.
    let oracle = if times.is_none() {
        oracle.remembering()
    } else {
        oracle
    };
    let last = seed + PROGRAMS * times.unwrap_or(1);
    let next = AtomicU64::new(seed);
    let differences = Mutex::new(Vec::new());
    let values = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        return;
                    }
                    let program = generate::program(seed);
                    let theirs = oracle.export(&program.to_string()).unwrap();
                    let has_value = u64::from(matches!(theirs, Answer::Value(_)));
                    values.fetch_add(has_value, Ordering::Relaxed);
                    if Verdict::of(&ours::export(&program.to_string()), &theirs) != Verdict::Agree {
                        let difference = smallest(&oracle, &program);
                        differences
                            .lock()
                            .unwrap()
                            .push(format!("seed {seed}:\n{difference}"));
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    // A generator whose programs are all wrong compares nothing.
    let values = values.into_inner();
    assert!(values * 5 > last - seed, "only {values} programs have a value");
}

fn smallest(oracle: &Oracle, program: &generate::Tree) -> String {
    let answers = |text: &str| (ours::export(text), oracle.export(text).unwrap());
    let verdict = |text: &str| {
        let (ours, theirs) = answers(text);
        Verdict::of(&ours, &theirs)
    };
    let wanted = verdict(&program.to_string());
    let small = shrink::shrink(program, |text| verdict(text) == wanted).to_string();
    let (ours, theirs) = answers(&small);
    format!("{small}\n{}\n  Go: {theirs:?}\n  ours: {ours:?}", wanted.name())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
