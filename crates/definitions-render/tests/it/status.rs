//! Status blocks against live objects. What is expected was seen from KubeVela's own code.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests, too")]

use cambium_definitions_render::{Definition, Live, Status, StatusText, Template};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn status(health_policy: &str, custom_status: &str, details: &str, live: &Live) -> Status {
    let status = StatusText {
        health_policy: health_policy.to_owned(),
        custom_status: custom_status.to_owned(),
        details: details.to_owned(),
    };
    let definition = Definition {
        name: "web".to_owned(),
        status,
        ..Definition::default()
    };
    Template::compile(definition).unwrap().status(live)
}

fn deployment(status: Value) -> Live {
    let output = json!({"metadata": {"generation": 2}, "spec": {"replicas": 3}, "status": status});
    Live {
        name: "web".to_owned(),
        app_name: "shop".to_owned(),
        output: Some(output),
        ..Live::default()
    }
}

const READY: &str = "
ready: {
	readyReplicas: *0 | int
	observed:      *0 | int
} & {
	if context.output.status.readyReplicas != _|_ {
		readyReplicas: context.output.status.readyReplicas
	}
	if context.output.status.observedGeneration != _|_ {
		observed: context.output.status.observedGeneration
	}
}
_isHealth: context.output.spec.replicas == ready.readyReplicas && ready.observed >= context.output.metadata.generation
isHealth:  *_isHealth | bool
if context.output.metadata.annotations != _|_ {
	if context.output.metadata.annotations[\"skip\"] != _|_ {
		isHealth: true
	}
}
message: \"Ready:\\(ready.readyReplicas)/\\(context.output.spec.replicas)\"
";

#[test]
fn health_follows_the_live_object() {
    let before = status(READY, READY, "", &deployment(json!({})));
    assert_eq!((before.healthy, before.message.as_str()), (false, "Ready:0/3"));
    let after = status(
        READY,
        READY,
        "",
        &deployment(json!({"readyReplicas": 3, "observedGeneration": 2})),
    );
    assert_eq!((after.healthy, after.message.as_str()), (true, "Ready:3/3"));
    assert_eq!(after.problems, []);
}

#[test]
fn a_default_gives_way_to_an_annotation() {
    let mut live = deployment(json!({}));
    live.output.as_mut().unwrap()["metadata"]["annotations"] = json!({"skip": ""});
    assert!(status(READY, "", "", &live).healthy);
}

#[test]
fn without_a_policy_everything_is_healthy() {
    assert_eq!(
        status("", "", "", &Live::default()),
        Status {
            healthy: true,
            ..Status::default()
        }
    );
}

#[test]
fn traits_see_their_objects_by_name() {
    let service = json!({"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.7"}]}}});
    let live = Live {
        outputs: BTreeMap::from([("service".to_owned(), service)]),
        ..Live::default()
    };
    let block = "
let igs = context.outputs.service.status.loadBalancer.ingress
isHealth: *false | bool
if igs != _|_ if len(igs) > 0 if igs[0].ip != _|_ {
	isHealth: true
	message:  \"IP \\(igs[0].ip)\"
}
";
    let status = status(block, block, "", &live);
    assert_eq!((status.healthy, status.message.as_str()), (true, "IP 10.0.0.7"));
}

