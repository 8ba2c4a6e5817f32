//! The layouts of composite resources: where the standard fields for composition are.

use std::collections::BTreeMap;

use cambium_api::crossplane::{CompositeDeletePolicy, Scope, UpdatePolicy};
use serde_json::{Map, Value, json};

/// Where the machinery of a composite resource is. The accessors borrow from the object; what has another shape than the schema allows is
/// taken for absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// In `spec`, as in Crossplane 1.x. Claims have it there too.
    Legacy,
    /// In `spec.crossplane`, as in Crossplane 2.x.
    V2,
}

/// A field of the machinery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The Composition.
    CompositionRef,
    /// Labels of the Composition, where none is named.
    CompositionSelector,
    /// The revision of the Composition.
    RevisionRef,
    /// Labels of the revision.
    RevisionSelector,
    /// Whether new revisions are taken.
    UpdatePolicy,
    /// What was composed.
    ResourceRefs,
    /// The claim that it is for. In the legacy layout alone.
    ClaimRef,
    /// Where connection details are written. In the legacy layout alone.
    ConnectionSecretRef,
}

impl Field {
    /// The name, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::CompositionRef => "compositionRef",
            Self::CompositionSelector => "compositionSelector",
            Self::RevisionRef => "compositionRevisionRef",
            Self::RevisionSelector => "compositionRevisionSelector",
            Self::UpdatePolicy => "compositionUpdatePolicy",
            Self::ResourceRefs => "resourceRefs",
            Self::ClaimRef => "claimRef",
            Self::ConnectionSecretRef => "writeConnectionSecretToRef",
        }
    }
}

/// A resource that was composed. It has a name once that is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceReference<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The name, if there is one yet.
    pub name: Option<&'a str>,
    /// The namespace; none for what is in no namespace, or in that of the composite resource.
    pub namespace: Option<&'a str>,
}

/// The claim of a composite resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimReference<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The claim's namespace.
    pub namespace: &'a str,
    /// The claim's name.
    pub name: &'a str,
}

/// The Secret that connection details are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretReference<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its namespace. A claim's secret is in the claim's namespace, and names none.
    pub namespace: Option<&'a str>,
}

impl Layout {
    /// The layout that a definition's scope gives its composite resources.
    pub fn of(scope: Scope) -> Self {
        match scope {
            Scope::LegacyCluster => Self::Legacy,
            Scope::Namespaced | Scope::Cluster => Self::V2,
        }
    }

    /// The name of the Composition.
    pub fn composition_ref(self, composite: &Value) -> Option<&str> {
        text(self.get(composite, Field::CompositionRef)?, "name")
    }

    /// The labels by which a Composition is chosen.
    pub fn composition_selector(self, composite: &Value) -> Option<BTreeMap<&str, &str>> {
        labels(self.get(composite, Field::CompositionSelector)?)
    }

    /// The name of the CompositionRevision.
    pub fn revision_ref(self, composite: &Value) -> Option<&str> {
        text(self.get(composite, Field::RevisionRef)?, "name")
    }

    /// The labels by which a CompositionRevision is chosen.
    pub fn revision_selector(self, composite: &Value) -> Option<BTreeMap<&str, &str>> {
        labels(self.get(composite, Field::RevisionSelector)?)
    }

    /// What it says about new revisions, if it says anything.
    pub fn update_policy(self, composite: &Value) -> Option<UpdatePolicy> {
        UpdatePolicy::of(self.get(composite, Field::UpdatePolicy)?.as_str()?)
    }

