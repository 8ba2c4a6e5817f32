//! What an application becomes.

use crate::world::{World, application, component};
use cambium_api::v1beta1::{ApplicationStatus, Phase};
use cambium_definitions::application::{
    Draft, Events, Happened, Object, Observed, Plan, Record, Recorded, Scopes, Step, draft, events, plan,
    plan_deletion, revisions_to_delete, status,
};
use cambium_definitions::{Catalogue, Refused};
use cambium_definitions_render::ClusterVersion;
use cambium_lineage::RevisionName;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An application, what was recorded of it, and what there is.
struct Shop {
    application: Value,
    recorded: Vec<Recorded>,
    live: BTreeMap<Object, Value>,
    /// Which objects the API server refuses, and what it says.
    refused: Vec<(&'static str, &'static str)>,
}

impl Shop {
    fn new(application: Value) -> Self {
        Self {
            application,
            recorded: Vec::new(),
            live: BTreeMap::new(),
            refused: Vec::new(),
        }
    }

    fn draft(&self, catalogue: &Catalogue) -> Draft {
        draft(&Observed {
            application: &self.application,
            recorded: &self.recorded,
            catalogue,
            cluster_version: &ClusterVersion::default(),
        })
    }

    fn plan(&self, draft: &Draft) -> Plan {
        let kind = ("v1".to_owned(), "ConfigMap".to_owned());
        let scopes: Scopes = BTreeMap::from([(kind, Ok(true))]);
        let work = draft.outcome.as_ref().unwrap();
        plan(&self.application, &self.recorded, work, &scopes, &self.live)
    }

    /// One look: everything that is planned is done.
    fn look(&mut self, catalogue: &Catalogue) -> Plan {
        let draft = self.draft(catalogue);
        let plan = self.plan(&draft);
        let mut happened = Happened::default();
        if plan.refused.is_empty() {
            self.record(&draft, &plan);
            happened.recorded = true;
            for &index in &plan.apply {
                let wanted = &plan.wanted[index];
                let mut refused = self.refused.iter();
                if let Some((_, message)) = refused.find(|(object, _)| wanted.object.name == *object) {
                    let refused = Refused {
                        reason: "ApplyFailed",
                        message: (*message).to_owned(),
                    };
                    happened.not_applied.insert(index, refused);
                    continue;
                }
                let mut object = wanted.manifest.clone();
                object["metadata"]["uid"] = json!(format!("{}-{}", wanted.object, self.recorded.len()));
                self.live.insert(wanted.object.clone(), object);
                happened.applied.insert(index);
            }
            for (object, _) in plan.prune.iter().filter(|_| happened.not_applied.is_empty()) {
                self.live.remove(object);
            }
        }
        happened.live = self.live.clone();
        let now = Timestamp::from_second(1_000_000).unwrap();
        self.application["status"] = json!(status(&self.application, &draft, Some(&plan), &happened, now));
        plan
    }

    fn record(&mut self, draft: &Draft, plan: &Plan) {
        let work = draft.outcome.as_ref().unwrap();
        match &work.record {
            Record::Keep(_) => {}
            Record::Renumber { name, number } => {
                let known = self
                    .recorded
                    .iter_mut()
                    .find(|one| one.revision.name() == name)
                    .unwrap();
                let revision = &known.revision;
                known.revision = cambium_lineage::Revision::new(
                    name.clone(),
                    *number,
                    revision.digest(),
                    revision.created(),
                );
            }
            Record::Issue { .. } | Record::Restore { .. } => {
                let objects: Vec<Object> = plan.wanted.iter().map(|wanted| wanted.object.clone()).collect();
                let mut object = work.revision_object(&self.application, &objects).unwrap();
                object["metadata"]["uid"] = json!(work.record.name());
                self.recorded
                    .retain(|one| one.revision.name() != work.record.name());
                self.recorded.push(Recorded::read(&object).unwrap());
            }
        }
    }

    fn latest(&self) -> (&Value, &Value) {
        let latest = &self.application["status"]["latestRevision"];
        (&latest["name"], &latest["revision"])
    }
}

