//! Printed rows of all kinds.

use serde_json::{Value, json};

use crate::lookup::find;

/// The cells of an object created an hour before it is printed, as one line.
fn row(group: &str, version: &str, plural: &str, mut object: Value) -> String {
    object["metadata"]["name"] = json!("it");
    object["metadata"]["creationTimestamp"] = json!("2024-01-01T00:00:00Z");
    let resource = find(group, version, plural).unwrap();
    let cells = (resource.cells)(&object, "2024-01-01T01:00:00Z".parse().unwrap());
    let text = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
    cells.iter().map(text).collect::<Vec<_>>().join(" | ")
}

fn pod(object: Value) -> String {
    let line = row("", "v1", "pods", object);
    line.split(" | ").take(4).collect::<Vec<_>>().join(" | ")
}

#[test]
fn pods_say_what_their_containers_add_up_to() {
    let running = json!({ "ready": true, "restartCount": 0, "state": { "running": {} } });
    let waiting = json!({ "state": { "waiting": { "reason": "CrashLoopBackOff" } }, "restartCount": 3,
        "lastState": { "terminated": { "finishedAt": "2024-01-01T00:55:00Z" } } });
    let completed = json!({ "state": { "terminated": { "reason": "Completed", "exitCode": 0 } } });
    let killed = json!({ "state": { "terminated": { "exitCode": 137, "signal": 9 } } });
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let one = json!({ "containers": [{ "name": "a" }] });
    let two = json!({ "containers": [{ "name": "a" }, { "name": "b" }] });
    for (object, expected) in [
        (
            json!({ "spec": one, "status": { "phase": "Pending" } }),
            "it | 0/1 | Pending | 0",
        ),
        (
            json!({ "spec": one, "status": { "phase": "Running", "containerStatuses": [running] } }),
            "it | 1/1 | Running | 0",
        ),
        (
            json!({ "spec": two, "status": { "phase": "Running", "containerStatuses": [running, waiting] } }),
            "it | 1/2 | CrashLoopBackOff | 3 (5m ago)",
        ),
        (
            json!({ "spec": two, "status": { "phase": "Running", "containerStatuses": [completed, running],
                "conditions": ready } }),
            "it | 1/2 | Running | 0",
        ),
        (
            json!({ "spec": two, "status": { "phase": "Running", "containerStatuses": [completed, running] } }),
            "it | 1/2 | NotReady | 0",
        ),
        (
            json!({ "spec": one, "status": { "phase": "Failed", "containerStatuses": [killed] } }),
            "it | 0/1 | Signal:9 | 0",
        ),
        (
            json!({ "spec": one, "status": { "phase": "Pending",
                "conditions": [{ "type": "PodScheduled", "reason": "SchedulingGated" }] } }),
            "it | 0/1 | SchedulingGated | 0",
        ),
        (
            json!({ "metadata": { "deletionTimestamp": "2024-01-01T00:59:00Z" }, "spec": one,
                "status": { "phase": "Running", "containerStatuses": [running] } }),
            "it | 1/1 | Terminating | 0",
        ),
        (
            json!({ "metadata": { "deletionTimestamp": "2024-01-01T00:59:00Z" }, "spec": one,
                "status": { "phase": "Succeeded", "containerStatuses": [completed] } }),
            "it | 0/1 | Completed | 0",
        ),
    ] {
        assert_eq!(pod(object.clone()), expected, "{object:#}");
    }
}

