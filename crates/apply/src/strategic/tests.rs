//! All directives, strategies and errors.

use serde_json::{Value, json};

use super::{StrategicErrorClass, apply};
use crate::typed::fixtures::schema;

/// A pod in miniature.
pub(crate) fn pod() -> cambium_schema::Schema {
    schema(&json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {
            "name": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
        }},
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "args": {"type": "array", "items": {"type": "string"}},
            "containers": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name", "items": {"type": "object", "properties": {
                "name": {"type": "string"},
                "image": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "args": {"type": "array", "items": {"type": "string"}},
                "ports": {"type": "array", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name", "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}},
            }}},
            "keyless": {"type": "array", "x-kubernetes-patch-strategy": "merge", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "strategy": {"type": "object", "x-kubernetes-patch-strategy": "retainKeys", "properties": {
                "type": {"type": "string"},
                "rollingUpdate": {"type": "object", "properties": {"maxSurge": {"type": "integer"}}},
                "list": {"type": "array", "x-kubernetes-patch-strategy": "merge", "items": {"type": "string"}},
            }},
            "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            "maps": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        }},
    }}))
}

fn patched(spec: Value, patch: Value) -> Result<Value, String> {
    let result = apply(&pod(), &json!({ "spec": spec }), &json!({ "spec": patch }));
    result
        .map(|object| object["spec"].clone())
        .map_err(|error| error.to_string())
}

