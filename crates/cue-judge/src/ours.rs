//! Runs `crates/cue` in isolation: panics and hangs become results.

use crate::oracle::Answer;
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostics, EvaluationOptions, Instance, Limits, Lookup, Program, Source, compile};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

/// Timeout of one program.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Limits high enough for every terminating program, and low enough to stop others soon.
pub const LIMITS: Limits = Limits {
    steps: 300_000,
    bytes: 1 << 30,
    depth: 1_000,
};

/// The export of a whole text.
pub fn export(text: &str) -> Answer {
    let text = text.to_owned();
    apart(move || answer(evaluated(&text, |instance| instance.export()))).unwrap_or_else(|trouble| trouble)
}

/// The exports of all paths in a text, up to a depth and a number; fails when the text does not compile.
pub fn export_each(text: &str, depth: usize, maximum: usize) -> Result<Vec<(String, Answer)>, Answer> {
    let text = text.to_owned();
    apart(move || {
        let each = |instance: &mut Instance<'_>| {
            let mut answers = Vec::new();
            let root = instance.root();
            walk(instance, root, "", depth, &mut answers);
            answers.truncate(maximum);
            Ok(answers)
        };
        evaluated(&text, each).unwrap_or_default()
    })
}

fn walk(
    instance: &mut Instance<'_>,
    at: Lookup,
    path: &str,
    depth: usize,
    answers: &mut Vec<(String, Answer)>,
) {
    for (name, child) in instance.fields(at).unwrap_or_default() {
        let below = match (path.is_empty(), is_identifier(&name)) {
            (true, true) => name,
            // A name of the whole file that is no identifier cannot be referred to.
            (true, false) => continue,
            (false, true) => format!("{path}.{name}"),
            (false, false) => format!("{path}.{}", Data::String(name).to_json()),
        };
        let found = answer(instance.export_at(child));
        let is_wrong = matches!(found, Answer::Error(_));
        answers.push((below.clone(), found));
        if depth > 1 {
            let start = answers.len();
            walk(instance, child, &below, depth - 1, answers);
            if is_wrong {
                // A selector into a struct that is wrong is wrong, whatever it selects.
                for (_, inside) in &mut answers[start..] {
                    *inside = Answer::Error(format!("{below} is wrong"));
                }
            }
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '$')
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '$'))
}

fn evaluated<T>(
    text: &str,
    ask: impl FnOnce(&mut Instance<'_>) -> Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    let program: Program = compile(&Source::new("in.cue", text))?;
    let options = EvaluationOptions {
        limits: LIMITS,
        ..EvaluationOptions::default()
    };
    ask(&mut program.evaluate(&[], options))
}

fn answer(result: Result<Data, Diagnostics>) -> Answer {
    let problems = match result {
        Ok(data) => return Answer::Value(data),
        Err(problems) => problems,
    };
    let has = |severity| problems.0.iter().any(|problem| problem.severity == severity);
    let message = problems.to_string();
    if has(Severity::Syntax) || has(Severity::Error) || has(Severity::Exhausted) {
        Answer::Error(message)
    } else if has(Severity::Unsupported) {
        Answer::Unsupported(message)
    } else {
        Answer::Incomplete(message)
    }
}

/// Runs on a new thread; a hanging thread is abandoned.
fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Answer> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Answer::Panic(text.unwrap_or_default())
        });
        // The receiver may have timed out.
        let _ = sender.send(result);
    });
    receiver.recv_timeout(TIMEOUT).unwrap_or(Err(Answer::Hang))
}
