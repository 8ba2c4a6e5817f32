use super::*;
use serde_json::json;

fn application(annotations: Value) -> Value {
    json!({
        "metadata": {"name": "shop", "namespace": "team-a", "annotations": annotations},
        "spec": {"components": [{"name": "web", "type": "page"}]},
    })
}

fn rules(authors: Authors, otherwise: Otherwise) -> Identities {
    Identities { authors, otherwise }
}

fn account(name: &str) -> Identity {
    Identity::ServiceAccount {
        namespace: "team-a".to_owned(),
        name: name.to_owned(),
    }
}

fn user(username: &str, groups: &[&str]) -> Identity {
    Identity::Author {
        username: username.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
    }
}

#[test]
fn an_identity_is_the_service_account_then_the_author_then_the_default() {
    use Authors::{Recorded, Unknown};
    let default = || Otherwise::ServiceAccount("deployer".to_owned());
    let written = json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev,system:authenticated"});
    let both = json!({"app.oam.dev/username": "alice", "app.oam.dev/service-account-name": "robot"});
    let forged = json!({"app.oam.dev/group": "system:masters"});
    let blank = json!({"app.oam.dev/service-account-name": "", "app.oam.dev/username": ""});
    let alice = user("alice", &["dev", "system:authenticated"]);
    let rows = [
        (&both, Recorded, Otherwise::Nobody, Ok(account("robot"))),
        (&both, Unknown, Otherwise::Manager, Ok(account("robot"))),
        (&written, Recorded, Otherwise::Nobody, Ok(alice.clone())),
        (&written, Recorded, Otherwise::Manager, Ok(alice)),
        // Whoever writes without admission can write anything.
        (&written, Unknown, default(), Ok(account("deployer"))),
        (&written, Unknown, Otherwise::Nobody, Err(reason::NO_IDENTITY)),
        (&written, Unknown, Otherwise::Manager, Ok(Identity::Manager)),
        (&forged, Recorded, default(), Ok(account("deployer"))),
        (&blank, Recorded, Otherwise::Nobody, Err(reason::NO_IDENTITY)),
    ];
    for (annotations, authors, otherwise, expected) in rows {
        let application = application(annotations.clone());
        let found = identity(&application, &application, &rules(authors, otherwise.clone()));
        assert_eq!(
            found.map_err(|refused| refused.reason),
            expected,
            "{annotations} {authors:?} {otherwise:?}"
        );
    }
}

#[test]
fn no_identity_says_the_three_ways_out() {
    for authors in [Authors::Recorded, Authors::Unknown] {
        let application = application(json!({}));
        let refused = identity(&application, &application, &rules(authors, Otherwise::Nobody));
        let message = refused.expect_err("nobody").message;
        for way in [
            "app.oam.dev/service-account-name",
            "--default-service-account",
            "--application-identity=manager",
            "unchanged",
        ] {
            assert!(message.contains(way), "{way}: {message}");
        }
    }
}

#[test]
fn what_is_frozen_is_applied_as_its_own_author() {
    let rules = rules(Authors::Recorded, Otherwise::Nobody);
    let find = |live: Value, rendered: Value| {
        identity(&application(live), &application(rendered), &rules).expect("an identity")
    };
    let by = |name: &str| json!({"app.oam.dev/username": name});
    assert_eq!(find(by("admin"), by("bob")), user("bob", &[]));
    // Whoever names another ServiceAccount is heard; whoever takes it away is not.
    let robot = || json!({"app.oam.dev/service-account-name": "robot", "app.oam.dev/username": "admin"});
    assert_eq!(find(robot(), by("bob")), account("robot"));
    assert_eq!(find(by("bob"), robot()), account("robot"));
}

#[test]
fn names_that_would_be_somebody_else_are_refused() {
    let rules = rules(Authors::Recorded, Otherwise::Manager);
    for name in ["a:b", "a\nb", "UPPER", "-a", "a/../b", "a b", &"a".repeat(254)] {
        let application = application(json!({"app.oam.dev/service-account-name": name}));
        let refused = identity(&application, &application, &rules).expect_err(name);
        assert_eq!(refused.reason, reason::INVALID_ANNOTATIONS, "{name:?}");
    }
    let application = application(json!({"app.oam.dev/username": "a\r\nimpersonate-group: system:masters"}));
    let refused = identity(&application, &application, &rules).expect_err("control characters");
    assert_eq!(refused.reason, reason::INVALID_ANNOTATIONS);
}

#[test]
fn a_request_carries_the_user_and_each_group() {
    assert_eq!(
        user("alice", &["dev", "ops"]).headers(),
        [
            ("impersonate-user", "alice".to_owned()),
            ("impersonate-group", "dev".to_owned()),
            ("impersonate-group", "ops".to_owned()),
        ]
    );
    assert_eq!(
        account("robot").headers(),
        [(
            "impersonate-user",
            "system:serviceaccount:team-a:robot".to_owned()
        )]
    );
    assert!(Identity::Manager.headers().is_empty());
}

