//! The `CustomResourceDefinition`s of our kinds.
//!
//! They are made from the types ([`made`]) and committed under `crates/api/crds`; a test compares the two. The program reads what is committed
//! ([`all`]): making them takes a third of the time until `cambium up` is ready.
//!
//! As they are made, the definition kinds serve v1beta1 alone: without a webhook, Kubernetes would "convert" by writing another
//! `apiVersion` over the object, and everything that v2beta1 says would be misread. [`with_conversion`] names the webhook and serves
//! v2beta1, in one step. Kinds whose versions are all served have the same fields in each, and need no webhook.

mod crossplane;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition, WebhookClientConfig,
    WebhookConversion,
};
use kube::CustomResourceExt;
use serde::Deserialize;

use crate::tidy::tidy;
use crate::{v1beta1, v2beta1};

/// As they are committed, in the order of [`made`].
const COMMITTED: [&str; 11] = [
    include_str!("../crds/componentdefinitions.json"),
    include_str!("../crds/traitdefinitions.json"),
    include_str!("../crds/policydefinitions.json"),
    include_str!("../crds/workflowstepdefinitions.json"),
    include_str!("../crds/definitionrevisions.json"),
    include_str!("../crds/applications.json"),
    include_str!("../crds/applicationrevisions.json"),
    include_str!("../crds/compositeresourcedefinitions.json"),
    include_str!("../crds/compositions.json"),
    include_str!("../crds/compositionrevisions.json"),
    include_str!("../crds/functions.json"),
];

/// A committed CRD, kept as text: as types, all of them take 3 MB.
#[derive(Debug, Clone)]
pub struct Committed {
    name: String,
    needs_conversion: bool,
    text: &'static str,
}

