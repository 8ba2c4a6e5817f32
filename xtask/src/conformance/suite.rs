//! The e2e binary: lists and runs specs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::record::Outcome;
use super::servers::Server;
use crate::kubernetes;

/// The prefix of spec names in ginkgo.
const TITLE: &str = "Kubernetes e2e suite";

/// A spec of the binary.
pub(super) struct Spec {
    /// Its full name, as in upstream's reports.
    pub(super) name: String,
    /// The file that defines it, under `test/e2e`.
    pub(super) file: String,
    /// `Conformance`, `Serial`, `Feature:…` and the like.
    pub(super) labels: Vec<String>,
}

/// The e2e binary and ginkgo.
pub(super) struct Suite {
    specs: PathBuf,
    ginkgo: PathBuf,
    kubectl: PathBuf,
}

impl Suite {
    /// Finds both, built if missing.
    pub(super) fn built() -> Result<Self> {
        let bin = kubernetes::specs()?;
        Ok(Self {
            specs: bin.join("e2e.test"),
            ginkgo: bin.join("ginkgo"),
            kubectl: bin.join("kubectl"),
        })
    }

    /// All specs of the binary.
    pub(super) fn specs(&self) -> Result<Vec<Spec>> {
        let directory = tempfile::tempdir()?;
        let report = directory.path().join("report.json");
        let output = Command::new(&self.specs)
            .args([
                "--provider=skeleton",
                "--ginkgo.dry-run",
                "--ginkgo.silence-skips",
            ])
            .arg(format!("--ginkgo.json-report={}", report.display()))
            .current_dir(directory.path())
            .output()?;
        if !output.status.success() {
            bail!(
                "e2e.test lists no specs: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        reports(&report)?.iter().map(Spec::read).collect()
    }

    /// Runs these specs; returns the results of those that ended, by name.
    pub(super) fn run(
        &self,
        specs: &[Spec],
        server: &Server,
        processes: usize,
    ) -> Result<Vec<(String, Outcome)>> {
        let directory = tempfile::tempdir()?;
        let records = server.records()?;
        let report = records.join("report.json");
        let names: Vec<String> = specs.iter().map(|spec| regex::escape(&spec.name)).collect();
        if report.exists() {
            std::fs::remove_file(&report)?;
        }
        // Ginkgo fails when a spec does; what came of them is in the report, and without one it is an error.
        Command::new(&self.ginkgo)
            .args(["run", "--no-color", "--silence-skips", "--timeout=2h"])
            .arg(format!("--procs={processes}"))
            .arg(format!("--focus=^{TITLE} ({})$", names.join("|")))
            .arg("--json-report=report.json")
            .arg(format!("--output-dir={}", records.display()))
            .arg(&self.specs)
            .arg("--")
            .args(["--provider=skeleton", "--allowed-not-ready-nodes=-1"])
            .arg(format!("--kubeconfig={}", server.kubeconfig().display()))
            .arg(format!("--kubectl-path={}", self.kubectl.display()))
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(File::create(records.join("specs.log"))?)
            .status()?;
        let mut found = Vec::new();
        for report in reports(&report).context("ginkgo wrote no report")? {
            let spec = Spec::read(&report)?;
            if specs.iter().any(|selected| selected.name == spec.name)
                && let Some(outcome) = Outcome::read(&report)
            {
                found.push((spec.name, outcome));
            }
        }
        found.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(found)
    }
}

impl Spec {
    fn read(report: &Value) -> Result<Self> {
        let texts = report["ContainerHierarchyTexts"].as_array().into_iter().flatten();
        let name: Vec<&str> = texts
            .chain([&report["LeafNodeText"]])
            .filter_map(Value::as_str)
            .collect();
        let labels = report["ContainerHierarchyLabels"]
            .as_array()
            .into_iter()
            .flatten();
        let labels = labels
            .chain([&report["LeafNodeLabels"]])
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(|label| label.as_str().map(str::to_owned))
            .collect();
        let place = report["LeafNodeLocation"]["FileName"]
            .as_str()
            .context("a report of a spec without a place")?;
        let file = place.split_once("/test/e2e/").map_or(place, |(_, file)| file);
        Ok(Self {
            name: name.join(" "),
            file: file.to_owned(),
            labels,
        })
    }

    /// Whether it has this label.
    pub(super) fn has(&self, label: &str) -> bool {
        self.labels.iter().any(|other| other == label)
    }
}

/// The spec reports of a run, without suite nodes.
fn reports(path: &Path) -> Result<Vec<Value>> {
    let report: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let specs = report[0]["SpecReports"]
        .as_array()
        .context("a report without specs")?;
    let is_spec = |report: &&Value| report["LeafNodeType"] == "It";
    Ok(specs.iter().filter(is_spec).cloned().collect())
}
