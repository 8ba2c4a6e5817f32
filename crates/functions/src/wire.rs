//! The messages of `apiextensions.fn.proto.v1` as they are on the wire. Those of v1beta1 are the same.
//!
//! Numbers and names are the protocol's. What they mean is said where their counterparts are, in `cambium_compositions_render::function`.

use std::collections::BTreeMap;

use prost::{Enumeration, Message, Oneof};
use prost_types::{Duration, Struct};

/// The method to call.
pub const RUN_FUNCTION: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";
/// The method of functions that are older.
pub const RUN_FUNCTION_BETA: &str = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";

/// What a function is asked.
#[derive(Clone, PartialEq, Message)]
pub struct RunFunctionRequest {
    /// About the request itself.
    #[prost(message, optional, tag = "1")]
    pub meta: Option<RequestMeta>,
    /// What exists.
    #[prost(message, optional, tag = "2")]
    pub observed: Option<State>,
    /// What the functions before this one desire.
    #[prost(message, optional, tag = "3")]
    pub desired: Option<State>,
    /// The input of the step.
    #[prost(message, optional, tag = "4")]
    pub input: Option<Struct>,
    /// What functions tell each other.
    #[prost(message, optional, tag = "5")]
    pub context: Option<Struct>,
    /// Resources that the function asked for, under their old name.
    #[prost(btree_map = "string, message", tag = "6")]
    pub extra_resources: BTreeMap<String, Resources>,
    /// Credentials that the step gives.
    #[prost(btree_map = "string, message", tag = "7")]
    pub credentials: BTreeMap<String, Credentials>,
    /// Resources that the function, or the step, asked for.
    #[prost(btree_map = "string, message", tag = "8")]
    pub required_resources: BTreeMap<String, Resources>,
}

/// About a request.
#[derive(Clone, PartialEq, Message)]
pub struct RequestMeta {
    /// Names the content of the request.
    #[prost(string, tag = "1")]
    pub tag: String,
    /// What the caller can do.
    #[prost(enumeration = "Capability", repeated, tag = "2")]
    pub capabilities: Vec<i32>,
}

/// Something that a caller can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Capability {
    /// One that is not known.
    Unspecified = 0,
    /// It says what it can do.
    Capabilities = 1,
    /// It gives resources that are asked for in `resources`.
    RequiredResources = 2,
    /// It gives credentials.
    Credentials = 3,
    /// It takes conditions.
    Conditions = 4,
    /// It gives schemas.
    RequiredSchemas = 5,
}

/// Secret values.
#[derive(Clone, PartialEq, Message)]
pub struct Credentials {
    /// Where they are from.
    #[prost(oneof = "Source", tags = "1")]
    pub source: Option<Source>,
}

/// Where secret values are from.
#[derive(Clone, PartialEq, Oneof)]
pub enum Source {
    /// They are here.
    #[prost(message, tag = "1")]
    CredentialData(CredentialData),
}

/// The content of a Secret.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct CredentialData {
    /// Keys and values.
    #[prost(btree_map = "string, bytes", tag = "1")]
    pub data: BTreeMap<String, Vec<u8>>,
}

impl std::fmt::Debug for CredentialData {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CredentialData(…)")
    }
}

/// Some resources.
#[derive(Clone, PartialEq, Message)]
pub struct Resources {
    /// The resources.
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Resource>,
}

/// What a function answers.
#[derive(Clone, PartialEq, Message)]
pub struct RunFunctionResponse {
    /// About the answer itself.
    #[prost(message, optional, tag = "1")]
    pub meta: Option<ResponseMeta>,
    /// What the function desires.
    #[prost(message, optional, tag = "2")]
    pub desired: Option<State>,
    /// What a person should know.
    #[prost(message, repeated, tag = "3")]
    pub results: Vec<RunResult>,
    /// What later functions should know.
    #[prost(message, optional, tag = "4")]
    pub context: Option<Struct>,
    /// What the function needs to see.
    #[prost(message, optional, tag = "5")]
    pub requirements: Option<Requirements>,
    /// Conditions for the composite resource.
    #[prost(message, repeated, tag = "6")]
    pub conditions: Vec<Condition>,
}

/// About an answer.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseMeta {
    /// The tag of the request.
    #[prost(string, tag = "1")]
    pub tag: String,
    /// How long the answer holds.
    #[prost(message, optional, tag = "2")]
    pub ttl: Option<Duration>,
}

