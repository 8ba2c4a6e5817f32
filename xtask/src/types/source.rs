//! Source files in the Go module cache.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The release whose types are generated.
pub(super) const KUBERNETES: &str = "v1.36.4";
/// The same release in the numbering of library modules.
const LIBRARIES: &str = "v0.36.4";
const MODULES: [&str; 4] = [
    "api",
    "apimachinery",
    "apiextensions-apiserver",
    "kube-aggregator",
];

/// The Go module cache with the required modules.
pub(super) struct Source {
    cache: PathBuf,
}

impl Source {
    /// Finds the modules, downloading missing ones.
    pub(super) fn locate() -> Result<Self> {
        let source = Self {
            cache: module_cache()?,
        };
        for module in source.missing() {
            let status = Command::new("go")
                .args(["mod", "download", &module])
                .status()
                .context("run go")?;
            if !status.success() {
                bail!("`go mod download {module}` failed");
            }
        }
        Ok(source)
    }

    /// Finds the modules; fails if one is missing.
    #[cfg(test)]
    pub(super) fn cached() -> Result<Self> {
        let source = Self {
            cache: module_cache()?,
        };
        match source.missing().first() {
            None => Ok(source),
            Some(module) => bail!("{module} is not in the Go module cache"),
        }
    }

    /// The OpenAPI v2 document.
    pub(super) fn openapi_v2(&self) -> Result<Value> {
        read_json(self.kubernetes().join("api/openapi-spec/swagger.json"))
    }

    /// The OpenAPI v3 documents.
    pub(super) fn openapi_v3(&self) -> Result<Vec<Value>> {
        let directory = self.kubernetes().join("api/openapi-spec/v3");
        let mut paths = std::fs::read_dir(&directory)
            .with_context(|| format!("read {}", directory.display()))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        paths.sort();
        paths.into_iter().map(read_json).collect()
    }

    /// The Go files of one package of a library module, joined.
    pub(super) fn package(&self, module: &str, path: &str) -> Result<String> {
        let directory = self.cache.join(format!("k8s.io/{module}@{LIBRARIES}")).join(path);
        let mut text = String::new();
        for entry in std::fs::read_dir(&directory).with_context(|| format!("read {}", directory.display()))? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.ends_with(".go") && !name.ends_with("_test.go") && !name.contains("generated") {
                text.push_str(&std::fs::read_to_string(&path)?);
            }
        }
        Ok(text)
    }

    fn kubernetes(&self) -> PathBuf {
        self.cache.join(format!("k8s.io/kubernetes@{KUBERNETES}"))
    }

    fn missing(&self) -> Vec<String> {
        let libraries = MODULES
            .iter()
            .map(|module| format!("k8s.io/{module}@{LIBRARIES}"));
        std::iter::once(format!("k8s.io/kubernetes@{KUBERNETES}"))
            .chain(libraries)
            .filter(|module| !self.cache.join(module).is_dir())
            .collect()
    }
}

fn module_cache() -> Result<PathBuf> {
    let output = Command::new("go")
        .args(["env", "GOMODCACHE"])
        .output()
        .context("Go is needed to fetch the Kubernetes sources (https://go.dev/dl), but `go` does not run")?;
    let path = String::from_utf8(output.stdout)?;
    match path.trim() {
        "" => bail!("`go env GOMODCACHE` names no directory"),
        path => Ok(PathBuf::from(path)),
    }
}

fn read_json(path: PathBuf) -> Result<Value> {
    let text = std::fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("parse {}", path.display()))
}