fn groups(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn recorded(old: Option<&Value>, new: &Value, username: &str) -> (Option<String>, bool) {
    let groups = groups(&["dev"]);
    let writer = Writer {
        username,
        groups: &groups,
    };
    let record = record(old, new, writer);
    (record.username, !record.warnings.is_empty())
}

#[test]
fn the_author_is_whoever_changes_what_is_applied_or_as_whom() {
    let alices = application(json!({"app.oam.dev/username": "alice", "app.oam.dev/group": "dev"}));
    let but = |change: &dyn Fn(&mut Value)| {
        let mut changed = alices.clone();
        change(&mut changed);
        changed
    };
    let annotate = |name: &'static str, value: Value| {
        but(&move |object| object["metadata"]["annotations"][name] = value.clone())
    };
    let nobody = application(json!({}));
    let forged = application(json!({"app.oam.dev/username": "admin", "app.oam.dev/group": "system:masters"}));
    let spec = but(&|object| object["spec"]["components"][0]["type"] = json!("other"));
    let label = but(&|object| object["metadata"]["labels"] = json!({"a": "b"}));
    let taken = annotate("app.oam.dev/username", json!("bob"));
    let given = annotate("app.oam.dev/username", json!("admin"));
    let dropped = but(&|object| object["metadata"]["annotations"] = json!({}));
    let account = annotate("app.oam.dev/service-account-name", json!("robot"));
    let author = |name: &str| Some(name.to_owned());
    let rows = [
        ("created", None, &nobody, (author("bob"), false)),
        (
            "created with a forged author",
            None,
            &forged,
            (author("bob"), true),
        ),
        ("unchanged", Some(&alices), &alices, (author("alice"), false)),
        ("spec changed", Some(&alices), &spec, (author("bob"), false)),
        ("labelled", Some(&alices), &label, (author("alice"), false)),
        (
            "annotation dropped",
            Some(&alices),
            &dropped,
            (author("alice"), false),
        ),
        ("given away", Some(&alices), &given, (author("alice"), true)),
        (
            "taken over by name",
            Some(&alices),
            &taken,
            (author("bob"), false),
        ),
        (
            "another ServiceAccount",
            Some(&alices),
            &account,
            (author("bob"), false),
        ),
        (
            "ServiceAccount taken away",
            Some(&account),
            &alices,
            (author("bob"), false),
        ),
        ("from before, forged", Some(&nobody), &forged, (None, true)),
        ("from before, labelled", Some(&nobody), &nobody, (None, false)),
    ];
    for (what, old, new, expected) in rows {
        assert_eq!(recorded(old, new, "bob"), expected, "{what}");
    }
}

#[test]
fn groups_of_somebody_else_cannot_be_made_of_a_name_with_a_comma() {
    let groups = groups(&["dev", "x,system:masters", "system:authenticated"]);
    let writer = Writer {
        username: "bob",
        groups: &groups,
    };
    let record = record(None, &application(json!({})), writer);
    assert_eq!(record.group.as_deref(), Some("dev,system:authenticated"));
    assert_eq!(record.warnings.len(), 1, "{:?}", record.warnings);
}

#[test]
fn whoever_sets_groups_alone_is_told_that_they_stay() {
    let old = application(json!({"app.oam.dev/username": "bob", "app.oam.dev/group": "dev"}));
    let new = application(json!({"app.oam.dev/username": "bob", "app.oam.dev/group": "system:masters"}));
    let groups = groups(&["dev"]);
    let writer = Writer {
        username: "bob",
        groups: &groups,
    };
    let record = record(Some(&old), &new, writer);
    assert_eq!(record.group.as_deref(), Some("dev"));
    assert_eq!(
        record.warnings,
        ["metadata.annotations[app.oam.dev/group] is set by admission and stays \"dev\""]
    );
}

#[test]
fn writing_the_author_changes_nothing_else() {
    let mut bare = application(json!({"other": "kept"}));
    let record = Record {
        username: Some("bob".to_owned()),
        group: Some(String::new()),
        warnings: Vec::new(),
    };
    let written = with_author(&bare, &record);
    assert_eq!(
        written["metadata"]["annotations"],
        json!({"other": "kept", "app.oam.dev/username": "bob", "app.oam.dev/group": ""})
    );
    assert_eq!(without_identity(&written), bare);
    assert_eq!(with_author(&written, &Record::default()), bare);
    if let Some(metadata) = bare["metadata"].as_object_mut() {
        metadata.remove("annotations");
    }
    assert_eq!(
        with_author(&bare, &record)["metadata"]["annotations"]["app.oam.dev/username"],
        "bob"
    );
    assert_eq!(with_author(&bare, &Record::default()), bare);
}
