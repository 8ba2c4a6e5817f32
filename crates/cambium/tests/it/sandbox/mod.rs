//! A running `cambium up`, and a namespace in it for each test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use cambium_testing::eventually_some;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::TypeMeta;
use kube::{Client, Config, ResourceExt as _};
use serde_json::{Value, json};

/// A process that runs clusters; it ends with the value.
pub(crate) struct Up {
    child: Child,
    directory: tempfile::TempDir,
    /// What it printed before it was ready.
    pub(crate) story: String,
}

impl Up {
    /// Starts one, in memory.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::with(&[&["--ephemeral"], arguments].concat())
    }

    /// Starts one that keeps its data there.
    pub(crate) fn kept(data: &Path, arguments: &[&str]) -> Self {
        let data = data.display().to_string();
        Self::with(&[&["--data-dir", data.as_str()], arguments].concat())
    }

    fn with(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(["up", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(directory.path().join("kubeconfig"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = Self {
            child,
            directory,
            story: String::new(),
        };
        up.wait_until_ready();
        up
    }

    fn wait_until_ready(&mut self) {
        let mut errors = self.child.stderr.take().unwrap();
        for line in BufReader::new(self.child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.starts_with("ready: export KUBECONFIG=") {
                // Nobody reads what it says from here on; it must not wait for that.
                std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
                return;
            }
            self.story.push_str(&line);
            self.story.push('\n');
        }
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        panic!("cambium did not become ready: {text}");
    }

    /// The one that the tests of this binary share, with a second cluster `member-1`. Whoever is last ends it.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Up>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let up = Arc::new(Self::start(&["--clusters", "1"]));
            *shared = Arc::downgrade(&up);
            up
        })
    }

    /// Its kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// A client to one of its clusters.
    pub(crate) async fn client(&self, context: &str) -> Client {
        client(&self.kubeconfig(), Some(context)).await
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client by a kubeconfig.
pub(crate) async fn client(kubeconfig: &Path, context: Option<&str>) -> Client {
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..Default::default()
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

/// What a run of the program printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A namespace in the shared process.
pub(crate) struct Sandbox {
    pub(crate) up: Arc<Up>,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    directory: tempfile::TempDir,
}

impl Sandbox {
    /// A namespace that no other test uses.
    pub(crate) async fn new(namespace: &str) -> Self {
        let sandbox = Self::of(Up::shared(), namespace).await;
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(&sandbox.client, "", &object).await.unwrap();
        sandbox
    }

    /// A namespace that is there already, in a process of its own.
    pub(crate) async fn within(up: Up, namespace: &str) -> Self {
        Self::of(Arc::new(up), namespace).await
    }

    async fn of(up: Arc<Up>, namespace: &str) -> Self {
        Self {
            client: up.client("cambium").await,
            up,
            namespace: namespace.to_owned(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Publishes versions of a definition whose components are ConfigMaps, each version with a text of its own.
    pub(crate) async fn publish(&self, name: &str, versions: &[(&str, &str)]) {
        let definition = definition(name, versions);
        apply(&self.client, &self.namespace, &definition).await.unwrap();
        ready(&self.client, &self.namespace, "ComponentDefinition", name).await;
    }

    /// Applies an application, components by name and reference, and waits until it is what it should be.
    pub(crate) async fn application(&self, name: &str, components: &[(&str, &str)]) {
        self.apply(&application(name, components)).await;
        self.ready(name).await;
    }

    /// Applies an object.
    pub(crate) async fn apply(&self, object: &Value) {
        apply(&self.client, &self.namespace, object).await.unwrap();
    }

    /// Waits until an application is ready as it is written now.
    pub(crate) async fn ready(&self, name: &str) -> Value {
        ready(&self.client, &self.namespace, "Application", name).await
    }

    /// Waits until an application has resolved to this, as its column says.
    pub(crate) async fn resolved(&self, name: &str, wanted: &str) {
        eventually_some(&format!("{name} is {wanted}"), || async {
            let object = get(&self.client, &self.namespace, "Application", name).await?;
            Ok((object["status"]["resolved"] == wanted).then_some(()))
        })
        .await
        .unwrap();
    }

    /// A file of its own.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs the program in this namespace, in the directory of `file`.
    pub(crate) fn run(&self, command: &str) -> Finished {
        self.run_with(&format!("{command} -n {}", self.namespace), "")
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn run_with(&self, command: &str, input: &str) -> Finished {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(command.split(' '))
            .env("KUBECONFIG", self.up.kubeconfig())
            .env_remove("NO_COLOR")
            .current_dir(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Finished {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// What a person sees of several commands, one after the other.
    pub(crate) fn session(&self, commands: &[&str]) -> String {
        let shown = commands.iter().map(|command| {
            let finished = self.run(command);
            let text = format!("{}{}", finished.stdout, finished.stderr);
            format!("$ cambium {command}\n{}exit {}\n", steady(&text), finished.code)
        });
        shown.collect::<Vec<_>>().join("\n")
    }
}

/// A definition whose components are ConfigMaps.
pub(crate) fn definition(name: &str, versions: &[(&str, &str)]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|(version, text)| {
            let template = format!(
                "output: {{\n\tapiVersion: \"v1\"\n\tkind:       \"ConfigMap\"\n\tdata: text: parameter.text\n}}\n\
                 parameter: text: *\"{text}\" | string\n"
            );
            json!({
                "version": version,
                "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                "schematic": {"cue": {"template": template}},
            })
        })
        .collect();
    json!({
        "apiVersion": "core.oam.dev/v2beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name}, "spec": {"versions": versions},
    })
}

/// An application, components by name and reference.
pub(crate) fn application(name: &str, components: &[(&str, &str)]) -> Value {
    let components: Vec<Value> = components
        .iter()
        .map(|(name, reference)| json!({"name": name, "type": reference}))
        .collect();
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": name}, "spec": {"components": components},
    })
}

/// Applies an object by server-side apply, into a namespace unless it names one or the namespace is empty.
pub(crate) async fn apply(client: &Client, namespace: &str, object: &Value) -> kube::Result<Value> {
    apply_with(client, namespace, object, &PatchParams::apply("tests").force()).await
}

/// Asks whether an object would be accepted.
pub(crate) async fn try_out(client: &Client, namespace: &str, object: &Value) -> kube::Result<Value> {
    let params = PatchParams::apply("tests").force().dry_run();
    apply_with(client, namespace, object, &params).await
}

async fn apply_with(
    client: &Client,
    namespace: &str,
    object: &Value,
    params: &PatchParams,
) -> kube::Result<Value> {
    let object: DynamicObject = serde_json::from_value(object.clone()).map_err(kube::Error::SerdeError)?;
    let resource = resource(object.types.as_ref().unwrap());
    let namespace = object.namespace().unwrap_or_else(|| namespace.to_owned());
    let api: Api<DynamicObject> = match namespace.is_empty() {
        true => Api::all_with(client.clone(), &resource),
        false => Api::namespaced_with(client.clone(), &namespace, &resource),
    };
    let applied = api
        .patch(&object.name_any(), params, &Patch::Apply(&object))
        .await?;
    serde_json::to_value(applied).map_err(kube::Error::SerdeError)
}

/// One of our own objects.
pub(crate) async fn get(client: &Client, namespace: &str, kind: &str, name: &str) -> anyhow::Result<Value> {
    let object = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": name}});
    live(client, namespace, &object).await
}

/// An object as it is now, in a namespace unless it names one or the namespace is empty.
pub(crate) async fn live(client: &Client, namespace: &str, object: &Value) -> anyhow::Result<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let types = TypeMeta {
        api_version: text(&object["apiVersion"]),
        kind: text(&object["kind"]),
    };
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
    let api: Api<DynamicObject> = match namespace {
        "" => Api::all_with(client.clone(), &resource(&types)),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource(&types)),
    };
    Ok(serde_json::to_value(
        api.get(&text(&object["metadata"]["name"])).await?,
    )?)
}

/// Waits until one of our objects is ready as it is written now.
pub(crate) async fn ready(client: &Client, namespace: &str, kind: &str, name: &str) -> Value {
    eventually_some(&format!("{kind} {namespace}/{name} is ready"), || async {
        let object = get(client, namespace, kind, name).await?;
        let observed = object["status"]["observedGeneration"] == object["metadata"]["generation"];
        let conditions = object["status"]["conditions"].as_array();
        let is_ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        let ready = conditions.is_some_and(|conditions| conditions.iter().any(is_ready));
        Ok((observed && ready).then_some(object))
    })
    .await
    .unwrap()
}

fn resource(types: &TypeMeta) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::try_from(types).unwrap())
}

/// A text without what differs from run to run: ages become `<age>`, with as many spaces as there were.
pub(crate) fn steady(text: &str) -> String {
    let is_age = |word: &str| {
        let number = word.strip_suffix(['s', 'm']).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut out: Vec<String> = Vec::new();
        let mut spare = 0;
        for word in words {
            if is_age(word) {
                // The column is three wide: shorter ages are padded.
                out.push("<age>".to_owned());
                spare = 3_usize.saturating_sub(word.len());
            } else if word.is_empty() && spare > 0 {
                spare -= 1;
            } else {
                spare = 0;
                out.push(word.to_owned());
            }
        }
        out.join(" ")
    });
    lines.map(|line| line + "\n").collect()
}