    /// What was composed, in the order in which it is written. Entries without a kind are left out.
    pub fn resource_refs(self, composite: &Value) -> Vec<ResourceReference<'_>> {
        let refs = self.get(composite, Field::ResourceRefs).and_then(Value::as_array);
        refs.into_iter().flatten().filter_map(resource).collect()
    }

    /// The claim that it is for.
    pub fn claim_ref(self, composite: &Value) -> Option<ClaimReference<'_>> {
        let claim = self.get(composite, Field::ClaimRef)?;
        Some(ClaimReference {
            api_version: text(claim, "apiVersion")?,
            kind: text(claim, "kind")?,
            namespace: text(claim, "namespace")?,
            name: text(claim, "name")?,
        })
    }

    /// Where connection details are written.
    pub fn connection_secret_ref(self, composite: &Value) -> Option<SecretReference<'_>> {
        let secret = self.get(composite, Field::ConnectionSecretRef)?;
        Some(SecretReference {
            name: text(secret, "name")?,
            namespace: text(secret, "namespace"),
        })
    }

    /// The field as it is written. `None` for null.
    pub fn get(self, composite: &Value, field: Field) -> Option<&Value> {
        if !self.has(field) {
            return None;
        }
        let spec = composite.get("spec")?;
        let machinery = match self {
            Self::Legacy => spec,
            Self::V2 => spec.get("crossplane")?,
        };
        machinery.get(field.name()).filter(|value| !value.is_null())
    }

    /// Whether composite resources of this layout have the field.
    pub fn has(self, field: Field) -> bool {
        self == Self::Legacy || !matches!(field, Field::ClaimRef | Field::ConnectionSecretRef)
    }

    /// A merge patch, or an object to apply, with these fields in their places. Null takes a field away in a merge patch. Fields that the
    /// layout does not have are left out.
    pub fn patch(self, fields: impl IntoIterator<Item = (Field, Value)>) -> Value {
        let fields = fields.into_iter().filter(|(field, _)| self.has(*field));
        let machinery: Map<String, Value> = fields
            .map(|(field, value)| (field.name().to_owned(), value))
            .collect();
        match self {
            Self::Legacy => json!({"spec": machinery}),
            Self::V2 => json!({"spec": {"crossplane": machinery}}),
        }
    }

    /// The policy that is in force, as the status shows it.
    pub fn policy_in_force(self, composite: &Value) -> Option<UpdatePolicy> {
        let status = composite.get("status")?;
        let machinery = match self {
            Self::Legacy => status,
            Self::V2 => status.get("crossplane")?,
        };
        UpdatePolicy::of(machinery.get(Field::UpdatePolicy.name())?.as_str()?)
    }

    /// A merge patch, or an object to apply, that shows the policy in force in the status.
    pub fn policy_patch(self, policy: UpdatePolicy) -> Value {
        let machinery = json!({Field::UpdatePolicy.name(): policy.as_str()});
        match self {
            Self::Legacy => json!({"status": machinery}),
            Self::V2 => json!({"status": {"crossplane": machinery}}),
        }
    }
}

/// The composite resource of a claim, if it has one yet.
pub fn composite_of(claim: &Value) -> Option<ResourceReference<'_>> {
    resource(claim.pointer("/spec/resourceRef")?)
}

/// How the composite resource of a claim is deleted with it, if the claim says.
pub fn delete_policy(claim: &Value) -> Option<CompositeDeletePolicy> {
    match claim.pointer("/spec/compositeDeletePolicy")?.as_str()? {
        "Background" => Some(CompositeDeletePolicy::Background),
        "Foreground" => Some(CompositeDeletePolicy::Foreground),
        _ => None,
    }
}

fn resource(reference: &Value) -> Option<ResourceReference<'_>> {
    Some(ResourceReference {
        api_version: text(reference, "apiVersion")?,
        kind: text(reference, "kind")?,
        name: text(reference, "name"),
        namespace: text(reference, "namespace"),
    })
}

/// An empty text says nothing.
fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str().filter(|text| !text.is_empty())
}

fn labels(selector: &Value) -> Option<BTreeMap<&str, &str>> {
    let labels = selector.get("matchLabels")?.as_object()?.iter();
    Some(
        labels
            .filter_map(|(label, value)| Some((label.as_str(), value.as_str()?)))
            .collect(),
    )
}
