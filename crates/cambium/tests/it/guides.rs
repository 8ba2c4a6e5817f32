//! The guides in `docs/`: every block of YAML is applied, and every `cambium` command is run, in the order they are read.
//!
//! | block | what is done with it |
//! |---|---|
//! | `yaml` | applied, and becomes ready |
//! | `yaml refused` | refused, with the text of the block after it; `…` stands for anything |
//! | `yaml unready`, `yaml unsynced` | applied, and its condition `Ready` or `Synced` says the text of the block after it |
//! | `yaml elsewhere` | applied to the cluster `member-1` |
//! | `yaml file=NAME` | written to a file |
//! | `console` | `$ cambium …` is run and must print what follows; `$ kubectl apply -f NAME` applies a file; other commands are only read |

use std::path::Path;
use std::process::Command;

use crate::sandbox::{Up, apply, live, ready, steady, try_out};
use cambium_testing::{eventually, eventually_some};
use kube::Client;
use serde_json::Value;

#[tokio::test]
async fn publishing() {
    follow("publishing.md").await;
}

#[tokio::test]
async fn consuming() {
    follow("consuming.md").await;
}

#[tokio::test]
async fn from_kubevela() {
    follow("from-kubevela.md").await;
}

#[tokio::test]
async fn from_crossplane() {
    follow("from-crossplane.md").await;
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

/// A reader who does everything that a guide shows.
struct Reader {
    guide: String,
    up: Up,
    here: Client,
    elsewhere: Client,
    directory: tempfile::TempDir,
}

async fn follow(guide: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(guide);
    let blocks = blocks(&std::fs::read_to_string(path).unwrap());
    let up = Up::start(&["--clusters", "1"]);
    let reader = Reader {
        guide: guide.to_owned(),
        here: up.client("cambium").await,
        elsewhere: up.client("member-1").await,
        up,
        directory: tempfile::tempdir().unwrap(),
    };
    assert!(blocks.iter().any(|block| block.info.starts_with("yaml")));
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{}:{}", reader.guide, block.line);
        let quoted = blocks.get(index + 1).filter(|next| next.info == "text");
        let quoted = || {
            quoted
                .unwrap_or_else(|| panic!("{place}: no text follows"))
                .text
                .trim()
        };
        match block.info.as_str() {
            "yaml" => reader.apply(&reader.here, &block.text, &place).await,
            "yaml elsewhere" => reader.apply(&reader.elsewhere, &block.text, &place).await,
            "yaml refused" => reader.refused(&block.text, quoted(), &place).await,
            "yaml unready" => reader.unmet("Ready", &block.text, quoted(), &place).await,
            "yaml unsynced" => reader.unmet("Synced", &block.text, quoted(), &place).await,
            "console" => reader.console(&block.text, &place).await,
            "text" | "cue" => {}
            other => {
                let file = other.strip_prefix("yaml file=");
                let file = file.unwrap_or_else(|| panic!("{place}: what is a block {other:?}?"));
                std::fs::write(reader.directory.path().join(file), &block.text).unwrap();
            }
        }
    }
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

/// The namespace of an object that need not name it.
fn namespace(object: &Value) -> &'static str {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    match api_version.starts_with("apiextensions.crossplane.io/") {
        true => "",
        false => "default",
    }
}

fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let mut conditions = object["status"]["conditions"].as_array()?.iter();
    conditions.find(|known| known["type"] == type_)
}

/// Whether an object says that it is as it was written.
fn is_settled(object: &Value) -> bool {
    let holds = |type_| condition(object, type_).is_some_and(|known| known["status"] == "True");
    let observed = &object["status"]["observedGeneration"];
    let seen = observed.is_null() || *observed == object["metadata"]["generation"];
    match object["kind"].as_str().unwrap_or_default() {
        "CompositeResourceDefinition" => holds("Established"),
        _ => {
            seen && holds("Ready")
                && condition(object, "Synced").is_none_or(|known| known["status"] == "True")
        }
    }
}

impl Reader {
    async fn apply(&self, client: &Client, text: &str, place: &str) {
        for object in documents(text) {
            self.written(client, &object, place).await;
            eventually(&format!("{place}: it is ready"), || async {
                Ok(is_settled(&live(client, namespace(&object), &object).await?))
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

    async fn refused(&self, text: &str, quoted: &str, place: &str) {
        for object in documents(text) {
            // What was applied just now may still be on its way to those who decide.
            let refused = eventually_some(&format!("{place}: it is refused"), || async {
                Ok(try_out(&self.here, namespace(&object), &object).await.err())
            })
            .await;
            match refused.unwrap() {
                kube::Error::Api(status) => assert_says(&status.message, quoted, place),
                error => panic!("{place}: {error}"),
            }
        }
    }

    async fn unmet(&self, type_: &str, text: &str, quoted: &str, place: &str) {
        for object in documents(text) {
            self.written(&self.here, &object, place).await;
            eventually(&format!("{place}: {quoted}"), || async {
                let object = live(&self.here, namespace(&object), &object).await?;
                let known = condition(&object, type_);
                Ok(known.is_some_and(|known| known["status"] == "False" && known["message"] == quoted))
            })
            .await
            .unwrap();
        }
    }

    async fn console(&self, text: &str, place: &str) {
        for shown in text.split("$ ").filter(|shown| !shown.is_empty()) {
            let (command, expected) = shown.split_once('\n').unwrap();
            if let Some(file) = command.strip_prefix("kubectl apply -f ") {
                let text = std::fs::read_to_string(self.directory.path().join(file)).unwrap();
                self.apply(&self.here, &text, place).await;
            }
            let Some(arguments) = command.strip_prefix("cambium ") else {
                continue;
            };
            let moves = ["upgrade", "rollback", "lock", "pin", "follow"];
            let once = moves.iter().any(|verb| arguments.starts_with(verb));
            let expected = steady(expected.trim_end());
            let mut printed = self.run(arguments);
            if !once && printed != expected {
                // What was applied just now may still be on its way to everybody.
                let _ = eventually(command, || {
                    printed = self.run(arguments);
                    let same = printed == expected;
                    async move { Ok(same) }
                })
                .await;
            }
            assert_eq!(printed, expected, "{place}: {command} prints\n{printed}");
            let words: Vec<&str> = arguments.split(' ').collect();
            if let ["upgrade" | "rollback", application, ..] = words.as_slice() {
                ready(&self.here, "default", "Application", application).await;
            }
        }
    }

    fn run(&self, arguments: &str) -> String {
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

/// Whether a message has the quoted text in it: spaces and line ends aside, and with `…` for anything.
fn assert_says(message: &str, quoted: &str, place: &str) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (said, quoted) = (words(message), words(quoted));
    let mut rest = said.as_str();
    for part in quoted.split('…') {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("{place}: {part:?} is not in\n{message}"),
        }
    }
}