/// What a function needs to see.
#[derive(Clone, PartialEq, Message)]
pub struct Requirements {
    /// Resources, under their old name.
    #[prost(btree_map = "string, message", tag = "1")]
    pub extra_resources: BTreeMap<String, ResourceSelector>,
    /// Resources.
    #[prost(btree_map = "string, message", tag = "2")]
    pub resources: BTreeMap<String, ResourceSelector>,
    /// Schemas of kinds.
    #[prost(btree_map = "string, message", tag = "3")]
    pub schemas: BTreeMap<String, SchemaSelector>,
}

/// Which schema a function needs to see.
#[derive(Clone, PartialEq, Message)]
pub struct SchemaSelector {
    /// Group and version.
    #[prost(string, tag = "1")]
    pub api_version: String,
    /// The kind.
    #[prost(string, tag = "2")]
    pub kind: String,
}

/// Which resources a function needs to see.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceSelector {
    /// Group and version.
    #[prost(string, tag = "1")]
    pub api_version: String,
    /// The kind.
    #[prost(string, tag = "2")]
    pub kind: String,
    /// By what they are found; all of the kind, if by nothing.
    #[prost(oneof = "Match", tags = "3, 4")]
    pub match_: Option<Match>,
    /// Their namespace.
    #[prost(string, optional, tag = "5")]
    pub namespace: Option<String>,
}

/// By what resources are found.
#[derive(Clone, PartialEq, Oneof)]
pub enum Match {
    /// The name of the one.
    #[prost(string, tag = "3")]
    MatchName(String),
    /// Labels that they have.
    #[prost(message, tag = "4")]
    MatchLabels(MatchLabels),
}

/// Labels that resources have.
#[derive(Clone, PartialEq, Message)]
pub struct MatchLabels {
    /// The labels.
    #[prost(btree_map = "string, string", tag = "1")]
    pub labels: BTreeMap<String, String>,
}

/// A composite resource and what is composed.
#[derive(Clone, PartialEq, Message)]
pub struct State {
    /// The composite resource.
    #[prost(message, optional, tag = "1")]
    pub composite: Option<Resource>,
    /// The composed resources, by the names that functions give them.
    #[prost(btree_map = "string, message", tag = "2")]
    pub resources: BTreeMap<String, Resource>,
}

/// One resource.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// The object.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Struct>,
    /// What its connection secret holds, or should hold.
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub connection_details: BTreeMap<String, Vec<u8>>,
    /// Whether it is ready.
    #[prost(enumeration = "Ready", tag = "3")]
    pub ready: i32,
}

/// Whether a resource is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Ready {
    /// Nobody said.
    Unspecified = 0,
    /// It is.
    True = 1,
    /// It is not.
    False = 2,
}

/// One thing that a person should know.
#[derive(Clone, PartialEq, Message)]
pub struct RunResult {
    /// How bad it is.
    #[prost(enumeration = "Severity", tag = "1")]
    pub severity: i32,
    /// What it is.
    #[prost(string, tag = "2")]
    pub message: String,
    /// In one word.
    #[prost(string, optional, tag = "3")]
    pub reason: Option<String>,
    /// Who is told.
    #[prost(enumeration = "Target", optional, tag = "4")]
    pub target: Option<i32>,
}

/// How bad a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Severity {
    /// Nobody said.
    Unspecified = 0,
    /// The pipeline stops.
    Fatal = 1,
    /// Somebody should look.
    Warning = 2,
    /// For the record.
    Normal = 3,
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Target {
    /// Nobody said.
    Unspecified = 0,
    /// The composite resource.
    Composite = 1,
    /// The composite resource and its claim.
    CompositeAndClaim = 2,
}

/// A condition for the composite resource.
#[derive(Clone, PartialEq, Message)]
pub struct Condition {
    /// Its type.
    #[prost(string, tag = "1")]
    pub type_: String,
    /// Its status.
    #[prost(enumeration = "Status", tag = "2")]
    pub status: i32,
    /// Why, in one word.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// Why.
    #[prost(string, optional, tag = "4")]
    pub message: Option<String>,
    /// Who gets it.
    #[prost(enumeration = "Target", optional, tag = "5")]
    pub target: Option<i32>,
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Status {
    /// Nobody said.
    Unspecified = 0,
    /// Nobody knows.
    Unknown = 1,
    /// It is so.
    True = 2,
    /// It is not so.
    False = 3,
}
