//! One small file per language rule, each with the result of Go's `cue export`.
//!
//! `NAME.cue` is the program. `NAME.json` is its export, or `NAME.error` says `error` or `incomplete`. The files were
//! recorded from Go's `cue`; `CAMBIUM_CUE_RECORD=1 cargo test -p cambium-cue --test corpus` records those that are missing.
#![expect(clippy::disallowed_methods, reason = "a test reads its settings")]

use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostics, Source, compile};
use cambium_cue_judge::{Answer, Oracle, json, skip};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The recorded result of a program.
#[derive(Debug, PartialEq)]
enum Outcome {
    Value(Data),
    Incomplete,
    Error,
}

struct Case {
    name: String,
    program: PathBuf,
    text: String,
}

#[test]
fn every_rule_holds() {
    let known: Vec<&str> = include_str!("../corpus/DIFFERENCES")
        .lines()
        .filter_map(|line| line.split_once(':').map(|(name, _)| name))
        .collect();
    let mut wrong = String::new();
    for case in cases() {
        let Some(recorded) = case.recorded() else {
            writeln!(wrong, "{}: nothing recorded", case.name).unwrap();
            continue;
        };
        let ours = outcome(&case);
        let agrees = match &ours {
            Ok(ours) => same(ours, &recorded),
            // To say "not supported" to what is wrong anyway is no wrong answer.
            Err(_) => recorded == Outcome::Error,
        };
        match (agrees, known.contains(&case.name.as_str())) {
            (true, false) | (false, true) => {}
            (true, true) => writeln!(wrong, "{}: listed in DIFFERENCES, and is none", case.name).unwrap(),
            (false, false) => {
                let name = &case.name;
                writeln!(wrong, "{name}: differs\n  recorded {recorded:?}\n  ours {ours:?}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_records_are_what_the_oracle_says() {
    let oracle = match Oracle::find() {
        Ok(oracle) => oracle.remembering(),
        Err(reason) => return skip("the_records_are_what_the_oracle_says", &reason),
    };
    let record = std::env::var_os("CAMBIUM_CUE_RECORD").is_some();
    let mut wrong = String::new();
    for case in cases() {
        let answer = oracle.export(&case.text).unwrap();
        if record && case.recorded().is_none() {
            case.record(&answer);
        }
        let outcome = match answer {
            Answer::Value(data) => Outcome::Value(data),
            Answer::Incomplete(_) => Outcome::Incomplete,
            _ => Outcome::Error,
        };
        let recorded = case.recorded();
        if !recorded.as_ref().is_some_and(|recorded| same(recorded, &outcome)) {
            writeln!(
                wrong,
                "{}: recorded {recorded:?}, Go gives {outcome:?}",
                case.name
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases: Vec<Case> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cue"))
        .map(|program| Case {
            name: program.file_stem().unwrap().to_string_lossy().into_owned(),
            text: std::fs::read_to_string(&program).unwrap(),
            program,
        })
        .collect();
    cases.sort_by(|left, right| left.name.cmp(&right.name));
    cases
}

impl Case {
    fn recorded(&self) -> Option<Outcome> {
        if let Ok(text) = std::fs::read_to_string(self.program.with_extension("json")) {
            return json::read(&text).map(Outcome::Value);
        }
        let severity = std::fs::read_to_string(self.program.with_extension("error")).ok()?;
        match severity.trim() {
            "incomplete" => Some(Outcome::Incomplete),
            "error" => Some(Outcome::Error),
            _ => None,
        }
    }

    fn record(&self, answer: &Answer) {
        let (extension, text) = match answer {
            Answer::Value(data) => ("json", data.to_json()),
            Answer::Incomplete(_) => ("error", "incomplete".to_owned()),
            _ => ("error", "error".to_owned()),
        };
        std::fs::write(self.program.with_extension(extension), text + "\n").unwrap();
    }
}

fn outcome(case: &Case) -> Result<Outcome, Diagnostics> {
    let source = Source::new(case.name.as_str(), case.text.as_str());
    let program = match compile(&source) {
        Ok(program) => program,
        Err(problems) => return refused(problems),
    };
    match program
        .evaluate(&[], cambium_cue::EvaluationOptions::default())
        .export()
    {
        Ok(data) => Ok(Outcome::Value(data)),
        Err(problems) => refused(problems),
    }
}

/// The worst of the problems; what is not supported is no outcome.
fn refused(problems: Diagnostics) -> Result<Outcome, Diagnostics> {
    let has = |severity| problems.0.iter().any(|problem| problem.severity == severity);
    if has(Severity::Syntax) || has(Severity::Error) || has(Severity::Exhausted) {
        Ok(Outcome::Error)
    } else if has(Severity::Unsupported) {
        Err(problems)
    } else {
        Ok(Outcome::Incomplete)
    }
}

fn same(left: &Outcome, right: &Outcome) -> bool {
    match (left, right) {
        (Outcome::Value(left), Outcome::Value(right)) => json::same(left, right),
        _ => left == right,
    }
}