#[test]
fn a_plan_that_was_carried_out_leaves_nothing_to_do_and_nothing_to_say() {
    let catalogue = World::published("a", &["1.0.0", "2.0.0"]).catalogue();
    for references in [&["a"][..], &["a@1", "a@2"], &[]] {
        let mut shop = Shop::new(application("shop", json!({}), references));
        shop.look(&catalogue);
        let status = shop.application["status"].clone();
        let plan = shop.look(&catalogue);
        assert!(
            plan.apply.is_empty() && plan.prune.is_empty() && plan.refused.is_empty(),
            "{plan:#?}"
        );
        assert_eq!(shop.application["status"], status, "{references:?}");
    }
}

#[test]
fn a_version_that_is_not_taken_is_no_reason_to_write() {
    let mut shop = Shop::new(application("shop", json!({}), &["a@1", "a"]));
    shop.look(&World::published("a", &["1.0.0"]).catalogue());
    let before = shop.application["status"].clone();
    let later = World::published("a", &["1.0.0", "2.0.0"]).catalogue();
    shop.look(&later);
    assert_eq!(shop.application["status"], before);
    // But it is said along with the next change.
    shop.application["metadata"]["generation"] = json!(2);
    shop.look(&later);
    assert_eq!(
        shop.application["status"]["references"][0]["newer"]["version"],
        "2.0.0"
    );
}

#[test]
fn a_revert_makes_a_revision_current_again() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    let (one, two) = (
        application("shop", json!({}), &["a"]),
        application("shop", json!({}), &["a", "a"]),
    );
    for (spec, name, number) in [(&one, "shop-v1", 1), (&two, "shop-v2", 2), (&one, "shop-v1", 3)] {
        shop.application["spec"] = spec["spec"].clone();
        shop.look(&catalogue);
        assert_eq!(shop.latest(), (&json!(name), &json!(number)));
    }
    shop.application["spec"] = application("shop", json!({}), &["a@1"])["spec"].clone();
    shop.look(&catalogue);
    assert_eq!(shop.latest(), (&json!("shop-v4"), &json!(4)));
    assert_eq!(shop.recorded.len(), 3);
}

#[test]
fn what_is_refused_issues_no_number_and_claims_nothing() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c0", "namespace": "team"}});
    shop.live.insert(Object::of(&theirs), theirs.clone());
    let plan = shop.look(&catalogue);
    assert_eq!(plan.refused.len(), 1, "{plan:#?}");
    assert!(plan.apply.is_empty() && plan.prune.is_empty());
    assert_eq!(shop.latest(), (&Value::Null, &Value::Null));
    assert!(shop.application["status"]["appliedResources"].is_null());
    shop.live.clear();
    shop.look(&catalogue);
    assert_eq!(shop.latest(), (&json!("shop-v1"), &json!(1)));
}

#[test]
fn only_what_was_recorded_and_is_labelled_is_removed() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    shop.look(&catalogue);
    let mut copy = shop.live.values().next().unwrap().clone();
    copy["metadata"]["name"] = json!("copy");
    shop.live.insert(Object::of(&copy), copy);
    let doomed = plan_deletion(&shop.application, &shop.recorded, &shop.live);
    let names: Vec<&str> = doomed.iter().map(|(object, _)| object.name.as_str()).collect();
    assert_eq!(names, ["c0"]);
    // Nor is anything that lost its label: it is somebody's now.
    let mut bare = shop.live.clone();
    bare.values_mut()
        .for_each(|object| object["metadata"]["labels"] = json!({}));
    assert!(plan_deletion(&shop.application, &shop.recorded, &bare).is_empty());
}

#[test]
fn the_newest_revisions_stay_and_the_current_one_whatever_its_number() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    for count in 1..=4 {
        shop.application["spec"] = application("shop", json!({}), &vec!["a"; count])["spec"].clone();
        shop.look(&catalogue);
    }
    let current: RevisionName = "shop-v1".parse().unwrap();
    let names = |limit: usize| -> Vec<String> {
        let gone = revisions_to_delete(&shop.recorded, &current, limit);
        gone.into_iter().map(|(name, _)| name.to_string()).collect()
    };
    assert_eq!(names(3), [""; 0]);
    assert_eq!(names(1), ["shop-v3", "shop-v2"]);
    assert_eq!(names(0), ["shop-v4", "shop-v3", "shop-v2"]);
}