impl Committed {
    fn of(text: &'static str) -> Self {
        let head: Head = serde_json::from_str(text).expect(READABLE);
        Self {
            needs_conversion: head.spec.versions.iter().any(|version| !version.served),
            name: head.metadata.name,
            text,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has a version that is not served without a webhook.
    pub fn needs_conversion(&self) -> bool {
        self.needs_conversion
    }

    /// The CRD itself.
    pub fn read(&self) -> CustomResourceDefinition {
        read(self.text)
    }
}

/// What is kept of a CRD beside its text.
#[derive(Deserialize)]
struct Head {
    metadata: HeadMetadata,
    spec: HeadSpec,
}

#[derive(Deserialize)]
struct HeadMetadata {
    name: String,
}

#[derive(Deserialize)]
struct HeadSpec {
    versions: Vec<HeadVersion>,
}

#[derive(Deserialize)]
struct HeadVersion {
    served: bool,
}

const READABLE: &str = "a test reads what is committed";

fn read(text: &str) -> CustomResourceDefinition {
    serde_json::from_str(text).expect(READABLE)
}

/// All of them, in the order in which they should be applied.
pub fn all() -> Vec<CustomResourceDefinition> {
    each().collect()
}

/// The same, one after the other, for callers that keep none of them.
pub fn each() -> impl Iterator<Item = CustomResourceDefinition> {
    COMMITTED.into_iter().map(read)
}

/// All of them as text, for callers that keep them.
pub fn committed() -> Vec<Committed> {
    COMMITTED.into_iter().map(Committed::of).collect()
}

/// Those of the definition kinds, which have two versions.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    each().filter(needs_conversion).collect()
}

/// All of them, from the types.
pub fn made() -> Vec<CustomResourceDefinition> {
    let mut crds = made_definitions();
    crds.push(finish(v1beta1::DefinitionRevision::crd(), DEFINITION_REVISION));
    crds.push(finish(v1beta1::Application::crd(), APPLICATION));
    crds.push(finish(v1beta1::ApplicationRevision::crd(), APPLICATION_REVISION));
    crds.extend(crossplane::all());
    crds
}

fn made_definitions() -> Vec<CustomResourceDefinition> {
    let mut component: Vec<Column> = DEFINITION.to_vec();
    component.insert(4, ("Workload", "string", ".status.workload", 1));
    let pairs = [
        (
            v1beta1::ComponentDefinition::crd(),
            v2beta1::ComponentDefinition::crd(),
            component.as_slice(),
        ),
        (
            v1beta1::TraitDefinition::crd(),
            v2beta1::TraitDefinition::crd(),
            DEFINITION,
        ),
        (
            v1beta1::PolicyDefinition::crd(),
            v2beta1::PolicyDefinition::crd(),
            DEFINITION,
        ),
        (
            v1beta1::WorkflowStepDefinition::crd(),
            v2beta1::WorkflowStepDefinition::crd(),
            DEFINITION,
        ),
    ];
    pairs
        .into_iter()
        .map(|(stored, served, columns)| in_two_versions(stored, served, columns))
        .collect()
}

/// Names the webhook that converts, and serves every version. Unchanged where all are served without one.
pub fn with_conversion(
    mut crd: CustomResourceDefinition,
    client_config: WebhookClientConfig,
) -> CustomResourceDefinition {
    if !needs_conversion(&crd) {
        return crd;
    }
    let webhook = WebhookConversion {
        client_config: Some(client_config),
        conversion_review_versions: vec!["v1".to_owned(), "v1beta1".to_owned()],
    };
    crd.spec.conversion = Some(CustomResourceConversion {
        strategy: "Webhook".to_owned(),
        webhook: Some(webhook),
    });
    for version in &mut crd.spec.versions {
        version.served = true;
    }
    crd
}

/// Whether a CRD as it is made here has a version that is not served without a webhook.
pub fn needs_conversion(crd: &CustomResourceDefinition) -> bool {
    crd.spec.versions.iter().any(|version| !version.served)
}

/// Name, type, path, and 1 for what only `-o wide` shows.
type Column = (&'static str, &'static str, &'static str, i32);

const AGE: Column = ("Age", "date", ".metadata.creationTimestamp", 0);

const DEFINITION: &[Column] = &[
    ("Version", "string", ".status.highestVersion", 0),
    ("Versions", "string", ".status.versionSummary", 0),
    ("Consumers", "integer", ".status.consumers", 0),
    AGE,
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
        1,
    ),
    (
        "Description",
        "string",
        ".metadata.annotations.definition\\.oam\\.dev/description",
        1,
    ),
];

const DEFINITION_REVISION: &[Column] = &[
    ("Definition", "string", ".spec.definitionName", 0),
    ("Version", "string", ".spec.version", 0),
    ("Revision", "integer", ".spec.revision", 0),
    ("Digest", "string", ".spec.revisionHash", 0),
    ("In Use By", "string", ".status.inUseBy", 0),
    ("Type", "string", ".spec.definitionType", 1),
    ("Age", "date", ".metadata.creationTimestamp", 1),
];

const APPLICATION: &[Column] = &[
    (
        "Ready",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].status",
        0,
    ),
    (
        "Reason",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].reason",
        0,
    ),
    ("Healthy", "string", ".status.healthy", 0),
    ("Components", "string", ".status.resolved", 0),
    AGE,
    ("Phase", "string", ".status.status", 1),
    ("Revision", "string", ".status.latestRevision.name", 1),
    (
        "Message",
        "string",
        ".status.conditions[?(@.type==\"Ready\")].message",
        1,
    ),
];

const APPLICATION_REVISION: &[Column] = &[
    (
        "Application",
        "string",
        ".metadata.labels.app\\.oam\\.dev/name",
        0,
    ),
    ("Revision", "integer", ".spec.revision", 0),
    (
        "Digest",
        "string",
        ".metadata.labels.app\\.oam\\.dev/app-revision-hash",
        0,
    ),
    AGE,
    (
        "Publish Version",
        "string",
        ".metadata.annotations.app\\.oam\\.dev/publishVersion",
        1,
    ),
];

fn in_two_versions(
    stored: CustomResourceDefinition,
    served: CustomResourceDefinition,
    columns: &[Column],
) -> CustomResourceDefinition {
    let mut crd = finish(stored, columns);
    for mut version in finish(served, columns).spec.versions {
        version.served = false;
        version.storage = false;
        crd.spec.versions.push(version);
    }
    crd
}

fn finish(mut crd: CustomResourceDefinition, columns: &[Column]) -> CustomResourceDefinition {
    let columns: Vec<CustomResourceColumnDefinition> = columns.iter().map(column).collect();
    for version in &mut crd.spec.versions {
        version.additional_printer_columns = Some(columns.clone());
        if let Some(schema) = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
        {
            tidy(schema);
        }
    }
    crd
}

fn column(&(name, type_, json_path, priority): &Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        priority: (priority > 0).then_some(priority),
        ..CustomResourceColumnDefinition::default()
    }
}