#[test]
fn details_are_text_and_feed_the_other_blocks() {
    let details = "
ready: context.output.status.readyReplicas
ratio: 0.5
list: [1, 2, {a: 1}]
empty: []
none: {}
nested: {a: 1, bbb: \"x\", c: {d: true}, \"e-f\": null, g: [1], hh: [{x: 1}]}
text: \"a\\nb\"
lines: {t: \"a\\nb\"}
default: *1 | int
$limit: 2
aside: 3 @local()
secret: \"x\" @private()
missing: context.output.status.none
open: string
aNameThatIsTooLongToBeShownAnywhere: 1
_hidden: 1
#Definition: 2
";
    let health = "isHealth: context.status.details.ready >= context.status.details.$limit";
    let custom = "message: \"\\(context.status.details.ready) \\(context.status.healthy) \\(parameter.a)\"";
    let live = Live {
        properties: Some(json!({"a": 1})),
        ..deployment(json!({"readyReplicas": 2}))
    };
    let status = status(health, custom, details, &live);
    assert_eq!((status.healthy, status.message.as_str()), (true, "2 true 1"));
    let expected = [
        ("default", "1"),
        ("empty", "[]"),
        ("lines", "{\n\tt: \"\"\"\n\t\ta\n\t\tb\n\t\t\"\"\"\n}"),
        ("list", "[1, 2, {\n\ta: 1\n}]"),
        ("missing", "_|_"),
        (
            "nested",
            "{\n\ta:   1\n\tbbb: \"x\"\n\tc: {\n\t\td: true\n\t}\n\t\"e-f\": null\n\tg: [1]\n\thh: [{\n\t\tx: 1\n\t}]\n}",
        ),
        ("none", "{}"),
        ("open", "_|_"),
        ("ratio", "0.5"),
        ("ready", "2"),
        ("text", "a\nb"),
    ];
    let details: Vec<_> = status
        .details
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(details, expected);
}

#[test]
fn broken_blocks_are_unhealthy_and_told() {
    let unknown = status("isHealth: context.output.x", "message: 5", "", &Live::default());
    assert_eq!(
        (unknown.healthy, unknown.message.as_str(), unknown.problems.len()),
        (false, "", 2)
    );
    let syntax = status(
        "isHealth: {",
        "message: \"a\" + nope",
        "a: 1\na: 2",
        &Live::default(),
    );
    assert_eq!(
        (syntax.healthy, syntax.problems.len(), syntax.details.len()),
        (false, 3, 0)
    );
}

#[test]
fn what_is_told_fits_into_a_status() {
    let details = "for i in list.Range(0, 100, 1) {\"d\\(i)\": strings.Repeat(\"é\", 10000)}\n";
    let imports = "import \"list\"\nimport \"strings\"\n";
    let live = deployment(json!({}));
    let found = status(
        "isHealth: true",
        "import \"strings\"\nmessage: strings.Repeat(\"long\", 1000000)",
        &format!("{imports}{details}"),
        &live,
    );
    assert_eq!(found.details.len(), 64);
    assert!(found.details.values().all(|detail| detail.len() < 1100));
    let told = found.told().unwrap();
    assert!(told.starts_with("longlong") && told.ends_with("… (4000000 bytes, cut here)"));
    assert!(told.len() < 1100, "{}", told.len());
}

#[test]
fn what_is_wrong_with_the_blocks_is_known_before_there_are_objects() {
    let problems = |health_policy: &str, custom_status: &str, details: &str| {
        let definition = Definition {
            name: "web".to_owned(),
            status: StatusText {
                health_policy: health_policy.to_owned(),
                custom_status: custom_status.to_owned(),
                details: details.to_owned(),
            },
            ..Definition::default()
        };
        let problems = Template::compile(definition).unwrap().status_problems();
        problems.map(|problems| problems.to_string()).unwrap_or_default()
    };
    assert_eq!(problems(READY, READY, "ready: parameter.text"), "");
    assert_eq!(
        problems("if context.output != _|_ {\n\t\"isHealth\": true\n}", "", ""),
        ""
    );
    assert!(problems("isHealth: {{", "", "").contains("web.healthPolicy:1:"));
    for other in ["isHealthy: true", "_isHealth: true", " "] {
        let told = problems(other, "", "");
        assert!(told.contains("no isHealth"), "{other:?}: {told}");
    }
    let told = problems("isHealth: nowhere", "message: outpt.kind", "a: {");
    for part in ["\"nowhere\"", "\"outpt\"", "web.details:1:"] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
}

#[test]
fn what_is_told_names_the_cause() {
    let live = deployment(json!({"ready": 1}));
    let told =
        |health_policy: &str, custom_status: &str| status(health_policy, custom_status, "", &live).told();
    assert_eq!(told("isHealth: true", ""), None);
    assert_eq!(
        told("isHealth: false", "message: \"soon\""),
        Some("soon".to_owned())
    );
    let both = told(
        "isHealth: context.output.status.phase == \"up\"",
        "message: \"soon\"",
    )
    .unwrap();
    assert!(both.starts_with("soon; ") && both.contains("phase"), "{both}");
    assert!(
        both.contains(" at web.healthPolicy:1:") && !both.contains('\n'),
        "{both}"
    );
}
