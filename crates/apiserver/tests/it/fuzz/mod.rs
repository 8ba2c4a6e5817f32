//! Fuzzing of the API: no panics, no unexpected 5xx, every error is a `Status`, and every accepted object can be read
//! back.
//!
//! Bounded to a few seconds. `CAMBIUM_FUZZ=50` runs fifty times as many cases.

mod arbitrary;
mod definitions;
mod pipeline;
mod place;

use arbitrary::{bytes, mutations, query, texts, tree};
use http::Method;
use place::{Place, Sent};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{TestCaseResult, TestRunner};
use serde_json::{Value, json};

const PATCHES: [&str; 6] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+json",
    "application/patch",
];

/// Runs the cases of one property against one server.
fn law<S: Strategy>(cases: u32, strategy: S, check: impl Fn(&Place, S::Value) -> TestCaseResult) {
    let factor = std::env::var("CAMBIUM_FUZZ")
        .ok()
        .and_then(|text| text.parse::<u32>().ok());
    let place = Place::new();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: cases * factor.unwrap_or(1),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&strategy, |value| {
        check(&place, value)?;
        place.still_answers()
    });
    outcome.map_err(|failure| failure.to_string()).unwrap();
    place.everything_reads_back();
}

fn media() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json; charset=utf-8",
        "text/plain",
        "",
    ])
}

/// The index of an existing object.
fn target() -> impl Strategy<Value = prop::sample::Index> {
    any::<prop::sample::Index>()
}

#[test]
fn arbitrary_bytes_are_refused_or_stored() {
    let method = prop::sample::select(vec![Method::POST, Method::PUT, Method::PATCH, Method::DELETE]);
    let patch = prop::sample::select(PATCHES.to_vec());
    law(
        37,
        (target(), method, media(), patch, bytes(), any::<bool>()),
        |place, (target, method, media, patch, body, exact)| {
            let object = place.object(target);
            let path = if method == Method::POST {
                &object.collection
            } else {
                &object.path
            };
            let media = if method == Method::PATCH && exact {
                patch
            } else {
                media
            };
            let path = format!("{path}?fieldManager=fuzz");
            place
                .send(Sent::new(method, &path).media(media).body(body))
                .map(drop)
        },
    );
}

#[test]
fn arbitrary_trees_are_refused_or_stored() {
    let method = prop::sample::select(vec![Method::POST, Method::PUT, Method::PATCH, Method::DELETE]);
    let patch = prop::sample::select(PATCHES.to_vec());
    law(
        50,
        (target(), method, patch, tree()),
        |place, (target, method, patch, body)| {
            let object = place.object(target);
            let path = if method == Method::POST {
                &object.collection
            } else {
                &object.path
            };
            let media = if method == Method::PATCH {
                patch
            } else {
                "application/json"
            };
            let path = format!("{path}?fieldManager=fuzz&force=true");
            place
                .send(Sent::new(method, &path).media(media).json(&body))
                .map(drop)
        },
    );
}

#[test]
fn mutated_objects_are_refused_or_stored_on_create() {
    law(125, (target(), mutations()), |place, (target, mutations)| {
        let object = place.object(target);
        let mut body = object.fresh();
        mutations.apply(&mut body);
        let made = place.send(Sent::new(Method::POST, &object.collection).json(&body))?;
        if made.code == 201 {
            let name = made.body["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{}/{name}", object.collection);
            place.agrees(&path, &made.body)?;
            place.send(Sent::new(Method::DELETE, &format!("{path}?gracePeriodSeconds=0")))?;
        }
        Ok(())
    });
}

