//! `cambium up --demo`: publishes definitions and compositions, and shows which Applications and databases follow.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::{Discovery, Scope};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::cluster::Cluster;
use crate::table::{Table, of_server};

/// The same files a newcomer can apply by hand.
const DEFINITIONS: (&str, &str) = (
    "examples/versions/1-definitions.yaml",
    include_str!("../../../../examples/versions/1-definitions.yaml"),
);
const APPLICATIONS: (&str, &str) = (
    "examples/versions/2-applications.yaml",
    include_str!("../../../../examples/versions/2-applications.yaml"),
);
const NEXT_VERSION: (&str, &str) = (
    "examples/versions/3-next-version.yaml",
    include_str!("../../../../examples/versions/3-next-version.yaml"),
);

const PLATFORM_API: (&str, &str) = (
    "examples/compositions/1-definition.yaml",
    include_str!("../../../../examples/compositions/1-definition.yaml"),
);
const DATABASES: (&str, &str) = (
    "examples/compositions/2-databases.yaml",
    include_str!("../../../../examples/compositions/2-databases.yaml"),
);
const EDIT: (&str, &str) = (
    "examples/compositions/3-edit.yaml",
    include_str!("../../../../examples/compositions/3-edit.yaml"),
);

const COMPOSITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositions/databases";
const REVISIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositionrevisions";
const DEFINED: &str =
    "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions/databases.platform.example.org";
const DATABASE: &str = "/apis/platform.example.org/v1/namespaces/default/databases";

const APPS: &str = "/apis/core.oam.dev/v1beta1/namespaces/default/applications";
const SYSTEM: &str = "/apis/core.oam.dev/v1beta1/namespaces/vela-system";

/// Tells the story, and leaves its objects behind; where it was told before, shows what has become of them.
pub(crate) async fn run(cluster: &Cluster) -> anyhow::Result<()> {
    let story = Story {
        client: Client::new(cluster.server.clone(), "default"),
    };
    match story.told_before().await? {
        true => again(&story).await?,
        false => {
            definitions(&story).await?;
            compositions(&story).await?;
        }
    }
    say("Everything is still there. With KUBECONFIG set as below, try:\n\
         \n  kubectl get app partial -o yaml              # status.references: asked, resolved, since when, why\
         \n  kubectl edit compdef web -n vela-system      # a published version cannot be changed: see what it says\
         \n  kubectl delete compdef web -n vela-system    # nor deleted while it is in use\
         \n  cambium outdated                             # who could move to what\
         \n  cambium resolve partial --explain            # every version, and why it was passed over\
         \n  cambium upgrade exact exact-web=1.2.5        # move one component, with a plan first\
         \n  cambium history componentdefinition/web -n vela-system\
         \n  cambium history composition/databases        # every revision, and who uses it\
         \n  cambium pin database/automatic               # stay where it is; `cambium follow` is the way back")
}

/// A version that was published is published: telling it again would be refused.
async fn again(story: &Story) -> anyhow::Result<()> {
    say("The demo ran here before. The current state:")?;
    story.why().await?;
    story.show("kubectl get app", APPS).await?;
    story.show("kubectl get databases -o wide", DATABASE).await
}

/// The first act: a version is published, and each application says whether that concerns it.
async fn definitions(story: &Story) -> anyhow::Result<()> {
    say("A platform team publishes web 1.2.2 and 1.2.3, and cache 4.4.2 and 4.5.6.")?;
    story.apply(DEFINITIONS).await?;
    story.published("web", "1.2.3").await?;
    story.published("cache", "4.5.6").await?;
    story
        .show(
            "kubectl get compdef -n vela-system",
            &format!("{SYSTEM}/componentdefinitions"),
        )
        .await?;

    say("Three teams use them: one by exact versions, one by series, one by name alone.")?;
    story.apply(APPLICATIONS).await?;
    for name in ["exact", "partial", "bare"] {
        story.ready(name).await?;
    }
    story.show("kubectl get app", APPS).await?;

    say("The platform team publishes web 1.2.5.")?;
    story.apply(NEXT_VERSION).await?;
    story.published("web", "1.2.5").await?;
    story.moved("partial", "1.2.5").await?;
    story.ready("partial").await?;
    story.show("kubectl get app", APPS).await?;

    say("Who moved, who did not, and why:")?;
    story.why().await?;
    story
        .show(
            "kubectl get defrev -n vela-system",
            &format!("{SYSTEM}/definitionrevisions"),
        )
        .await
}

