use serde_json::{Value, json};

use super::decode;
use crate::find;

fn pod(container: Value, spec: Value) -> Value {
    let mut first = json!({"name": "c", "image": "nginx"});
    merge(&mut first, container);
    let mut whole = json!({"containers": [first]});
    merge(&mut whole, spec);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": whole})
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn error(plural: &str, mut object: Value) -> String {
    decode(find("", "v1", plural).unwrap(), &mut object).unwrap_err()
}

#[test]
fn wrong_types_are_refused_in_the_words_of_go() {
    let cases = [
        (
            json!({"livenessProbe": {"exec": "x"}}),
            "string into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.exec of type v1.ExecAction",
        ),
        (
            json!({"name": 3}),
            "number into Go struct field Container.spec.containers.name of type string",
        ),
        (
            json!({"env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": 4}}}]}),
            "number into Go struct field SecretKeySelector.spec.containers.env.valueFrom.secretKeyRef.LocalObjectReference.name of type string",
        ),
        (
            json!({"resources": {"limits": []}}),
            "array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
        (
            json!({"command": "x"}),
            "string into Go struct field Container.spec.containers.command of type []string",
        ),
        (
            json!({"command": [3]}),
            "number into Go struct field Container.spec.containers.command of type string",
        ),
        (
            json!({"imagePullPolicy": ["a"]}),
            "array into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            json!({"ports": [{"containerPort": "80"}]}),
            "string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            json!({"ports": [{"containerPort": 1.5}]}),
            "number 1.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            json!({"livenessProbe": {"httpGet": {"port": true}}}),
            "bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            json!({"livenessProbe": {"httpGet": {"port": 99_999_999_999_i64}}}),
            "number 99999999999 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
    ];
    for (container, expected) in cases {
        assert_eq!(
            error("pods", pod(container, json!({}))),
            format!("json: cannot unmarshal {expected}")
        );
    }
    let cases = [
        (
            json!({"containers": {}}),
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            json!({"containers": ["x"]}),
            "string into Go struct field PodSpec.spec.containers of type v1.Container",
        ),
        (
            json!({"nodeSelector": {"a": true}}),
            "bool into Go struct field PodSpec.spec.nodeSelector of type string",
        ),
        (
            json!({"restartPolicy": 3}),
            "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            json!({"volumes": [{"name": "a", "configMap": {"name": 3}}]}),
            "number into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name of type string",
        ),
        (
            json!({"ephemeralContainers": [{"name": 3}]}),
            "number into Go struct field EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon.name of type string",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(
            error("pods", pod(json!({}), spec)),
            format!("json: cannot unmarshal {expected}")
        );
    }
    let metadata = |metadata| json!({"metadata": metadata});
    let cases = [
        (
            metadata(json!({"labels": {"a": 1}})),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            metadata(json!({"creationTimestamp": 3})),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            metadata(json!("x")),
            "json: cannot unmarshal string into Go struct field Pod.metadata of type v1.ObjectMeta",
        ),
        (
            metadata(json!({"creationTimestamp": "x"})),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
        ),
        (
            json!({"status": {"startTime": "2020-01-01"}}),
            r#"parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(error("pods", object), expected);
    }
}

#[test]
fn bytes_are_base64() {
    let secret = |data: Value| json!({"metadata": {"name": "s"}, "data": {"a": data}});
    for (data, expected) in [
        (json!("!!!!"), "illegal base64 data at input byte 0"),
        (json!("YWJj!"), "illegal base64 data at input byte 4"),
        (json!("YWJ"), "illegal base64 data at input byte 0"),
        (
            json!(3),
            "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
        ),
        (
            json!(["x"]),
            "json: cannot unmarshal string into Go struct field Secret.data of type uint8",
        ),
    ] {
        assert_eq!(error("secrets", secret(data)), expected);
    }
    for (data, expected) in [
        (json!([1, 2]), "AQI="),
        (json!(null), ""),
        (json!("YW\nJj"), "YWJj"),
    ] {
        let mut object = secret(data);
        decode(find("", "v1", "secrets").unwrap(), &mut object).unwrap();
        assert_eq!(object["data"]["a"], expected);
    }
}

#[test]
fn string_data_ends_up_in_data() {
    let mut object =
        json!({"metadata": {"name": "s"}, "data": {"a": "YWJj", "b": ""}, "stringData": {"a": "x"}});
    decode(find("", "v1", "secrets").unwrap(), &mut object).unwrap();
    assert_eq!(
        object,
        json!({"metadata": {"name": "s"}, "data": {"a": "eA==", "b": ""}})
    );
}

#[test]
fn objects_get_the_form_that_go_writes() {
    let mut object = pod(
        json!({
            "command": [], "args": [null], "workingDir": "", "tty": false,
            "resources": {"limits": {"cpu": 1000.0, "memory": "1024Mi"}},
            "livenessProbe": {},
        }),
        json!({"hostNetwork": false, "securityContext": {}, "volumes": null, "unknown": 1}),
    );
    decode(find("", "v1", "pods").unwrap(), &mut object).unwrap();
    assert_eq!(
        object,
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {
                "containers": [{
                    "name": "c", "image": "nginx", "args": [""], "livenessProbe": {},
                    "resources": {"limits": {"cpu": "1k", "memory": "1Gi"}},
                }],
                "securityContext": {}, "unknown": 1,
            },
            "status": {},
        })
    );
}

#[test]
fn depth_is_limited() {
    let mut schema = json!({});
    for _ in 0..2_000 {
        // Moved, not serialised: that would need a deep stack itself.
        schema = Value::Object([("not".to_owned(), schema)].into_iter().collect());
    }
    let mut object = json!({"spec": {"versions": [{"schema": {}}]}});
    object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    let row = find("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    assert_eq!(decode(row, &mut object).unwrap_err(), "exceeded max depth");
}