#[test]
fn pods_say_how_far_their_init_containers_are() {
    let spec = json!({ "containers": [{ "name": "a" }],
        "initContainers": [{ "name": "i" }, { "name": "s", "restartPolicy": "Always" }] });
    let done = json!({ "name": "i", "state": { "terminated": { "exitCode": 0 } } });
    let failed = json!({ "name": "i", "state": { "terminated": { "exitCode": 2 } }, "restartCount": 1 });
    let sidecar = json!({ "name": "s", "started": true, "ready": true, "state": { "running": {} } });
    let starting = json!({ "name": "s", "state": { "waiting": { "reason": "PodInitializing" } } });
    let pulling = json!({ "name": "s", "state": { "waiting": { "reason": "ErrImagePull" } } });
    let running = json!({ "name": "a", "ready": true, "restartCount": 0, "state": { "running": {} } });
    for (init, containers, expected) in [
        (json!([starting]), json!([]), "it | 0/2 | Init:0/2 | 0"),
        (json!([done, starting]), json!([]), "it | 0/2 | Init:1/2 | 0"),
        (json!([failed]), json!([]), "it | 0/2 | Init:ExitCode:2 | 1"),
        (
            json!([done, pulling]),
            json!([]),
            "it | 0/2 | Init:ErrImagePull | 0",
        ),
        (json!([done, sidecar]), json!([running]), "it | 2/2 | Pending | 0"),
    ] {
        let status =
            json!({ "phase": "Pending", "initContainerStatuses": init, "containerStatuses": containers });
        assert_eq!(pod(json!({ "spec": spec, "status": status })), expected, "{init}");
    }
}