#[test]
fn annotations_decide_how_it_follows_or_are_refused() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    for (annotations, reason) in [
        (json!({"app.oam.dev/autoUpdate": "TRUE"}), "InvalidAnnotations"),
        (
            json!({"app.oam.dev/autoUpdate": "true", "app.oam.dev/publishVersion": "1"}),
            "InvalidAnnotations",
        ),
        (json!({"app.oam.dev/lock": "{}"}), "Locked"),
        (json!({"app.oam.dev/autoUpdate": "false"}), "PartialWhilePinned"),
    ] {
        let shop = Shop::new(application("shop", annotations.clone(), &["a@1"]));
        let (_, problems) = shop.draft(&catalogue).outcome.unwrap_err();
        assert_eq!(problems[0].reason, reason, "{annotations}");
    }
}

#[test]
fn policies_are_given_what_their_definitions_take() {
    let policy = |template: &str| {
        let mut policy = World::new(&json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "PolicyDefinition",
            "metadata": {"name": "spread", "namespace": "team", "uid": "spread", "generation": 1},
            "spec": {"version": "1.0.0", "schematic": {"cue": {"template": template}}},
        }));
        policy.settle();
        let mut catalogue = World::published("web", &["1.0.0"]).catalogue();
        policy.put_into(&mut catalogue);
        catalogue
    };
    let refused = |catalogue: &Catalogue, properties: Value| -> Vec<String> {
        let annotations = json!({"app.oam.dev/ignore-unsupported": "true"});
        let mut shop = application("shop", annotations, &["web@1"]);
        shop["spec"]["policies"] = json!([{"name": "wide", "type": "spread@1", "properties": properties}]);
        match Shop::new(shop).draft(catalogue).outcome {
            Ok(_) => Vec::new(),
            Err((_, refused)) => refused.into_iter().map(|refused| refused.message).collect(),
        }
    };
    let catalogue =
        policy("parameter: {zones: [...string], least: *1 | int}\noutput: context.zones[parameter.least]\n");
    assert!(refused(&catalogue, json!({"zones": ["a"], "least": 2})).is_empty());
    let said = refused(&catalogue, json!({"zones": ["a"], "least": "two"}));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("policies[wide]: spec.policies[0].properties.least"),
        "{said:?}"
    );
    assert_eq!(refused(&catalogue, Value::Null), Vec::<String>::new());

    let catalogue = policy("parameter: zone: string\n");
    assert_eq!(
        refused(&catalogue, json!({})),
        ["policies[wide]: spec.policies[0].properties.zone: zone is required (string)\n    spread:1:18"]
    );
    let catalogue =
        policy("parameter: {zone: string, home: context.namespace, label: zone + context.name}\n");
    assert!(refused(&catalogue, json!({"zone": "a"})).is_empty());
    // Whoever runs this one knows what it takes.
    let catalogue = policy("import \"vela/op\"\nparameter: zone: string\nlook: op.#Read\n");
    assert!(refused(&catalogue, json!({"zone": 1})).is_empty());
}

/// What the reference of the first component got, as the status says.
fn got(shop: &Shop) -> &str {
    shop.application["status"]["references"][0]["revision"]
        .as_str()
        .unwrap()
}

#[test]
fn a_bare_legacy_reference_moves_only_when_the_application_itself_is_edited() {
    let mut world = World::new(&component("note", None, "one"));
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["note"]));
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v1");

    world.apply(&component("note", None, "two"));
    world.settle();
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v1", "publishing moves nobody");
    // Labels and annotations are not the spec.
    shop.application["metadata"]["labels"] = json!({"team": "a"});
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v1");

    shop.application["spec"]["components"][0]["properties"] = json!({"text": "new"});
    let before = shop.application["status"].clone();
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v2");
    // A crash after the revision was recorded and before the status was written ends in the same place.
    shop.application["status"] = before;
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v2");
    assert_eq!(shop.recorded.len(), 3);

    world.apply(&component("note", None, "three"));
    world.settle();
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v2");
    shop.application["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    shop.look(&world.catalogue());
    assert_eq!(got(&shop), "note-v3");
}

