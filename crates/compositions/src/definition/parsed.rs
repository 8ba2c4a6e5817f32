//! A valid CompositeResourceDefinition.

use cambium_api::crossplane::{
    CompositeDeletePolicy, CompositeResourceDefinition, CompositeResourceDefinitionSpec, DefinitionVersion,
    LabelSelector, Names, Scope, TypeReference, UpdatePolicy,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

use crate::Layout;

/// A valid CompositeResourceDefinition. [`read`](super::read) makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub(super) source: CompositeResourceDefinition,
    pub(super) scope: Scope,
    /// One for each version, in the same order.
    pub(super) schemas: Vec<Schemas>,
    pub(super) warnings: Vec<String>,
    /// The version that is stored, and that compositions are written for.
    pub(super) referenceable: String,
}

/// The schemas of one version, whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schemas {
    pub(super) composite: JSONSchemaProps,
    pub(super) claim: Option<JSONSchemaProps>,
}

impl Definition {
    /// The definition's name, which is that of the composite resource's CRD.
    pub fn name(&self) -> &str {
        self.source.metadata.name.as_deref().unwrap_or_default()
    }

    /// The name of the claim's CRD, if claims are offered.
    pub fn claim_crd_name(&self) -> Option<String> {
        let names = self.claim_names()?;
        Some(format!("{}.{}", names.plural, self.spec().group))
    }

    /// The group of the API.
    pub fn group(&self) -> &str {
        &self.spec().group
    }

    /// The names of the composite resource.
    pub fn names(&self) -> &Names {
        &self.spec().names
    }

    /// The names of the claim, if claims are offered.
    pub fn claim_names(&self) -> Option<&Names> {
        self.spec().claim_names.as_ref()
    }

    /// Where composite resources live.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Where composite resources keep what belongs to composition.
    pub fn layout(&self) -> Layout {
        Layout::of(self.scope)
    }

    /// The version that is stored, and that compositions are written for.
    pub fn referenceable(&self) -> &str {
        &self.referenceable
    }

    /// The composite resource at its referenceable version.
    pub fn composite_type(&self) -> TypeReference {
        self.type_of(&self.names().kind)
    }

    /// The claim at its referenceable version, if claims are offered.
    pub fn claim_type(&self) -> Option<TypeReference> {
        self.claim_names().map(|names| self.type_of(&names.kind))
    }

    /// The Composition of those who name none and select none.
    pub fn default_composition(&self) -> Option<&str> {
        let reference = self.spec().default_composition_ref.as_ref();
        reference.map(|reference| reference.name.as_str())
    }

    /// The Composition of all, whatever they name.
    pub fn enforced_composition(&self) -> Option<&str> {
        let reference = self.spec().enforced_composition_ref.as_ref();
        reference.map(|reference| reference.name.as_str())
    }

    /// The update policy of those who do not say: the enforced one, the default, or Automatic.
    pub fn default_policy(&self) -> UpdatePolicy {
        let default = self.spec().default_composition_update_policy;
        self.enforced_policy()
            .or(default)
            .unwrap_or(UpdatePolicy::Automatic)
    }

    /// The update policy of all, whatever they say. It is not in the CRDs: admission refuses what contradicts it, and it is shown in the
    /// status of composite resources.
    pub fn enforced_policy(&self) -> Option<UpdatePolicy> {
        self.spec().enforce_composition_update_policy
    }

    /// The revision selector of those who have neither a selector nor a revision.
    pub fn default_revision_selector(&self) -> Option<&LabelSelector> {
        self.spec().default_composition_revision_selector.as_ref()
    }

    /// How a composite resource is deleted with its claim, where the claim does not say.
    pub fn default_delete_policy(&self) -> CompositeDeletePolicy {
        let given = self.spec().default_composite_delete_policy;
        given.unwrap_or(CompositeDeletePolicy::Background)
    }

    /// The keys that a connection secret may have. All, if none is named.
    pub fn connection_secret_keys(&self) -> Option<&[String]> {
        let keys = self.spec().connection_secret_keys.as_deref();
        keys.filter(|keys| !keys.is_empty())
    }

    /// What is legal and does nothing, each with the path of its field. For whoever wrote it, at admission.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Whether the other one says the same. Its status may be another.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.spec() == other.spec()
    }

    pub(super) fn spec(&self) -> &CompositeResourceDefinitionSpec {
        &self.source.spec
    }

    pub(super) fn versions(&self) -> impl Iterator<Item = (&DefinitionVersion, &Schemas)> {
        self.spec().versions.iter().zip(&self.schemas)
    }

    fn type_of(&self, kind: &str) -> TypeReference {
        TypeReference {
            api_version: format!("{}/{}", self.group(), self.referenceable),
            kind: kind.to_owned(),
        }
    }
}