#[test]
fn merges_as_upstream_does() {
    let names = |names: &[&str]| Value::Array(names.iter().map(|name| json!({ "name": name })).collect());
    let cases = [
        // Scalars and maps.
        (
            json!({"replicas": 1}),
            json!({"replicas": 2}),
            json!({"replicas": 2}),
        ),
        (json!({"replicas": 1}), json!({"replicas": null}), json!({})),
        (json!({}), json!({"replicas": null}), json!({})),
        (
            json!({}),
            json!({"strategy": {"type": null, "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"rollingUpdate": {"maxSurge": 1}}}),
        ),
        (
            json!({"strategy": {"type": "a"}}),
            json!({"strategy": {"rollingUpdate": {}}}),
            json!({"strategy": {"type": "a", "rollingUpdate": {}}}),
        ),
        // Lists that are replaced.
        (
            json!({"args": ["a", "b"]}),
            json!({"args": ["c"]}),
            json!({"args": ["c"]}),
        ),
        (
            json!({"args": ["a", "b"]}),
            json!({"$deleteFromPrimitiveList/args": ["a"]}),
            json!({"args": ["b"]}),
        ),
        // Lists that merge by key.
        (
            json!({"containers": [{"name": "a", "image": "1"}]}),
            json!({"containers": [{"name": "a", "env": {"x": "y"}}]}),
            json!({"containers": [{"name": "a", "image": "1", "env": {"x": "y"}}]}),
        ),
        (
            json!({"containers": names(&["a", "b"])}),
            json!({"containers": names(&["c"])}),
            json!({"containers": names(&["c", "a", "b"])}),
        ),
        (
            json!({"containers": names(&["a", "b", "c"])}),
            json!({"containers": names(&["c", "a"])}),
            json!({"containers": names(&["b", "c", "a"])}),
        ),
        (
            json!({"containers": names(&["a", "b"])}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": names(&["b"])}),
        ),
        (
            json!({"containers": names(&["a", "a", "b"])}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": names(&["b"])}),
        ),
        (
            json!({"containers": names(&["a", "b"])}),
            json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
            json!({"containers": names(&["c"])}),
        ),
        (
            json!({"containers": [{"name": "a", "image": "1"}]}),
            json!({"containers": [{"name": "a", "image": null}]}),
            json!({"containers": names(&["a"])}),
        ),
        (
            json!({}),
            json!({"containers": [{"name": "a", "$patch": "delete"}, {"name": "b"}]}),
            json!({"containers": names(&["b"])}),
        ),
        (
            json!({"containers": [{"name": "a", "ports": [{"name": "x", "port": 1}]}]}),
            json!({"containers": [{"name": "a", "ports": [{"name": "y", "port": 2}]}]}),
            json!({"containers": [{"name": "a", "ports": [{"name": "y", "port": 2}, {"name": "x", "port": 1}]}]}),
        ),
        // Directives on maps.
        (
            json!({"strategy": {"type": "a"}}),
            json!({"strategy": {"$patch": "replace", "rollingUpdate": {}}}),
            json!({"strategy": {"rollingUpdate": {}}}),
        ),
        (
            json!({"strategy": {"type": "a"}}),
            json!({"strategy": {"$patch": "delete", "x": 1}}),
            json!({"strategy": {}}),
        ),
        (json!({}), json!({"strategy": {"$patch": "delete"}}), json!({})),
        (
            json!({"strategy": {"type": "a", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "b"}}),
            json!({"strategy": {"type": "b"}}),
        ),
        (
            json!({"strategy": {"type": "a", "list": ["x", "y"]}}),
            json!({"strategy": {"$retainKeys": ["list"], "type": null, "$deleteFromPrimitiveList/list": ["x"]}}),
            json!({"strategy": {"list": ["y"]}}),
        ),
        // Orders.
        (
            json!({"containers": names(&["a", "b", "c"])}),
            json!({"$setElementOrder/containers": names(&["c", "a"])}),
            json!({"containers": names(&["b", "c", "a"])}),
        ),
        (
            json!({"containers": names(&["a", "b"])}),
            json!({"$setElementOrder/containers": names(&["c", "b", "a"]), "containers": names(&["c"])}),
            json!({"containers": names(&["c", "b", "a"])}),
        ),
        (
            json!({"containers": names(&["a", "b", "x"])}),
            json!({"$setElementOrder/containers": names(&["a", "c"]), "containers": [{"name": "c"}, {"name": "b", "$patch": "delete"}]}),
            json!({"containers": names(&["a", "x", "c"])}),
        ),
        (
            json!({}),
            json!({"$setElementOrder/containers": names(&["b", "a"]), "containers": names(&["b", "a"])}),
            json!({"containers": names(&["b", "a"])}),
        ),
        (
            json!({}),
            json!({"$setElementOrder/containers": names(&["b", "a"])}),
            json!({}),
        ),
        (
            json!({"strategy": {"list": ["a", "b"]}}),
            json!({"strategy": {"$setElementOrder/list": ["c", "b", "a"], "list": ["c"]}}),
            json!({"strategy": {"list": ["c", "b", "a"]}}),
        ),
        // Scalars that merge.
        (
            json!({"strategy": {"list": ["a", "b"]}}),
            json!({"strategy": {"list": ["b", "c"]}}),
            json!({"strategy": {"list": ["a", "b", "c"]}}),
        ),
    ];
    for (spec, patch, expected) in cases {
        assert_eq!(
            patched(spec.clone(), patch.clone()),
            Ok(expected),
            "{spec} {patch}"
        );
    }
}

#[test]
fn refuses_as_upstream_does() {
    for (spec, patch, message) in [
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"image": "x"}]}),
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"$patch": "delete"}]}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"$patch": "x", "name": "a"}]}),
            "unknown patch type: x in map: map[$patch:x name:a]",
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": ["a"]}),
            "list element types are not identical: [[map[name:a]] [a]]",
        ),
        (
            json!({"containers": ["a"]}),
            json!({"containers": ["b"]}),
            "expected a map[string]interface {}, but received a string",
        ),
        (
            json!({"strategy": {}}),
            json!({"strategy": {"$patch": "merge"}}),
            "unknown patch type: merge in map: map[$patch:merge]",
        ),
        (
            json!({"strategy": {}}),
            json!({"strategy": {"$patch": 1}}),
            "unknown patch type: %!s(int64=1) in map: map[$patch:1]",
        ),
        (
            json!({"strategy": {}}),
            json!({"strategy": {"$retainKeys": "type"}}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"strategy": {}}),
            json!({"strategy": {"$retainKeys": [], "type": "a"}}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({}),
            json!({"$deleteFromPrimitiveList": []}),
            "invalid patch format of primitive list",
        ),
        (
            json!({}),
            json!({"$setElementOrder": []}),
            "invalid patch format of setElementOrder list",
        ),
        (
            json!({}),
            json!({"$setElementOrder/containers": {}}),
            "expected a []interface {}, but received a map[string]interface {}",
        ),
        (
            json!({"containers": []}),
            json!({"$setElementOrder/containers": []}),
            "no elements in any of the given slices",
        ),
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}),
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
        (
            json!({"keyless": [{"a": "1"}]}),
            json!({"keyless": [{"a": "2"}]}),
            "cannot merge lists without merge key for struct",
        ),
        (
            json!({"matrix": [["a"]]}),
            json!({"matrix": [["b"]]}),
            "unexpected slice of slice",
        ),
        (
            json!({"nope": {"a": 1}}),
            json!({"nope": {"b": 1}}),
            "unable to find api field in struct  for the json field \"nope\"",
        ),
        (
            json!({"maps": {"x": {"a": "1"}}}),
            json!({"maps": {"x": {"a": "2"}}}),
            "merging an object in json but data type is not struct, instead is: map",
        ),
    ] {
        assert_eq!(
            patched(spec.clone(), patch.clone()),
            Err(message.to_owned()),
            "{spec} {patch}"
        );
    }
}

#[test]
fn says_how_to_answer() {
    let class = |patch: Value| {
        apply(&pod(), &json!({"spec": {"strategy": {"list": [["a"]]}}}), &patch)
            .unwrap_err()
            .class()
    };
    assert_eq!(class(json!([])), StrategicErrorClass::BadRequest);
    assert_eq!(
        class(json!({"$deleteFromPrimitiveList": []})),
        StrategicErrorClass::BadRequest
    );
    assert_eq!(
        class(json!({"spec": {"strategy": {"list": [["b"]]}}})),
        StrategicErrorClass::Unprocessable
    );
    assert_eq!(
        class(json!({"spec": {"$patch": "x"}})),
        StrategicErrorClass::Internal
    );
}
