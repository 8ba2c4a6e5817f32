//! Runs Go's `cue` on one program at a time.

use crate::json;
use cambium_cue::Data;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The reference version of `cue`.
pub const VERSION: &str = "v0.14.1";

/// An installed Go `cue`.
#[derive(Debug)]
pub struct Oracle {
    binary: PathBuf,
    /// The cache directory of results.
    answers: Option<PathBuf>,
}

/// The result of evaluating a program.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A concrete value.
    Value(Data),
    /// Incomplete: not concrete.
    Incomplete(String),
    /// An error.
    Error(String),
    /// Valid CUE that the evaluator does not support; never from Go's.
    Unsupported(String),
    /// The evaluator panicked.
    Panic(String),
    /// The evaluator timed out.
    Hang,
}

impl Oracle {
    /// Finds the oracle; the error says why there is none.
    pub fn find() -> Result<Self, String> {
        let directory = cache()
            .ok_or("none of CAMBIUM_CACHE, XDG_CACHE_HOME and HOME is set")?
            .join("cue")
            .join(VERSION);
        let binary = directory.join("bin/cue");
        if !binary.is_file() {
            return Err("Go's cue is not built: `cargo xtask cue-oracle` builds it".to_owned());
        }
        Ok(Self {
            binary,
            answers: None,
        })
    }

    /// Enables the cache of results.
    pub fn remembering(mut self) -> Self {
        self.answers = self
            .binary
            .parent()
            .and_then(|bin| Some(bin.parent()?.join("answers")));
        self
    }

    /// `cue export` of a whole text.
    pub fn export(&self, text: &str) -> io::Result<Answer> {
        self.ask(text, &["export", "--out", "json", "-"])
    }

    /// `cue export` of the value of an expression in a text.
    pub fn export_at(&self, text: &str, expression: &str) -> io::Result<Answer> {
        self.ask(text, &["export", "--out", "json", "-e", expression, "-"])
    }

    fn ask(&self, text: &str, arguments: &[&str]) -> io::Result<Answer> {
        let Some(answers) = &self.answers else {
            return self.ask_anew(text, arguments);
        };
        let place = answers.join(key(text, arguments));
        if let Some(answer) = std::fs::read_to_string(&place)
            .ok()
            .as_deref()
            .and_then(from_note)
        {
            return Ok(answer);
        }
        let answer = self.ask_anew(text, arguments)?;
        std::fs::create_dir_all(answers)?;
        // Two tests may ask the same at once: each writes a whole file.
        let aside = place.with_extension(format!("{}", std::process::id()));
        std::fs::write(&aside, to_note(&answer))?;
        std::fs::rename(&aside, &place)?;
        Ok(answer)
    }

    fn ask_anew(&self, text: &str, arguments: &[&str]) -> io::Result<Answer> {
        let (succeeded, output) = self.run(text, arguments)?;
        if succeeded {
            return Ok(match json::read(&output) {
                Some(data) => Answer::Value(data),
                None => Answer::Error(format!("an answer that is no JSON: {output}")),
            });
        }
        if output.contains("goroutine ") {
            return Ok(Answer::Panic(output));
        }
        // What `export` refuses and `eval` shows lacks information; what both refuse is wrong.
        let mut evaluate: Vec<&str> = arguments
            .iter()
            .copied()
            .filter(|argument| !matches!(*argument, "--out" | "json"))
            .collect();
        evaluate[0] = "eval";
        evaluate.insert(1, "--all");
        let (incomplete, _) = self.run(text, &evaluate)?;
        Ok(if incomplete {
            Answer::Incomplete(output)
        } else {
            Answer::Error(output)
        })
    }

    /// Runs `cue`; returns success with its output, or failure with its errors.
    fn run(&self, text: &str, arguments: &[&str]) -> io::Result<(bool, String)> {
        // A minute is a hundred times what the slowest answer takes: whoever is killed then had no answer.
        let mut child = Command::new("timeout")
            .arg("60")
            .arg(&self.binary)
            .args(arguments)
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // It may refuse without reading on.
            let _ = input.write_all(text.as_bytes());
        }
        let output = child.wait_with_output()?;
        let succeeded = output.status.success();
        let written = if succeeded { output.stdout } else { output.stderr };
        Ok((succeeded, String::from_utf8_lossy(&written).into_owned()))
    }
}

fn cache() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("CAMBIUM_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("cambium")))
        .or_else(|| Some(variable("HOME")?.join(".cache/cambium")))
}

fn key(text: &str, arguments: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in arguments.iter().chain([&text]) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().fold(String::new(), |mut key, byte| {
        write!(key, "{byte:02x}").expect("writing to a string does not fail");
        key
    })
}

fn to_note(answer: &Answer) -> String {
    match answer {
        Answer::Value(data) => format!("value {}", data.to_json()),
        Answer::Incomplete(message) => format!("incomplete {message}"),
        Answer::Panic(message) => format!("panic {message}"),
        Answer::Error(message) | Answer::Unsupported(message) => format!("error {message}"),
        Answer::Hang => "hang ".to_owned(),
    }
}

fn from_note(note: &str) -> Option<Answer> {
    let (kind, rest) = note.split_once(' ')?;
    match kind {
        "value" => json::read(rest).map(Answer::Value),
        "incomplete" => Some(Answer::Incomplete(rest.to_owned())),
        "error" => Some(Answer::Error(rest.to_owned())),
        "panic" => Some(Answer::Panic(rest.to_owned())),
        "hang" => Some(Answer::Hang),
        _ => None,
    }
}
