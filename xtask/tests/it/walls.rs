//! Dependency rules between crates, and who may print; see ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::documents::root;

/// The pure crates, and what they may depend on besides each other. All of it computes: no clock, randomness, network or files of its own.
const PURE: [(&str, &[&str]); 17] = [
    ("api", &["k8s-openapi", "kube", "schemars", "serde", "serde_json"]),
    ("apply", &["serde_json", "thiserror"]),
    ("builtin", &["base64", "jiff", "serde_json", "thiserror"]),
    ("cel", &["cel", "jiff", "regex", "serde_json", "thiserror"]),
    (
        "compositions",
        &["jiff", "k8s-openapi", "serde", "serde_json", "sha2", "thiserror"],
    ),
    (
        "compositions-render",
        &[
            "base64",
            "num-bigint",
            "num-traits",
            "regex",
            "serde",
            "serde_json",
            "sha1",
            "sha2",
            "thiserror",
        ],
    ),
    (
        "convert",
        &["base64", "flate2", "semver", "serde_json", "sha2", "thiserror"],
    ),
    (
        "cue",
        &[
            "base64",
            "foldhash",
            "granit-parser",
            "libm",
            "md-5",
            "num-bigint",
            "num-integer",
            "num-traits",
            "regex",
            "serde_json",
            "sha1",
            "sha2",
            "stacker",
            "thiserror",
        ],
    ),
    (
        "definitions",
        &["jiff", "k8s-openapi", "serde", "serde_json", "thiserror"],
    ),
    (
        "definitions-render",
        &["num-bigint", "num-traits", "serde_json", "thiserror"],
    ),
    ("evolve", &["serde", "serde_json", "thiserror"]),
    ("go-text", &["regex", "serde_json"]),
    (
        "lineage",
        &["jiff", "semver", "serde", "serde_json", "sha2", "thiserror"],
    ),
    ("objects", &["jiff", "k8s-openapi", "serde", "serde_json"]),
    ("pipeline", &["serde_json", "thiserror"]),
    (
        "reports",
        &["jiff", "serde", "serde-saphyr", "serde_json", "thiserror"],
    ),
    ("schema", &["jiff", "regex", "serde_json"]),
];

/// Crates that depend on nothing of ours.
const ALONE: [&str; 5] = ["api", "cue", "go-text", "lineage", "objects"];

/// Crates that may print: programs, and tests that report skips.
const PRINTING: [&str; 4] = ["crates/bench", "crates/cambium", "crates/testing", "xtask"];

#[test]
fn pure_crates_depend_on_what_is_pure() {
    let workspace = Workspace::read();
    let mut wrong = Vec::new();
    for (name, allowed) in PURE {
        for dependency in workspace.dependencies(name) {
            let ours = dependency.strip_prefix("cambium-");
            let fine = match ours {
                Some(ours) => PURE.iter().any(|(pure, _)| *pure == ours) && !ALONE.contains(&name),
                None => allowed.contains(&dependency.as_str()),
            };
            if !fine {
                wrong.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert_eq!(wrong, [] as [&str; 0], "a pure crate depends on what it may not");
}

#[test]
fn the_documented_pure_crates_are_these() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rooms = text
        .lines()
        .find(|line| line.starts_with("- **Pure rooms"))
        .unwrap();
    let (rooms, _) = rooms.split_once(" have no async").unwrap();
    let documented: BTreeSet<&str> = rooms.split('`').skip(1).step_by(2).collect();
    let tested: BTreeSet<&str> = PURE.iter().map(|(name, _)| *name).collect();
    assert_eq!(documented, tested);
}

#[test]
fn pure_crates_have_clippy_forbid_clocks_and_randomness() {
    let of = |name: &str| {
        let path = root().join("crates").join(name).join("clippy.toml");
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let common = of("schema");
    for (name, _) in PURE {
        assert_eq!(
            of(name),
            common,
            "crates/{name}/clippy.toml is that of crates/schema"
        );
    }
    for setting in std::fs::read_to_string(root().join("clippy.toml"))
        .unwrap()
        .lines()
    {
        assert!(common.contains(setting), "a setting of the workspace: {setting}");
    }
}

#[test]
fn controllers_and_webhooks_do_not_link_the_server() {
    let workspace = Workspace::read();
    for name in ["controllers", "webhooks"] {
        let path = workspace.path(&format!("cambium-{name}"), "cambium-apiserver");
        assert_eq!(path, None, "{name} reaches the server");
    }
}

#[test]
fn only_programs_print() {
    let mut printing = Vec::new();
    for package in Workspace::read().members {
        let place = package.strip_prefix(root()).unwrap().to_path_buf();
        if PRINTING.iter().any(|allowed| place == Path::new(allowed)) {
            continue;
        }
        for file in sources(&package.join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            // Tests of a module are at its end, and may print.
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let prints = |line: &&str| {
                let line = line.trim_start();
                let macros = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("];
                !line.starts_with("//") && macros.iter().any(|name| line.contains(name))
            };
            printing.extend(
                code.lines()
                    .filter(prints)
                    .map(|line| format!("{}: {}", file.display(), line.trim())),
            );
        }
    }
    assert_eq!(printing, [] as [&str; 0], "only programs print");
}

/// The result of `cargo metadata`.
struct Workspace {
    /// The directories of the packages.
    members: Vec<PathBuf>,
    /// The non-dev dependencies of each package, by name.
    dependencies: BTreeMap<String, BTreeSet<String>>,
}

impl Workspace {
    fn read() -> Self {
        let metadata = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(
            metadata.status.success(),
            "{}",
            String::from_utf8_lossy(&metadata.stderr)
        );
        let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let dependencies = packages.iter().map(|package| {
            let all = package["dependencies"].as_array().unwrap().iter();
            // The kind of a normal dependency is null; those of builds and tests have names.
            let normal = all.filter(|one| one["kind"].is_null());
            (
                text(&package["name"]),
                normal.map(|one| text(&one["name"])).collect(),
            )
        });
        let directory = |package: &Value| {
            Path::new(&text(&package["manifest_path"]))
                .parent()
                .unwrap()
                .to_path_buf()
        };
        Self {
            members: packages.iter().map(directory).collect(),
            dependencies: dependencies.collect(),
        }
    }

    fn dependencies(&self, name: &str) -> &BTreeSet<String> {
        let known = self.dependencies.get(&format!("cambium-{name}"));
        known.unwrap_or_else(|| panic!("there is no crate {name}"))
    }

    /// A dependency path between two of our crates, if there is one.
    fn path(&self, from: &str, to: &str) -> Option<String> {
        let mut open = vec![from.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(path) = open.pop() {
            let last = path.rsplit(" → ").next().unwrap_or_default();
            if last == to {
                return Some(path);
            }
            if seen.insert(last.to_owned()) {
                let next = self.dependencies.get(last).into_iter().flatten();
                open.extend(next.map(|one| format!("{path} → {one}")));
            }
        }
        None
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
    found
}
