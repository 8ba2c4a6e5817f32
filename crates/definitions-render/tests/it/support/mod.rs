//! What the tests share: our Applications, and KubeVela's command line to compare with.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, says what it skips, reads its settings and starts the judge"
)]

use cambium_definitions_render::{Application, Definition, Definitions, Environment, Template, render};
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Notes that a test was skipped, and why, past the test runner's capture.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// All Applications in `tests/applications`.
pub(crate) fn applications() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/applications");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .flat_map(|path| documents(&fs::read_to_string(path).unwrap()))
        .collect()
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    all.into_iter().filter(|document| !document.is_null()).collect()
}

/// Compiled definitions, by name. Those that do not compile are left out and named.
pub(crate) fn compile(manifests: &[Value]) -> Definitions {
    let mut definitions = Definitions::default();
    for manifest in manifests {
        let definition = Definition::from_manifest(manifest).unwrap();
        let name = definition.name.clone();
        match Template::compile(definition) {
            Ok(template) => definitions.insert(name, Arc::new(template)),
            Err(problems) => println!("{name} does not compile: {problems}"),
        }
    }
    definitions
}

/// The objects of an application as we render them for `vela dry-run`'s environment, or what is wrong.
pub(crate) fn our_rendering(application: &Value, definitions: &Definitions) -> Result<Vec<Value>, String> {
    let application = Application::from_manifest(application).map_err(|problem| problem.to_string())?;
    let rendered = render(&application, definitions, &Environment::default());
    rendered
        .map(|rendered| rendered.objects().cloned().collect())
        .map_err(|failures| failures.to_string())
}

/// Where KubeVela's own definitions are, if its sources are there.
fn charts() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let modules = std::env::var_os("GOMODCACHE").map_or_else(|| home.join("go/pkg/mod"), PathBuf::from);
    let module = modules.join(format!("github.com/oam-dev/kubevela@{VERSION}"));
    Some(module.join("charts/vela-core/templates/defwithtemplate"))
}

/// KubeVela's own definitions of all kinds, if its sources are there.
pub(crate) fn builtin_manifests() -> Option<Vec<Value>> {
    charts()
        .filter(|charts| charts.exists())
        .map(|charts| manifests(&charts))
}

/// Those that are rendered.
pub(crate) fn rendered(mut manifests: Vec<Value>) -> Vec<Value> {
    manifests.retain(|manifest| {
        let kind = manifest["kind"].as_str();
        matches!(kind, Some("ComponentDefinition" | "TraitDefinition"))
            && manifest["metadata"]["name"] != "helmchart"
    });
    manifests
}

fn manifests(charts: &Path) -> Vec<Value> {
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let lines = text.lines().map(|line| match line.contains("{{") {
            true => "  namespace: vela-system",
            false => line,
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let [manifest] = documents(&text).try_into().unwrap();
        manifest
    };
    fs::read_dir(charts).unwrap().map(read).collect()
}

/// KubeVela's command line, and the definitions that it comes with.
pub(crate) struct Judge {
    vela: PathBuf,
    charts: PathBuf,
    work: tempfile::TempDir,
}

const VERSION: &str = "v1.10.9";

impl Judge {
    /// Finds both, or says what is missing.
    pub(crate) fn find() -> Result<Self, String> {
        let home = PathBuf::from(std::env::var_os("HOME").ok_or("HOME is not set")?);
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cache = variable("CAMBIUM_CACHE").or_else(|| Some(variable("XDG_CACHE_HOME")?.join("cambium")));
        let cache = cache.unwrap_or_else(|| home.join(".cache/cambium"));
        let vela = cache.join(format!("kubevela/{VERSION}/bin/vela"));
        let charts = charts().ok_or("HOME is not set")?;
        for path in [&vela, &charts] {
            if !path.exists() {
                return Err(format!(
                    "{} is not there; cargo xtask peers gets it",
                    path.display()
                ));
            }
        }
        let work = tempfile::tempdir().map_err(|error| error.to_string())?;
        fs::write(work.path().join("kubeconfig"), KUBECONFIG).map_err(|error| error.to_string())?;
        Ok(Self { vela, charts, work })
    }

    /// The built-in definitions of all kinds.
    pub(crate) fn builtin_manifests(&self) -> Vec<Value> {
        manifests(&self.charts)
    }

    /// The built-in component and trait definitions, compiled; `vela` finds them too.
    pub(crate) fn builtin_definitions(&self) -> Definitions {
        let mut manifests = rendered(self.builtin_manifests());
        // KubeVela itself fetches what `ref-objects` refers to; under another name the template is on its own.
        let referring = manifests
            .iter()
            .find(|manifest| manifest["metadata"]["name"] == "ref-objects");
        let mut copy = referring.unwrap().clone();
        copy["metadata"]["name"] = "ref-objects-copy".into();
        manifests.push(copy);
        self.use_definitions(&manifests);
        compile(&manifests)
    }

    /// Lets `vela` find definitions.
    pub(crate) fn use_definitions(&self, manifests: &[Value]) {
        let folder = self.work.path().join("definitions");
        fs::create_dir_all(&folder).unwrap();
        for (index, manifest) in manifests.iter().enumerate() {
            // JSON is YAML.
            fs::write(folder.join(format!("{index}.yaml")), manifest.to_string()).unwrap();
        }
    }

    /// What `vela dry-run` prints for each application, or its error. Answers are kept between runs.
    pub(crate) fn render_all(&self, applications: &[&Value]) -> Vec<Result<String, String>> {
        let next = AtomicUsize::new(0);
        let worker = || {
            let mut answers = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                match applications.get(index) {
                    Some(application) => answers.push((index, self.kept(index, application))),
                    None => return answers,
                }
            }
        };
        let mut answers: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap())
                .collect()
        });
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn kept(&self, index: usize, application: &Value) -> Result<String, String> {
        let mut hasher = DefaultHasher::new();
        application.to_string().hash(&mut hasher);
        let mut definitions: Vec<_> = fs::read_dir(self.work.path().join("definitions"))
            .unwrap()
            .flatten()
            .collect();
        definitions.sort_by_key(fs::DirEntry::file_name);
        for definition in definitions {
            fs::read(definition.path()).unwrap().hash(&mut hasher);
        }
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("vela-{VERSION}-{:x}", hasher.finish()));
        let answer = fs::read_to_string(&path).unwrap_or_else(|_| {
            let answer = match self.render(index, application) {
                Ok(text) => format!("ok\n{text}"),
                Err(text) => format!("error\n{text}"),
            };
            fs::write(&path, &answer).unwrap();
            answer
        });
        match answer.split_once('\n') {
            Some(("ok", text)) => Ok(text.to_owned()),
            _ => Err(answer),
        }
    }

    fn render(&self, index: usize, application: &Value) -> Result<String, String> {
        let file = self.work.path().join(format!("application-{index}.yaml"));
        fs::write(&file, application.to_string()).unwrap();
        let mut command = Command::new(&self.vela);
        command
            .args(["dry-run", "--offline", "-f"])
            .arg(file)
            .arg("-d")
            .arg(self.work.path().join("definitions"));
        let output = command
            .env("KUBECONFIG", self.work.path().join("kubeconfig"))
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

/// `vela` wants one, even offline.
const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none, user: {}}]
";
