//! The rows of [`RESOURCES`].

use crate::columns;
use crate::generated::{
    admissionregistration_v1, apiextensions_v1, apiregistration_v1, apps_v1, authentication_v1,
    authorization_v1, autoscaling_v1, autoscaling_v2, batch_v1, certificates_v1, coordination_v1, core_v1,
    discovery_v1, events_v1, flowcontrol_v1, networking_v1, node_v1, policy_v1, rbac_v1, resource_v1,
    scheduling_v1, storage_v1,
};
use crate::printer;
use crate::resource::{Resource, Subresource, Verbs};
use crate::row::{
    API_EXTENSIONS, admission_policy, core, device, other, rbac, review, row, webhook_configuration,
};
use crate::strategy::{AdmissionPlugin, Dependents, Generation, LimitedAs, NameRule, OnWrite, Termination};

/// Every built-in resource, in the order of discovery.
pub static RESOURCES: &[Resource] = &[
    core("ConfigMap", "configmaps", "configmap", &core_v1::CONFIG_MAP)
        .short_names(&["cm"])
        .prints(columns::CONFIG_MAP, printer::configuration::config_map),
    core("Endpoints", "endpoints", "endpoints", &core_v1::ENDPOINTS)
        .create_on_update()
        .short_names(&["ep"])
        .prints(columns::ENDPOINTS, printer::network::endpoints),
    core("Event", "events", "event", &core_v1::EVENT)
        .create_on_update()
        .short_names(&["ev"])
        .selects(&[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ])
        .prints(columns::EVENT, printer::event::event),
    core("LimitRange", "limitranges", "limitrange", &core_v1::LIMIT_RANGE)
        .create_on_update()
        .short_names(&["limits"]),
    core("Namespace", "namespaces", "namespace", &core_v1::NAMESPACE)
        .names(NameRule::Label)
        .termination(Termination::SpecFinalizers)
        .admission(&[AdmissionPlugin::NamespaceLifecycle])
        .cluster_scoped()
        .verbs(Verbs::StoredWithoutDeleteCollection)
        .short_names(&["ns"])
        .selects(&["status.phase"])
        .subresources(&[
            other("finalize", ("", "v1", "Namespace"), &["update"]),
            Subresource::Status,
        ])
        .prints(columns::NAMESPACE, printer::cluster::namespace),
    core("Node", "nodes", "node", &core_v1::NODE)
        .cluster_scoped()
        .short_names(&["no"])
        .selects(&["spec.unschedulable"])
        .subresources(&[
            other("proxy", ("", "v1", "NodeProxyOptions"), PROXY),
            Subresource::Status,
        ])
        .prints(columns::NODE, printer::node::node),
    core(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        &core_v1::PERSISTENT_VOLUME_CLAIM,
    )
    .return_deleted_object()
    .admission(&[
        AdmissionPlugin::LimitRanger(LimitedAs::PersistentVolumeClaim),
        AdmissionPlugin::DefaultStorageClass,
    ])
    .short_names(&["pvc"])
    .subresources(&[Subresource::Status])
    .prints(
        columns::PERSISTENT_VOLUME_CLAIM,
        printer::storage::persistent_volume_claim,
    ),
    core(
        "PersistentVolume",
        "persistentvolumes",
        "persistentvolume",
        &core_v1::PERSISTENT_VOLUME,
    )
    .return_deleted_object()
    .cluster_scoped()
    .short_names(&["pv"])
    .subresources(&[Subresource::Status])
    .prints(columns::PERSISTENT_VOLUME, printer::storage::persistent_volume),
    core("Pod", "pods", "pod", &core_v1::POD)
        .generation(Generation::Spec)
        .return_deleted_object()
        .termination(Termination::GracePeriod)
        .on_write(OnWrite::DeriveQualityOfService)
        .admission(&[
            AdmissionPlugin::ServiceAccount,
            AdmissionPlugin::LimitRanger(LimitedAs::Pod),
            AdmissionPlugin::Priority,
            AdmissionPlugin::DefaultTolerationSeconds,
            AdmissionPlugin::RuntimeClass,
        ])
        .short_names(&["po"])
        .categories(ALL)
        .selects(&[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ])
        .subresources(&[
            other("attach", ("", "v1", "PodAttachOptions"), CONNECT),
            other("binding", ("", "v1", "Binding"), &["create"]),
            other("ephemeralcontainers", ("", "v1", "Pod"), PART),
            other("eviction", ("policy", "v1", "Eviction"), &["create"]),
            other("exec", ("", "v1", "PodExecOptions"), CONNECT),
            other("log", ("", "v1", "Pod"), &["get"]),
            other("portforward", ("", "v1", "PodPortForwardOptions"), CONNECT),
            other("proxy", ("", "v1", "PodProxyOptions"), PROXY),
            other("resize", ("", "v1", "Pod"), PART),
            Subresource::Status,
        ])
        .prints(columns::POD, printer::pod::pod),
    core(
        "PodTemplate",
        "podtemplates",
        "podtemplate",
        &core_v1::POD_TEMPLATE,
    )
    .return_deleted_object()
    .prints(columns::POD_TEMPLATE, printer::workload::pod_template),
    core(
        "ReplicationController",
        "replicationcontrollers",
        "replicationcontroller",
        &core_v1::REPLICATION_CONTROLLER,
    )
    .generation(Generation::Spec)
    .dependents(Dependents::Orphaned)
    .short_names(&["rc"])
    .categories(ALL)
    .selects(&["status.replicas"])
    .subresources(&[SCALE, Subresource::Status])
    .prints(columns::REPLICA_SET, printer::workload::replication_controller),
    core(
        "ResourceQuota",
        "resourcequotas",
        "resourcequota",
        &core_v1::RESOURCE_QUOTA,
    )
    .return_deleted_object()
    .short_names(&["quota"])
    .subresources(&[Subresource::Status])
    .prints(columns::RESOURCE_QUOTA, printer::cluster::resource_quota),
    core("Secret", "secrets", "secret", &core_v1::SECRET)
        .selects(&["type"])
        .prints(columns::SECRET, printer::configuration::secret),
    core(
        "ServiceAccount",
        "serviceaccounts",
        "serviceaccount",
        &core_v1::SERVICE_ACCOUNT,
    )
    .return_deleted_object()
    .short_names(&["sa"])
    .subresources(&[other(
        "token",
        ("authentication.k8s.io", "v1", "TokenRequest"),
        &["create"],
    )])
    .prints(columns::NAME_AGE, printer::name_age),
    core("Service", "services", "service", &core_v1::SERVICE)
        .names(NameRule::Label)
        .create_on_update()
        .return_deleted_object()
        .on_write(OnWrite::AllocateAddresses)
        .short_names(&["svc"])
        .categories(ALL)
        .selects(&["spec.clusterIP", "spec.type"])
        .subresources(&[
            other("proxy", ("", "v1", "ServiceProxyOptions"), PROXY),
            Subresource::Status,
        ])
        .prints(columns::SERVICE, printer::network::service),
    row(
        "apiregistration.k8s.io",
        "APIService",
        "apiservices",
        "apiservice",
        &apiregistration_v1::API_SERVICE,
    )
    .names(NameRule::PathSegment)
    .conditional_update()
    .on_write(OnWrite::RegisterGroup)
    .cluster_scoped()
    .categories(API_EXTENSIONS)
    .subresources(&[Subresource::Status])
    .prints(columns::API_SERVICE, printer::extension::api_service),
    row(
        "apps",
        "ControllerRevision",
        "controllerrevisions",
        "controllerrevision",
        &apps_v1::CONTROLLER_REVISION,
    )
    .prints(
        columns::CONTROLLER_REVISION,
        printer::workload::controller_revision,
    ),
    row(
        "apps",
        "DaemonSet",
        "daemonsets",
        "daemonset",
        &apps_v1::DAEMON_SET,
    )
    .generation(Generation::Spec)
    .short_names(&["ds"])
    .categories(ALL)
    .subresources(&[Subresource::Status])
    .prints(columns::DAEMON_SET, printer::workload::daemon_set),
    row(
        "apps",
        "Deployment",
        "deployments",
        "deployment",
        &apps_v1::DEPLOYMENT,
    )
    .generation(Generation::SpecAndAnnotations)
    .short_names(&["deploy"])
    .categories(ALL)
    .subresources(&[SCALE, Subresource::Status])
    .prints(columns::DEPLOYMENT, printer::workload::deployment),
    row(
        "apps",
        "ReplicaSet",
        "replicasets",
        "replicaset",
        &apps_v1::REPLICA_SET,
    )
    .generation(Generation::Spec)
    .short_names(&["rs"])
    .categories(ALL)
    .subresources(&[SCALE, Subresource::Status])
    .prints(columns::REPLICA_SET, printer::workload::replica_set),
    row(
        "apps",
        "StatefulSet",
        "statefulsets",
        "statefulset",
        &apps_v1::STATEFUL_SET,
    )
    .names(NameRule::Label)
    .generation(Generation::Spec)
    .short_names(&["sts"])
    .categories(ALL)
    .subresources(&[SCALE, Subresource::Status])
    .prints(columns::STATEFUL_SET, printer::workload::stateful_set),
    row("events.k8s.io", "Event", "events", "event", &events_v1::EVENT)
        .create_on_update()
        .short_names(&["ev"])
        .selects(&[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ])
        .stored_as("", "v1")
        .prints(columns::EVENT, printer::event::events_event),
    review(
        "authentication.k8s.io",
        "SelfSubjectReview",
        "selfsubjectreviews",
        "selfsubjectreview",
        &authentication_v1::SELF_SUBJECT_REVIEW,
    )
    .cluster_scoped(),
    review(
        "authentication.k8s.io",
        "TokenReview",
        "tokenreviews",
        "tokenreview",
        &authentication_v1::TOKEN_REVIEW,
    )
    .cluster_scoped(),
    review(
        "authorization.k8s.io",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        "localsubjectaccessreview",
        &authorization_v1::LOCAL_SUBJECT_ACCESS_REVIEW,
    ),
    review(
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "selfsubjectaccessreview",
        &authorization_v1::SELF_SUBJECT_ACCESS_REVIEW,
    )
    .cluster_scoped(),
    review(
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "selfsubjectrulesreview",
        &authorization_v1::SELF_SUBJECT_RULES_REVIEW,
    )
    .cluster_scoped(),
    review(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        "subjectaccessreview",
        &authorization_v1::SUBJECT_ACCESS_REVIEW,
    )
    .cluster_scoped(),
    row(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        &autoscaling_v2::HORIZONTAL_POD_AUTOSCALER,
    )
    .version("v2")
    .short_names(&["hpa"])
    .categories(ALL)
    .subresources(&[Subresource::Status])
    .prints(
        columns::HORIZONTAL_POD_AUTOSCALER,
        printer::autoscaler::horizontal_pod_autoscaler,
    ),
    row(
        "autoscaling",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        &autoscaling_v1::HORIZONTAL_POD_AUTOSCALER,
    )
    .short_names(&["hpa"])
    .categories(ALL)
    .subresources(&[Subresource::Status])
    .stored_as("autoscaling", "v2")
    .prints(
        columns::HORIZONTAL_POD_AUTOSCALER,
        printer::autoscaler::horizontal_pod_autoscaler_v1,
    ),
    row("batch", "CronJob", "cronjobs", "cronjob", &batch_v1::CRON_JOB)
        .generation(Generation::Spec)
        .short_names(&["cj"])
        .categories(ALL)
        .subresources(&[Subresource::Status])
        .prints(columns::CRON_JOB, printer::batch::cron_job),
    row("batch", "Job", "jobs", "job", &batch_v1::JOB)
        .generation(Generation::Spec)
        .dependents(Dependents::OrphanedWithWarning)
        .categories(ALL)
        .selects(&["status.successful"])
        .subresources(&[Subresource::Status])
        .prints(columns::JOB, printer::batch::job),
    row(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "certificatesigningrequest",
        &certificates_v1::CERTIFICATE_SIGNING_REQUEST,
    )
    .on_write(OnWrite::RecordRequester)
    .admission(&[AdmissionPlugin::CertificateApproval])
    .cluster_scoped()
    .short_names(&["csr"])
    .selects(&["spec.signerName"])
    .subresources(&[
        other(
            "approval",
            ("certificates.k8s.io", "v1", "CertificateSigningRequest"),
            PART,
        ),
        Subresource::Status,
    ])
    .prints(
        columns::CERTIFICATE_SIGNING_REQUEST,
        printer::cluster::certificate_signing_request,
    ),
    row(
        "networking.k8s.io",
        "IngressClass",
        "ingressclasses",
        "ingressclass",
        &networking_v1::INGRESS_CLASS,
    )
    .generation(Generation::Spec)
    .cluster_scoped()
    .prints(columns::INGRESS_CLASS, printer::network::ingress_class),
    row(
        "networking.k8s.io",
        "Ingress",
        "ingresses",
        "ingress",
        &networking_v1::INGRESS,
    )
    .generation(Generation::Spec)
    .short_names(&["ing"])
    .subresources(&[Subresource::Status])
    .prints(columns::INGRESS, printer::network::ingress),
    row(
        "networking.k8s.io",
        "IPAddress",
        "ipaddresses",
        "ipaddress",
        &networking_v1::IP_ADDRESS,
    )
    .names(NameRule::Address)
    .cluster_scoped()
    .short_names(&["ip"])
    .selects(&[
        "spec.parentRef.group",
        "spec.parentRef.resource",
        "spec.parentRef.namespace",
        "spec.parentRef.name",
    ])
    .prints(columns::IP_ADDRESS, printer::network::ip_address),
    row(
        "networking.k8s.io",
        "NetworkPolicy",
        "networkpolicies",
        "networkpolicy",
        &networking_v1::NETWORK_POLICY,
    )
    .generation(Generation::Spec)
    .short_names(&["netpol"])
    .prints(columns::NETWORK_POLICY, printer::network::network_policy),
    row(
        "networking.k8s.io",
        "ServiceCIDR",
        "servicecidrs",
        "servicecidr",
        &networking_v1::SERVICE_CIDR,
    )
    .cluster_scoped()
    .subresources(&[Subresource::Status])
    .prints(columns::SERVICE_CIDR, printer::network::service_cidr),
    row(
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        &policy_v1::POD_DISRUPTION_BUDGET,
    )
    .generation(Generation::Spec)
    .short_names(&["pdb"])
    .subresources(&[Subresource::Status])
    .prints(
        columns::POD_DISRUPTION_BUDGET,
        printer::workload::pod_disruption_budget,
    ),
    rbac(
        "ClusterRoleBinding",
        "clusterrolebindings",
        "clusterrolebinding",
        &rbac_v1::CLUSTER_ROLE_BINDING,
    )
    .cluster_scoped()
    .prints(columns::ROLE_BINDING, printer::access::role_binding),
    rbac(
        "ClusterRole",
        "clusterroles",
        "clusterrole",
        &rbac_v1::CLUSTER_ROLE,
    )
    .cluster_scoped(),
    rbac(
        "RoleBinding",
        "rolebindings",
        "rolebinding",
        &rbac_v1::ROLE_BINDING,
    )
    .prints(columns::ROLE_BINDING, printer::access::role_binding),
    rbac("Role", "roles", "role", &rbac_v1::ROLE),
    row(
        "storage.k8s.io",
        "CSIDriver",
        "csidrivers",
        "csidriver",
        &storage_v1::CSI_DRIVER,
    )
    .generation(Generation::Spec)
    .cluster_scoped()
    .prints(columns::CSI_DRIVER, printer::storage::csi_driver),
    row(
        "storage.k8s.io",
        "CSINode",
        "csinodes",
        "csinode",
        &storage_v1::CSI_NODE,
    )
    .cluster_scoped()
    .prints(columns::CSI_NODE, printer::storage::csi_node),
    row(
        "storage.k8s.io",
        "CSIStorageCapacity",
        "csistoragecapacities",
        "csistoragecapacity",
        &storage_v1::CSI_STORAGE_CAPACITY,
    )
    .prints(
        columns::CSI_STORAGE_CAPACITY,
        printer::storage::csi_storage_capacity,
    ),
    row(
        "storage.k8s.io",
        "StorageClass",
        "storageclasses",
        "storageclass",
        &storage_v1::STORAGE_CLASS,
    )
    .cluster_scoped()
    .short_names(&["sc"])
    .prints(columns::STORAGE_CLASS, printer::storage::storage_class),
    row(
        "storage.k8s.io",
        "VolumeAttachment",
        "volumeattachments",
        "volumeattachment",
        &storage_v1::VOLUME_ATTACHMENT,
    )
    .cluster_scoped()
    .subresources(&[Subresource::Status])
    .prints(columns::VOLUME_ATTACHMENT, printer::storage::volume_attachment),
    row(
        "storage.k8s.io",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        "volumeattributesclass",
        &storage_v1::VOLUME_ATTRIBUTES_CLASS,
    )
    .cluster_scoped()
    .short_names(&["vac"])
    .prints(
        columns::VOLUME_ATTRIBUTES_CLASS,
        printer::storage::volume_attributes_class,
    ),
    admission_policy(
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicy",
        &admissionregistration_v1::MUTATING_ADMISSION_POLICY,
    )
    .prints(
        columns::MUTATING_ADMISSION_POLICY,
        printer::extension::mutating_admission_policy,
    ),
    admission_policy(
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicybinding",
        &admissionregistration_v1::MUTATING_ADMISSION_POLICY_BINDING,
    )
    .prints(
        columns::ADMISSION_POLICY_BINDING,
        printer::extension::admission_policy_binding,
    ),
    webhook_configuration(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "mutatingwebhookconfiguration",
        &admissionregistration_v1::MUTATING_WEBHOOK_CONFIGURATION,
    )
    .prints(
        columns::WEBHOOK_CONFIGURATION,
        printer::extension::webhook_configuration,
    ),
    admission_policy(
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        "validatingadmissionpolicy",
        &admissionregistration_v1::VALIDATING_ADMISSION_POLICY,
    )
    .subresources(&[Subresource::Status])
    .prints(
        columns::VALIDATING_ADMISSION_POLICY,
        printer::extension::validating_admission_policy,
    ),
    admission_policy(
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicybinding",
        &admissionregistration_v1::VALIDATING_ADMISSION_POLICY_BINDING,
    )
    .prints(
        columns::ADMISSION_POLICY_BINDING,
        printer::extension::admission_policy_binding,
    ),
    webhook_configuration(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "validatingwebhookconfiguration",
        &admissionregistration_v1::VALIDATING_WEBHOOK_CONFIGURATION,
    )
    .prints(
        columns::WEBHOOK_CONFIGURATION,
        printer::extension::webhook_configuration,
    ),
    row(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "customresourcedefinition",
        &apiextensions_v1::CUSTOM_RESOURCE_DEFINITION,
    )
    .generation(Generation::Spec)
    .conditional_update()
    .termination(Termination::Instances)
    .on_write(OnWrite::DefineResources)
    .cluster_scoped()
    .short_names(&["crd", "crds"])
    .categories(API_EXTENSIONS)
    .subresources(&[Subresource::Status]),
    row(
        "scheduling.k8s.io",
        "PriorityClass",
        "priorityclasses",
        "priorityclass",
        &scheduling_v1::PRIORITY_CLASS,
    )
    .generation(Generation::Spec)
    .admission(&[AdmissionPlugin::PriorityDefault])
    .cluster_scoped()
    .short_names(&["pc"])
    .prints(columns::PRIORITY_CLASS, printer::cluster::priority_class),
    row(
        "coordination.k8s.io",
        "Lease",
        "leases",
        "lease",
        &coordination_v1::LEASE,
    )
    .create_on_update()
    .conditional_update()
    .prints(columns::LEASE, printer::cluster::lease),
    row(
        "node.k8s.io",
        "RuntimeClass",
        "runtimeclasses",
        "runtimeclass",
        &node_v1::RUNTIME_CLASS,
    )
    .create_on_update()
    .cluster_scoped()
    .prints(columns::RUNTIME_CLASS, printer::cluster::runtime_class),
    row(
        "discovery.k8s.io",
        "EndpointSlice",
        "endpointslices",
        "endpointslice",
        &discovery_v1::ENDPOINT_SLICE,
    )
    .generation(Generation::Spec)
    .create_on_update()
    .prints(columns::ENDPOINT_SLICE, printer::network::endpoint_slice),
    row(
        FLOW_CONTROL,
        "FlowSchema",
        "flowschemas",
        "flowschema",
        &flowcontrol_v1::FLOW_SCHEMA,
    )
    .generation(Generation::Spec)
    .cluster_scoped()
    .subresources(&[Subresource::Status])
    .prints(columns::FLOW_SCHEMA, printer::flow::flow_schema),
    row(
        FLOW_CONTROL,
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        "prioritylevelconfiguration",
        &flowcontrol_v1::PRIORITY_LEVEL_CONFIGURATION,
    )
    .generation(Generation::Spec)
    .cluster_scoped()
    .subresources(&[Subresource::Status])
    .prints(
        columns::PRIORITY_LEVEL_CONFIGURATION,
        printer::flow::priority_level_configuration,
    ),
    device(
        "DeviceClass",
        "deviceclasses",
        "deviceclass",
        &resource_v1::DEVICE_CLASS,
    )
    .cluster_scoped()
    .prints(columns::NAME_AGE, printer::name_age),
    device(
        "ResourceClaim",
        "resourceclaims",
        "resourceclaim",
        &resource_v1::RESOURCE_CLAIM,
    )
    .subresources(&[Subresource::Status])
    .prints(columns::RESOURCE_CLAIM, printer::device::resource_claim),
    device(
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        "resourceclaimtemplate",
        &resource_v1::RESOURCE_CLAIM_TEMPLATE,
    )
    .prints(columns::NAME_AGE, printer::name_age),
    device(
        "ResourceSlice",
        "resourceslices",
        "resourceslice",
        &resource_v1::RESOURCE_SLICE,
    )
    .generation(Generation::Spec)
    .cluster_scoped()
    .selects(&["spec.nodeName", "spec.driver"])
    .prints(columns::RESOURCE_SLICE, printer::device::resource_slice),
];

const ALL: &[&str] = &["all"];
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";
const PART: &[&str] = &["get", "patch", "update"];
const CONNECT: &[&str] = &["create", "get"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
const SCALE: Subresource = Subresource::Scale {
    spec_replicas: ".spec.replicas",
    status_replicas: ".status.replicas",
    selector: ".spec.selector",
};
