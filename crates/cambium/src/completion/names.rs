//! Completes the names of objects, versions and components from the cluster.

use super::Candidate;
use super::words::{Given, Name};
use crate::cli::Cluster;
use crate::client;
use cambium_api::crossplane::{CompositeResourceDefinition, Composition, CompositionRevision};
use cambium_api::names::{SYSTEM_NAMESPACE, label};
use cambium_api::v1beta1::{Application, ApplicationRevision, DefinitionRevision, DefinitionType};
use cambium_compositions::definition::{Definition, read};
use cambium_reports::Kind;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::config::Kubeconfig;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The limit of names that are listed.
const MOST: u32 = 500;

/// Words for the kinds that have revisions.
const KINDS: [(&str, &str); 6] = [
    ("app", "Application"),
    ("compdef", "ComponentDefinition"),
    ("traitdef", "TraitDefinition"),
    ("policydef", "PolicyDefinition"),
    ("workflowstepdef", "WorkflowStepDefinition"),
    ("composition", "Composition"),
];

/// The names that may stand at the cursor; none if they cannot be found out.
pub(super) async fn names(name: &Name, given: &Given, current: &str) -> Option<Vec<Candidate>> {
    if *name == Name::Context {
        return contexts(given);
    }
    let cluster = Cluster {
        kubeconfig: given.options.get("kubeconfig").map(Into::into),
        context: given.options.get("context").cloned(),
    };
    let client = client::connect(&cluster).await.ok()?;
    let namespace = given.options.get("namespace").cloned();
    let asking = Asking {
        namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
        client,
    };
    match name {
        Name::Context => None,
        Name::Namespace => {
            let namespaces: Api<Namespace> = Api::all(asking.client.clone());
            let found = namespaces
                .list_metadata(&ListParams::default().limit(MOST))
                .await
                .ok()?;
            Some(plain(found.items.iter().map(ResourceExt::name_any), "namespace"))
        }
        Name::Application => Some(asking.applications().await),
        Name::Subject => asking.subjects(given, current).await,
        Name::Composite => asking.composites(given, current).await,
        Name::Upgrade => asking.upgrades(given, current).await,
        Name::Version => Some(asking.versions(current).await),
        Name::ApplicationRevision => {
            let revisions = ApiResource::erase::<ApplicationRevision>(&());
            let of = given.words.first()?;
            let found = asking.list(&revisions, Some(&asking.namespace)).await;
            let own = found
                .iter()
                .filter(|one| one.labels().get(label::APPLICATION) == Some(of));
            Some(plain(own.map(ResourceExt::name_any), "revision"))
        }
        Name::CompositionRevision => {
            let found = asking
                .list(&ApiResource::erase::<CompositionRevision>(&()), None)
                .await;
            Some(plain(found.iter().map(ResourceExt::name_any), "revision"))
        }
    }
}

fn plain(names: impl Iterator<Item = String>, help: &str) -> Vec<Candidate> {
    names.map(|name| Candidate::new(name, help)).collect()
}

