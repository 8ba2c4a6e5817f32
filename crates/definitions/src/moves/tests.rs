use super::*;
use crate::Stored;
use cambium_lineage::Scheme;
use std::sync::Arc;

/// A catalogue in which `web` is published in these versions, and `old` has as many numbered revisions.
fn catalogue(versions: &[&str], numbers: u64) -> Catalogue {
    let mut catalogue = Catalogue::default();
    let mut put = |definition: &str, called: &str, number: u64, spec: Value| {
        let stored = Stored::read(&json!({
            "metadata": {"name": format!("{definition}-v{called}"), "namespace": "vela-system"},
            "spec": {
                "revision": number, "definitionType": "Component", "definitionName": definition,
                "componentDefinition": {"spec": spec},
            },
        }));
        catalogue.put(Arc::new(stored.expect("a revision")));
    };
    for (number, version) in (1..).zip(versions) {
        put(
            "web",
            version,
            number,
            json!({"version": version, "text": version}),
        );
    }
    for number in 1..=numbers {
        put("old", &number.to_string(), number, json!({"number": number}));
    }
    catalogue
}

fn team() -> Consuming {
    Consuming {
        namespace: "team".to_owned(),
        name: "shop".to_owned(),
    }
}

fn application(annotations: Value, components: &[(&str, &str, &str)]) -> Value {
    let spec: Vec<Value> = components
        .iter()
        .map(|(name, reference, _)| json!({"name": name, "type": reference}))
        .collect();
    let status: Vec<Value> = components
        .iter()
        .map(|(name, reference, at)| {
            json!({"path": format!("components[{name}]"), "asked": reference, "version": at})
        })
        .collect();
    json!({
        "metadata": {"name": "shop", "namespace": "team", "annotations": annotations},
        "spec": {"components": spec}, "status": {"references": status},
    })
}

/// From which references to which.
fn moved(plan: &MovePlan) -> Vec<(&str, &str)> {
    plan.moves
        .iter()
        .map(|one| (one.from.as_deref().unwrap_or(""), one.to.as_deref().unwrap_or("")))
        .collect()
}

fn no_wishes() -> BTreeMap<String, String> {
    BTreeMap::new()
}

#[test]
fn an_upgrade_keeps_the_shape_of_references() {
    let catalogue = catalogue(&["1.2.3", "1.3.0", "2.1.0", "3.0.0-rc.1"], 2);
    let components = [
        ("a", "web@1.2.3", "1.2.3"),
        ("b", "web@v1", "1.3.0"),
        ("c", "web@1.2", "1.2.3"),
        ("d", "web", "1.3.0"),
        ("e", "web@2.1.0", "2.1.0"),
        ("f", "web@3.0.0-rc.1", "3.0.0-rc.1"),
        ("g", "old@v1", "old-v1"),
    ];
    let plan = upgrade(&application(json!({}), &components), &catalogue, &no_wishes());
    let plan = plan.expect("a plan");
    assert_eq!(
        moved(&plan),
        [
            ("web@1.2.3", "web@2.1.0"),
            ("web@v1", "web@2"),
            ("web@1.2", "web@2.1"),
            ("web", "web@2.1.0"),
        ]
    );
    assert_eq!(plan.lock, None);
}

#[test]
fn what_follows_by_itself_or_is_there_already_is_left_alone() {
    let catalogue = catalogue(&["1.2.3", "2.1.0"], 0);
    let follows = application(
        json!({"app.oam.dev/autoUpdate": "true"}),
        &[("a", "web", "1.2.3")],
    );
    let there = application(json!({}), &[("a", "web", "2.1.0")]);
    for application in [follows, there] {
        let plan = upgrade(&application, &catalogue, &no_wishes()).expect("a plan");
        assert_eq!(moved(&plan), []);
        assert_eq!(plan.spec, application["spec"]);
    }
}

#[test]
fn all_that_is_wrong_with_wishes_is_told() {
    let catalogue = catalogue(&["1.2.3"], 0);
    let application = application(json!({}), &[("a", "web@1.2.3", "1.2.3")]);
    let wishes =
        [("a", "9.9.9"), ("b", "1.2.3")].map(|(name, version)| (name.to_owned(), version.to_owned()));
    let refused = upgrade(&application, &catalogue, &wishes.into()).expect_err("refused");
    let messages: Vec<&str> = refused.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "no component \"b\"; components are a",
            "the version of \"web@9.9.9\" is not published; the nearest is 1.2.3",
        ]
    );
}

