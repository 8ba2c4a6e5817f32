//! The printer columns of built-in kinds.

use crate::resource::Column;

pub(crate) const NAME_CREATED_AT: &[Column] = &[
    NAME,
    Column {
        kind: "date",
        ..text("Created At", "When the object was created")
    },
];
pub(crate) const NAME_AGE: &[Column] = &[NAME, AGE];
pub(crate) const POD: &[Column] = &[
    NAME,
    text("Ready", "Ready containers out of all"),
    text("Status", "The phase, or why the pod is not running"),
    text("Restarts", "How often containers restarted, and when last"),
    AGE,
    wide(text("IP", "The pod's address")),
    wide(text("Node", "Where the pod runs")),
    wide(text(
        "Nominated Node",
        "Where the pod will run once preemption is done",
    )),
    wide(text(
        "Readiness Gates",
        "Readiness gates that are true out of all",
    )),
];
pub(crate) const POD_TEMPLATE: &[Column] = &[
    NAME,
    CONTAINERS,
    IMAGES,
    text("Pod Labels", "Labels of pods made from the template"),
];
pub(crate) const POD_DISRUPTION_BUDGET: &[Column] = &[
    NAME,
    text("Min Available", "How many pods must stay"),
    text("Max Unavailable", "How many pods may be missing"),
    integer("Allowed Disruptions", "How many pods may be evicted now"),
    AGE,
];
pub(crate) const REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired", "How many pods are wanted"),
    integer("Current", "How many pods there are"),
    integer("Ready", "How many pods are ready"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
    wide(SELECTOR),
];
pub(crate) const DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired", "How many nodes should run the pod"),
    integer("Current", "How many nodes run the pod"),
    integer("Ready", "How many pods are ready"),
    integer("Up-to-date", "How many pods follow the newest template"),
    integer("Available", "How many pods have been ready long enough"),
    text("Node Selector", "Labels that nodes must have"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
    wide(SELECTOR),
];
pub(crate) const DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready", "Ready pods out of those wanted"),
    text("Up-to-date", "How many pods follow the newest template"),
    text("Available", "How many pods have been ready long enough"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
    wide(SELECTOR),
];
pub(crate) const STATEFUL_SET: &[Column] = &[
    NAME,
    text("Ready", "Ready pods out of those wanted"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
];
pub(crate) const CONTROLLER_REVISION: &[Column] = &[
    NAME,
    text("Controller", "What the revision belongs to"),
    text("Revision", "The revision's number"),
    AGE,
];
pub(crate) const JOB: &[Column] = &[
    NAME,
    text("Status", "How the job is doing"),
    text("Completions", "Succeeded pods out of those wanted"),
    text("Duration", "How long the job took, or has been running"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
    wide(SELECTOR),
];
pub(crate) const CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule", "When jobs start, as a cron expression"),
    text("Timezone", "The time zone of the schedule"),
    Column {
        kind: "boolean",
        ..text("Suspend", "Whether new jobs are held back")
    },
    integer("Active", "How many jobs are running"),
    text("Last Schedule", "How long ago a job was started"),
    AGE,
    wide(CONTAINERS),
    wide(IMAGES),
    wide(SELECTOR),
];
pub(crate) const SERVICE: &[Column] = &[
    NAME,
    text("Type", "How the service is reached"),
    text("Cluster-IP", "The address inside the cluster"),
    text("External-IP", "Addresses outside the cluster"),
    text("Port(s)", "Ports, node ports and protocols"),
    AGE,
    wide(SELECTOR),
];
pub(crate) const INGRESS: &[Column] = &[
    NAME,
    text("Class", "Which controller serves it"),
    text("Hosts", "Host names of its rules"),
    text("Address", "Where it is reached"),
    text("Ports", "Ports it listens on"),
    AGE,
];
pub(crate) const INGRESS_CLASS: &[Column] = &[
    NAME,
    text("Controller", "The controller's name"),
    text("Parameters", "The object with further settings"),
    AGE,
];
pub(crate) const NETWORK_POLICY: &[Column] =
    &[NAME, text("Pod-Selector", "Which pods the policy is for"), AGE];
pub(crate) const ENDPOINTS: &[Column] = &[NAME, text("Endpoints", "Addresses with ports"), AGE];
pub(crate) const ENDPOINT_SLICE: &[Column] = &[
    NAME,
    text("AddressType", "What kind of addresses it holds"),
    text("Ports", "Ports of the endpoints"),
    text("Endpoints", "Addresses of the endpoints"),
    AGE,
];
pub(crate) const NODE: &[Column] = &[
    NAME,
    text("Status", "Whether the node is ready and takes pods"),
    text("Roles", "Roles, from the node's labels"),
    AGE,
    text("Version", "The kubelet's version"),
    wide(text("Internal-IP", "The address inside the cluster")),
    wide(text("External-IP", "The address outside the cluster")),
    wide(text("OS-Image", "The operating system")),
    wide(text("Kernel-Version", "The kernel and its architecture")),
    wide(text("Container-Runtime", "What runs the containers")),
];
pub(crate) const EVENT: &[Column] = &[
    text("Last Seen", "How long ago it happened last"),
    text("Type", "Normal or Warning"),
    text("Reason", "What happened, in one word"),
    text("Object", "What it happened to"),
    wide(text("Subobject", "Which part of it")),
    wide(text("Source", "Who reported it")),
    text("Message", "What happened, in a sentence"),
    wide(text("First Seen", "How long ago it happened first")),
    wide(text("Count", "How often it happened")),
    wide(NAME),
];
pub(crate) const NAMESPACE: &[Column] = &[NAME, text("Status", "Active or Terminating"), AGE];
pub(crate) const SECRET: &[Column] = &[
    NAME,
    text("Type", "What kind of secret it is"),
    text("Data", "How many keys it holds"),
    AGE,
];
pub(crate) const CONFIG_MAP: &[Column] = &[NAME, text("Data", "How many keys it holds"), AGE];
pub(crate) const RESOURCE_QUOTA: &[Column] = &[
    NAME,
    text("Request", "Used and allowed amounts, but for limits"),
    text("Limit", "Used and allowed amounts of limits"),
    AGE,
];
pub(crate) const PERSISTENT_VOLUME: &[Column] = &[
    NAME,
    text("Capacity", "How much it holds"),
    text("Access Modes", "How it can be mounted"),
    text("Reclaim Policy", "What happens to it after its claim is gone"),
    text("Status", "Whether it is bound"),
    text("Claim", "The claim that has it"),
    text("StorageClass", "Its storage class"),
    text("VolumeAttributesClass", "Its volume attributes class"),
    text("Reason", "Why it failed"),
    AGE,
    wide(text("VolumeMode", "Filesystem or Block")),
];
pub(crate) const PERSISTENT_VOLUME_CLAIM: &[Column] = &[
    NAME,
    text("Status", "Whether it is bound"),
    text("Volume", "The volume it has"),
    text("Capacity", "How much the volume holds"),
    text("Access Modes", "How it can be mounted"),
    text("StorageClass", "Its storage class"),
    text("VolumeAttributesClass", "Its volume attributes class"),
    AGE,
    wide(text("VolumeMode", "Filesystem or Block")),
];
pub(crate) const STORAGE_CLASS: &[Column] = &[
    NAME,
    text("Provisioner", "Who makes volumes"),
    text(
        "ReclaimPolicy",
        "What happens to a volume after its claim is gone",
    ),
    text("VolumeBindingMode", "When volumes are made and bound"),
    text("AllowVolumeExpansion", "Whether volumes can grow"),
    AGE,
];
pub(crate) const VOLUME_ATTACHMENT: &[Column] = &[
    NAME,
    Column {
        format: "name",
        ..text("Attacher", "The volume driver")
    },
    text("PV", "The volume"),
    text("Node", "The node it is attached to"),
    Column {
        kind: "boolean",
        ..text("Attached", "Whether it is attached now")
    },
    AGE,
];
pub(crate) const CSI_NODE: &[Column] = &[NAME, integer("Drivers", "How many drivers the node has"), AGE];
pub(crate) const CSI_STORAGE_CAPACITY: &[Column] = &[
    NAME,
    text("StorageClassName", "The class whose capacity it is"),
    text("Capacity", "How much is left"),
];
pub(crate) const VOLUME_ATTRIBUTES_CLASS: &[Column] = &[
    NAME,
    text("DriverName", "The driver that knows the attributes"),
    AGE,
];
pub(crate) const IP_ADDRESS: &[Column] = &[NAME, text("ParentRef", "What has the address")];
pub(crate) const SERVICE_CIDR: &[Column] = &[
    NAME,
    text("CIDRs", "The ranges that services get addresses from"),
    AGE,
];
pub(crate) const RESOURCE_CLAIM: &[Column] = &[
    NAME,
    text("State", "Whether devices are allocated and reserved"),
    AGE,
];
pub(crate) const RESOURCE_SLICE: &[Column] = &[
    NAME,
    text("Node", "The node that has the devices"),
    text("Driver", "The driver of the devices"),
    text("Pool", "The pool that the devices belong to"),
    AGE,
];
pub(crate) const CSI_DRIVER: &[Column] = &[
    NAME,
    Column {
        kind: "boolean",
        ..text("AttachRequired", "Whether volumes are attached before mounting")
    },
    Column {
        kind: "boolean",
        ..text("PodInfoOnMount", "Whether the driver learns about the pod")
    },
    Column {
        kind: "boolean",
        ..text("StorageCapacity", "Whether the scheduler heeds free capacity")
    },
    text("TokenRequests", "Audiences of the tokens it needs"),
    Column {
        kind: "boolean",
        ..text(
            "RequiresRepublish",
            "Whether volumes are published again and again",
        )
    },
    text("Modes", "Volume life cycles it supports"),
    AGE,
];
pub(crate) const HORIZONTAL_POD_AUTOSCALER: &[Column] = &[
    NAME,
    text("Reference", "What it scales"),
    text("Targets", "Current and wanted metrics"),
    text("MinPods", "The fewest pods"),
    text("MaxPods", "The most pods"),
    text("Replicas", "How many pods there are"),
    AGE,
];
pub(crate) const ROLE_BINDING: &[Column] = &[
    NAME,
    text("Role", "The role that is granted"),
    AGE,
    wide(text("Users", "Users that have the role")),
    wide(text("Groups", "Groups that have the role")),
    wide(text("ServiceAccounts", "Service accounts that have the role")),
];
pub(crate) const CERTIFICATE_SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", "Who is asked to sign"),
    text("Requestor", "Who asked"),
    text("RequestedDuration", "How long the certificate should be valid"),
    text("Condition", "Whether it is approved and issued"),
];
pub(crate) const LEASE: &[Column] = &[NAME, text("Holder", "Who holds the lease"), AGE];
pub(crate) const PRIORITY_CLASS: &[Column] = &[
    NAME,
    integer("Value", "The priority; more is more important"),
    Column {
        kind: "boolean",
        ..text("Global-Default", "Whether pods without a class get it")
    },
    AGE,
    text("PreemptionPolicy", "Whether it may evict pods of less priority"),
];
pub(crate) const RUNTIME_CLASS: &[Column] = &[NAME, text("Handler", "The runtime's configuration"), AGE];
pub(crate) const WEBHOOK_CONFIGURATION: &[Column] =
    &[NAME, integer("Webhooks", "How many webhooks it has"), AGE];