fn contexts(given: &Given) -> Option<Vec<Candidate>> {
    let kubeconfig = match given.options.get("kubeconfig") {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let contexts = kubeconfig.ok()?.contexts.into_iter();
    Some(plain(contexts.map(|context| context.name), "context"))
}

/// A cluster, and the namespace that is meant.
struct Asking {
    client: Client,
    namespace: String,
}

impl Asking {
    /// The first objects of a kind; none if they may not be listed.
    async fn list(&self, resource: &ApiResource, namespace: Option<&str>) -> Vec<DynamicObject> {
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        };
        let listed = api.list(&ListParams::default().limit(MOST)).await;
        listed.map(|found| found.items).unwrap_or_default()
    }

    /// The definitions of a namespace and of the system namespace.
    async fn published(&self, resource: &ApiResource) -> Vec<DynamicObject> {
        let mut found = self.list(resource, Some(&self.namespace)).await;
        if self.namespace != SYSTEM_NAMESPACE {
            found.extend(self.list(resource, Some(SYSTEM_NAMESPACE)).await);
        }
        found
    }

    async fn applications(&self) -> Vec<Candidate> {
        let resource = ApiResource::erase::<Application>(&());
        let found = self.list(&resource, Some(&self.namespace)).await;
        plain(found.iter().map(ResourceExt::name_any), "Application")
    }

    /// A kind, and then a name of that kind; `compdef/` and `compdef ` alike.
    async fn subjects(&self, given: &Given, current: &str) -> Option<Vec<Candidate>> {
        let (prefix, word) = match (given.words.as_slice(), current.split_once('/')) {
            ([], Some((kind, _))) => (format!("{kind}/"), kind),
            ([kind], None) => (String::new(), kind.as_str()),
            ([], None) => {
                let kinds = KINDS.iter().map(|(word, kind)| Candidate::new(*word, *kind));
                return Some(kinds.collect());
            }
            _ => return None,
        };
        let kind = Kind::called(word).ok()?;
        let found = match kind {
            Kind::Application => return Some(with_prefix(&prefix, self.applications().await)),
            Kind::Composition => self.list(&ApiResource::erase::<Composition>(&()), None).await,
            Kind::Definition(type_) => self.published(&type_.resource()).await,
        };
        let names: BTreeSet<String> = found.iter().map(ResourceExt::name_any).collect();
        Some(with_prefix(&prefix, plain(names.into_iter(), kind.name())))
    }

    /// A kind of composite resources or claims, and then a name of that kind.
    async fn composites(&self, given: &Given, current: &str) -> Option<Vec<Candidate>> {
        let definitions = self.definitions().await;
        let kinds = || {
            definitions.iter().flat_map(|definition| {
                let names = [Some(definition.names()), definition.claim_names()];
                names.into_iter().flatten().map(move |names| (definition, names))
            })
        };
        let (prefix, word) = match (given.words.as_slice(), current.split_once('/')) {
            ([], Some((kind, _))) => (format!("{kind}/"), kind),
            ([kind], None) => (String::new(), kind.as_str()),
            ([], None) => {
                let kinds = kinds().map(|(definition, names)| {
                    Candidate::new(names.kind.to_lowercase(), definition.name().to_owned())
                });
                return Some(kinds.collect());
            }
            _ => return None,
        };
        let word = word.to_lowercase();
        let (definition, names) =
            kinds().find(|(_, names)| names.kind.to_lowercase() == word || names.plural == word)?;
        let resource = ApiResource {
            group: definition.group().to_owned(),
            version: definition.referenceable().to_owned(),
            api_version: definition.composite_type().api_version,
            kind: names.kind.clone(),
            plural: names.plural.clone(),
        };
        let found = self.list(&resource, None).await;
        let is_here = |one: &&DynamicObject| one.namespace().is_none_or(|found| found == self.namespace);
        let here = found.iter().filter(is_here).map(ResourceExt::name_any);
        Some(with_prefix(&prefix, plain(here, &names.kind)))
    }

    async fn definitions(&self) -> Vec<Definition> {
        let resource = ApiResource::erase::<CompositeResourceDefinition>(&());
        let found = self.list(&resource, None).await.into_iter();
        let typed = found.filter_map(|one| {
            let value = serde_json::to_value(one).ok()?;
            serde_json::from_value::<CompositeResourceDefinition>(value).ok()
        });
        typed.filter_map(|one| read(&one).ok()).collect()
    }

    /// A component, and then the versions of its definition: `web=1.2.5`.
    async fn upgrades(&self, given: &Given, current: &str) -> Option<Vec<Candidate>> {
        let resource = ApiResource::erase::<Application>(&());
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let application = api.get(given.words.first()?).await.ok()?;
        let components = application.data["spec"]["components"].as_array()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let Some((component, _)) = current.split_once('=') else {
            let known = components.iter();
            let known =
                known.map(|one| Candidate::new(format!("{}=", text(&one["name"])), text(&one["type"])));
            return Some(known.collect());
        };
        let found = components.iter().find(|one| one["name"] == component)?;
        let reference = text(&found["type"]);
        let definition = reference.split('@').next().unwrap_or_default();
        let versions = self
            .versions_of(Some(DefinitionType::Component), definition)
            .await;
        let named = versions.into_iter();
        Some(
            named
                .map(|(version, help)| Candidate::new(format!("{component}={version}"), help))
                .collect(),
        )
    }

    /// A definition, and then its versions, `web@1.2.5`; or a CompositionRevision.
    async fn versions(&self, current: &str) -> Vec<Candidate> {
        if current.starts_with("comprev/") {
            let found = self
                .list(&ApiResource::erase::<CompositionRevision>(&()), None)
                .await;
            let names = plain(found.iter().map(ResourceExt::name_any), "CompositionRevision");
            return with_prefix("comprev/", names);
        }
        if let Some((definition, _)) = current.split_once('@') {
            let versions = self.versions_of(None, definition).await.into_iter();
            return versions
                .map(|(version, help)| Candidate::new(format!("{definition}@{version}"), help))
                .collect();
        }
        let revisions = self
            .published(&ApiResource::erase::<DefinitionRevision>(&()))
            .await;
        let names: BTreeSet<String> = revisions
            .iter()
            .map(|one| of(&one.data, "definitionName"))
            .collect();
        let mut found: Vec<Candidate> = names
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(|name| Candidate::new(format!("{name}@"), "definition"))
            .collect();
        found.push(Candidate::new("comprev/", "CompositionRevision"));
        found
    }

    async fn versions_of(&self, type_: Option<DefinitionType>, definition: &str) -> Vec<(String, String)> {
        let revisions = self
            .published(&ApiResource::erase::<DefinitionRevision>(&()))
            .await;
        let own = revisions.iter().filter(|one| {
            let is_type = type_.is_none_or(|type_| one.data["spec"]["definitionType"] == json!(type_));
            is_type && of(&one.data, "definitionName") == definition
        });
        let version = |one: &DynamicObject| match of(&one.data, "version") {
            version if version.is_empty() => format!("v{}", one.data["spec"]["revision"]),
            version => version,
        };
        own.map(|one| (version(one), one.name_any())).collect()
    }
}

fn of(data: &Value, field: &str) -> String {
    data["spec"][field].as_str().unwrap_or_default().to_owned()
}

fn with_prefix(prefix: &str, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    for one in &mut candidates {
        one.value.insert_str(0, prefix);
    }
    candidates
}
