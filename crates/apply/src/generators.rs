//! Proptest strategies: objects, configurations and patches.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A small JSON value of any kind.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        Just(json!(1.0)),
        Just(json!(0.5)),
        "[abc]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[abc]", inner, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn strings() -> impl Strategy<Value = Value> {
    let map = btree_map("[abc]", "[12]", 0..3).prop_map(|fields| json!(fields));
    prop_oneof![5 => map, 1 => Just(Value::Null)]
}

/// Some of the words, in any order, without duplicates.
fn few(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(words.to_vec(), 0..=words.len()).prop_shuffle()
}

fn fields(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            option::weighted(0.4, value).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields
        .prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>()))
        .boxed()
}

fn with_keys(keys: Vec<Value>, rest: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let count = keys.len();
    vec(rest, count)
        .prop_map(move |items| {
            let mut items = items;
            for (item, key) in items.iter_mut().zip(&keys) {
                if let (Value::Object(item), Value::Object(key)) = (item, key) {
                    item.extend(key.clone());
                }
            }
            Value::Array(items)
        })
        .boxed()
}

/// A `spec` for `fixtures::sorts`, without duplicate list items.
pub(crate) fn spec() -> BoxedStrategy<Value> {
    let title = prop_oneof![Just(json!("a")), Just(json!("b")), Just(Value::Null)];
    let containers = few(&["a", "b", "c"]).prop_flat_map(|names| {
        let keys = names.iter().map(|name| json!({ "name": name })).collect();
        with_keys(
            keys,
            fields(vec![
                ("image", "[12]".prop_map(Value::from).boxed()),
                ("env", strings().boxed()),
            ]),
        )
    });
    let ports = proptest::sample::subsequence(
        vec![
            json!({"port": 1}),
            json!({"port": 1, "protocol": "UDP"}),
            json!({"port": 2, "protocol": "TCP"}),
        ],
        0..=3,
    )
    .prop_shuffle()
    .prop_flat_map(|keys| with_keys(keys, fields(vec![("name", "[12]".prop_map(Value::from).boxed())])));
    let text = || "[12]".prop_map(Value::from).boxed();
    let nested = prop_oneof![4 => fields(vec![("leaf", text()), ("other", text())]), 1 => Just(Value::Null)];
    fields(vec![
        ("replicas", (0i64..3).prop_map(Value::from).boxed()),
        ("title", title.boxed()),
        ("port", prop_oneof![Just(json!(80)), Just(json!("http"))].boxed()),
        ("selector", strings().boxed()),
        ("labels", strings().boxed()),
        ("args", vec("[ab]", 0..3).prop_map(Value::from).boxed()),
        (
            "tags",
            few(&["a", "b", "c", "d", "e"]).prop_map(Value::from).boxed(),
        ),
        (
            "containers",
            prop_oneof![6 => containers, 1 => Just(Value::Null)].boxed(),
        ),
        ("ports", ports.boxed()),
        ("anything", any_json().boxed()),
        (
            "open",
            fields(vec![
                ("known", fields(vec![("a", text()), ("b", any_json().boxed())])),
                ("unknown", any_json().boxed()),
            ]),
        ),
        ("free", strings().boxed()),
        (
            "embedded",
            fields(vec![
                (
                    "metadata",
                    fields(vec![
                        ("labels", strings().boxed()),
                        ("finalizers", few(&["x", "y"]).prop_map(Value::from).boxed()),
                    ]),
                ),
                ("other", any_json().boxed()),
            ]),
        ),
        ("nested", nested.boxed()),
    ])
}

/// A `spec` whose lists may have duplicate items, as stored objects may.
pub(crate) fn spec_with_repeats() -> BoxedStrategy<Value> {
    (
        spec(),
        option::weighted(0.3, vec("[ab]", 0..5)),
        option::weighted(0.3, vec("[ab]", 0..4)),
    )
        .prop_map(|(mut spec, tags, containers)| {
            if let Some(tags) = tags {
                spec["tags"] = json!(tags);
            }
            if let Some(names) = containers {
                spec["containers"] = names
                    .iter()
                    .enumerate()
                    .map(|(index, name)| json!({"name": name, "image": index.to_string()}))
                    .collect();
            }
            spec
        })
        .boxed()
}

/// One write: manager, object, operation.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    Apply {
        manager: &'static str,
        spec: Value,
        force: bool,
    },
    Update {
        manager: &'static str,
        spec: Value,
    },
}

/// A write of one of a few managers.
pub(crate) fn write() -> BoxedStrategy<Write> {
    let manager = || proptest::sample::select(vec!["one", "two", "three"]);
    prop_oneof![
        3 => (manager(), spec(), any::<bool>()).prop_map(|(manager, spec, force)| Write::Apply { manager, spec, force }),
        2 => (manager(), spec_with_repeats()).prop_map(|(manager, spec)| Write::Update { manager, spec }),
    ]
    .boxed()
}