pub(crate) const VALIDATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Validations", "How many rules it has"),
    text("ParamKind", "The kind of its parameters"),
    AGE,
];
pub(crate) const MUTATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Mutations", "How many changes it makes"),
    text("ParamKind", "The kind of its parameters"),
    AGE,
];
pub(crate) const ADMISSION_POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", "The policy that is bound"),
    text("ParamRef", "The parameters it is bound with"),
    AGE,
];
pub(crate) const API_SERVICE: &[Column] = &[
    NAME,
    text("Service", "The service behind the API"),
    text("Available", "Whether the API answers"),
    AGE,
];
pub(crate) const FLOW_SCHEMA: &[Column] = &[
    NAME,
    text("PriorityLevel", "The level that requests are put into"),
    text("MatchingPrecedence", "Which schema wins; less wins"),
    text("DistinguisherMethod", "What tells flows apart"),
    AGE,
    text("MissingPL", "Whether the level does not exist"),
];
pub(crate) const PRIORITY_LEVEL_CONFIGURATION: &[Column] = &[
    NAME,
    text("Type", "Limited or Exempt"),
    text("NominalConcurrencyShares", "Its share of the server"),
    text("Queues", "How many queues it has"),
    text("HandSize", "How many queues a flow may use"),
    text("QueueLengthLimit", "How many requests wait in a queue"),
    AGE,
];

const NAME: Column = Column {
    format: "name",
    ..text("Name", "The object's name")
};
const AGE: Column = text("Age", "How long ago the object was created");
const CONTAINERS: Column = text("Containers", "Names of the containers");
const IMAGES: Column = text("Images", "Images of the containers");
const SELECTOR: Column = text("Selector", "Labels by which pods are found");

const fn text(name: &'static str, description: &'static str) -> Column {
    Column {
        name,
        kind: "string",
        format: "",
        description,
        priority: 0,
    }
}

const fn integer(name: &'static str, description: &'static str) -> Column {
    Column {
        kind: "integer",
        ..text(name, description)
    }
}

/// Shown only with `-o wide`.
const fn wide(column: Column) -> Column {
    Column {
        priority: 1,
        ..column
    }
}
