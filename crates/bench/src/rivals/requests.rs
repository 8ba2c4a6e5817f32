//! Requests of a rival, from the API server's audit log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;

use crate::target::{PEER, Target};

/// Time without writes after which it counts as quiet.
const QUIET: Duration = Duration::from_secs(10);

/// A reader of the growing audit log.
pub(crate) struct Audit {
    path: PathBuf,
    read: u64,
}

/// Requests of the rival.
#[derive(Default)]
pub(crate) struct Requests {
    by_verb: BTreeMap<String, usize>,
    last_write: Option<Timestamp>,
}

impl Audit {
    /// A reader from the beginning of the log.
    pub(crate) fn of(target: &Target) -> Self {
        Self {
            path: target.file("audit.log"),
            read: 0,
        }
    }

    /// The requests since the last call.
    pub(crate) fn take(&mut self) -> Result<Requests> {
        let mut requests = Requests::default();
        self.add_to(&mut requests)?;
        Ok(requests)
    }

    /// The requests since the last call, once there have been no writes for a while.
    pub(crate) async fn take_when_quiet(&mut self) -> Result<Requests> {
        let (mut requests, begin) = (Requests::default(), Timestamp::now());
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            self.add_to(&mut requests)?;
            let last = requests.last_write.unwrap_or(begin).max(begin);
            if Timestamp::now().duration_since(last).unsigned_abs() >= QUIET {
                return Ok(requests);
            }
        }
    }

    fn add_to(&mut self, requests: &mut Requests) -> Result<()> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        // The last line may still be written.
        let complete = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        self.read += u64::try_from(complete)?;
        for line in text[..complete].split(|byte| *byte == b'\n') {
            if let Ok(event) = serde_json::from_slice::<Value>(line) {
                requests.add(&event);
            }
        }
        Ok(())
    }
}

impl Requests {
    fn add(&mut self, event: &Value) {
        if event["user"]["username"] != PEER || event["objectRef"]["resource"] == "leases" {
            return;
        }
        let verb = event["verb"].as_str().unwrap_or_default();
        *self.by_verb.entry(verb.to_owned()).or_default() += 1;
        if is_write(verb) {
            let time = event["stageTimestamp"].as_str();
            self.last_write = self.last_write.max(time.and_then(|time| time.parse().ok()));
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> usize {
        self.by_verb.values().sum()
    }

    /// The number of writes.
    pub(crate) fn writes(&self) -> usize {
        let writes = self.by_verb.iter().filter(|(verb, _)| is_write(verb));
        writes.map(|(_, count)| count).sum()
    }

    /// Those with this verb.
    pub(crate) fn count(&self, verb: &str) -> usize {
        self.by_verb.get(verb).copied().unwrap_or(0)
    }

    /// The verbs that occur.
    pub(crate) fn verbs(&self) -> impl Iterator<Item = &str> {
        self.by_verb.keys().map(String::as_str)
    }

    /// The time from a moment until the last write.
    pub(crate) fn quiet_after(&self, begin: Timestamp) -> Duration {
        let last = self.last_write.unwrap_or(begin).max(begin);
        last.duration_since(begin).unsigned_abs()
    }
}

fn is_write(verb: &str) -> bool {
    matches!(
        verb,
        "create" | "update" | "patch" | "delete" | "deletecollection"
    )
}
