//! How the REST layer and admission treat the objects of a kind, where kinds differ. Named after the strategies of upstream's registries.

use cambium_schema::names;

/// What a kind asks of the REST layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// What the names of its objects must look like.
    pub names: NameRule,
    /// What its `metadata.generation` counts.
    pub generation: Generation,
    /// Whether a PUT may create an object.
    pub allow_create_on_update: bool,
    /// Whether a PUT may leave open which resource version it replaces.
    pub allow_unconditional_update: bool,
    /// Whether a deletion answers with the object that was deleted, and not with a `Status`.
    pub return_deleted_object: bool,
    /// What becomes of dependents when whoever deletes an object does not say.
    pub dependents: Dependents,
    /// What keeps an object after it was deleted.
    pub termination: Termination,
    /// What a write does besides storing the object.
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

/// What the names of objects must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// A DNS subdomain (RFC 1123).
    Subdomain,
    /// A DNS label (RFC 1123): it becomes part of a host name.
    Label,
    /// Whatever can stand in a URL.
    PathSegment,
    /// An IP address in its canonical form.
    Address,
}

impl NameRule {
    /// What is wrong with a name.
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

/// What `metadata.generation` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// The kind has no generation.
    Uncounted,
    /// Changes of the spec; of kinds without a spec, of everything but metadata.
    Spec,
    /// As `Spec`, and changes of annotations: a Deployment passes them on to its ReplicaSets.
    SpecAndAnnotations,
    /// Changes of everything but metadata, and but the status where that is a subresource.
    AllButStatus,
}

/// What becomes of dependents when whoever deletes an object does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependents {
    /// The garbage collector deletes them in the background.
    Deleted,
    /// They are orphaned: the kind is older than garbage collection.
    Orphaned,
    /// They are orphaned, and the client is warned.
    OrphanedWithWarning,
}

/// What keeps an object after it was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// Finalizers.
    Finalizers,
    /// Finalizers, and the grace period that somebody needs to stop it (pods).
    GracePeriod,
    /// Finalizers, and those in its spec: its content has to be deleted (namespaces).
    SpecFinalizers,
    /// Finalizers, one of which waits for the objects of the kind that it defines (CRDs).
    Instances,
}

/// What a write does besides storing the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWrite {
    /// Nothing.
    Store,
    /// The object gets addresses and ports of the cluster (services).
    AllocateAddresses,
    /// A role or binding may not give more than its writer has.
    CheckGrants,
    /// Its expressions are compiled (webhook configurations, admission policies).
    CompileExpressions,
    /// Its schemas are compiled, and versions that objects are stored at are noted (CRDs).
    DefineResources,
    /// Its quality of service follows from its resources (pods).
    DeriveQualityOfService,
    /// It says who wrote it, and its spec never changes (CertificateSigningRequests).
    RecordRequester,
    /// Groups that are served here are available at once (APIServices).
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
