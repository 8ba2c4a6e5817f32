use serde_json::{Value, json};

use super::validate;
use crate::{RESOURCES, decode, default, find_kind, initial_status, prepare_for_create};

/// The errors of an update that merges `change` into `old`.
fn change(group: &str, kind: &str, old: Value, change: Value) -> Vec<String> {
    let row = find_kind(
        group,
        if kind.starts_with("Horizontal") {
            "v2"
        } else {
            "v1"
        },
        kind,
    )
    .unwrap();
    let made = |mut object: Value| {
        decode(row, &mut object).unwrap();
        default(row, &mut object);
        object
    };
    let old = made(old);
    let mut new = old.clone();
    merge(&mut new, change);
    let new = made(new);
    validate(row, &new, Some(&old))
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match value {
                    Value::Null => drop(into.remove(&name)),
                    value => merge(into.entry(name).or_insert(Value::Null), value),
                }
            }
        }
        (into, from) => *into = from,
    }
}

fn workload(extra: Value) -> Value {
    let mut object = json!({"metadata": {"name": "x"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
    }});
    merge(&mut object, extra);
    object
}

#[test]
fn selectors_do_not_change() {
    let other = json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}});
    for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
        assert_eq!(
            change("apps", kind, workload(json!({})), other.clone()),
            [r#"spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable"#],
            "{kind}"
        );
        assert!(
            change(
                "apps",
                kind,
                workload(json!({})),
                json!({"spec": {"minReadySeconds": 1}})
            )
            .is_empty()
        );
    }
}

#[test]
fn stateful_sets_change_in_few_fields() {
    let errors = change(
        "apps",
        "StatefulSet",
        workload(json!({})),
        json!({"spec": {"serviceName": "s"}}),
    );
    assert_eq!(
        errors,
        [
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
          'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
          forbidden"
        ]
    );
    assert!(
        change(
            "apps",
            "StatefulSet",
            workload(json!({})),
            json!({"spec": {"replicas": 3}})
        )
        .is_empty()
    );
}

#[test]
fn pods_change_in_few_fields() {
    let pod = json!({"spec": {"containers": [{"name": "c", "image": "i:1"}], "tolerations": [{"operator": "Exists"}]}});
    let of = |spec: Value| change("", "Pod", pod.clone(), json!({"spec": spec}));
    assert!(of(json!({"containers": [{"name": "c", "image": "i:2"}]})).is_empty());
    assert!(of(json!({"activeDeadlineSeconds": 5})).is_empty());
    assert!(of(json!({"nodeName": "n"})).is_empty());
    assert!(
        change(
            "",
            "Pod",
            pod.clone(),
            json!({"metadata": {"labels": {"a": "b"}}})
        )
        .is_empty()
    );
    assert_eq!(
        of(json!({"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]})),
        ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    );
    assert!(
        of(json!({"hostNetwork": true}))[0]
            .starts_with("spec: Forbidden: pod updates may not change fields other than")
    );
    assert_eq!(
        of(json!({"tolerations": []})),
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    );
}

#[test]
fn frozen_configuration_stays() {
    let config = json!({"data": {"a": "YQ=="}, "immutable": true});
    for kind in ["ConfigMap", "Secret"] {
        assert_eq!(
            change(
                "",
                kind,
                config.clone(),
                json!({"data": {"a": "Yg=="}, "immutable": null})
            ),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ]
        );
    }
    assert_eq!(
        change("", "Secret", json!({}), json!({"type": "x"})),
        [r#"type: Invalid value: "x": field is immutable"#]
    );
}

#[test]
fn configuration_has_a_limit() {
    let config = json!({"metadata": {"name": "x"}, "data": {"a": "x".repeat(1_048_577)}});
    assert_eq!(
        change("", "ConfigMap", config, json!({})),
        ["[]: Too long: may not be more than 1048576 bytes"]
    );
}

#[test]
fn addresses_and_roles_stay() {
    let service = json!({"spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.1"}});
    assert_eq!(
        change(
            "",
            "Service",
            service.clone(),
            json!({"spec": {"clusterIP": "10.0.0.2"}})
        ),
        [r#"spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set"#]
    );
    assert!(change("", "Service", service, json!({"spec": {"clusterIP": null}})).is_empty());
    let binding = json!({"roleRef": {"kind": "Role", "name": "r"}});
    assert_eq!(
        change(
            "rbac.authorization.k8s.io",
            "RoleBinding",
            binding,
            json!({"roleRef": {"name": "s"}})
        ),
        [
            r#"roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"s"}: cannot change roleRef"#
        ]
    );
}

#[test]
fn claims_and_jobs_stay() {
    let claim =
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    assert_eq!(
        change(
            "",
            "PersistentVolumeClaim",
            claim.clone(),
            json!({"spec": {"accessModes": ["ReadOnlyMany"]}})
        )
        .len(),
        1
    );
    assert!(
        change(
            "",
            "PersistentVolumeClaim",
            claim,
            json!({"spec": {"volumeName": "v"}})
        )
        .is_empty()
    );
    let job =
        workload(json!({"spec": {"manualSelector": true, "template": {"spec": {"restartPolicy": "Never"}}}}));
    assert_eq!(
        change("batch", "Job", job.clone(), json!({"spec": {"completions": 5}})),
        ["spec.completions: Invalid value: 5: field is immutable"]
    );
    assert!(
        change(
            "batch",
            "Job",
            job,
            json!({"spec": {"parallelism": 5, "suspend": true}})
        )
        .is_empty()
    );
}

/// Arbitrary JSON with field names of real kinds.
fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    const NAMES: [&str; 40] = [
        "metadata",
        "name",
        "labels",
        "spec",
        "status",
        "template",
        "containers",
        "initContainers",
        "image",
        "ports",
        "containerPort",
        "port",
        "env",
        "valueFrom",
        "fieldRef",
        "fieldPath",
        "volumes",
        "configMap",
        "secret",
        "items",
        "resources",
        "limits",
        "requests",
        "cpu",
        "selector",
        "matchLabels",
        "matchExpressions",
        "values",
        "rules",
        "data",
        "stringData",
        "strategy",
        "rollingUpdate",
        "maxSurge",
        "metrics",
        "behavior",
        "webhooks",
        "schedule",
        "subsets",
        "livenessProbe",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-3_i64..70_000).prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-zA-Z0-9./:=%@ *-]{0,12}".prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((proptest::sample::select(&NAMES[..]), inner), 0..6).prop_map(
                |fields| {
                    Value::Object(
                        fields
                            .into_iter()
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }
            ),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(200))]

    #[test]
    fn nothing_panics_and_filling_in_twice_changes_nothing(value in any_json(), old in any_json()) {
        for row in RESOURCES {
            let mut object = value.clone();
            let is_decoded = decode(row, &mut object).is_ok();
            if is_decoded {
                let once = object.clone();
                decode(row, &mut object).unwrap();
                proptest::prop_assert_eq!(&object, &once, "{} decoded twice", row.kind);
            }
            default(row, &mut object);
            initial_status(row, &mut object);
            prepare_for_create(row, &mut object);
            if is_decoded {
                let once = object.clone();
                default(row, &mut object);
                proptest::prop_assert_eq!(&object, &once, "{} filled in twice", row.kind);
            }
            validate(row, &object, None);
            validate(row, &object, Some(&old));
            validate(row, &value, Some(&object));
        }
    }
}
