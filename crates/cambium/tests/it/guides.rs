//! The guides in `docs/guides/`, as a reader types them: every command is run, in the order of the page.
//!
//! | in a guide | in the test |
//! |---|---|
//! | a `yaml` block | its first line names a file under `examples/`, it equals that file, and a command applies it |
//! | `$ kubectl apply --server-side -f FILE` | applied; what follows names the objects, which become ready unless the next command reads a condition |
//! | the same, followed by `The request is invalid: …` or `Error from server (REASON): …` | refused, with that message |
//! | `$ kubectl get KIND NAME -o jsonpath='{.status.conditions[?(@.type=="TYPE")].message}'` | the condition is False, with that message |
//! | `$ kubectl …` | run if kubectl is installed, and prints what follows |
//! | `$ cambium …` | run, and prints what follows |
//! | `$ cp FROM TO` | copied |
//! | other commands, and blocks that are neither `yaml` nor `console` | only read |
//!
//! `…` in an output stands for anything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Up, apply, live, ready, steady, try_out};
use cambium_testing::{eventually, eventually_some, skip};
use kube::Client;
use serde_json::Value;

/// The guides with commands that can be run here. The others only talk about commands.
const FOLLOWED: [&str; 12] = [
    "checking-crds",
    "comparing-clusters",
    "compositions",
    "consuming",
    "from-crossplane",
    "from-kubevela",
    "getting-started",
    "installing",
    "permissions",
    "publishing",
    "upgrading",
    "versioning-definitions",
];

#[tokio::test]
async fn checking_crds() {
    follow("checking-crds").await;
}

#[tokio::test]
async fn comparing_clusters() {
    follow("comparing-clusters").await;
}

#[tokio::test]
async fn compositions() {
    follow("compositions").await;
}

#[tokio::test]
async fn consuming() {
    follow("consuming").await;
}

#[tokio::test]
async fn from_crossplane() {
    follow("from-crossplane").await;
}

#[tokio::test]
async fn from_kubevela() {
    follow("from-kubevela").await;
}

#[tokio::test]
async fn getting_started() {
    follow("getting-started").await;
}

#[tokio::test]
async fn installing() {
    follow("installing").await;
}

#[tokio::test]
async fn permissions() {
    follow("permissions").await;
}

#[tokio::test]
async fn publishing() {
    follow("publishing").await;
}

#[tokio::test]
async fn upgrading() {
    follow("upgrading").await;
}

#[tokio::test]
async fn versioning_definitions() {
    follow("versioning-definitions").await;
}

#[test]
fn every_guide_that_applies_a_file_is_followed() {
    let mut applying = Vec::new();
    for entry in std::fs::read_dir(root().join("docs/guides")).unwrap() {
        let path = entry.unwrap().path();
        let blocks = blocks(&std::fs::read_to_string(&path).unwrap());
        let applies = |block: &Block| block.text.contains(" apply --server-side -f ");
        if blocks
            .iter()
            .any(|block| block.info.starts_with("yaml") || applies(block))
        {
            applying.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
        }
    }
    applying.sort();
    assert_eq!(applying, FOLLOWED);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One fenced block.
struct Block {
    /// The line of its fence.
    line: usize,
    info: String,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(info), false) => blocks.push(Block {
                line: index + 1,
                info: info.to_owned(),
                text: String::new(),
            }),
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, false) | (Some(_), true) => {}
        }
        open ^= line.starts_with("```");
    }
    blocks
}

/// A command of a `console` block, and the output that the guide shows.
#[derive(Clone, Copy)]
struct Shown<'a> {
    command: &'a str,
    output: &'a str,
}

fn commands(console: &str) -> Vec<Shown<'_>> {
    let commands = console.split("$ ").filter(|shown| !shown.is_empty());
    let shown = commands.map(|shown| {
        let (command, output) = shown.split_once('\n').unwrap();
        Shown {
            command,
            output: output.trim_end(),
        }
    });
    shown.collect()
}

/// The type of the condition that a command reads, with the kind and the name of the object.
fn read_condition(command: &str) -> Option<(&str, &str, &str)> {
    let (object, path) = command
        .strip_prefix("kubectl get ")?
        .split_once(" -o jsonpath='{.status.conditions[?(@.type==\"")?;
    let (kind, name) = object.split_once(' ')?;
    Some((kind, name, path.strip_suffix("\")].message}'")?))
}

/// A reader who does everything that a guide shows.
struct Reader {
    up: Up,
    here: Client,
    /// The cluster `member-1`, in a guide that has commands for it.
    elsewhere: Option<Client>,
    /// The directory in which commands are run, with `examples` in it.
    directory: tempfile::TempDir,
    kubectl: bool,
}

