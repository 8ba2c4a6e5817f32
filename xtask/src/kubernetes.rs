//! `cargo xtask kubernetes`: a real Kubernetes to compare with, built from its published Go modules.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The version that the embedded server follows.
const KUBERNETES: &str = "v1.36.4";
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

/// Where the binaries are, if they have been built.
pub(crate) fn built() -> Result<Option<PathBuf>> {
    let bin = directory()?.join("bin");
    let complete = BINARIES.iter().all(|(name, ..)| bin.join(name).exists());
    Ok(complete.then_some(bin))
}

fn directory() -> Result<PathBuf> {
    Ok(cache()?.join("kubernetes").join(KUBERNETES))
}

/// Builds what is missing; prints the directory, for `KUBEBUILDER_ASSETS`.
#[expect(clippy::print_stdout, reason = "the directory is this task's answer")]
pub(crate) fn prepare() -> Result<()> {
    let root = directory()?;
    let bin = root.join("bin");
    if built()?.is_none() {
        build(&root.join("src"), &bin)?;
    }
    println!("{}", bin.display());
    Ok(())
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

fn build(source: &Path, bin: &Path) -> Result<()> {
    std::fs::create_dir_all(source)?;
    std::fs::create_dir_all(bin)?;
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
        let directory = source.join("cmd").join(name);
        std::fs::create_dir_all(&directory)?;
        std::fs::write(
            directory.join("main.go"),
            format!("package main\n\nimport ({imports})\n\nfunc main() {{ {body} }}\n"),
        )?;
    }
    go(source, &["mod", "tidy"])?;
    let mut numbers = KUBERNETES.trim_start_matches('v').split('.');
    let (major, minor) = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let version = "k8s.io/component-base/version";
    let flags = format!(
        "-s -w -X {version}.gitVersion={KUBERNETES} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    );
    for (name, ..) in BINARIES {
        let output = bin.join(format!("{name}.new"));
        go(
            source,
            &[
                "build",
                "-ldflags",
                &flags,
                "-o",
                &output.display().to_string(),
                &format!("./cmd/{name}"),
            ],
        )?;
        std::fs::rename(&output, bin.join(name))?;
    }
    Ok(())
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
