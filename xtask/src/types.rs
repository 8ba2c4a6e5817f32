//! `cargo xtask types`: generates the schemas of Kubernetes' built-in types as static tables.
//!
//! Field names, types and merge rules come from the published OpenAPI document; protobuf numbers and `omitempty` come
//! from the struct tags of the Go API. Only such facts are taken, no text.
//!
//! ```text
//! source       files in the Go module cache
//! gotypes      struct tags -> protobuf numbers, zero values, inlined structs
//! model        OpenAPI + gotypes -> one Type per reachable definition
//! emit         Types -> Rust files
//! reflection   Go reflection on the API types -> one more Rust file
//! ```

mod emit;
mod gotypes;
mod model;
mod reflection;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes the generated files into the source tree.
pub(crate) fn write() -> Result<()> {
    let directory = directory();
    let files = generate(&source::Source::locate()?)?;
    for entry in std::fs::read_dir(&directory).into_iter().flatten() {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !files.contains_key(&name) {
            std::fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    std::fs::create_dir_all(&directory)?;
    for (name, text) in files {
        std::fs::write(directory.join(&name), text).with_context(|| format!("write {name}"))?;
    }
    let text = reflection::text(reflection::Modules::Fetched)?;
    std::fs::write(reflection::path(), text).context("write go_types.rs")?;
    Ok(())
}

/// File name -> text.
fn generate(source: &source::Source) -> Result<BTreeMap<String, String>> {
    let types = model::read(source)?;
    let defaults = model::defaults(source, &types)?;
    emit::files(&types, &defaults)
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/builtin/src/generated")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Reports a skipped test past the test runner's capture.
    fn skip(test: &str, reason: &anyhow::Error) {
        let reason = format!("{reason:#}").replace('\n', " ");
        // Nothing can be reported if standard error is closed.
        let _ = std::io::stderr().write_all(format!("SKIPPED {test}: {reason}\n").as_bytes());
    }

    #[test]
    fn what_go_says_of_its_types_is_not_stale() {
        let text = match reflection::text(reflection::Modules::Cached) {
            Ok(text) => text,
            Err(reason) => {
                skip("what_go_says_of_its_types_is_not_stale", &reason);
                return;
            }
        };
        let committed = std::fs::read_to_string(reflection::path()).unwrap_or_default();
        assert!(committed == text, "go_types.rs is stale: run `cargo xtask types`");
    }

    #[test]
    fn the_committed_types_are_not_stale() {
        let source = match source::Source::cached() {
            Ok(source) => source,
            Err(reason) => {
                skip("the_committed_types_are_not_stale", &reason);
                return;
            }
        };
        let files = generate(&source).unwrap();
        for (name, text) in &files {
            let committed = std::fs::read_to_string(directory().join(name)).unwrap_or_default();
            assert!(committed == *text, "{name} is stale: run `cargo xtask types`");
        }
        let committed = std::fs::read_dir(directory()).unwrap().count();
        assert_eq!(
            committed,
            files.len(),
            "a file is no longer generated: run `cargo xtask types`"
        );
    }
}
