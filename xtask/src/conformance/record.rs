//! Results of specs, kept between runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::servers::Backend;

/// The result of a spec.
#[derive(Clone)]
pub(super) enum Outcome {
    Passed,
    /// The spec skipped itself, with a reason.
    Skipped(String),
    /// Failed, with the first line of its message.
    Failed(String),
}

impl Outcome {
    /// Parses ginkgo's report of a spec; `None` if the run was aborted before its end.
    pub(super) fn read(report: &Value) -> Option<Self> {
        let failure = &report["Failure"];
        let message = failure["ForwardedPanic"]
            .as_str()
            .or_else(|| failure["Message"].as_str())
            .unwrap_or_default();
        let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or("no reason given");
        // A line that ends so says what follows, not what happened.
        let reason = match first.ends_with(':') {
            true => format!("{first} {}", lines.next().unwrap_or_default()),
            false => first.to_owned(),
        };
        match report["State"].as_str() {
            Some("passed") => Some(Self::Passed),
            Some("interrupted" | "aborted") => None,
            // A spec that skipped itself has a reason; one that was not reached has none.
            Some("skipped" | "pending") => (!message.is_empty()).then_some(Self::Skipped(reason)),
            _ => Some(Self::Failed(reason)),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Passed => json!({"state": "passed"}),
            Self::Skipped(reason) => json!({"state": "skipped", "reason": reason}),
            Self::Failed(reason) => json!({"state": "failed", "reason": reason}),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let reason = value["reason"].as_str().unwrap_or_default().to_owned();
        match value["state"].as_str()? {
            "passed" => Some(Self::Passed),
            "skipped" => Some(Self::Skipped(reason)),
            "failed" => Some(Self::Failed(reason)),
            _ => None,
        }
    }
}

/// The latest results of all specs on one backend.
pub(super) struct Record {
    outcomes: BTreeMap<String, Outcome>,
}

impl Record {
    /// Reads the results of a backend; empty if there are none yet.
    pub(super) fn read(backend: Backend) -> Result<Self> {
        let path = place(backend)?;
        let value: Value = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| path.display().to_string())?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => json!({}),
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let outcomes = value.as_object().into_iter().flatten();
        let outcomes = outcomes.filter_map(|(name, value)| Some((name.clone(), Outcome::from_json(value)?)));
        Ok(Self {
            outcomes: outcomes.collect(),
        })
    }

    /// Adds newer results.
    pub(super) fn learn(&mut self, found: &[(String, Outcome)]) {
        self.outcomes.extend(found.iter().cloned());
    }

    /// Writes the results.
    pub(super) fn write(&self, backend: Backend) -> Result<()> {
        let path = place(backend)?;
        let value: BTreeMap<&str, Value> = self
            .outcomes
            .iter()
            .map(|(name, outcome)| (name.as_str(), outcome.to_json()))
            .collect();
        Ok(std::fs::write(path, serde_json::to_vec_pretty(&value)?)?)
    }

    /// The last result of a spec.
    pub(super) fn of(&self, name: &str) -> Option<&Outcome> {
        self.outcomes.get(name)
    }
}

fn place(backend: Backend) -> Result<PathBuf> {
    Ok(backend.directory()?.join("outcomes.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_the_first_line_that_says_something() {
        let report = json!({"State": "failed", "Failure": {"Message": "\nExpected success, but got an error:\n    no route\n    to host"}});
        let Some(Outcome::Failed(reason)) = Outcome::read(&report) else {
            unreachable!("the report says that it failed");
        };
        assert_eq!(reason, "Expected success, but got an error: no route");
        assert!(matches!(
            Outcome::read(&json!({"State": "passed"})),
            Some(Outcome::Passed)
        ));
        let skipped = json!({"State": "skipped", "Failure": {"Message": "not here"}});
        assert!(matches!(Outcome::read(&skipped), Some(Outcome::Skipped(reason)) if reason == "not here"));
        let timed_out = json!({"State": "timedout", "Failure": {"Message": "A suite timeout occurred"}});
        assert!(matches!(Outcome::read(&timed_out), Some(Outcome::Failed(_))));
    }

    #[test]
    fn outcomes_survive_being_kept() {
        for outcome in [
            Outcome::Passed,
            Outcome::Skipped("why".to_owned()),
            Outcome::Failed("how".to_owned()),
        ] {
            let kept = Outcome::from_json(&outcome.to_json()).map(|outcome| outcome.to_json());
            assert_eq!(kept, Some(outcome.to_json()));
        }
    }
}