/// A component definition whose ConfigMap takes one parameter, which must be given.
fn taking(name: &str, version: &str, parameter: &str) -> Value {
    let mut definition = component(name, Some(version), version);
    let template = format!(
        "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: {{version: \"{version}\", text: parameter.{parameter}}}}}\n\
         parameter: {{{parameter}: string}}\n"
    );
    definition["spec"]["schematic"]["cue"]["template"] = json!(template);
    definition
}

/// What the first component of an application runs, got, and whether conditions hold.
fn facts(shop: &Shop) -> (Value, Value, Value, Value) {
    let status = &shop.application["status"];
    let reference = &status["references"][0];
    let condition = |type_: &str| {
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let found = conditions.find(|one| one["type"] == type_);
        found.map_or(Value::Null, |one| one["status"].clone())
    };
    (
        reference["running"]["version"].clone(),
        reference["version"].clone(),
        condition("Ready"),
        condition("Upgraded"),
    )
}

#[test]
fn a_follower_that_cannot_be_rendered_at_a_new_version_stays_at_the_one_it_runs() {
    let mut world = World::new(&taking("api", "1.0.0", "image"));
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["api@1"]));
    shop.application["spec"]["components"][0]["properties"] = json!({"image": "a"});
    shop.look(&world.catalogue());
    assert_eq!(
        facts(&shop),
        (json!("1.0.0"), json!("1.0.0"), json!("True"), Value::Null)
    );

    world.apply(&taking("api", "1.0.1", "img"));
    world.settle();
    let before: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    let plan = shop.look(&world.catalogue());
    assert!(plan.apply.is_empty() && plan.prune.is_empty(), "{plan:#?}");
    assert_eq!(
        facts(&shop),
        (json!("1.0.0"), json!("1.0.1"), json!("True"), json!("False"))
    );
    assert_eq!(shop.application["status"]["resolved"], "c0=api@1.0.0");
    let after: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    let told = events(&before, &after);
    assert_eq!(told.normal, []);
    assert_eq!(told.warnings.len(), 1, "{told:?}");
    let (reason, note) = &told.warnings[0];
    assert_eq!(reason, "UpgradeFailed");
    assert!(
        note.starts_with(
            "components[c0]: api@1 resolves to 1.0.1, which cannot be rendered; it stays at 1.0.0: "
        ) && note.contains("spec.components[0].properties.img")
            && note.ends_with("`cambium upgrade shop c0=1.0.0 -n team`"),
        "{note}"
    );
    // At rest, nothing is done and nothing is said.
    let status = shop.application["status"].clone();
    shop.look(&world.catalogue());
    assert_eq!(shop.application["status"], status);
    assert_eq!(events(&after, &after), Events::default());

    // An edit that fits both is applied at the old one, an edit that fits the new one moves it.
    shop.application["spec"]["components"][0]["properties"] = json!({"image": "b"});
    shop.look(&world.catalogue());
    assert_eq!(
        facts(&shop),
        (json!("1.0.0"), json!("1.0.1"), json!("True"), json!("False"))
    );
    shop.application["spec"]["components"][0]["properties"] = json!({"img": "b"});
    shop.look(&world.catalogue());
    assert_eq!(
        facts(&shop),
        (json!("1.0.1"), json!("1.0.1"), json!("True"), json!("True"))
    );
    let moved: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    assert_eq!(
        events(&after, &moved).normal,
        [(
            "Upgraded",
            "components[c0]: api@1 moved from 1.0.0 to 1.0.1".to_owned()
        )]
    );
}

