//! The model of types to generate.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::gotypes::Package;
use super::source::Source;

/// Root kinds by Go package; `+` includes the list kind.
const ROOTS: &[(&str, &str)] = &[
    (
        "api.core.v1",
        "Namespace+ ConfigMap+ Secret+ Service+ ServiceAccount+ Endpoints+ Event+ Pod+ PodTemplate+ Node+",
    ),
    (
        "api.core.v1",
        "ReplicationController+ PersistentVolume+ PersistentVolumeClaim+ LimitRange+ ResourceQuota+ Binding",
    ),
    (
        "api.apps.v1",
        "Deployment+ ReplicaSet+ StatefulSet+ DaemonSet+ ControllerRevision+",
    ),
    ("api.batch.v1", "Job+ CronJob+"),
    (
        "api.networking.v1",
        "Ingress+ IngressClass+ NetworkPolicy+ IPAddress+ ServiceCIDR+",
    ),
    ("api.discovery.v1", "EndpointSlice+"),
    ("api.events.v1", "Event+"),
    ("api.coordination.v1", "Lease+"),
    ("api.policy.v1", "PodDisruptionBudget+ Eviction"),
    ("api.autoscaling.v1", "HorizontalPodAutoscaler+ Scale"),
    ("api.autoscaling.v2", "HorizontalPodAutoscaler+"),
    (
        "api.rbac.v1",
        "Role+ RoleBinding+ ClusterRole+ ClusterRoleBinding+",
    ),
    (
        "api.storage.v1",
        "StorageClass+ CSIDriver+ CSINode+ CSIStorageCapacity+ VolumeAttachment+ VolumeAttributesClass+",
    ),
    ("api.scheduling.v1", "PriorityClass+"),
    ("api.node.v1", "RuntimeClass+"),
    (
        "api.admissionregistration.v1",
        "MutatingWebhookConfiguration+ ValidatingWebhookConfiguration+",
    ),
    (
        "api.admissionregistration.v1",
        "ValidatingAdmissionPolicy+ ValidatingAdmissionPolicyBinding+",
    ),
    (
        "api.admissionregistration.v1",
        "MutatingAdmissionPolicy+ MutatingAdmissionPolicyBinding+",
    ),
    (
        "api.resource.v1",
        "DeviceClass+ ResourceClaim+ ResourceClaimTemplate+ ResourceSlice+",
    ),
    ("api.flowcontrol.v1", "FlowSchema+ PriorityLevelConfiguration+"),
    ("api.certificates.v1", "CertificateSigningRequest+"),
    (
        "api.authentication.v1",
        "TokenReview TokenRequest SelfSubjectReview",
    ),
    (
        "api.authorization.v1",
        "SubjectAccessReview SelfSubjectAccessReview LocalSubjectAccessReview SelfSubjectRulesReview",
    ),
    (
        "apiextensions-apiserver.pkg.apis.apiextensions.v1",
        "CustomResourceDefinition+",
    ),
    ("kube-aggregator.pkg.apis.apiregistration.v1", "APIService+"),
    (
        "apimachinery.pkg.apis.meta.v1",
        "DeleteOptions Status ListMeta ObjectMeta",
    ),
];

/// One published type.
pub(super) struct Type {
    /// `io.k8s.api.core.v1.Container`.
    pub(super) name: String,
    pub(super) shape: Shape,
    /// Whether `x-kubernetes-map-type: atomic` is on the type itself.
    pub(super) atomic: bool,
    pub(super) fields: Vec<Field>,
}

/// One field of a type.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) required: bool,
    pub(super) numbers: Vec<u32>,
    /// Whether it is a scalar whose zero is written.
    pub(super) keeps_zero: bool,
    pub(super) patch: Option<String>,
    pub(super) merge_key: Option<String>,
}

/// The shape of a value.
#[derive(Clone, PartialEq)]
pub(super) enum Shape {
    /// A published type by name.
    Reference(String),
    /// `type` and `format`.
    Scalar(String, String),
    List(Box<Shape>, ListType),
    Map {
        values: Box<Shape>,
        atomic: bool,
    },
    /// An object with fields (or without any).
    Object,
    /// A type whose JSON is not an object with fields; the constructor has its name.
    Special(&'static str),
}

#[derive(Clone, PartialEq)]
pub(super) enum ListType {
    Atomic,
    Set,
    Map(Vec<String>),
}

/// Reads every type that can be reached from the roots, sorted by name.
pub(super) fn read(source: &Source) -> Result<Vec<Type>> {
    let document = source.openapi_v2()?;
    let definitions = document["definitions"]
        .as_object()
        .context("an OpenAPI document without definitions")?;
    let mut packages = BTreeMap::new();
    let mut types = BTreeMap::new();
    let mut open = roots();
    while let Some(name) = open.pop() {
        if types.contains_key(&name) {
            continue;
        }
        let definition = definitions
            .get(&name)
            .with_context(|| format!("{name} is not published"))?;
        let (module, path, go_name) = go_place(&name)?;
        let package = match packages.entry(format!("{module}/{path}")) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(Package::parse(&source.package(&module, &path)?)?)
            }
        };
        let read = read_type(&name, definition, package, &go_name).with_context(|| format!("read {name}"))?;
        open.extend(read.fields.iter().filter_map(|field| referenced(&field.shape)));
        types.insert(name, read);
    }
    Ok(types.into_values().collect())
}

