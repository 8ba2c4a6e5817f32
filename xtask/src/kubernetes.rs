//! `cargo xtask kubernetes`: a real Kubernetes to compare with, built from its published Go modules.

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

/// Kubernetes' own specs, the program that runs them in parallel, and the client that some of them call: `(binary, what go is told to make it)`.
const SPECS: [(&str, &[&str]); 3] = [
    (
        "e2e.test",
        &["test", "-c", "-vet=off", "k8s.io/kubernetes/test/e2e"],
    ),
    ("ginkgo", &["build", "github.com/onsi/ginkgo/v2/ginkgo"]),
    ("kubectl", &["build", "k8s.io/kubernetes/cmd/kubectl"]),
];

/// Where the binaries are, if they have been built.
pub(crate) fn built() -> Result<Option<PathBuf>> {
    let bin = directory()?.join("bin");
    let complete = BINARIES.iter().all(|(name, ..)| bin.join(name).exists());
    Ok(complete.then_some(bin))
}

/// Everything about the judge.
pub(crate) fn directory() -> Result<PathBuf> {
    Ok(cache()?.join("kubernetes").join(KUBERNETES))
}

/// Builds what is missing; prints the directory, for `KUBEBUILDER_ASSETS`.
#[expect(clippy::print_stdout, reason = "the directory is this task's answer")]
pub(crate) fn prepare() -> Result<()> {
    println!("{}", servers()?.display());
    Ok(())
}

/// The directory of etcd, kube-apiserver and kube-controller-manager, built if they are not there.
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

/// The directory of `e2e.test`, `ginkgo` and `kubectl`, built if they are not there.
pub(crate) fn specs() -> Result<PathBuf> {
    build(SPECS)
}

/// Where built things are kept between checkouts.
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

/// Builds those that are missing, each with the arguments that it is given; answers where they are.
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

/// A module of ours that imports theirs: whatever is built, it is the same one.
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

/// Kubernetes' own go.mod replaces its staging modules by directories; outside it, they are published.
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