#[test]
fn mutated_objects_are_refused_or_stored_on_update() {
    let subresource = prop::sample::select(vec!["", "", "", "/status", "/scale", "/finalize", "/approval"]);
    law(
        100,
        (target(), mutations(), subresource, any::<bool>()),
        |place, (target, mutations, subresource, pinned)| {
            let object = place.object(target);
            let path = format!("{}{subresource}", object.path);
            let mut body = place.send(Sent::new(Method::GET, &object.path))?.body;
            if !pinned && let Some(metadata) = body["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            mutations.apply(&mut body);
            let changed = place.send(Sent::new(Method::PUT, &path).json(&body))?;
            if changed.code == 200 && subresource.is_empty() {
                place.agrees(&object.path, &changed.body)?;
            }
            Ok(())
        },
    );
}

#[test]
fn mutated_patches_are_refused_or_carried_out() {
    let media = prop::sample::select(PATCHES.to_vec());
    let subresource = prop::sample::select(vec!["", "", "", "", "/status", "/scale"]);
    law(
        175,
        (target(), mutations(), media, subresource),
        |place, (target, mutations, media, subresource)| {
            let object = place.object(target);
            let mut body = match media {
                "application/json-patch+json" => object.json_patch(),
                _ => object.patch(),
            };
            mutations.apply(&mut body);
            let path = format!("{}{subresource}?fieldManager=fuzz&force=true", object.path);
            let changed = place.send(Sent::new(Method::PATCH, &path).media(media).json(&body))?;
            if changed.code == 200 && subresource.is_empty() {
                place.agrees(&object.path, &changed.body)?;
            }
            Ok(())
        },
    );
}

#[test]
fn hostile_managed_fields_are_refused_or_forgotten() {
    let fields = prop_oneof![tree(), arbitrary::field_set()];
    let time = prop_oneof![Just(json!("2026-01-01T00:00:00Z")), tree()];
    let version = prop::sample::select(vec![
        "v1",
        "apps/v1",
        "example.com/v1",
        "example.com/v9",
        "",
        "a/b/c",
        "/",
    ]);
    let operation = prop::sample::select(vec!["Update", "Apply", "", "Other"]);
    let media = prop::sample::select(PATCHES.to_vec());
    law(
        75,
        (target(), fields, time, version, operation, mutations(), media),
        |place, (target, fields, time, version, operation, mutations, media)| {
            let object = place.object(target);
            let mut entry = json!([{"manager": "hostile", "operation": operation, "apiVersion": version,
                "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields}]);
            if mutations.len() > 2 {
                mutations.apply(&mut entry);
            }
            let merge = json!({"metadata": {"managedFields": entry}});
            place.send(
                Sent::new(Method::PATCH, &object.path)
                    .media("application/merge-patch+json")
                    .json(&merge),
            )?;
            // Whatever has become of the books, everybody can still write.
            let body = if media == PATCHES[0] {
                object.json_patch()
            } else {
                object.patch()
            };
            let path = format!("{}?fieldManager=honest&force=true", object.path);
            place
                .send(Sent::new(Method::PATCH, &path).media(media).json(&body))
                .map(drop)
        },
    );
}

#[test]
fn arbitrary_queries_are_refused_or_answered() {
    let method = prop::sample::select(vec![
        Method::GET,
        Method::GET,
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ]);
    law(
        125,
        (target(), method, query(), any::<bool>()),
        |place, (target, method, query, named)| {
            let object = place.object(target);
            let post = method == Method::POST;
            let path = if post || (!named && method == Method::GET) {
                &object.collection
            } else {
                &object.path
            };
            let body = if post { object.fresh() } else { object.patch() };
            let media = if method == Method::PATCH {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            let sent = Sent::new(method.clone(), &format!("{path}?{query}")).media(media);
            let sent = match method {
                Method::GET | Method::DELETE => sent,
                _ => sent.json(&body),
            };
            place.send(sent)?;
            place.restore(&object);
            Ok(())
        },
    );
}

#[test]
fn selectors_and_continue_tokens_are_refused_or_answered() {
    let selector = prop_oneof![
        "[a-c!=,() <>\\\\]{0,16}",
        "(metadata\\.(name|namespace)|spec\\.nodeName|status\\.phase|x)(=|==|!=|)[a-c\\\\,=]{0,6}",
        texts(),
    ];
    let token = prop_oneof![
        texts(),
        tree().prop_map(|tree| arbitrary::base64(tree.to_string().as_bytes())),
        (arbitrary::numbers(), texts(), arbitrary::numbers()).prop_map(|(rv, start, at)| {
            let token = json!({"v": "meta.k8s.io/v1", "rv": rv, "start": start, "at": at});
            arbitrary::base64(token.to_string().as_bytes())
        }),
        bytes().prop_map(|bytes| arbitrary::base64(&bytes)),
    ];
    let method = prop::sample::select(vec!["", "&watch=true", "&limit=1"]);
    law(
        100,
        (target(), selector.clone(), selector, token, method, 0..4_u8),
        |place, (target, labels, fields, token, extra, which)| {
            let object = place.object(target);
            let mut query = Vec::new();
            if which & 1 == 0 {
                query.push(format!("labelSelector={}", arbitrary::escape(&labels)));
                query.push(format!("fieldSelector={}", arbitrary::escape(&fields)));
            }
            if which & 2 == 0 {
                query.push(format!("continue={}", arbitrary::escape(&token)));
            }
            let path = format!("{}?{}{extra}", object.collection, query.join("&"));
            place.send(Sent::new(Method::GET, &path)).map(drop)
        },
    );
}

#[test]
fn arbitrary_paths_are_refused_or_answered() {
    let part = prop_oneof![
        prop::sample::select(vec![
            "api",
            "apis",
            "v1",
            "apps",
            "example.com",
            "namespaces",
            "default",
            "pods",
            "deployments",
            "widgets",
            "status",
            "scale",
            "log",
            "exec",
            "proxy",
            "binding",
            "eviction",
            "token",
            "watch",
            "finalize",
            "openapi",
            "v3",
            "v2",
            "healthz",
            "readyz",
            "version",
            "metrics",
            "ephemeralcontainers",
            "authorization.k8s.io",
            "selfsubjectaccessreviews",
            "customresourcedefinitions",
            "apiextensions.k8s.io",
            "%2F",
            "%",
            "%00",
            "..",
            "",
            "base",
        ])
        .prop_map(str::to_owned),
        texts().prop_map(|text| arbitrary::escape(&text)),
    ];
    let method = prop::sample::select(vec![
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW",
    ]);
    let path = prop::collection::vec(part, 0..8);
    law(150, (method, path, tree()), |place, (method, path, body)| {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let sent = Sent::new(method.clone(), &format!("/{}", path.join("/")));
        let sent = if method == Method::GET {
            sent
        } else {
            sent.json(&body)
        };
        place.send(sent).map(drop)
    });
}

#[test]
fn arbitrary_headers_are_refused_or_answered() {
    let word = prop::sample::select(vec![
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "*/*",
        "text/*",
        ";as=Table",
        ";v=v1",
        ";g=meta.k8s.io",
        ";as=PartialObjectMetadata",
        ";q=nan",
        ";q=-1",
        ";q=1e99",
        ",",
        ";",
        "=",
        "gzip",
        "identity",
        "\"",
        " ",
        ";stream=watch",
        ";charset=utf-8",
    ]);
    let header = prop_oneof![
        prop::collection::vec(word, 0..8).prop_map(|words| words.concat()),
        "[ -~]{0,40}".prop_map(|text| text),
    ];
    law(
        75,
        (target(), header.clone(), header.clone(), header, any::<bool>()),
        |place, (target, accept, encoding, agent, watch)| {
            let object = place.object(target);
            let path = format!("{}?watch={watch}", object.collection);
            let sent = Sent::new(Method::GET, &path)
                .header("accept", &accept)
                .header("accept-encoding", &encoding)
                .header("user-agent", &agent)
                .header("authorization", &encoding);
            place.send(sent)?;
            let body = object.patch();
            let sent = Sent::new(Method::PATCH, &object.path)
                .media("application/merge-patch+json")
                .header("accept", &accept)
                .header("user-agent", &agent)
                .json(&body);
            place.send(sent).map(drop)
        },
    );
}

#[test]
fn arbitrary_delete_options_are_refused_or_obeyed() {
    let base = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
        "propagationPolicy": "Background", "dryRun": ["All"], "preconditions": {"uid": "x", "resourceVersion": "1"},
        "orphanDependents": null, "ignoreStoreReadErrorWithClusterBreakingPotential": false});
    law(
        75,
        (target(), mutations(), any::<bool>()),
        |place, (target, mutations, one)| {
            let object = place.object(target);
            let mut body = base.clone();
            mutations.apply(&mut body);
            let path = if one { &object.path } else { &object.collection };
            place.send(Sent::new(Method::DELETE, path).json(&body))?;
            place.restore(&object);
            Ok(())
        },
    );
}

#[test]
fn generated_definitions_and_their_objects() {
    let schema = definitions::schema();
    law(
        20,
        (
            schema,
            prop::collection::vec((tree(), mutations()), 1..5),
            any::<u64>(),
        ),
        |place, (schema, objects, seed)| {
            let Some(resource) = place.define(&schema)? else {
                return Ok(());
            };
            for (index, (tree, mutations)) in objects.into_iter().enumerate() {
                let mut value = definitions::instance(&schema, seed.wrapping_add(index as u64), 0);
                if index % 2 == 1 {
                    mutations.apply(&mut value);
                }
                if index % 4 == 3 {
                    value = tree;
                }
                resource.try_object(place, index, &value)?;
            }
            resource.remove(place)
        },
    );
}

#[test]
fn mutated_definitions_are_refused_or_served() {
    law(
        37,
        (definitions::schema(), mutations(), any::<bool>()),
        |place, (schema, mutations, whole)| {
            let mut schema = schema;
            if !whole {
                mutations.apply(&mut schema);
            }
            let mut definition = definitions::definition("things", &schema);
            if whole {
                mutations.apply(&mut definition);
            }
            let path = definitions::PATH;
            let made = place.send(Sent::new(Method::POST, path).json(&definition))?;
            if made.code == 201 {
                place.settle();
                let name = made.body["metadata"]["name"].as_str().unwrap_or_default();
                let group = made.body["spec"]["group"].as_str().unwrap_or_default();
                place.send(Sent::new(Method::GET, &format!("/apis/{group}/v1")))?;
                place.send(Sent::new(Method::GET, &format!("/openapi/v3/apis/{group}/v1")))?;
                place.send(Sent::new(Method::DELETE, &format!("{path}/{name}")))?;
                place.settle();
            }
            Ok(())
        },
    );
}

/// A store can reload its file, whatever objects it was sent.
#[test]
fn mutated_objects_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let file = directory.path().join("store");
    let path = "/api/v1/namespaces/default/configmaps";
    let base = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m-",
        "labels": {"a": "b"}, "annotations": {"c": "d"}, "ownerReferences": [], "finalizers": ["example.com/f"]},
        "data": {"k": "v"}});
    let written = {
        let place = Place::in_file(&file);
        let strategy = mutations();
        for _ in 0..300 {
            let mut body = base.clone();
            strategy.new_tree(&mut runner).unwrap().current().apply(&mut body);
            place.send(Sent::new(Method::POST, path).json(&body)).unwrap();
        }
        let nulls = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": null}, "metadata": {
            "name": "nulls", "labels": {"a": null}, "annotations": {"b": null}, "uid": null, "finalizers": null}});
        let made = place.send(Sent::new(Method::POST, path).json(&nulls)).unwrap();
        assert_eq!(made.code, 201);
        place.list(path)
    };
    assert!(written.len() > 5);
    assert_eq!(Place::in_file(&file).list(path), written);
}