async fn follow(guide: &str) {
    let path = root().join(format!("docs/guides/{guide}.md"));
    let blocks = blocks(&std::fs::read_to_string(path).unwrap());
    let several = blocks
        .iter()
        .any(|block| block.text.contains("--context member-1"));
    let up = match several {
        true => Up::start(&["--clusters", "1"]),
        false => Up::start(&[]),
    };
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("examples"), directory.path().join("examples")).unwrap();
    let reader = Reader {
        here: up.client("cambium").await,
        elsewhere: match several {
            true => Some(up.client("member-1").await),
            false => None,
        },
        up,
        directory,
        kubectl: Command::new("kubectl").arg("--help").output().is_ok(),
    };
    if !reader.kubectl {
        skip("guides", "kubectl is not on PATH: only `kubectl apply` is done");
    }
    let mut unapplied = BTreeSet::new();
    for block in &blocks {
        let place = format!("{guide}.md:{}", block.line);
        match block.info.as_str() {
            "yaml" => {
                unapplied.insert(reader.shown_file(&block.text, &place));
            }
            "console" => {
                let commands = commands(&block.text);
                for (index, shown) in commands.iter().enumerate() {
                    let next = commands.get(index + 1);
                    reader.run(*shown, next.copied(), &place).await;
                    unapplied.retain(|file| !shown.command.ends_with(file.as_str()));
                    if let Some(file) = copied(shown.command) {
                        unapplied.remove(file);
                    }
                }
            }
            "text" | "cue" | "sh" => {}
            other => panic!("{place}: what is a block {other:?}?"),
        }
    }
    assert!(unapplied.is_empty(), "{guide}.md does not apply {unapplied:?}");
}

fn copied(command: &str) -> Option<&str> {
    command.strip_prefix("cp ")?.split(' ').next()
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// The namespace of an object that need not name it.
fn namespace(object: &Value) -> &'static str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let groups = [
        "apiextensions.k8s.io/",
        "apiextensions.crossplane.io/",
        "rbac.authorization.k8s.io/",
    ];
    match groups.iter().any(|group| api_version.starts_with(group)) {
        true => "",
        false => "default",
    }
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    conditions.find(|known| known["type"] == type_)
}

/// Whether the conditions of an object hold for its spec as it is now. Built-in kinds without a status have none.
fn is_settled(object: &Value) -> bool {
    let holds = |type_| condition(object, type_).is_some_and(|known| known["status"] == "True");
    let observed = &object["status"]["observedGeneration"];
    let seen = observed.is_null() || *observed == object["metadata"]["generation"];
    match object["kind"].as_str().unwrap_or_default() {
        "ClusterRole" | "NetworkPolicy" => true,
        "CustomResourceDefinition" => holds("Established"),
        "CompositeResourceDefinition" => {
            let claims = !object["spec"]["claimNames"].is_null();
            holds("Established") && (!claims || holds("Offered"))
        }
        _ => {
            seen && holds("Ready")
                && condition(object, "Synced").is_none_or(|known| known["status"] == "True")
        }
    }
}

/// What `kubectl apply --server-side` prints of an object.
fn applied(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = text(&object["kind"]).to_lowercase();
    let api_version = text(&object["apiVersion"]);
    let group = api_version.split_once('/').map(|(group, _)| format!(".{group}"));
    let name = text(&object["metadata"]["name"]);
    format!("{kind}{}/{name} serverside-applied", group.unwrap_or_default())
}

impl Reader {
    /// The file that a block shows, which must be the same.
    fn shown_file(&self, text: &str, place: &str) -> String {
        let first = text.lines().next().unwrap_or_default();
        let file = first
            .strip_prefix("# examples/")
            .unwrap_or_else(|| panic!("{place}: the first line of the block must be `# examples/…`"));
        let file = format!("examples/{file}");
        let content = std::fs::read_to_string(root().join(&file));
        let content = content.unwrap_or_else(|error| panic!("{place}: {file}: {error}"));
        assert_eq!(text.trim(), content.trim(), "{place}: the block is not {file}");
        file
    }

    async fn run(&self, shown: Shown<'_>, next: Option<Shown<'_>>, place: &str) {
        let Shown { command, output } = shown;
        let place = format!("{place}: {command}");
        if let Some(arguments) = command.strip_prefix("cambium ") {
            self.cambium(arguments, output, &place).await;
        } else if let Some((before, file)) = command.split_once(" -f ")
            && before.contains("kubectl")
            && before.contains(" apply --server-side")
        {
            let client = match before.contains("--context member-1") {
                true => self.elsewhere.as_ref().unwrap(),
                false => &self.here,
            };
            let text = std::fs::read_to_string(self.directory.path().join(file));
            let objects = documents(&text.unwrap_or_else(|error| panic!("{place}: {error}")));
            let errors = ["The request is invalid: ", "Error from server ("];
            match errors.iter().any(|error| output.starts_with(error)) {
                true => self.refused(&objects, output, &place).await,
                false => {
                    self.apply(client, &objects, output, &place).await;
                    if next.is_none_or(|next| read_condition(next.command).is_none()) {
                        self.settled(client, &objects, &place).await;
                    }
                }
            }
        } else if let Some((kind, name, type_)) = read_condition(command) {
            self.unmet(kind, name, type_, output, &place).await;
        } else if let Some(files) = command.strip_prefix("cp ") {
            let (from, to) = files.split_once(' ').unwrap();
            let directory = self.directory.path();
            std::fs::copy(directory.join(from), directory.join(to)).unwrap();
        } else if command.starts_with("kubectl ") && self.kubectl {
            self.kubectl(command, output, &place).await;
        }
    }

