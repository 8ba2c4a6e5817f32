//! Strategies: differences between kinds in the REST layer and in admission, named after those of upstream's registries.

use cambium_schema::names;

/// The strategy of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// The validation of object names.
    pub names: NameRule,
    /// The changes that increment `metadata.generation`.
    pub generation: Generation,
    /// Whether a PUT may create an object.
    pub allow_create_on_update: bool,
    /// Whether a PUT may omit `resourceVersion`.
    pub allow_unconditional_update: bool,
    /// Whether a deletion responds with the deleted object instead of a `Status`.
    pub return_deleted_object: bool,
    /// The default propagation policy of deletions.
    pub dependents: Dependents,
    /// What delays the removal of a deleted object.
    pub termination: Termination,
    /// Additional steps of a write.
    pub on_write: OnWrite,
    /// The built-in admission plugins that act on it; most kinds have none.
    pub admission: &'static [AdmissionPlugin],
    /// Which of the cluster's own admission rules see its requests.
    pub dynamic_admission: DynamicAdmission,
}

impl Strategy {
    /// Most built-in kinds.
    pub const BUILTIN: Self = Self {
        names: NameRule::Subdomain,
        generation: Generation::Uncounted,
        allow_create_on_update: false,
        allow_unconditional_update: true,
        return_deleted_object: false,
        dependents: Dependents::Deleted,
        termination: Termination::Finalizers,
        on_write: OnWrite::Store,
        admission: &[],
        dynamic_admission: DynamicAdmission::PoliciesAndWebhooks,
    };

    /// The kinds that CRDs define.
    pub const CUSTOM: Self = Self {
        generation: Generation::AllButStatus,
        allow_unconditional_update: false,
        ..Self::BUILTIN
    };
}

/// The validation of object names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain (RFC 1123).
    Subdomain,
    /// A DNS label (RFC 1123): it becomes part of a host name.
    Label,
    /// A URL path segment.
    PathSegment,
    /// An IP address in its canonical form.
    Address,
}

impl NameRule {
    /// Validates a name; returns the errors.
    pub fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => names::dns1123_subdomain(name),
            Self::Label => names::dns1123_label(name),
            Self::PathSegment => names::path_segment(name),
            Self::Address => address(name),
        }
    }
}

fn address(name: &str) -> Vec<String> {
    match name.parse::<std::net::IpAddr>() {
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
        Ok(address) if address.to_string() != name => {
            vec![format!("must be in canonical form ({:?})", address.to_string())]
        }
        Ok(_) => vec![],
    }
}

/// The changes that increment `metadata.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kind has no generation.
    Uncounted,
    /// Changes of the spec; of kinds without a spec, of everything but metadata.
    Spec,
    /// As `Spec`, and changes of annotations: the Deployment controller copies them to ReplicaSets.
    SpecAndAnnotations,
    /// Changes of everything but metadata, and but the status if that is a subresource.
    AllButStatus,
}

/// The default propagation policy of deletions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependents {
    /// The garbage collector deletes them in the background.
    Deleted,
    /// They are orphaned: the kind predates garbage collection.
    Orphaned,
    /// They are orphaned, and the client is warned.
    OrphanedWithWarning,
}

/// What delays the removal of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// Finalizers.
    Finalizers,
    /// Finalizers and the grace period (pods).
    GracePeriod,
    /// Finalizers and `spec.finalizers`: its content is deleted first (namespaces).
    SpecFinalizers,
    /// Finalizers, one of which waits for the custom resources to be deleted (CRDs).
    Instances,
}

/// Additional steps of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWrite {
    /// Nothing.
    Store,
    /// Cluster IPs and node ports are allocated (services).
    AllocateAddresses,
    /// Privilege escalation is prevented (roles and bindings).
    CheckGrants,
    /// CEL expressions are compiled (webhook configurations, admission policies).
    CompileExpressions,
    /// Schemas are compiled, and `status.storedVersions` is updated (CRDs).
    DefineResources,
    /// The QoS class is set (pods).
    DeriveQualityOfService,
    /// The requesting user is recorded, and the spec is immutable (CertificateSigningRequests).
    RecordRequester,
    /// Local APIServices are marked available at once.
    RegisterGroup,
}

/// An admission plugin that is compiled into kube-apiserver and acts on a few kinds, by its upstream name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionPlugin {
    /// `CertificateApproval` and `CertificateSigning`: approving and signing need a right on the signer.
    CertificateApproval,
    /// `DefaultStorageClass`: a claim without a class gets the default StorageClass.
    DefaultStorageClass,
    /// `DefaultTolerationSeconds`: a pod tolerates an unready or unreachable node for five minutes.
    DefaultTolerationSeconds,
    /// `LimitRanger`: LimitRanges of the namespace default and bound the object.
    LimitRanger(LimitedAs),
    /// `NamespaceLifecycle` where the objects are namespaces: the permanent ones may not be deleted, and a
    /// `namespaceSelector` is matched against their own labels.
    NamespaceLifecycle,
    /// `Priority` for pods: the PriorityClass decides priority and preemption policy.
    Priority,
    /// `Priority` for PriorityClasses: there is one global default at most.
    PriorityDefault,
    /// `RuntimeClass`: the RuntimeClass that a pod names exists.
    RuntimeClass,
    /// `ServiceAccount`: a pod runs as a ServiceAccount of its namespace and mounts a token of it.
    ServiceAccount,
}

/// As which `type` of a LimitRange's limits an object is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedAs {
    /// `Pod` and `Container`.
    Pod,
    /// `PersistentVolumeClaim`.
    PersistentVolumeClaim,
}

/// Which of the cluster's own admission rules see the requests for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DynamicAdmission {
    /// Admission policies and webhooks.
    PoliciesAndWebhooks,
    /// Policies, but not webhooks: a broken webhook configuration must stay repairable.
    Policies,
    /// Neither: a wrong policy must stay repairable, and reviews are answered without being stored.
    Exempt,
}