/// A version that renders and that the API server refuses is an upgrade that failed, as one that cannot be rendered is.
#[test]
fn a_move_that_cannot_be_applied_is_an_upgrade_that_failed() {
    let mut world = World::new(&taking("api", "1.0.0", "image"));
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["api@1"]));
    shop.application["spec"]["components"][0]["properties"] = json!({"image": "a"});
    shop.refused = vec![("c0", "Invalid value: 100080")];
    shop.look(&world.catalogue());
    // Nothing of it has ever run.
    assert_eq!(shop.application["status"]["resolved"], "c0=<none>");
    shop.refused.clear();
    shop.look(&world.catalogue());
    assert_eq!(shop.application["status"]["resolved"], "c0=api@1.0.0");

    world.apply(&taking("api", "1.0.1", "image"));
    world.settle();
    shop.refused = vec![("c0", "Invalid value: 100080")];
    let before: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    shop.look(&world.catalogue());
    let status = shop.application["status"].clone();
    assert_eq!(status["resolved"], "c0=api@1.0.0");
    let reference = &status["references"][0];
    assert_eq!(
        (
            &reference["version"],
            &reference["running"]["version"],
            &reference["message"]
        ),
        (
            &json!("1.0.1"),
            &json!("1.0.0"),
            &json!("stays at 1.0.0: 1.0.1 cannot be applied")
        )
    );
    let after: ApplicationStatus = serde_json::from_value(status.clone()).unwrap();
    let upgraded = after
        .conditions
        .iter()
        .find(|one| one.type_ == "Upgraded")
        .unwrap();
    assert_eq!(
        (upgraded.status.as_str(), upgraded.message.as_str()),
        (
            "False",
            "components[c0]: api@1 resolves to 1.0.1, which cannot be applied; it stays at 1.0.0: Invalid value: 100080. \
             Change the properties, or pin it: `cambium upgrade shop c0=1.0.0 -n team`"
        )
    );
    // It is told once.
    let told = events(&before, &after);
    assert_eq!(
        told.warnings,
        [("UpgradeFailed".to_owned(), upgraded.message.clone())]
    );
    shop.look(&world.catalogue());
    assert_eq!(shop.application["status"], status);

    shop.refused.clear();
    shop.look(&world.catalogue());
    let after: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    let upgraded = after
        .conditions
        .iter()
        .find(|one| one.type_ == "Upgraded")
        .unwrap();
    assert_eq!(upgraded.status, "True");
    assert_eq!(after.resolved.as_deref(), Some("c0=api@1.0.1"));
}

/// What runs is a fact of each component: what the API server refuses of one says nothing of another.
#[test]
fn a_component_that_was_applied_runs_what_it_got_though_another_was_refused() {
    let mut shop = Shop::new(application("shop", json!({}), &["web@1", "web@1.0"]));
    shop.look(&World::published("web", &["1.0.0"]).catalogue());
    let before: ApplicationStatus = serde_json::from_value(shop.application["status"].clone()).unwrap();
    shop.refused = vec![("c1", "exceeded quota")];
    let catalogue = World::published("web", &["1.0.0", "1.0.1"]).catalogue();
    for look in 0..2 {
        shop.look(&catalogue);
        let status = &shop.application["status"];
        assert_eq!(status["resolved"], "c0=web@1.0.1,c1=web@1.0.0", "{look}");
        let after: ApplicationStatus = serde_json::from_value(status.clone()).unwrap();
        let upgraded = after.conditions.iter().find(|one| one.type_ == "Upgraded");
        assert_eq!(
            upgraded.unwrap().message,
            "components[c1]: web@1.0 resolves to 1.0.1, which cannot be applied; it stays at 1.0.0: exceeded quota. \
             Change the properties, or pin it: `cambium upgrade shop c1=1.0.0 -n team`"
        );
        assert_eq!(
            events(&before, &after).normal,
            [(
                "Upgraded",
                "components[c0]: web@1 moved from 1.0.0 to 1.0.1".to_owned()
            )]
        );
    }
}