#[test]
fn a_lock_has_one_answer_for_a_text() {
    let references = [("a", "web@1", "1.2.3"), ("b", "web@1", "1.2.3")];
    let then = catalogue(&["1.2.3"], 0);
    let answers: Vec<Answer> = asked(&application(json!({}), &references))
        .iter()
        .map(|asked| resolve(&then, &team(), &unbound(), asked, None))
        .collect();
    let locked = lock(&answers).expect("a lock").to_string();
    let application = application(json!({"app.oam.dev/lock": locked}), &references);
    let wish = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    let plan = upgrade(&application, &catalogue(&["1.2.3", "1.3.0"], 0), &wish).expect("a plan");
    let paths: Vec<&str> = plan.moves.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(paths, ["components[a]", "components[b]"]);
    assert!(
        plan.lock
            .is_some_and(|lock| lock.contains("1.3.0") && !lock.contains("1.2.3"))
    );
}

#[test]
fn a_lock_moves_with_what_moves_and_holds_the_rest() {
    let before = catalogue(&["1.2.3"], 0);
    let references = [("a", "web@1", "1.2.3"), ("b", "web@1.2", "1.2.3")];
    let answers: Vec<Answer> = asked(&application(json!({}), &references))
        .iter()
        .map(|asked| resolve(&before, &team(), &unbound(), asked, None))
        .collect();
    let locked = lock(&answers).expect("a lock").to_string();
    let application = application(json!({"app.oam.dev/lock": locked}), &references);

    let after = catalogue(&["1.2.3", "1.2.4", "1.9.0"], 0);
    let lock_of = |plan: &MovePlan| -> Value {
        serde_json::from_str(plan.lock.as_deref().expect("a lock")).expect("JSON")
    };
    let all = upgrade(&application, &after, &no_wishes()).expect("a plan");
    // The highest release is above 1.2, so the second reference changes; the first only gets another lock.
    assert_eq!(moved(&all), [("web@1", "web@1"), ("web@1.2", "web@1.9")]);
    assert_eq!(lock_of(&all)["component"]["web@1"]["version"], "1.9.0");
    assert_eq!(lock_of(&all)["component"]["web@1.9"]["version"], "1.9.0");

    let one = BTreeMap::from([("b".to_owned(), "1.2.4".to_owned())]);
    let one = upgrade(&application, &after, &one).expect("a plan");
    assert_eq!(moved(&one), [("web@1.2", "web@1.2.4")]);
    assert_eq!(lock_of(&one)["component"]["web@1"]["version"], "1.2.3");
    assert_eq!(lock_of(&one)["component"]["web@1.2.4"]["version"], "1.2.4");
}

/// What an application was: `a` at `web@1` and 1.2.3, `b` at `old` and number 1.
fn recorded(catalogue: &Catalogue) -> Recorded {
    let digest = |revision: &str| {
        let stored = catalogue.revision("vela-system", revision).expect("a revision");
        stored.revision.digest().to_string()
    };
    let used = |reference: &str, revision: &str, version: Option<&str>| {
        json!({
            "type": "Component", "reference": reference, "namespace": "vela-system",
            "revision": revision, "version": version, "digest": digest(revision),
        })
    };
    Recorded::read(&json!({
        "metadata": {"name": "shop-v1", "namespace": "team"},
        "spec": {
            "revision": 1,
            "application": application(json!({}), &[("a", "web@1", ""), ("b", "old", "")]),
            "definitions": [used("web@1", "web-v1.2.3", Some("1.2.3")), used("old", "old-v1", None)],
        },
    }))
    .expect("a revision")
}

#[test]
fn a_rollback_names_exactly_what_was_used() {
    let catalogue = catalogue(&["1.2.3", "1.9.0"], 3);
    let now = application(json!({}), &[("a", "web@1", "1.9.0"), ("c", "web", "1.9.0")]);
    let plan = rollback(&now, &recorded(&catalogue), &catalogue).expect("a plan");
    assert_eq!(
        moved(&plan),
        [("web@1", "web@1.2.3"), ("", "old@v1"), ("web", "")],
        "a changes, b comes back, c goes"
    );
    assert_eq!(plan.moves[0].version.as_deref(), Some("1.9.0"));
    assert!(plan.beyond_references);
    assert_eq!(plan.lock, None);
}

#[test]
fn a_rollback_is_refused_when_a_number_has_become_a_version() {
    let mut catalogue = catalogue(&["1.2.3"], 1);
    let recorded = recorded(&catalogue);
    let old = crate::Artifact::new(DefinitionType::Component, "vela-system", "old");
    catalogue.declare(&old, Scheme::Versioned, 1);
    let now = application(json!({}), &[("a", "web@1", "1.2.3"), ("b", "old", "")]);
    let refused = rollback(&now, &recorded, &catalogue).expect_err("refused");
    assert_eq!(refused.len(), 1);
    assert!(
        refused[0]
            .message
            .starts_with("components[b]: it was vela-system/old-v1, and now "),
        "{refused:?}"
    );
}
