//! The messages of the function protocol, in the JSON form of its protocol buffers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::connection::ConnectionDetails;

/// What a function is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// About the request itself.
    pub meta: RequestMeta,
    /// What exists.
    pub observed: State,
    /// What the functions before this one desire.
    pub desired: State,
    /// The input that the pipeline's step gives to the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What functions tell each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// Resources that the function asked for, under their old name.
    #[serde(alias = "extra_resources", skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_resources: BTreeMap<String, Resources>,
    /// Resources that the function asked for.
    #[serde(alias = "required_resources", skip_serializing_if = "BTreeMap::is_empty")]
    pub required_resources: BTreeMap<String, Resources>,
    /// Credentials that the step gives to the function.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub credentials: BTreeMap<String, Credentials>,
}

/// About a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestMeta {
    /// Names the content of the request; the same tag may get the same answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag: String,
}

/// Some resources.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// The resources.
    pub items: Vec<Resource>,
}

/// Credentials for a function.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Credentials {
    /// The content of the secret.
    #[serde(alias = "credential_data")]
    pub credential_data: CredentialData,
}

/// The content of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CredentialData {
    /// Keys and values.
    #[serde(with = "bytes")]
    pub data: ConnectionDetails,
}

/// A composite resource and what is composed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    /// The composite resource.
    pub composite: Resource,
    /// The composed resources, by the names that functions give them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Resource>,
}

/// One resource.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Resource {
    /// The object.
    pub resource: Map<String, Value>,
    /// What its connection secret holds, or should hold.
    #[serde(
        alias = "connection_details",
        with = "bytes",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub connection_details: ConnectionDetails,
    /// Whether it is ready.
    #[serde(skip_serializing_if = "Ready::is_unspecified")]
    pub ready: Ready,
}

/// Whether a function thinks that a resource is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ready {
    /// It has no opinion.
    #[default]
    #[serde(rename = "READY_UNSPECIFIED")]
    Unspecified,
    /// It is.
    #[serde(rename = "READY_TRUE")]
    True,
    /// It is not.
    #[serde(rename = "READY_FALSE")]
    False,
}

impl Ready {
    /// Whether there is no opinion.
    #[must_use]
    pub fn is_unspecified(&self) -> bool {
        *self == Self::Unspecified
    }
}

/// What a function answers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Response {
    /// About the response itself.
    pub meta: ResponseMeta,
    /// What the function desires: all that was desired before it, with its changes.
    pub desired: State,
    /// What a person should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<RunResult>,
    /// What later functions should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Map<String, Value>>,
    /// What the function needs to see before its answer counts.
    #[serde(skip_serializing_if = "Requirements::is_empty")]
    pub requirements: Requirements,
    /// Conditions for the composite resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// About a response.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResponseMeta {
    /// The tag of the request.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// How long the answer holds, as `60s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// One thing that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// How bad it is.
    #[serde(default)]
    pub severity: Severity,
    /// What it is.
    #[serde(default)]
    pub message: String,
    /// In one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// How bad a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Severity {
    /// Nobody said.
    #[default]
    #[serde(rename = "SEVERITY_UNSPECIFIED")]
    Unspecified,
    /// The pipeline stops.
    #[serde(rename = "SEVERITY_FATAL")]
    Fatal,
    /// Somebody should look.
    #[serde(rename = "SEVERITY_WARNING")]
    Warning,
    /// For the record.
    #[serde(rename = "SEVERITY_NORMAL")]
    Normal,
}

/// Who is told about a result or a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Nobody said: the composite resource.
    #[serde(rename = "TARGET_UNSPECIFIED")]
    Unspecified,
    /// The composite resource.
    #[serde(rename = "TARGET_COMPOSITE")]
    Composite,
    /// The composite resource and its claim.
    #[serde(rename = "TARGET_COMPOSITE_AND_CLAIM")]
    CompositeAndClaim,
}

/// A condition for the composite resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its status.
    #[serde(default)]
    pub status: ConditionStatus,
    /// Why, in one word.
    #[serde(default)]
    pub reason: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// Nobody said.
    #[default]
    #[serde(rename = "STATUS_CONDITION_UNSPECIFIED")]
    Unspecified,
    /// Nobody knows.
    #[serde(rename = "STATUS_CONDITION_UNKNOWN")]
    Unknown,
    /// It is so.
    #[serde(rename = "STATUS_CONDITION_TRUE")]
    True,
    /// It is not so.
    #[serde(rename = "STATUS_CONDITION_FALSE")]
    False,
}

/// What a function needs to see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Requirements {
    /// Resources, under their old name.
    #[serde(alias = "extra_resources", skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_resources: BTreeMap<String, ResourceSelector>,
    /// Resources.
    #[serde(
        alias = "resources",
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "resources"
    )]
    pub required_resources: BTreeMap<String, ResourceSelector>,
}

impl Requirements {
    /// Whether nothing is needed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.extra_resources.is_empty() && self.required_resources.is_empty()
    }
}

/// Which resources a function needs to see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResourceSelector {
    /// Their API version.
    #[serde(alias = "api_version")]
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// The name of the one.
    #[serde(alias = "match_name", skip_serializing_if = "Option::is_none")]
    pub match_name: Option<String>,
    /// Labels that they have.
    #[serde(alias = "match_labels", skip_serializing_if = "Option::is_none")]
    pub match_labels: Option<MatchLabels>,
    /// Their namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Labels that a resource must have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchLabels {
    /// The labels.
    pub labels: BTreeMap<String, String>,
}

/// How long the built-in functions' answers hold.
const TTL: &str = "60s";

impl Response {
    /// The answer of a function that changes nothing.
    #[must_use]
    pub fn to(request: &Request) -> Self {
        Self {
            meta: ResponseMeta {
                tag: request.meta.tag.clone(),
                ttl: Some(TTL.to_owned()),
            },
            desired: request.desired.clone(),
            context: request.context.clone(),
            ..Self::default()
        }
    }

    /// The same answer, with a result that stops the pipeline.
    #[must_use]
    pub fn fatal(mut self, message: impl Into<String>) -> Self {
        self.tell(Severity::Fatal, message.into());
        self
    }

    /// Adds a result that somebody should look at.
    pub fn warn(&mut self, message: impl Into<String>) {
        self.tell(Severity::Warning, message.into());
    }

    fn tell(&mut self, severity: Severity, message: String) {
        self.results.push(RunResult {
            severity,
            message,
            reason: None,
            target: Some(Target::Composite),
        });
    }
}

/// Bytes are base64 in JSON.
mod bytes {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::connection::ConnectionDetails;

    pub(super) fn serialize<S: Serializer>(
        bytes: &ConnectionDetails,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(bytes.iter().map(|(key, value)| (key, STANDARD.encode(value))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ConnectionDetails, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let decode =
            |(key, text): (String, String)| Ok((key, STANDARD.decode(text).map_err(D::Error::custom)?));
        texts.into_iter().map(decode).collect()
    }
}