#[test]
fn a_component_that_was_applied_in_part_says_so() {
    let two = |version: &str| {
        let mut definition = component("web", Some(version), version);
        let map = |name: &str| {
            format!(
                "{{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"{name}\", data: version: \"{version}\"}}"
            )
        };
        let template = format!("output: {}\noutputs: more: {}\n", map("one"), map("two"));
        definition["spec"]["schematic"]["cue"]["template"] = json!(template);
        definition
    };
    let mut world = World::new(&two("1.0.0"));
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["web@1"]));
    shop.look(&world.catalogue());
    world.apply(&two("1.0.1"));
    world.settle();
    shop.refused = vec![("two", "exceeded quota")];
    shop.look(&world.catalogue());
    let status = shop.application["status"].clone();
    let reference = &status["references"][0];
    assert_eq!(
        (&reference["running"]["version"], &reference["message"]),
        (
            &json!("1.0.0"),
            &json!("1.0.1 cannot be applied in full: the rest stays at 1.0.0")
        )
    );
    let conditions = status["conditions"].as_array().unwrap();
    let upgraded = conditions.iter().find(|one| one["type"] == "Upgraded").unwrap();
    assert_eq!(
        upgraded["message"],
        "components[c0]: web@1 resolves to 1.0.1, which cannot be applied in full; the rest stays at 1.0.0: exceeded quota. \
         Change the properties, or pin it: `cambium upgrade shop c0=1.0.0 -n team`"
    );
    // It says the same when it is tried again.
    shop.look(&world.catalogue());
    assert_eq!(shop.application["status"], status);
}

/// What a new version renders in two components was rendered in neither before: they stay.
#[test]
fn a_version_that_renders_one_object_in_two_components_is_held_back() {
    let named = |version: &str, metadata: &str| {
        let mut definition = component("web", Some(version), version);
        let template = format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\"{metadata}}}\n");
        definition["spec"]["schematic"]["cue"]["template"] = json!(template);
        definition
    };
    let mut world = World::new(&named("1.0.0", ""));
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["web@1", "web@1"]));
    shop.look(&world.catalogue());
    world.apply(&named("1.0.1", ", metadata: name: \"one\""));
    world.settle();
    shop.look(&world.catalogue());
    assert_eq!(
        facts(&shop),
        (json!("1.0.0"), json!("1.0.1"), json!("True"), json!("False"))
    );
    let conditions = shop.application["status"]["conditions"].as_array().unwrap();
    let upgraded = conditions.iter().find(|one| one["type"] == "Upgraded").unwrap();
    let message = upgraded["message"].as_str().unwrap();
    assert!(
        message.contains("both render ConfigMap")
            && message.contains("`cambium upgrade shop c1=1.0.0 -n team`"),
        "{message}"
    );
}

/// The way back that a person is shown is one that works.
#[test]
fn what_pins_a_reference_is_a_command_that_works() {
    let numbered = |parameter: &str| {
        let mut definition = taking("api", "1.0.0", parameter);
        definition["spec"].as_object_mut().unwrap().remove("version");
        definition
    };
    let mut world = World::new(&numbered("image"));
    world.settle();
    let follows = json!({"app.oam.dev/autoUpdate": "true"});
    let mut shop = Shop::new(application("shop", follows, &["api"]));
    shop.application["spec"]["components"][0]["properties"] = json!({"image": "a"});
    shop.look(&world.catalogue());
    world.apply(&numbered("img"));
    world.settle();
    shop.look(&world.catalogue());
    let conditions = shop.application["status"]["conditions"].as_array().unwrap();
    let upgraded = conditions.iter().find(|one| one["type"] == "Upgraded").unwrap();
    let message = upgraded["message"].as_str().unwrap();
    assert!(
        message.ends_with("pin it: `cambium upgrade shop c0=v1 -n team`"),
        "{message}"
    );
}

#[test]
fn one_that_cannot_move_holds_back_nobody_else() {
    let mut api = World::new(&taking("api", "1.0.0", "image"));
    api.settle();
    let catalogue = |api: &World, web: &[&str]| {
        let mut catalogue = api.catalogue();
        World::published("web", web).put_into(&mut catalogue);
        catalogue
    };
    let mut shop = Shop::new(application("shop", json!({}), &["api@1", "web@1"]));
    shop.application["spec"]["components"][0]["properties"] = json!({"image": "a"});
    shop.look(&catalogue(&api, &["1.0.0"]));
    api.apply(&taking("api", "1.0.1", "img"));
    api.settle();
    shop.look(&catalogue(&api, &["1.0.0", "1.0.1"]));
    let status = &shop.application["status"];
    assert_eq!(status["resolved"], "c0=api@1.0.0,c1=web@1.0.1");
    // Who asks for exactly that version is not moved back: the application is to be mended.
    shop.application["spec"]["components"][0]["type"] = json!("api@1.0.1");
    let draft = shop.draft(&catalogue(&api, &["1.0.0", "1.0.1"]));
    assert!(matches!(draft.outcome, Err((Step::Render, _))));
}