/// The second act: a composition is edited, and each database says whether that concerns it.
async fn compositions(story: &Story) -> anyhow::Result<()> {
    say("The platform team offers databases, and four teams order one: each follows in another way.")?;
    story.apply(PLATFORM_API).await?;
    story.wait(DEFINED, |found| holds(found, "Established")).await?;
    story.wait(COMPOSITIONS, |found| holds(found, "Ready")).await?;
    story.apply(DATABASES).await?;
    for name in ["automatic", "manual", "stable"] {
        story
            .wait(&format!("{DATABASE}/{name}"), |found| holds(found, "Ready"))
            .await?;
    }
    let preview = format!("{DATABASE}/preview");
    story
        .wait(&preview, |found| !found["status"]["conditions"].is_null())
        .await?;
    story.show("kubectl get databases -o wide", DATABASE).await?;

    say("The composition is edited: a newer engine, in the channel `preview`.")?;
    story.apply(EDIT).await?;
    let second = |found: &Value| found["status"]["currentRevision"]["revision"] == 2;
    story.wait(COMPOSITIONS, second).await?;
    let current = story.get(COMPOSITIONS).await?["status"]["currentRevision"]["name"].clone();
    for name in ["automatic", "preview"] {
        let moved = |found: &Value| {
            found["spec"]["crossplane"]["compositionRevisionRef"]["name"] == current && holds(found, "Ready")
        };
        story.wait(&format!("{DATABASE}/{name}"), moved).await?;
    }
    story.show("kubectl get databases -o wide", DATABASE).await?;
    let settled = |found: &Value| {
        let items = found["items"].as_array().into_iter().flatten();
        let counts = items.map(|revision| revision["status"]["consumers"].as_i64().unwrap_or(0));
        counts.sum::<i64>() == 4
    };
    story.wait(REVISIONS, settled).await?;
    story.show("kubectl get comprev", REVISIONS).await
}

fn holds(object: &Value, type_: &str) -> bool {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == type_ && condition["status"] == "True")
}

struct Story {
    client: Client,
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "\n# {text}\n")?;
    Ok(())
}

impl Story {
    async fn apply(&self, (name, text): (&str, &str)) -> anyhow::Result<()> {
        let mut output = std::io::stdout();
        writeln!(output, "$ kubectl apply --server-side -f {name}")?;
        let documents: Vec<DynamicObject> = serde_saphyr::from_multiple(text).context(name.to_owned())?;
        for object in documents {
            let line = apply(&self.client, &object)
                .await
                .with_context(|| format!("{name}: {}", object.name_any()))?;
            writeln!(output, "{line}")?;
        }
        Ok(())
    }

    async fn show(&self, command: &str, path: &str) -> anyhow::Result<()> {
        let request =
            http::Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let answer: Value = self
            .client
            .request(request.body(Vec::new())?)
            .await
            .context(command.to_owned())?;
        let mut output = std::io::stdout();
        write!(
            output,
            "\n$ {command}\n{}",
            of_server(&answer, command.ends_with("-o wide"))
        )?;
        Ok(())
    }

    /// One line for each reference of each application.
    async fn why(&self) -> anyhow::Result<()> {
        let list = self.get(APPS).await?;
        let mut table = Table::new(&["APPLICATION", "COMPONENT", "ASKED", "GOT", "WHY"]);
        for application in list["items"].as_array().into_iter().flatten() {
            for reference in application["status"]["references"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let path = text(&reference["path"]);
                let component = path
                    .trim_start_matches("components[")
                    .trim_end_matches(']')
                    .to_owned();
                table.add([
                    text(&application["metadata"]["name"]),
                    component,
                    text(&reference["asked"]),
                    text(&reference["version"]),
                    text(&reference["message"]),
                ]);
            }
        }
        write!(std::io::stdout(), "{}", table.text())?;
        Ok(())
    }

    async fn told_before(&self) -> anyhow::Result<bool> {
        let path = format!("{SYSTEM}/componentdefinitions/web");
        match self.get(&path).await {
            Ok(_) => Ok(true),
            Err(error) => match error.downcast_ref() {
                Some(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
                _ => Err(error),
            },
        }
    }

    async fn published(&self, name: &str, version: &str) -> anyhow::Result<()> {
        let path = format!("{SYSTEM}/componentdefinitions/{name}");
        self.wait(&path, |found| found["status"]["highestVersion"] == version)
            .await
    }

    async fn ready(&self, name: &str) -> anyhow::Result<()> {
        self.wait(&format!("{APPS}/{name}"), |found| holds(found, "Ready"))
            .await
    }

    async fn moved(&self, name: &str, version: &str) -> anyhow::Result<()> {
        let moved = |found: &Value| {
            let mut references = found["status"]["references"].as_array().into_iter().flatten();
            references.any(|reference| reference["version"] == version)
        };
        self.wait(&format!("{APPS}/{name}"), moved).await
    }

    /// Waits a moment for something to become true; the story goes on in any case and shows what is.
    async fn wait(&self, path: &str, is: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        for _ in 0..400 {
            if is(&self.get(path).await?) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        Ok(())
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = http::Request::get(path).body(Vec::new())?;
        Ok(self.client.request(request).await?)
    }
}

async fn apply(client: &Client, object: &DynamicObject) -> anyhow::Result<String> {
    let types = object.types.clone().context("an object without kind")?;
    let gvk = kube::core::GroupVersionKind::try_from(&types)?;
    let discovery = Discovery::new(client.clone()).filter(&[&gvk.group]).run().await?;
    let (resource, capabilities) = discovery
        .resolve_gvk(&gvk)
        .with_context(|| format!("no resource of kind {}", gvk.kind))?;
    let namespace = object.namespace();
    let api: Api<DynamicObject> = match (capabilities.scope, &namespace) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client.clone(), namespace, &resource),
        (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), &resource),
    };
    let parameters = PatchParams::apply("cambium-demo").force();
    api.patch(&object.name_any(), &parameters, &Patch::Apply(object))
        .await?;
    let kind = match resource.group.is_empty() {
        true => resource.kind.to_lowercase(),
        false => format!("{}.{}", resource.kind.to_lowercase(), resource.group),
    };
    Ok(format!("{kind}/{} serverside-applied", object.name_any()))
}
