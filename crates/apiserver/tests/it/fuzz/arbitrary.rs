//! Generators of requests: bytes, trees, strings, queries, and mutations of valid objects.

use base64::Engine as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// Bytes, mostly almost JSON or YAML.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "[\\[\\]{}\":,a-e0-9.+\\-\\\\u \\n]{0,80}".prop_map(String::into_bytes),
        "[\\-:&*!|>{}\\[\\]a-c0-9%?#'\" \\n]{0,80}".prop_map(String::into_bytes),
        (1..5000_usize, "[\\[{(]").prop_map(|(depth, open)| open.repeat(depth).into_bytes()),
        (1..5000_usize).prop_map(|depth| "{\"a\":".repeat(depth).into_bytes()),
        prop::collection::vec(any::<u8>(), 0..60).prop_map(|tail| [b"k8s\0".to_vec(), tail].concat()),
        prop::collection::vec(any::<u8>(), 0..60).prop_map(|tail| [
            b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12".to_vec(),
            tail
        ]
        .concat()),
    ]
}

/// Strings, some of them hostile.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z0-9.\\-/]{0,12}",
        1 => any::<String>(),
        1 => prop::sample::select(vec![
            "", "default", "base", "..", "\u{0}", "\u{feff}", "-1", "9223372036854775807", "18446744073709551616",
            "1e999", "NaN", "true", "null", "metadata.name", "kubernetes.io/x", "2026-13-45T99:99:99Z",
            "9999-12-31T23:59:59Z", "-009999-01-01T00:00:00Z", "k:{\"a\":1}", "f:spec", "v:1", "i:0", ".",
            "10Gi", "1E1000", "-0", "0x10", "$(x)", "{{x}}", "%s", "é", "\u{1F600}", "~0~1", "/", "\\", "(((",
            "(a*)*b", "[", "300m",
        ]).prop_map(str::to_owned),
        1 => (1..3000_usize).prop_map(|length| "x".repeat(length)),
    ]
}

/// Numbers, including extremes.
pub(crate) fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -3..100_i64,
        prop::sample::select(vec![
            i64::MIN,
            i64::MAX,
            i64::MIN + 1,
            i64::from(i32::MAX),
            i64::from(i32::MIN)
        ]),
    ]
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        texts().prop_map(Value::from),
        texts().prop_map(Value::from),
    ]
}

/// A JSON tree.
pub(crate) fn tree() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "metadata",
            "name",
            "namespace",
            "spec",
            "status",
            "data",
            "kind",
            "apiVersion",
            "labels",
            "annotations",
            "ownerReferences",
            "finalizers",
            "managedFields",
            "op",
            "path",
            "value",
            "from",
            "$patch",
            "$retainKeys",
            "$deleteFromPrimitiveList/finalizers",
            "$setElementOrder/containers",
            "containers",
        ])
        .prop_map(str::to_owned),
        texts(),
    ];
    scalars().prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Something like `fieldsV1`.
pub(crate) fn field_set() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "f:spec",
            "f:data",
            "f:metadata",
            "f:labels",
            "f:template",
            "f:containers",
            "f:status",
            "k:{\"name\":\"c\"}",
            "k:{}",
            "k:[]",
            "k:{\"name\":",
            "v:1",
            "v:\"x\"",
            "v:",
            "v:{",
            "i:0",
            "i:-1",
            "i:99999999999999999999",
            ".",
            "f:",
            "x:y",
            "",
            ":",
            "k",
            "f",
            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}",
            "k:{\"a\":{\"b\":[1]}}",
        ])
        .prop_map(str::to_owned),
        texts(),
    ];
    Just(json!({})).prop_recursive(6, 30, 4, move |inner| {
        prop::collection::vec((key.clone(), inner), 0..4)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
    })
}

/// A query string.
pub(crate) fn query() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "labelSelector",
        "fieldSelector",
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "watch",
        "allowWatchBookmarks",
        "sendInitialEvents",
        "timeoutSeconds",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
        "pretty",
        "includeObject",
        "gracePeriodSeconds",
        "propagationPolicy",
        "orphanDependents",
        "timeout",
        "verbose",
        "exclude",
    ]);
    let value = prop_oneof![
        prop::sample::select(vec![
            "All",
            "true",
            "false",
            "0",
            "1",
            "2",
            "-1",
            "Exact",
            "NotOlderThan",
            "Strict",
            "Warn",
            "Ignore",
            "Background",
            "Foreground",
            "Orphan",
            "9223372036854775807",
            "18446744073709551615",
            "1s",
            "None",
            "Object",
        ])
        .prop_map(str::to_owned),
        texts(),
    ];
    let pair = (key, value, any::<u8>()).prop_map(|(key, value, raw)| match raw {
        0..20 => key.to_owned(),
        20..40 => format!("{key}=%{}", escape(&value)),
        _ => format!("{key}={}", escape(&value)),
    });
    prop::collection::vec(pair, 0..6).prop_map(|pairs| pairs.join("&"))
}

