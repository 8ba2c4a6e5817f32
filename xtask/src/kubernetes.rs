//! `cargo xtask kubernetes`: builds Kubernetes from its published Go modules, for comparison.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The version that the embedded server follows.
pub(crate) const KUBERNETES: &str = "v1.36.4";
/// The staging modules carry the same numbers under v0.
const STAGING: &str = "v0.36.4";
const ETCD: &str = "v3.6.8";

/// `(binary, imports, body of main)`.
const BINARIES: [(&str, &str, &str); 3] = [
    (
        "etcd",
        "\"os\"; \"go.etcd.io/etcd/server/v3/etcdmain\"",
        "etcdmain.Main(os.Args)",
    ),
    (
        "kube-apiserver",
        "\"os\"; \"k8s.io/component-base/cli\"; \"k8s.io/kubernetes/cmd/kube-apiserver/app\"",
        "os.Exit(cli.Run(app.NewAPIServerCommand()))",
    ),
    (
        "kube-controller-manager",
        "\"os\"; \"k8s.io/component-base/cli\"; \"k8s.io/kubernetes/cmd/kube-controller-manager/app\"",
        "os.Exit(cli.Run(app.NewControllerManagerCommand()))",
    ),
];

/// e2e specs, ginkgo, and kubectl: `(binary, arguments of go build)`.
const SPECS: [(&str, &[&str]); 3] = [
    (
        "e2e.test",
        &["test", "-c", "-vet=off", "k8s.io/kubernetes/test/e2e"],
    ),
    ("ginkgo", &["build", "github.com/onsi/ginkgo/v2/ginkgo"]),
    ("kubectl", &["build", "k8s.io/kubernetes/cmd/kubectl"]),
];

/// The directory of the binaries, if they were built.
pub(crate) fn built() -> Result<Option<PathBuf>> {
    let bin = directory()?.join("bin");
    let complete = BINARIES.iter().all(|(name, ..)| bin.join(name).exists());
    Ok(complete.then_some(bin))
}

/// The cache directory of Kubernetes.
pub(crate) fn directory() -> Result<PathBuf> {
    Ok(cache()?.join("kubernetes").join(KUBERNETES))
}

/// Builds missing binaries; prints the directory, for `KUBEBUILDER_ASSETS`.
#[expect(clippy::print_stdout, reason = "the directory is this task's answer")]
pub(crate) fn prepare() -> Result<()> {
    println!("{}", servers()?.display());
    Ok(())
}

/// The directory of etcd, kube-apiserver and kube-controller-manager, built if missing.
pub(crate) fn servers() -> Result<PathBuf> {
    let packages = BINARIES.map(|(name, ..)| (name, format!("./cmd/{name}")));
    let arguments = packages
        .each_ref()
        .map(|(name, package)| (*name, ["build", package.as_str()]));
    build(
        arguments
            .each_ref()
            .map(|(name, arguments)| (*name, &arguments[..])),
    )
}

/// The directory of `e2e.test`, `ginkgo` and `kubectl`, built if missing.
pub(crate) fn specs() -> Result<PathBuf> {
    build(SPECS)
}

/// The build cache shared between checkouts.
pub(crate) fn cache() -> Result<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = variable("CAMBIUM_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("cambium")))
        .or_else(|| Some(variable("HOME")?.join(".cache/cambium")));
    base.context("none of CAMBIUM_CACHE, XDG_CACHE_HOME and HOME is set")
}

/// Builds missing binaries with their arguments; returns the directory.
fn build<const N: usize>(binaries: [(&str, &[&str]); N]) -> Result<PathBuf> {
    let root = directory()?;
    let (source, bin) = (root.join("src"), root.join("bin"));
    let missing: Vec<_> = binaries
        .into_iter()
        .filter(|(name, _)| !bin.join(name).exists())
        .collect();
    if missing.is_empty() {
        return Ok(bin);
    }
    std::fs::create_dir_all(&bin)?;
    write_module(&source)?;
    let mut numbers = KUBERNETES.trim_start_matches('v').split('.');
    let (major, minor) = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let version = "k8s.io/component-base/version";
    let flags = format!(
        "-s -w -X {version}.gitVersion={KUBERNETES} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    );
    for (name, arguments) in missing {
        let output = bin.join(format!("{name}.new"));
        let place = output.display().to_string();
        let (package, verb) = arguments.split_last().context("a package to build")?;
        let arguments = [verb, &["-ldflags", &flags, "-o", &place, package]].concat();
        go(&source, &arguments)?;
        std::fs::rename(&output, bin.join(name))?;
    }
    Ok(bin)
}

/// Writes a Go module that imports Kubernetes, with fixed versions.
fn write_module(source: &Path) -> Result<()> {
    std::fs::create_dir_all(source)?;
    let module = format!(
        "module cambium.dev/judge\n\ngo 1.26\n\nrequire (\n\tk8s.io/kubernetes {KUBERNETES}\n\tgo.etcd.io/etcd/server/v3 {ETCD}\n)\n"
    );
    std::fs::write(source.join("go.mod"), &module)?;
    go(
        source,
        &["mod", "download", &format!("k8s.io/kubernetes@{KUBERNETES}")],
    )?;
    std::fs::write(source.join("go.mod"), module + &replacements(source)?)?;
    for (name, imports, body) in BINARIES {
        let text = format!("package main\n\nimport ({imports})\n\nfunc main() {{ {body} }}\n");
        write_package(&source.join("cmd").join(name), "main.go", &text)?;
    }
    // What is built without a main of ours is named here, so that tidying keeps it.
    let mut named = String::from("package specs\n\n");
    for (_, arguments) in SPECS {
        let package = arguments.last().context("a package to build")?;
        writeln!(named, "import _ \"{package}\"")?;
    }
    write_package(&source.join("specs"), "specs.go", &named)?;
    go(source, &["mod", "tidy"])
}

fn write_package(directory: &Path, file: &str, text: &str) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    Ok(std::fs::write(directory.join(file), text)?)
}

/// `replace` directives: Kubernetes' go.mod replaces staging modules by directories; here they are the published ones.
fn replacements(source: &Path) -> Result<String> {
    let modules = output(source, &["env", "GOMODCACHE"])?;
    let path = Path::new(&modules).join(format!("k8s.io/kubernetes@{KUBERNETES}/go.mod"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut replaced = String::from("\n");
    for line in text.lines().filter(|line| line.contains("=> ./staging/")) {
        let module = line
            .trim()
            .trim_start_matches("replace ")
            .split(" =>")
            .next()
            .unwrap_or_default();
        writeln!(replaced, "replace {module} => {module} {STAGING}")?;
    }
    Ok(replaced)
}

fn go(directory: &Path, arguments: &[&str]) -> Result<()> {
    let status = Command::new("go")
        .args(arguments)
        .current_dir(directory)
        .env("GOFLAGS", "-mod=mod")
        .status();
    let status = status.context("Go is needed to build Kubernetes, and was not found")?;
    if !status.success() {
        bail!("go {} failed", arguments.join(" "));
    }
    Ok(())
}

fn output(directory: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("go")
        .args(arguments)
        .current_dir(directory)
        .output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
