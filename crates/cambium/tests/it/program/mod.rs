//! Running the program and `kubectl` against it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Where `kubectl` is; says that the test is skipped when it is nowhere.
pub(crate) fn kubectl_or_skip(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join("kubectl"))
        .find(|file| file.is_file());
    if found.is_none() {
        cambium_testing::skip(test, "kubectl is not on PATH");
    }
    found
}

/// A running `cambium up`; it ends with the value.
pub(crate) struct Cambium {
    child: Child,
    kubeconfig: PathBuf,
    _directory: Option<tempfile::TempDir>,
}

/// A `cambium up` that did not come up.
pub(crate) struct Failed {
    pub(crate) code: Option<i32>,
    pub(crate) errors: String,
}

/// What a command printed, on both outputs, and how it ended.
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) output: String,
}

impl Finished {
    fn of(output: &Output) -> Self {
        let text = [&*output.stdout, &*output.stderr].concat();
        Self {
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&text).into_owned(),
        }
    }
}

impl Cambium {
    /// In memory.
    pub(crate) fn ephemeral(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        let child = start(&[&["--ephemeral"], arguments].concat(), &kubeconfig);
        let mut cambium = Self {
            child,
            kubeconfig,
            _directory: Some(directory),
        };
        cambium.wait_until_ready();
        cambium
    }

    /// On disk.
    pub(crate) fn in_directory(directory: &Path, arguments: &[&str]) -> Self {
        let kubeconfig = directory.join("kubeconfig");
        let data = directory.display().to_string();
        let child = start(&[&["--data-dir", &data], arguments].concat(), &kubeconfig);
        let mut cambium = Self {
            child,
            kubeconfig,
            _directory: None,
        };
        cambium.wait_until_ready();
        cambium
    }

    /// On disk, expecting to fail.
    pub(crate) fn try_in_directory(directory: &Path, arguments: &[&str]) -> Failed {
        let data = directory.display().to_string();
        let child = start(
            &[&["--data-dir", &data], arguments].concat(),
            &directory.join("kubeconfig"),
        );
        let output = child.wait_with_output().unwrap();
        Failed {
            code: output.status.code(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn wait_until_ready(&mut self) {
        let mut lines = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| {
            line.ok()
                .filter(|line| line.starts_with("ready: export KUBECONFIG="))
        });
        if ready.is_none() {
            let mut errors = String::new();
            let _ = self.child.stderr.take().unwrap().read_to_string(&mut errors);
            panic!("cambium did not become ready: {errors}");
        }
    }

    /// Asks it to stop, and waits.
    pub(crate) fn terminate(&mut self) {
        Command::new("kill")
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(self.child.wait().unwrap().success(), "it stops cleanly");
    }

    /// Ends it as a power failure would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Runs kubectl, which must succeed; what it printed. A no-break space in an argument stands for a space.
    pub(crate) fn kubectl(&self, kubectl: &Path, arguments: &str, input: &str) -> String {
        let finished = self.kubectl_result(kubectl, arguments, input);
        assert_eq!(finished.code, 0, "kubectl {arguments}: {}", finished.output);
        finished.output
    }

    /// Runs kubectl, however it ends.
    pub(crate) fn kubectl_result(&self, kubectl: &Path, arguments: &str, input: &str) -> Finished {
        let mut child = self
            .command(kubectl, arguments)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Finished::of(&output)
    }

    /// Runs `kubectl edit` with a shell script as the editor, which finds the file in `$1`.
    pub(crate) fn kubectl_edit(&self, kubectl: &Path, arguments: &str, script: &str) -> Finished {
        let editor = self.kubeconfig.with_file_name("editor");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        let mut file = options.open(&editor).unwrap();
        file.write_all(format!("#!/bin/sh\nset -e\n{script}\n").as_bytes())
            .unwrap();
        drop(file);
        let output = self
            .command(kubectl, &format!("edit {arguments}"))
            .env("KUBE_EDITOR", &editor)
            .env("TMPDIR", self.kubeconfig.parent().unwrap())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        Finished::of(&output)
    }

    /// Runs kubectl until it prints something; every line up to there.
    pub(crate) fn kubectl_until(&self, kubectl: &Path, arguments: &str, wanted: &str) -> Vec<String> {
        let mut child = self
            .command(kubectl, arguments)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
        {
            lines.push(line);
            if lines.last().is_some_and(|line| line.contains(wanted)) {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines
    }

    fn command(&self, kubectl: &Path, arguments: &str) -> Command {
        let mut command = Command::new(kubectl);
        command
            .env("KUBECONFIG", &self.kubeconfig)
            // A home of its own: no cache of discovery from another server on the same port.
            .env("HOME", self.kubeconfig.parent().unwrap())
            .args(
                arguments
                    .split(' ')
                    .map(|argument| argument.replace('\u{a0}', " ")),
            )
            .stdout(Stdio::piped());
        command
    }
}

impl Drop for Cambium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(arguments: &[&str], kubeconfig: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(["up", "--listen", "127.0.0.1:0", "--kubeconfig"])
        .arg(kubeconfig)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}