/// Percent-encodes.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// URL-safe base64, as continue tokens are encoded.
pub(crate) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// Mutations of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Mutations(Vec<(Index, Mutation)>);

#[derive(Debug, Clone)]
enum Mutation {
    Remove,
    Replace(Value),
    WrapInList,
    WrapInObject(String),
    Repeat(usize),
    Insert(String, Value),
    Rename(String),
    Lengthen(usize),
    Bury(usize),
    /// Replaces this part with a copy of another.
    Graft(Index),
}

/// A few mutations.
pub(crate) fn mutations() -> impl Strategy<Value = Mutations> {
    let mutation = prop_oneof![
        2 => Just(Mutation::Remove),
        4 => scalars().prop_map(Mutation::Replace),
        2 => tree().prop_map(Mutation::Replace),
        1 => Just(Mutation::WrapInList),
        1 => texts().prop_map(Mutation::WrapInObject),
        1 => (1..40_usize).prop_map(Mutation::Repeat),
        3 => (texts(), tree()).prop_map(|(key, value)| Mutation::Insert(key, value)),
        1 => texts().prop_map(Mutation::Rename),
        1 => (1..400_usize).prop_map(Mutation::Lengthen),
        1 => (90..130_usize).prop_map(Mutation::Bury),
        2 => any::<Index>().prop_map(Mutation::Graft),
    ];
    prop::collection::vec((any::<Index>(), mutation), 1..5).prop_map(Mutations)
}

impl Mutations {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Applies the mutations.
    pub(crate) fn apply(&self, tree: &mut Value) {
        for (index, mutation) in &self.0 {
            let places = pointers(tree);
            let pointer = index.get(&places);
            mutation.apply(tree, pointer, &places);
        }
    }
}

impl Mutation {
    fn apply(&self, tree: &mut Value, pointer: &str, places: &[String]) {
        if let Self::Remove | Self::Rename(_) = self {
            let Some((parent, name)) = pointer.rsplit_once('/') else {
                return;
            };
            let name = name.replace("~1", "/").replace("~0", "~");
            match (tree.pointer_mut(parent), self) {
                (Some(Value::Object(map)), Self::Rename(to)) => {
                    if let Some(value) = map.remove(&name) {
                        map.insert(to.clone(), value);
                    }
                }
                (Some(Value::Object(map)), _) => drop(map.remove(&name)),
                (Some(Value::Array(list)), _) => drop(name.parse().map(|index: usize| list.remove(index))),
                _ => {}
            }
            return;
        }
        let grafted = match self {
            Self::Graft(from) => tree.pointer(from.get::<String>(places)).cloned(),
            _ => None,
        };
        let Some(place) = tree.pointer_mut(pointer) else {
            return;
        };
        match self {
            Self::Replace(value) => *place = value.clone(),
            Self::WrapInList => *place = json!([place.take()]),
            Self::WrapInObject(key) => *place = json!({key: place.take()}),
            Self::Repeat(times) => {
                let items = if let Value::Array(list) = place {
                    list.clone()
                } else {
                    vec![place.take()]
                };
                let length = items.len() * times;
                *place = items.into_iter().cycle().take(length.min(200)).collect();
            }
            Self::Insert(key, value) => match place {
                Value::Object(map) => drop(map.insert(key.clone(), value.clone())),
                Value::Array(list) => list.push(value.clone()),
                other => *other = value.clone(),
            },
            Self::Lengthen(length) => {
                let text = place.as_str().unwrap_or("x").to_owned();
                *place = Value::from(format!("{text}{}", "y".repeat(*length)));
            }
            Self::Bury(depth) => {
                for _ in 0..*depth {
                    *place = json!({"a": place.take()});
                }
            }
            Self::Graft(_) => *place = grafted.unwrap_or_default(),
            Self::Remove | Self::Rename(_) => {}
        }
    }
}

/// Pointers to every part of a tree.
fn pointers(tree: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while next < found.len() && found.len() < 2000 {
        let pointer = found[next].clone();
        match tree.pointer(&pointer) {
            Some(Value::Object(map)) => found.extend(
                map.keys()
                    .map(|key| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))),
            ),
            Some(Value::Array(list)) => {
                found.extend((0..list.len()).map(|index| format!("{pointer}/{index}")))
            }
            _ => {}
        }
        next += 1;
    }
    found
}
