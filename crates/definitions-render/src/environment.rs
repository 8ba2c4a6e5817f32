//! The value of `context` in templates.

use crate::parameters::through_go;
use crate::{Application, Component};
use cambium_cue::number::Number;
use cambium_cue::{Data, Limits};
use serde_json::Value;
use std::collections::BTreeMap;

/// The cluster and limits that an application is rendered for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `context.appRevision`: the application revision's name, such as `shop-v3`.
    pub app_revision: String,
    /// `context.revision`: the component revision's name.
    pub revision: String,
    /// `context.revision` of components that have one of their own, by their names.
    pub component_revisions: BTreeMap<String, String>,
    /// `context.cluster`.
    pub cluster: String,
    /// `context.clusterVersion`.
    pub cluster_version: ClusterVersion,
    /// `context.replicaKey`.
    pub replica_key: String,
    /// The limits of each evaluation.
    pub limits: Limits,
}

impl Environment {
    /// The revision of a component.
    pub(crate) fn revision_of(&self, component: &str) -> &str {
        self.component_revisions.get(component).unwrap_or(&self.revision)
    }
}

/// The version of a Kubernetes cluster, as it reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterVersion {
    /// Such as `1`.
    pub major: String,
    /// Such as `31` or `31+`.
    pub minor: String,
    /// Such as `v1.31.2`.
    pub git_version: String,
    /// Such as `linux/amd64`.
    pub platform: String,
}

impl ClusterVersion {
    /// The minor version as templates compare it: what stands before `+` and the like, 0 when that is no number.
    pub fn minor_number(&self) -> i64 {
        self.minor
            .trim()
            .trim_end_matches(['.', '+', '-', '/', '?', '!'])
            .parse()
            .unwrap_or(0)
    }

    fn data(&self) -> Data {
        record([
            ("gitVersion", text(&self.git_version)),
            ("major", text(&self.major)),
            ("minor", Data::Number(Number::from_i64(self.minor_number()))),
            ("platform", text(&self.platform)),
        ])
    }
}

/// The fields of `context`, in the order of their names.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    fields: Vec<(String, Data)>,
    /// The limits of an evaluation with this context.
    pub(crate) limits: Limits,
}

impl Context {
    /// The context of a component's template.
    pub(crate) fn new(application: &Application, component: &Component, environment: &Environment) -> Self {
        let annotation = |name: &str| text(application.annotations.get(name).map_or("", String::as_str));
        let mut context = Self {
            fields: Vec::new(),
            limits: environment.limits,
        };
        context.set("appAnnotations", texts(&application.annotations));
        context.set("appLabels", texts(&application.labels));
        context.set("appName", text(&application.name));
        context.set("appRevision", text(&environment.app_revision));
        context.set(
            "appRevisionNum",
            Data::Number(Number::from_i64(revision_number(&environment.app_revision))),
        );
        context.set("cluster", text(&environment.cluster));
        context.set("clusterVersion", environment.cluster_version.data());
        let components = application
            .components
            .iter()
            .map(|component| through_go(&component.written));
        context.set("components", Data::List(components.collect()));
        context.set("name", text(&component.name));
        context.set("namespace", text(application.effective_namespace()));
        context.set("publishVersion", annotation("app.oam.dev/publishVersion"));
        context.set("replicaKey", text(&environment.replica_key));
        context.set("revision", text(environment.revision_of(&component.name)));
        context.set("workflowName", annotation("app.oam.dev/workflowName"));
        if let Some(properties) = &component.properties {
            context.set("parameter", through_go(properties));
        }
        context
    }

    /// Adds a field, or replaces it.
    pub(crate) fn set(&mut self, name: &str, value: Data) {
        match self
            .fields
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
        {
            Ok(index) => self.fields[index].1 = value,
            Err(index) => self.fields.insert(index, (name.to_owned(), value)),
        }
    }

    /// The whole of it.
    pub(crate) fn data(&self) -> Data {
        Data::Struct(self.fields.clone())
    }
}

/// The number in `name-v3`; 0 for any other name.
fn revision_number(revision: &str) -> i64 {
    let number = revision
        .rsplit_once('-')
        .and_then(|(_, last)| last.strip_prefix('v'));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn text(text: &str) -> Data {
    Data::String(text.to_owned())
}

fn texts(fields: &BTreeMap<String, String>) -> Data {
    Data::Struct(
        fields
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect(),
    )
}

fn record<const N: usize>(fields: [(&str, Data); N]) -> Data {
    Data::Struct(
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// Live or rendered objects by name, as templates see them.
pub(crate) fn objects<'a>(objects: impl Iterator<Item = (&'a str, &'a Value)>) -> Data {
    let mut fields: Vec<_> = objects
        .map(|(name, object)| (name.to_owned(), through_go(object)))
        .collect();
    fields.sort_by(|left, right| left.0.cmp(&right.0));
    Data::Struct(fields)
}
