//! The CustomResourceDefinitions that a definition becomes.
//!
//! They are those that Crossplane makes (1.20 for `LegacyCluster`, 2.x for the others), but for:
//!
//! - Descriptions are ours, and every field of composition has one.
//! - What a definition says about `spec` and `status` is kept whole. Crossplane keeps `properties`, `required`, `oneOf`, the CEL rules and the
//!   description; and of `spec` alone, that unknown fields are preserved.
//! - CEL rules at the root are kept, as 2.x does.
//! - `resourceRefs` of a `LegacyCluster` resource may have a namespace, and conditions an `observedGeneration`, as in 2.x.
//! - `subresources.scale` is kept for composite resources and claims, as in 2.x.
//! - The category `composite` or `claim` is added once, even to names that have it.
//! - The default of `compositionUpdatePolicy` is the enforced policy, where there is one.
//! - `status.compositionUpdatePolicy` (`status.crossplane.compositionUpdatePolicy` outside `LegacyCluster`) shows the policy in force.

use std::collections::BTreeMap;

use cambium_api::crossplane::{API_VERSION, DefinitionVersion, Names, Scope};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use super::parsed::Definition;
use crate::Layout;

/// The CRD of the composite resource.
pub fn composite_crd(definition: &Definition) -> CustomResourceDefinition {
    let scope = match definition.scope() {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster | Scope::LegacyCluster => "Cluster",
    };
    let columns = composite_columns(definition.layout());
    let versions = definition.versions();
    let versions = versions.map(|(given, schemas)| version(given, schemas.composite.clone(), &columns));
    crd(
        definition,
        definition.name().to_owned(),
        names(definition.names(), "composite"),
        scope,
        versions.collect(),
    )
}

/// The CRD of the claim, if claims are offered.
pub fn claim_crd(definition: &Definition) -> Option<CustomResourceDefinition> {
    let versions = definition.versions();
    let versions = versions
        .filter_map(|(given, schemas)| Some(version(given, schemas.claim.clone()?, &claim_columns())));
    Some(crd(
        definition,
        definition.claim_crd_name()?,
        names(definition.claim_names()?, "claim"),
        "Namespaced",
        versions.collect(),
    ))
}

fn crd(
    definition: &Definition,
    name: String,
    names: CustomResourceDefinitionNames,
    scope: &str,
    versions: Vec<CustomResourceDefinitionVersion>,
) -> CustomResourceDefinition {
    let given = definition.spec().metadata.as_ref();
    let mut labels = definition.source.metadata.labels.clone().unwrap_or_default();
    labels.extend(
        given
            .and_then(|metadata| metadata.labels.clone())
            .unwrap_or_default(),
    );
    let annotations = given.and_then(|metadata| metadata.annotations.clone());
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(name),
            labels: some(labels),
            annotations: annotations.and_then(some),
            owner_references: owner(definition).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: definition.group().to_owned(),
            names,
            scope: scope.to_owned(),
            versions,
            conversion: definition.spec().conversion.clone(),
            ..CustomResourceDefinitionSpec::default()
        },
        status: None,
    }
}

/// The definition as the controller of its CRDs. A definition that is in no cluster has no identity yet, and owns nothing.
fn owner(definition: &Definition) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "CompositeResourceDefinition".to_owned(),
        name: definition.name().to_owned(),
        uid: definition.source.metadata.uid.clone()?,
        controller: Some(true),
        block_owner_deletion: Some(true),
    })
}

fn names(given: &Names, category: &str) -> CustomResourceDefinitionNames {
    let mut categories = given.categories.clone().unwrap_or_default();
    if categories.iter().all(|one| one != category) {
        categories.push(category.to_owned());
    }
    CustomResourceDefinitionNames {
        kind: given.kind.clone(),
        plural: given.plural.clone(),
        singular: given.singular.clone(),
        list_kind: given.list_kind.clone(),
        short_names: given.short_names.clone(),
        categories: Some(categories),
    }
}

fn version(
    given: &DefinitionVersion,
    schema: JSONSchemaProps,
    columns: &[CustomResourceColumnDefinition],
) -> CustomResourceDefinitionVersion {
    let mut all = given.additional_printer_columns.clone().unwrap_or_default();
    all.extend_from_slice(columns);
    let scale = given.subresources.as_ref().and_then(|more| more.scale.clone());
    CustomResourceDefinitionVersion {
        name: given.name.clone(),
        served: given.served,
        storage: given.referenceable,
        deprecated: given.deprecated.filter(|deprecated| *deprecated),
        deprecation_warning: given.deprecation_warning.clone(),
        additional_printer_columns: Some(all),
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema),
        }),
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            scale,
        }),
        ..CustomResourceDefinitionVersion::default()
    }
}

const SYNCED: &str = ".status.conditions[?(@.type=='Synced')].status";
const READY: &str = ".status.conditions[?(@.type=='Ready')].status";
const AGE: &str = ".metadata.creationTimestamp";

fn composite_columns(layout: Layout) -> Vec<CustomResourceColumnDefinition> {
    let machinery = match layout {
        Layout::Legacy => ".spec",
        Layout::V2 => ".spec.crossplane",
    };
    let composition = format!("{machinery}.compositionRef.name");
    let revision = format!("{machinery}.compositionRevisionRef.name");
    let mut wide = column("COMPOSITIONREVISION", "string", &revision);
    wide.priority = Some(1);
    vec![
        column("SYNCED", "string", SYNCED),
        column("READY", "string", READY),
        column("COMPOSITION", "string", &composition),
        wide,
        column("AGE", "date", AGE),
    ]
}

fn claim_columns() -> Vec<CustomResourceColumnDefinition> {
    vec![
        column("SYNCED", "string", SYNCED),
        column("READY", "string", READY),
        column(
            "CONNECTION-SECRET",
            "string",
            ".spec.writeConnectionSecretToRef.name",
        ),
        column("AGE", "date", AGE),
    ]
}

fn column(name: &str, type_: &str, json_path: &str) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        ..CustomResourceColumnDefinition::default()
    }
}

fn some(map: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    (!map.is_empty()).then_some(map)
}
