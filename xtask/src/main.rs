//! Tasks that need a program: `cargo xtask <task>`.

mod bench;
mod conformance;
mod cue_conformance;
mod go;
mod kubernetes;
mod oracle;
mod peers;
mod types;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <task>
  types        regenerates crates/builtin/src/generated from the published Kubernetes modules
  kubernetes   builds etcd, kube-apiserver and kube-controller-manager into a cache, and prints where
  conformance [--backend embedded|kubernetes] [--program PATH] [--focus REGEX] [--procs N] [--list] [--write-docs]   Kubernetes' own specs against a server
  peers        builds the Go programs that tests talk to (crates/testing/peers), KubeVela's CLI and Crossplane into the same cache
  cue-oracle   builds Go's own cue, the judge of crates/cue, into the same cache, and prints where
  cue-conformance [--list]   crates/cue beside Go's cue on the test archives of Go's module
  bench apiserver   the embedded API server beside Kubernetes, under the same load
  bench cue         crates/cue beside Go's cue library, on the same definitions
  bench definitions [APPLICATIONS…]       what publishing a version costs, as applications grow in number
  bench definitions --peer [APPLICATIONS]  the same on Kubernetes, beside KubeVela's controller
  bench compositions [COMPOSITES:REVISIONS…]  what an edit of a composition costs, as both grow in number
  bench compositions --peer [COMPOSITES]      the same on Kubernetes, beside Crossplane
  bench soak [SECONDS]   memory of the embedded API server under everything at full speed, and with 1000 idle watches for a sixth of the time";

#[expect(clippy::print_stderr, reason = "a task talks to the person who runs it")]
fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let result = match task.as_deref() {
        Some("types") => types::write(),
        Some("kubernetes") => kubernetes::prepare(),
        Some("peers") => peers::build(),
        Some("cue-oracle") => oracle::prepare(),
        Some("cue-conformance") => cue_conformance::run(std::env::args().nth(2).as_deref()),
        Some("conformance") => conformance::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("bench") => {
            let options: Vec<String> = std::env::args().skip(3).collect();
            bench::run(std::env::args().nth(2).as_deref(), &options)
        }
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