/// Non-zero defaults of scalars: (type, field, JSON text), sorted.
pub(super) fn defaults(source: &Source, types: &[Type]) -> Result<BTreeSet<(String, String, String)>> {
    let mut defaults = BTreeSet::new();
    for document in source.openapi_v3()? {
        let schemas = &document["components"]["schemas"];
        for kind in types {
            for field in &kind.fields {
                let default = &schemas[&kind.name]["properties"][&field.name]["default"];
                let zero = match default {
                    Value::String(text) => text.is_empty(),
                    Value::Number(number) => number.as_f64() == Some(0.0),
                    Value::Bool(value) => !value,
                    Value::Null | Value::Object(_) | Value::Array(_) => true,
                };
                if !zero {
                    defaults.insert((kind.name.clone(), field.name.clone(), default.to_string()));
                }
            }
        }
    }
    Ok(defaults)
}

fn roots() -> Vec<String> {
    let mut names = Vec::new();
    for (package, kinds) in ROOTS {
        for kind in kinds.split_whitespace() {
            let single = kind.trim_end_matches('+');
            names.push(format!("io.k8s.{package}.{single}"));
            if single != kind {
                names.push(format!("io.k8s.{package}.{single}List"));
            }
        }
    }
    names
}

/// `io.k8s.api.core.v1.Pod` -> module `api`, path `core/v1`, struct `Pod`.
fn go_place(name: &str) -> Result<(String, String, String)> {
    let rest = name.strip_prefix("io.k8s.").context("not a Kubernetes type")?;
    let (module, rest) = rest.split_once('.').context("a type without a module")?;
    let (path, go_name) = rest.rsplit_once('.').context("a type without a package")?;
    Ok((module.to_owned(), path.replace('.', "/"), go_name.to_owned()))
}

fn read_type(name: &str, definition: &Value, package: &Package, go_name: &str) -> Result<Type> {
    let special = match go_name {
        "Time" => Some("time"),
        "MicroTime" => Some("time"),
        "Quantity" => Some("quantity"),
        "IntOrString" => Some("int_or_string"),
        "RawExtension" => Some("raw_object"),
        "FieldsV1" => Some("raw_object"),
        "JSON" | "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => {
            Some("any")
        }
        _ => None,
    };
    let atomic = definition["x-kubernetes-map-type"] == "atomic";
    if let Some(special) = special {
        return Ok(Type {
            name: name.to_owned(),
            shape: Shape::Special(special),
            atomic,
            fields: Vec::new(),
        });
    }
    ensure!(definition["type"] == "object", "a type that is not an object");
    let required: Vec<&str> = definition["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut wires = package.fields(go_name);
    let mut fields = Vec::new();
    let empty = serde_json::Map::new();
    for (field, property) in definition["properties"].as_object().unwrap_or(&empty) {
        let shape = shape(property).with_context(|| format!("field {field}"))?;
        let wire = wires.remove(field);
        let type_meta = field == "apiVersion" || field == "kind";
        ensure!(
            wire.is_some() || type_meta,
            "field {field} has no protobuf number"
        );
        let keeps_zero =
            wire.as_ref().is_some_and(|wire| wire.keeps_zero) && matches!(shape, Shape::Scalar(..));
        fields.push(Field {
            name: field.clone(),
            shape,
            required: required.contains(&field.as_str()),
            numbers: wire.map(|wire| wire.numbers).unwrap_or_default(),
            keeps_zero,
            patch: property["x-kubernetes-patch-strategy"]
                .as_str()
                .map(str::to_owned),
            merge_key: property["x-kubernetes-patch-merge-key"]
                .as_str()
                .map(str::to_owned),
        });
    }
    ensure!(
        wires.is_empty(),
        "Go fields that are not published: {:?}",
        wires.keys()
    );
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Type {
        name: name.to_owned(),
        shape: Shape::Object,
        atomic,
        fields,
    })
}

fn shape(schema: &Value) -> Result<Shape> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference
            .strip_prefix("#/definitions/")
            .context("a reference to somewhere else")?;
        return Ok(Shape::Reference(name.to_owned()));
    }
    let format = schema["format"].as_str().unwrap_or_default();
    Ok(match schema["type"].as_str() {
        Some("array") => Shape::List(Box::new(shape(&schema["items"])?), list_type(schema)?),
        Some("object") => match &schema["additionalProperties"] {
            Value::Object(_) => Shape::Map {
                values: Box::new(shape(&schema["additionalProperties"])?),
                atomic: schema["x-kubernetes-map-type"] == "atomic",
            },
            _ => bail!("an object without a name"),
        },
        Some(scalar @ ("string" | "integer" | "number" | "boolean")) => {
            Shape::Scalar(scalar.to_owned(), format.to_owned())
        }
        other => bail!("unknown type {other:?}"),
    })
}

/// The list type; where there is none, what the older patch extensions imply.
fn list_type(schema: &Value) -> Result<ListType> {
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let merges = schema["x-kubernetes-patch-strategy"]
        .as_str()
        .is_some_and(|strategy| strategy.starts_with("merge"));
    Ok(match schema["x-kubernetes-list-type"].as_str() {
        Some("atomic") => ListType::Atomic,
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(strings(&schema["x-kubernetes-list-map-keys"])),
        Some(other) => bail!("unknown list type {other}"),
        None if merges => match schema["x-kubernetes-patch-merge-key"].as_str() {
            Some(key) => ListType::Map(vec![key.to_owned()]),
            None => ListType::Set,
        },
        None => ListType::Atomic,
    })
}

fn referenced(shape: &Shape) -> Option<String> {
    match shape {
        Shape::Reference(name) => Some(name.clone()),
        Shape::List(inner, _) | Shape::Map { values: inner, .. } => referenced(inner),
        Shape::Scalar(..) | Shape::Object | Shape::Special(_) => None,
    }
}
