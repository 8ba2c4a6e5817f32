//! Function: an endpoint that compositions in mode Pipeline call.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Tree;

/// Where a function answers.
///
/// Crossplane installs `package` and finds the endpoint itself; Cambium installs nothing and calls `endpoint`. A manifest with a package
/// alone is accepted: a built-in function of that name needs no endpoint, for any other it can be given by flag.
#[derive(Debug, Clone, Default, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "pkg.crossplane.io",
    version = "v1",
    kind = "Function",
    doc = "A program that a Composition's pipeline calls over gRPC.",
    status = "FunctionStatus",
    derive = "PartialEq",
    derive = "Default",
    category = "crossplane",
    category = "pkg"
)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.package) || has(self.endpoint)", "message": "either package or endpoint is required"},
]))]
#[serde(rename_all = "camelCase")]
pub struct FunctionSpec {
    /// The OCI image of the function. Cambium does not install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The endpoint, as `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// TLS settings of the connection. Without them, it is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<FunctionTls>,
    /// Fields of Crossplane's package manager; preserved.
    #[serde(flatten)]
    pub other: Tree,
}

/// TLS settings of the connection to a function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionTls {
    /// The Secret with `ca.crt`, which verifies the function's certificate, and `tls.crt` and `tls.key`, the client certificate.
    pub secret_ref: SecretReference,
    /// The expected name in the function's certificate. Defaults to the host of the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}

/// A reference to a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// The Secret's name.
    pub name: String,
    /// The Secret's namespace.
    pub namespace: String,
}

/// The observed state of a Function.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunctionStatus {
    /// `Healthy`: it can be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::preserve::conditions")]
    pub conditions: Vec<Condition>,
    /// The endpoint in use: the one of the spec, that of a flag, or `built-in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Fields that we do not know.
    #[serde(flatten)]
    pub other: Tree,
}