    /// Applies objects one after the other, as kubectl does, and compares what it would print.
    async fn apply(&self, client: &Client, objects: &[Value], output: &str, place: &str) {
        for object in objects {
            self.written(client, object, place).await;
        }
        let expected: Vec<String> = objects.iter().map(applied).collect();
        let printed = output.lines().filter(|line| !line.starts_with("Warning: "));
        assert_eq!(printed.collect::<Vec<_>>(), expected, "{place}");
    }

    async fn settled(&self, client: &Client, objects: &[Value], place: &str) {
        for object in objects {
            eventually(&format!("{place}: it is ready"), || async {
                Ok(is_settled(&live(client, namespace(object), object).await?))
            })
            .await
            .unwrap();
        }
    }

    /// Applies an object, as soon as its kind is served.
    async fn written(&self, client: &Client, object: &Value, place: &str) {
        eventually_some(place, || async {
            match apply(client, namespace(object), object).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                applied => Ok(Some(applied)),
            }
        })
        .await
        .unwrap()
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    }

    async fn refused(&self, objects: &[Value], output: &str, place: &str) {
        for object in objects {
            // What was applied just now may still be on its way to those who decide.
            let refused = eventually_some(&format!("{place}: it is refused"), || async {
                Ok(try_out(&self.here, namespace(object), object).await.err())
            })
            .await;
            let printed = match refused.unwrap() {
                kube::Error::Api(status) if status.reason == "Invalid" => {
                    format!("The request is invalid: {}", status.message)
                }
                kube::Error::Api(status) => {
                    format!("Error from server ({}): {}", status.reason, status.message)
                }
                error => panic!("{place}: {error}"),
            };
            assert!(matches(&printed, output), "{place}: prints\n{printed}");
        }
    }

    /// Waits until a condition is False, with a message.
    async fn unmet(&self, kind: &str, name: &str, type_: &str, message: &str, place: &str) {
        let (api_version, kind) = match kind {
            "app" => ("core.oam.dev/v1beta1", "Application"),
            "databases" => ("platform.example.org/v1", "Database"),
            other => panic!("{place}: which kind is {other}?"),
        };
        let object = serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        eventually(&format!("{place}: {message}"), || async {
            let object = live(&self.here, namespace(&object), &object).await?;
            let known = condition(&object, type_);
            Ok(known.is_some_and(|known| known["status"] == "False" && known["message"] == message))
        })
        .await
        .unwrap();
    }

    /// Runs a command of kubectl in a shell; what it prints may take a moment to become what is shown.
    async fn kubectl(&self, command: &str, output: &str, place: &str) {
        let run = || {
            let output = Command::new("sh")
                .args(["-c", command])
                .env("KUBECONFIG", self.up.kubeconfig())
                .env("HOME", self.directory.path())
                .current_dir(self.directory.path())
                .output()
                .unwrap();
            let text = [output.stdout, output.stderr].concat();
            steady(String::from_utf8(text).unwrap().trim_end())
        };
        let expected = steady(output);
        let mut printed = run();
        if command.starts_with("kubectl get ") && !matches(&printed, &expected) {
            let _ = eventually(place, || {
                printed = run();
                let same = matches(&printed, &expected);
                async move { Ok(same) }
            })
            .await;
        }
        assert!(
            output.is_empty() || matches(&printed, &expected),
            "{place}: prints\n{printed}"
        );
    }

    async fn cambium(&self, arguments: &str, output: &str, place: &str) {
        let moves = ["upgrade", "rollback", "lock", "pin", "follow"];
        let once = moves.iter().any(|verb| arguments.starts_with(verb));
        let expected = steady(output);
        let mut printed = self.output_of(arguments);
        if !once && printed != expected {
            // What was applied just now may still be on its way to everybody.
            let _ = eventually(place, || {
                printed = self.output_of(arguments);
                let same = printed == expected;
                async move { Ok(same) }
            })
            .await;
        }
        assert_eq!(printed, expected, "{place}: prints\n{printed}");
        let words: Vec<&str> = arguments.split(' ').collect();
        if let ["upgrade" | "rollback", application, ..] = words.as_slice() {
            ready(&self.here, "default", "Application", application).await;
        }
    }

    fn output_of(&self, arguments: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(arguments.split(' '))
            .env("KUBECONFIG", self.up.kubeconfig())
            .current_dir(self.directory.path())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        steady(String::from_utf8(text).unwrap().trim_end())
    }
}

/// Whether a text is the shown one: spaces and line ends aside, and with `…` for anything.
fn matches(text: &str, shown: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (text, shown) = (words(text), words(shown));
    let parts: Vec<&str> = shown.split('…').map(str::trim).collect();
    let [first, .., last] = parts.as_slice() else {
        return text == shown;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