#[test]
fn what_nobody_carries_out_is_not_applied_unless_it_may_be_ignored() {
    let mut catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut topology = component("topology", None, "");
    topology["kind"] = json!("PolicyDefinition");
    topology["spec"]["schematic"]["cue"]["template"] = json!("parameter: clusters: [...string]\n");
    let mut world = World::new(&topology);
    world.settle();
    world.put_into(&mut catalogue);
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    shop.look(&catalogue);
    shop.application["spec"]["policies"] = json!([{"name": "where", "type": "topology"}]);
    let draft = shop.draft(&catalogue);
    let Err((Step::Apply, refused)) = &draft.outcome else {
        panic!("{draft:?}");
    };
    assert_eq!(refused[0].reason, "PolicyNotSupported");
    let now = Timestamp::from_second(1_000_000).unwrap();
    let told = status(&shop.application, &draft, None, &Happened::default(), now);
    let of = |type_: &str| told.conditions.iter().find(|one| one.type_ == type_).unwrap();
    assert_eq!(
        (of("Applied").status.as_str(), of("Applied").reason.as_str()),
        ("False", "PolicyNotSupported")
    );
    assert_eq!(of("Ready").status, "False");
    assert_eq!(told.phase, Some(Phase::Failed));
    assert_eq!(
        json!(told.applied_resources),
        shop.application["status"]["appliedResources"]
    );

    shop.application["metadata"]["annotations"] = json!({"app.oam.dev/ignore-unsupported": "true"});
    shop.look(&catalogue);
    let applied = &shop.application["status"]["conditions"][2];
    assert_eq!(
        (&applied["type"], &applied["reason"]),
        (&json!("Applied"), &json!("UnsupportedIgnored"))
    );
    assert_eq!(
        applied["message"],
        "Everything is applied; ignored: policies[where]: policy type \"topology\" is not supported"
    );
    // One that does not exist is refused like a component that does not exist.
    shop.application["spec"]["policies"] = json!([{"name": "where", "type": "nowhere"}]);
    let draft = shop.draft(&catalogue);
    assert!(
        matches!(&draft.outcome, Err((Step::Resolve, refused)) if refused[0].reason == "DefinitionNotFound")
    );
}

#[test]
fn objects_that_one_component_renders_twice_are_merged_and_two_components_are_refused() {
    let mut world = World::new(&component("a", None, "first"));
    world.definition["spec"]["schematic"]["cue"]["template"] = json!(
        "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: {one: \"1\", both: \"output\"}}\n\
         outputs: again: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: context.name, data: {two: \"2\", both: \"again\"}}\n\
         outputs: same: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: parameter.other, data: three: \"3\"}\n\
         parameter: other: *context.name | string\n"
    );
    world.settle();
    let mut shop = Shop::new(application("shop", json!({}), &["a"]));
    shop.look(&world.catalogue());
    let made: Vec<&Value> = shop.live.values().collect();
    assert_eq!(made.len(), 1);
    assert_eq!(
        made[0]["data"],
        json!({"one": "1", "two": "2", "three": "3", "both": "again"})
    );
    let rendered = shop.application["status"]["conditions"][1]["message"]
        .as_str()
        .unwrap();
    assert!(
        rendered.starts_with(
            "1 object; component \"c0\" renders ConfigMap team/c0 more than once; its output \"again\" wins"
        ),
        "{rendered}"
    );

    shop.application["spec"]["components"] =
        json!([{"name": "c0", "type": "a"}, {"name": "c1", "type": "a", "properties": {"other": "c0"}}]);
    let draft = shop.draft(&world.catalogue());
    let Err((Step::Render, refused)) = &draft.outcome else {
        panic!("{draft:?}");
    };
    assert_eq!(
        refused[0].message,
        "components \"c0\" and \"c1\" both render ConfigMap team/c0"
    );
}
