use serde_json::{Value, json};

use super::{default, initial_status, prepare_for_create};
use crate::{find, find_kind};

#[test]
fn pull_policy_follows_the_tag() {
    for (image, expected) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/a/nginx:1", "IfNotPresent"),
        (
            "nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "IfNotPresent",
        ),
        ("", "IfNotPresent"),
        ("A B", "IfNotPresent"),
    ] {
        assert_eq!(super::pod::pull_policy(image), expected, "{image}");
    }
}

#[test]
fn a_new_job_selects_its_own_pods() {
    let row = find_kind("batch", "v1", "Job").unwrap();
    let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {}}});
    default(row, &mut job);
    prepare_for_create(row, &mut job);
    assert_eq!(
        job["spec"]["selector"],
        json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
    );
    assert_eq!(
        job["spec"]["template"]["metadata"]["labels"],
        json!({
            "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j",
            "controller-uid": "u", "job-name": "j",
        })
    );
}

#[test]
fn a_namespace_gets_its_finalizer_once() {
    let row = find_kind("", "v1", "Namespace").unwrap();
    let mut namespace = json!({"metadata": {"name": "n"}});
    default(row, &mut namespace);
    assert_eq!(namespace["spec"], json!({}));
    prepare_for_create(row, &mut namespace);
    prepare_for_create(row, &mut namespace);
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(
        namespace["metadata"]["labels"],
        json!({"kubernetes.io/metadata.name": "n"})
    );
    assert_eq!(namespace["status"], json!({"phase": "Active"}));
}

#[test]
fn pods_are_classed_by_their_resources() {
    let row = find("", "v1", "pods").unwrap();
    let class = |resources: Value| {
        let mut pod = json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}});
        default(row, &mut pod);
        initial_status(row, &mut pod);
        pod["status"]["qosClass"].clone()
    };
    assert_eq!(class(json!({})), "BestEffort");
    assert_eq!(class(json!({"requests": {"cpu": "1"}})), "Burstable");
    assert_eq!(
        class(json!({"limits": {"cpu": "1", "memory": "1Gi"}})),
        "Guaranteed"
    );
}