/// Regressions found by these properties.
mod found {
    use super::*;

    #[test]
    fn a_continue_token_from_the_beginning_of_time_has_expired() {
        let place = Place::new();
        let token = json!({"v": "meta.k8s.io/v1", "rv": 1, "start": "", "at": i64::MIN});
        let token = arbitrary::base64(token.to_string().as_bytes());
        let path = format!("/api/v1/namespaces/default/configmaps?continue={token}");
        let answer = place.send(Sent::new(Method::GET, &path)).unwrap();
        assert_eq!((answer.code, &answer.body["reason"]), (410, &json!("Expired")));
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inner, _| json!({"a": inner}))
    }

    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

    #[test]
    fn an_object_nested_as_deeply_as_can_be_read_is_refused_or_stays_readable() {
        let place = Place::new();
        for depth in 100..128 {
            let name = format!("deep{depth}");
            let object = json!({"apiVersion": "example.com/v1", "kind": "Widgets",
                "metadata": {"name": name}, "spec": {"any": nested(depth)}});
            let made = place
                .send(Sent::new(Method::POST, WIDGETS).json(&object))
                .unwrap();
            if made.code == 201 {
                let changed = Sent::new(Method::PATCH, &format!("{WIDGETS}/{name}"))
                    .media(PATCHES[1])
                    .json(&json!({"metadata": {"labels": {"a": "b"}}}));
                assert_eq!(place.send(changed).unwrap().code, 200, "{depth}");
            } else {
                assert_eq!(made.code, 400, "{made:?}");
            }
        }
        place.everything_reads_back();
    }

    #[test]
    fn what_does_not_belong_into_the_metadata_of_an_embedded_object_is_dropped() {
        let place = Place::new();
        let embedded = json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true});
        let resource = place.define(&embedded).unwrap().unwrap();
        let pod =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "strange": [1]}, "x": 1});
        let made = resource.create(&place, "one", &pod);
        assert_eq!(made.code, 201);
        assert_eq!(made.body["spec"]["metadata"], json!({"name": "p"}));
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}});
        assert_eq!(resource.apply(&place, "one", &pod).code, 200);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5}});
        let refused = resource.create(&place, "two", &pod);
        assert_eq!(
            (refused.code, &refused.body["reason"]),
            (400, &json!("BadRequest"))
        );
    }

    #[test]
    fn bodies_that_grow_when_they_are_read_are_refused() {
        let place = Place::new();
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}, ", level - 1).repeat(9);
            bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
        }
        let nested = ["[", "{a: ", "- ", "{\"a\":", "? "].map(|open| open.repeat(100_000));
        for text in nested.iter().chain([&bomb]) {
            for media in ["application/yaml", "application/json"] {
                let sent = Sent::new(Method::POST, WIDGETS).media(media);
                let made = place.send(sent.body(text.clone().into_bytes())).unwrap();
                assert_eq!(made.code, 400, "{media} {text:.20}");
            }
            for media in PATCHES.into_iter().filter(|_| *text != bomb) {
                let path = format!("{WIDGETS}/base?fieldManager=fuzz");
                let sent = Sent::new(Method::PATCH, &path).media(media);
                let changed = place.send(sent.body(text.clone().into_bytes())).unwrap();
                assert!(matches!(changed.code, 400 | 415), "{media} {text:.20}");
            }
        }
    }

    #[test]
    fn patches_that_nest_what_is_there_in_itself_are_refused() {
        let place = Place::new();
        let start = json!([{"op": "add", "path": "/spec/any", "value": nested(60)}]);
        let path = format!("{WIDGETS}/base");
        let patch = |body: &Value| {
            place
                .send(Sent::new(Method::PATCH, &path).media(PATCHES[0]).json(body))
                .unwrap()
        };
        assert_eq!(patch(&start).code, 200);
        let inside = format!("/spec/any{}", "/a".repeat(60));
        let into_itself = json!([{"op": "copy", "from": "/spec/any", "path": format!("{inside}/b")}]);
        assert_eq!(patch(&into_itself).code, 422);
        // Each step doubles the depth.
        let mut steps = vec![json!({"op": "add", "path": "/spec/x", "value": {}})];
        let mut depth = 0;
        for _ in 0..17 {
            let deepest = format!("/spec/x{}", "/a".repeat(depth));
            steps.push(json!({"op": "copy", "from": "/spec/x", "path": format!("{deepest}/a")}));
            depth = 2 * depth + 1;
        }
        assert_eq!(patch(&Value::Array(steps)).code, 422);
        place.everything_reads_back();
    }
}

#[test]
fn a_plain_request_is_answered() {
    let place = Place::new();
    let answer = place
        .send(Sent::new(Method::GET, "/api/v1/namespaces/default"))
        .unwrap();
    assert_eq!(
        (answer.code, &answer.body["kind"]),
        (200, &Value::from("Namespace"))
    );
}
