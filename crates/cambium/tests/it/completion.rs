//! Completion, as shells ask for it.

use crate::sandbox::Sandbox;
use std::process::{Command, Stdio};

/// What may stand at the end of this line, in this sandbox.
fn candidates(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let (command, rest) = line.split_once(' ').unwrap();
    let words = format!("__complete -- {command} -n {} {rest}", sandbox.namespace);
    let finished = sandbox.run_with(&words, "");
    assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "{line}");
    let values = finished.stdout.lines();
    values
        .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn names_of_the_cluster_are_completed() {
    let sandbox = Sandbox::new("completion").await;
    sandbox
        .publish("web", &[("1.2.2", "one"), ("1.2.3", "two")])
        .await;
    sandbox.application("shop", &[("front", "web@1.2.2")]).await;
    let at = |line: &str| candidates(&sandbox, line);
    assert_eq!(at("resolve "), ["shop"]);
    assert_eq!(at("resolve x"), [""; 0]);
    assert_eq!(at("history compdef w"), ["web"]);
    assert_eq!(at("history compdef/w"), ["compdef/web"]);
    assert_eq!(at("history app/"), ["app/shop"]);
    assert_eq!(at("upgrade shop "), ["front="]);
    assert_eq!(at("upgrade shop front="), ["front=1.2.2", "front=1.2.3"]);
    assert_eq!(at("diff we"), ["web@"]);
    assert_eq!(at("diff web@1.2.2 web@"), ["web@1.2.2", "web@1.2.3"]);
    assert_eq!(at("rollback shop --to "), ["shop-v1"]);
    assert!(at("outdated -n compl").contains(&"completion".to_owned()));
    assert_eq!(at("verify --context mem"), ["member-1"]);
}

#[test]
fn without_a_cluster_there_is_nothing_to_complete_and_no_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(["__complete", "--", "resolve", ""])
        .env_clear()
        .env("KUBECONFIG", "missing")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&[][..], &[][..])
    );
}

/// The script as bash runs it: `=` and `@` begin words of their own there.
#[tokio::test]
async fn bash_completes_what_stands_after_an_equals_sign() {
    if Command::new("bash").arg("--version").output().is_err() {
        cambium_testing::skip(
            "bash_completes_what_stands_after_an_equals_sign",
            "there is no bash",
        );
        return;
    }
    let sandbox = Sandbox::new("completion-bash").await;
    sandbox.publish("web", &[("1.2.2", "one")]).await;
    sandbox.application("shop", &[("front", "web@1.2.2")]).await;
    let script = "PATH=\"$(dirname \"$1\"):$PATH\"; source <(cambium completion bash); shift
        COMP_LINE=\"$1\"; COMP_POINT=${#COMP_LINE}; compopt() { :; }
        _cambium; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let complete = |line: &str| {
        let output = Command::new("bash")
            .args(["-c", script, "bash", env!("CARGO_BIN_EXE_cambium"), line])
            .env("KUBECONFIG", sandbox.up.kubeconfig())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(complete("cambium histo"), "history");
    assert_eq!(complete("cambium upgrade -n completion-bash shop fr"), "front=");
    assert_eq!(
        complete("cambium upgrade -n completion-bash shop front=1"),
        "1.2.2"
    );
    assert_eq!(complete("cambium diff -n completion-bash web@1"), "1.2.2");
}