#[test]
fn workloads_count_pods() {
    let template =
        json!({ "spec": { "containers": [{ "name": "a", "image": "x:1" }, { "name": "b", "image": "y" }] } });
    let selector = json!({ "matchLabels": { "app": "web" },
        "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["b", "a"] }] });
    let spec = json!({ "replicas": 3, "template": template, "selector": selector });
    let status = json!({ "replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2 });
    let object = json!({ "spec": spec, "status": status });
    let cells = |plural| row("apps", "v1", plural, object.clone());
    assert_eq!(
        cells("deployments"),
        "it | 2/3 | 1 | 2 | 60m | a,b | x:1,y | app=web,tier in (a,b)"
    );
    assert_eq!(
        cells("replicasets"),
        "it | 3 | 3 | 2 | 60m | a,b | x:1,y | app=web,tier in (a,b)"
    );
    assert_eq!(cells("statefulsets"), "it | 2/3 | 60m | a,b | x:1,y");
}

#[test]
fn services_say_where_they_are_reached() {
    for (spec, status, expected) in [
        (
            json!({ "type": "ClusterIP", "clusterIPs": ["10.0.0.1"], "ports": [{ "port": 80, "protocol": "TCP" }] }),
            json!({}),
            "it | ClusterIP | 10.0.0.1 | <none> | 80/TCP | 60m | <none>",
        ),
        (
            json!({ "type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "selector": { "a": "b" },
                "ports": [{ "port": 80, "nodePort": 30080, "protocol": "TCP" }, { "port": 53, "protocol": "UDP" }] }),
            json!({}),
            "it | LoadBalancer | 10.0.0.1 | <pending> | 80:30080/TCP,53/UDP | 60m | a=b",
        ),
        (
            json!({ "type": "LoadBalancer", "clusterIPs": ["None"], "externalIPs": ["9.9.9.9"] }),
            json!({ "loadBalancer": { "ingress": [{ "ip": "2.2.2.2" }, { "hostname": "1.example" }] } }),
            "it | LoadBalancer | None | 1.example,2.2.2.2,9.9.9.9 | <none> | 60m | <none>",
        ),
        (
            json!({ "type": "ExternalName", "externalName": "example.com" }),
            json!({}),
            "it | ExternalName | <none> | example.com | <none> | 60m | <none>",
        ),
    ] {
        let object = json!({ "spec": spec, "status": status });
        assert_eq!(row("", "v1", "services", object), expected);
    }
}

#[test]
fn jobs_say_how_they_are_doing() {
    let object = json!({ "spec": { "completions": 3, "template": {} },
        "status": { "succeeded": 1, "startTime": "2024-01-01T00:50:00Z" } });
    assert_eq!(
        row("batch", "v1", "jobs", object),
        "it | Running | 1/3 | 10m | 60m |  |  | <none>"
    );
    let object = json!({ "spec": { "parallelism": 4 }, "status": { "succeeded": 2,
        "startTime": "2024-01-01T00:50:00Z", "completionTime": "2024-01-01T00:51:30Z",
        "conditions": [{ "type": "Complete", "status": "True" }] } });
    assert_eq!(
        row("batch", "v1", "jobs", object),
        "it | Complete | 2/1 of 4 | 90s | 60m |  |  | <none>"
    );
    let object = json!({ "spec": { "schedule": "@daily", "suspend": false }, "status": { "active": [{}] } });
    let expected = "it | @daily | <none> | False | 1 | <none> | 60m |  |  | <none>";
    assert_eq!(row("batch", "v1", "cronjobs", object), expected);
}

#[test]
fn networks_show_the_first_few() {
    let rules = json!([{ "host": "a" }, { "host": "b" }, {}, { "host": "c" }, { "host": "d" }]);
    let object = json!({ "spec": { "rules": rules, "tls": [{}], "ingressClassName": "nginx" } });
    let cells = row("networking.k8s.io", "v1", "ingresses", object);
    assert_eq!(cells, "it | nginx | a,b,c + 2 more... |  | 80, 443 | 60m");
    let object = json!({ "subsets": [{ "addresses": [{ "ip": "1.1.1.1" }, { "ip": "fe80::1" }],
        "ports": [{ "port": 80 }, { "port": 443 }] }] });
    let cells = row("", "v1", "endpoints", object);
    assert_eq!(
        cells,
        "it | 1.1.1.1:80,[fe80::1]:80,1.1.1.1:443 + 1 more... | 60m"
    );
    let cells = row(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        json!({ "addressType": "IPv4" }),
    );
    assert_eq!(cells, "it | IPv4 | <unset> | <unset> | 60m");
}

#[test]
fn nodes_say_whether_they_take_pods() {
    let object = json!({
        "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "db" } },
        "spec": { "unschedulable": true },
        "status": {
            "conditions": [{ "type": "Ready", "status": "False" }],
            "addresses": [{ "type": "InternalIP", "address": "10.1.1.1" }],
            "nodeInfo": { "kubeletVersion": "v1.36.4", "kernelVersion": "6.1", "architecture": "arm64" },
        },
    });
    assert_eq!(
        row("", "v1", "nodes", object),
        "it | NotReady,SchedulingDisabled | control-plane,db | 60m | v1.36.4 | 10.1.1.1 | <none> | <unknown> | \
         6.1 (arm64) | <unknown>"
    );
}

#[test]
fn events_of_both_groups_look_the_same() {
    let core = json!({
        "involvedObject": { "kind": "Pod", "name": "web" }, "reason": "Started", "type": "Normal",
        "message": " ok\n", "source": { "component": "kubelet", "host": "n1" }, "count": 4,
        "firstTimestamp": "2024-01-01T00:00:30Z", "lastTimestamp": "2024-01-01T00:59:00Z",
    });
    let expected = "60s | Normal | Started | pod/web |  | kubelet, n1 | ok | 59m | 4 | it";
    assert_eq!(row("", "v1", "events", core.clone()), expected);
    assert_eq!(
        row(
            "events.k8s.io",
            "v1",
            "events",
            crate::convert::event::from_core(core)
        ),
        expected
    );
}

#[test]
fn autoscalers_of_both_versions_look_the_same() {
    let v1 = json!({
        "spec": { "scaleTargetRef": { "kind": "Deployment", "name": "web" }, "maxReplicas": 5,
            "targetCPUUtilizationPercentage": 70 },
        "status": { "currentReplicas": 2, "currentCPUUtilizationPercentage": 35 },
    });
    let expected = "it | Deployment/web | cpu: 35%/70% | <unset> | 5 | 2 | 60m";
    assert_eq!(
        row("autoscaling", "v1", "horizontalpodautoscalers", v1.clone()),
        expected
    );
    let v2 = crate::convert::autoscaler::to_v2(v1);
    assert_eq!(row("autoscaling", "v2", "horizontalpodautoscalers", v2), expected);
}

#[test]
fn the_rest_is_plain() {
    for (group, plural, object, expected) in [
        (
            "",
            "configmaps",
            json!({ "data": { "a": "" }, "binaryData": { "b": "" } }),
            "it | 2 | 60m",
        ),
        (
            "",
            "secrets",
            json!({ "type": "Opaque", "data": { "a": "" } }),
            "it | Opaque | 1 | 60m",
        ),
        (
            "",
            "namespaces",
            json!({ "status": { "phase": "Active" } }),
            "it | Active | 60m",
        ),
        ("", "limitranges", json!({}), "it | 2024-01-01T00:00:00Z"),
        (
            "",
            "resourcequotas",
            json!({ "status": { "hard": { "pods": "4", "limits.cpu": "2" }, "used": { "pods": "1" } } }),
            "it | pods: 1/4 | limits.cpu: 0/2 | 60m",
        ),
        (
            "",
            "persistentvolumeclaims",
            json!({ "spec": { "volumeName": "v", "storageClassName": "fast" },
                "status": { "phase": "Bound", "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"] } }),
            "it | Bound | v | 1Gi | RWO | fast | <unset> | 60m | <unset>",
        ),
        (
            "rbac.authorization.k8s.io",
            "rolebindings",
            json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": [{ "kind": "User", "name": "u" },
                { "kind": "ServiceAccount", "namespace": "n", "name": "s" }] }),
            "it | Role/r | 60m | u |  | n/s",
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            json!({ "metadata": { "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } },
                "provisioner": "p" }),
            "it (default) | p | Delete | Immediate | false | 60m",
        ),
        (
            "coordination.k8s.io",
            "leases",
            json!({ "spec": { "holderIdentity": "me" } }),
            "it | me | 60m",
        ),
        (
            "certificates.k8s.io",
            "certificatesigningrequests",
            json!({ "spec": { "signerName": "s", "username": "u", "expirationSeconds": 3600 },
                "status": { "conditions": [{ "type": "Approved" }], "certificate": "eA==" } }),
            "it | 60m | s | u | 60m | Approved,Issued",
        ),
        (
            "apiregistration.k8s.io",
            "apiservices",
            json!({}),
            "it | Local | Unknown | 60m",
        ),
        (
            "apps",
            "controllerrevisions",
            json!({ "revision": 3, "metadata": { "ownerReferences": [
                { "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": true }] } }),
            "it | statefulset.apps/db | 3 | 60m",
        ),
    ] {
        assert_eq!(row(group, "v1", plural, object), expected, "{plural}");
    }
}

#[test]
fn newer_kinds_say_what_they_are_about() {
    let parent = json!({ "group": "", "resource": "services", "namespace": "shop", "name": "web" });
    let policies = "admissionregistration.k8s.io";
    for ((group, plural), object, expected) in [
        (
            ("networking.k8s.io", "ipaddresses"),
            json!({ "spec": { "parentRef": parent } }),
            "it | services/shop/web",
        ),
        (
            ("networking.k8s.io", "servicecidrs"),
            json!({ "spec": { "cidrs": ["10.96.0.0/16", "fd00::/108"] } }),
            "it | 10.96.0.0/16,fd00::/108 | 60m",
        ),
        (
            ("storage.k8s.io", "csistoragecapacities"),
            json!({ "storageClassName": "fast", "capacity": "5Gi" }),
            "it | fast | 5Gi",
        ),
        (
            ("storage.k8s.io", "volumeattributesclasses"),
            json!({ "driverName": "d.example" }),
            "it | d.example | 60m",
        ),
        (
            (policies, "mutatingadmissionpolicies"),
            json!({ "spec": { "mutations": [{}, {}] } }),
            "it | 2 | <unset> | 60m",
        ),
        (
            (policies, "mutatingadmissionpolicybindings"),
            json!({ "spec": { "policyName": "p", "paramRef": { "name": "n" } } }),
            "it | p | */n | 60m",
        ),
        (
            ("resource.k8s.io", "resourceclaims"),
            json!({ "status": { "allocation": {}, "reservedFor": [{ "name": "pod" }] } }),
            "it | allocated,reserved | 60m",
        ),
        (
            ("resource.k8s.io", "resourceclaims"),
            json!({}),
            "it | pending | 60m",
        ),
        (
            ("resource.k8s.io", "resourceslices"),
            json!({ "spec": { "nodeName": "n", "driver": "d", "pool": { "name": "p" } } }),
            "it | n | d | p | 60m",
        ),
    ] {
        assert_eq!(row(group, "v1", plural, object), expected, "{plural}");
    }
}