/// A strategic merge patch, or an object, for `strategic::tests::pod`; with directives when it is a patch.
pub(crate) fn pod_spec(directives: bool) -> BoxedStrategy<Value> {
    let text = || "[12]".prop_map(Value::from).boxed();
    let or_null = move |value: BoxedStrategy<Value>| {
        let weight = u32::from(directives);
        prop_oneof![6 => value, weight => Just(Value::Null)].boxed()
    };
    let named = |names: Vec<&'static str>, rest: BoxedStrategy<Value>| {
        let keys = names.iter().map(|name| json!({ "name": name })).collect();
        with_keys(keys, rest)
    };
    let marker = proptest::sample::select(vec!["delete", "delete", "delete", "replace", "merge"])
        .prop_map(Value::from);
    let with_marker = move |mut list: Vec<(&'static str, BoxedStrategy<Value>)>| {
        if directives {
            list.push((
                "$patch",
                option::weighted(0.2, marker.clone())
                    .prop_map(|marker| marker.unwrap_or(Value::Null))
                    .boxed(),
            ));
        }
        fields(list).prop_map(|mut value| {
            if let Some(Value::Null) = value.get("$patch") {
                value.as_object_mut().map(|fields| fields.remove("$patch"));
            }
            value
        })
    };
    let ports = few(&["x", "y"])
        .prop_flat_map(move |names| {
            named(
                names,
                fields(vec![("port", (1i64..3).prop_map(Value::from).boxed())]),
            )
        })
        .boxed();
    let container = with_marker(vec![
        ("image", or_null(text())),
        ("ports", or_null(ports)),
        ("args", vec("[ab]", 0..3).prop_map(Value::from).boxed()),
    ])
    .boxed();
    let containers = few(&["a", "b", "c", "d"])
        .prop_flat_map(move |names| named(names, container.clone()))
        .boxed();
    let list = || few(&["a", "b", "c", "d"]).prop_map(Value::from).boxed();
    let mut strategy = vec![
        ("type", or_null(text())),
        (
            "rollingUpdate",
            or_null(fields(vec![(
                "maxSurge",
                (1i64..3).prop_map(Value::from).boxed(),
            )])),
        ),
        ("list", or_null(list())),
    ];
    let mut all = vec![
        ("replicas", or_null((0i64..3).prop_map(Value::from).boxed())),
        ("args", or_null(list())),
        ("containers", or_null(containers)),
    ];
    if directives {
        strategy.push((
            "$retainKeys",
            few(&["type", "rollingUpdate", "list"])
                .prop_map(Value::from)
                .boxed(),
        ));
        strategy.push(("$deleteFromPrimitiveList/list", list()));
        strategy.push(("$setElementOrder/list", list()));
        all.push(("$deleteFromPrimitiveList/args", list()));
        let order = few(&["a", "b", "c", "d"]).prop_map(|names| {
            names
                .iter()
                .map(|name| json!({ "name": name }))
                .collect::<Value>()
        });
        all.push(("$setElementOrder/containers", order.boxed()));
    }
    all.push(("strategy", with_marker(strategy).boxed()));
    fields(all)
}

/// Labels, annotations, finalizers and owners.
pub(crate) fn metadata() -> BoxedStrategy<Value> {
    let last = spec().prop_map(|spec| {
        let config = json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a"}, "spec": spec});
        Value::from(config.to_string())
    });
    let annotations = fields(vec![
        ("a", "[12]".prop_map(Value::from).boxed()),
        ("kubectl.kubernetes.io/last-applied-configuration", last.boxed()),
    ]);
    let owners = few(&["1", "2"]).prop_flat_map(|uids| {
        let keys = uids.iter().map(|uid| json!({ "uid": uid })).collect();
        with_keys(keys, fields(vec![("name", "[ab]".prop_map(Value::from).boxed())]))
    });
    fields(vec![
        ("labels", strings().boxed()),
        ("annotations", annotations),
        ("finalizers", few(&["x", "y", "z"]).prop_map(Value::from).boxed()),
        ("ownerReferences", owners.boxed()),
    ])
    .prop_map(|mut metadata| {
        metadata["name"] = json!("a");
        metadata
    })
    .boxed()
}

/// A schema of a few levels, in the syntax of a CRD.
pub(crate) fn any_schema() -> BoxedStrategy<Value> {
    let scalar = proptest::sample::select(vec!["string", "integer", "number", "boolean"])
        .prop_map(|name| json!({ "type": name }));
    let open = prop_oneof![
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object"})),
        Just(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
    ];
    prop_oneof![3 => scalar, 1 => open]
        .prop_recursive(3, 12, 3, |inner| {
            let map_type = proptest::sample::select(vec!["granular", "atomic"]);
            let list_type = proptest::sample::select(vec!["atomic", "set", "map"]);
            prop_oneof![
                (btree_map("[abc]", inner.clone(), 0..3), map_type, any::<bool>()).prop_map(|(properties, map, preserve)| {
                    json!({"type": "object", "properties": properties, "x-kubernetes-map-type": map, "x-kubernetes-preserve-unknown-fields": preserve})
                }),
                inner.clone().prop_map(|entry| json!({"type": "object", "additionalProperties": entry})),
                (inner, list_type).prop_map(|(items, list)| {
                    json!({"type": "array", "items": items, "x-kubernetes-list-type": list, "x-kubernetes-list-map-keys": ["a", "b"]})
                }),
            ]
        })
        .boxed()
}
