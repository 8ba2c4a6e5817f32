//! What is refused of a definition before it is stored.

use crate::world::{World, application, component};
use cambium_api::names::annotation::CONVERSION;
use cambium_api::{v1beta1, v2beta1};
use cambium_convert::definition::convert;
use cambium_definitions::admission::{
    ApplicationCheck, check_application, check_definition, check_definition_deletion, check_revision_deletion,
};
use cambium_definitions::application::Observed;
use cambium_definitions::definition::Uses;
use cambium_definitions::{Artifact, Catalogue};
use cambium_definitions_render::ClusterVersion;
use cambium_lineage::Users;
use serde_json::{Value, json};

/// A definition at v2beta1 with these versions.
fn versions(versions: &[&str]) -> Value {
    let entry = |version: &&str| component("a", Some(version), version)["spec"].clone();
    let mut definition = component("a", None, "");
    definition["apiVersion"] = json!(v2beta1::API_VERSION);
    definition["spec"] = json!({"versions": versions.iter().map(entry).collect::<Vec<_>>()});
    definition
}

fn at(version: &str, object: &Value) -> Value {
    convert(object.clone(), version).unwrap()
}

fn bare(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("annotations");
    object
}

fn refused(old: &Value, new: &Value) -> Vec<String> {
    let refused = check_definition(Some(old), new, None, &Uses::default()).refused;
    refused.into_iter().map(|refused| refused.message).collect()
}

#[track_caller]
fn is_refused(old: &Value, new: &Value, words: &str) {
    let refused = refused(old, new);
    assert!(
        refused.len() == 1 && refused[0].contains(words),
        "{words:?} is not in {refused:?}"
    );
}

#[test]
fn what_the_other_api_version_cannot_show_is_not_lost_by_writing_back_what_it_shows() {
    let list = at(v1beta1::API_VERSION, &versions(&["1.0.0", "1.5.0", "2.0.0"]));
    let words = "cannot be edited at core.oam.dev/v1beta1; apply it at core.oam.dev/v2beta1, \
        or use `kubectl edit componentdefinitions.v2beta1.core.oam.dev a -n team`";
    is_refused(&list, &bare(list.clone()), words);
    let mut fewer = at(v1beta1::API_VERSION, &versions(&["1.5.0", "2.0.0"]));
    is_refused(&list, &fewer, words);
    fewer["metadata"]["annotations"][CONVERSION] = json!("something");
    is_refused(&list, &fewer, words);

    let words = "cannot be edited at core.oam.dev/v2beta1; apply it at core.oam.dev/v1beta1, \
        or use `kubectl edit componentdefinitions.v1beta1.core.oam.dev a -n team`";
    let legacy = at(v2beta1::API_VERSION, &component("a", None, "x"));
    is_refused(&legacy, &bare(legacy.clone()), words);
    let mut published = legacy.clone();
    published["metadata"]["annotations"][CONVERSION] = json!(r#"{"from":"v1beta1"}"#);
    is_refused(&legacy, &published, words);
}

#[test]
fn what_was_written_at_v1beta1_is_not_edited_at_v2beta1() {
    let words = "it was written at core.oam.dev/v1beta1 and cannot be edited at core.oam.dev/v2beta1";
    let old = at(v2beta1::API_VERSION, &component("a", Some("2.0.0"), "x"));
    // A merge patch that was meant for v1beta1.
    let mut patched = old.clone();
    patched["spec"]["version"] = json!("2.1.0");
    is_refused(&old, &patched, words);
    let mut longer = old.clone();
    let entries = longer["spec"]["versions"].as_array_mut().unwrap();
    entries.push(component("a", Some("1.0.0"), "y")["spec"].clone());
    is_refused(&old, &longer, words);
}

#[test]
fn what_is_nobodys_content_is_edited_at_either_version() {
    for written in [
        component("a", None, "x"),
        component("a", Some("1.0.0"), "x"),
        versions(&["1.0.0"]),
        versions(&["1.0.0", "1.5.0", "2.0.0"]),
    ] {
        for version in [v1beta1::API_VERSION, v2beta1::API_VERSION] {
            let old = at(version, &written);
            let mut new = old.clone();
            new["metadata"]["labels"] = json!({"seen": "yes"});
            new["metadata"]["annotations"]["example.com/note"] = json!("mine");
            new["metadata"]["finalizers"] = json!(["example.com/wait"]);
            assert!(refused(&old, &new).is_empty(), "{:?}", refused(&old, &new));
            assert!(refused(&new, &old).is_empty(), "{:?}", refused(&new, &old));
        }
    }
}

#[test]
fn an_annotation_does_not_make_it_somebody_elses() {
    let words = "remove the annotation";
    let one = component("a", Some("1.0.0"), "1.0.0");
    let forged = at(v1beta1::API_VERSION, &versions(&["1.0.0"]));
    is_refused(&one, &forged, words);
    let list = versions(&["1.0.0"]);
    is_refused(&list, &at(v2beta1::API_VERSION, &one), words);
}

#[test]
fn the_fields_of_a_version_are_refused_beside_the_list() {
    let old = versions(&["1.0.0"]);
    let mut new = versions(&["1.0.0", "1.1.0"]);
    assert!(refused(&old, &new).is_empty());
    new["spec"]["version"] = json!("1.2.0");
    new["spec"]["schematic"] = new["spec"]["versions"][0]["schematic"].clone();
    is_refused(&old, &new, "spec: schematic, version: ");
}

#[test]
fn what_was_exported_at_either_version_can_be_created_again() {
    for written in [component("a", None, "x"), versions(&["1.0.0", "2.0.0"])] {
        for version in [v1beta1::API_VERSION, v2beta1::API_VERSION] {
            let exported = at(version, &written);
            let refused = check_definition(None, &exported, None, &Uses::default()).refused;
            assert!(refused.is_empty(), "{refused:?}");
        }
    }
}

/// What is said of a new definition.
fn said(kind: &str, spec: Value) -> String {
    let mut definition = component("a", None, "");
    definition["kind"] = json!(kind);
    definition["spec"] = spec;
    let refused = check_definition(None, &definition, None, &Uses::default()).refused;
    let messages: Vec<String> = refused.into_iter().map(|refused| refused.message).collect();
    messages.join("; ")
}

#[test]
fn what_nobody_could_use_is_refused() {
    let schematic = |template: &str| json!({"schematic": {"cue": {"template": template}}});
    let kinds = [
        "ComponentDefinition",
        "TraitDefinition",
        "PolicyDefinition",
        "WorkflowStepDefinition",
    ];
    for kind in kinds {
        let told = said(kind, schematic("output: {{"));
        assert!(
            told.contains("does not compile") && told.contains("a:1:"),
            "{kind}: {told}"
        );
    }
    let step = "import \"vela/op\"\nwait: op.#ConditionalWait & {continue: elsewhere.done}\n";
    assert_eq!(said("WorkflowStepDefinition", schematic(step)), "");
    assert_eq!(said("PolicyDefinition", json!({})), "");
    assert_eq!(
        said("TraitDefinition", json!({"definitionRef": {"name": "a"}})),
        ""
    );
    for other in ["helm", "kube", "terraform"] {
        let told = said(
            "ComponentDefinition",
            json!({"schematic": {other: {"release": {}}}}),
        );
        assert!(
            told.contains(&format!("schematic.{other} is not rendered here")),
            "{told}"
        );
    }
    for nothing in [json!({}), schematic(""), schematic("\n")] {
        let told = said("ComponentDefinition", nothing);
        assert!(told.contains("it has no template"), "{told}");
    }
    let old_place = json!({"extension": {"template": "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}"}});
    assert_eq!(said("ComponentDefinition", old_place), "");
}

#[test]
fn status_blocks_that_could_only_fail_are_refused() {
    for kind in ["ComponentDefinition", "TraitDefinition"] {
        let with = |block: &str, text: &str| {
            let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\noutputs: {}";
            let mut spec = json!({"schematic": {"cue": {"template": template}}});
            spec["status"][block] = json!(text);
            said(kind, spec)
        };
        assert_eq!(
            with(
                "healthPolicy",
                "isHealth: context.output.status.ready == parameter.count"
            ),
            ""
        );
        for (block, text) in [
            ("healthPolicy", "isHealth: {{"),
            ("healthPolicy", "isHealthy: true"),
            ("healthPolicy", "isHealth: output.status.ready"),
            ("customStatus", "message: nowhere"),
            ("details", "a: ]"),
        ] {
            let told = with(block, text);
            assert!(
                told.contains("the status blocks are wrong: "),
                "{block} {text}: {told}"
            );
        }
    }
}

#[test]
fn templates_that_can_only_fail_are_refused() {
    let schematic = |template: &str| json!({"schematic": {"cue": {"template": template}}});
    for (kind, template, words) in [
        (
            "ComponentDefinition",
            "outptu: {kind: \"ConfigMap\"}",
            "the template has no output; did you mean output?\n    a:1:1",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.imag}\nparameter: {image: string}",
            "parameter has no field \"imag\"; did you mean image?\n    a:1:60",
        ),
        (
            "TraitDefinition",
            "ouputs: {a: {kind: \"ConfigMap\"}}",
            "the template has neither outputs nor patch; did you mean outputs?\n    a:1:1",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.imag}\nparameter: close({image: string})",
            "parameter has no field \"imag\"; did you mean image?\n    a:1:60",
        ),
        (
            "ComponentDefinition",
            "output: 3",
            "output: must be an object, not 3\n    a:1:9",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\"}",
            "output has no kind\n    a:1:1",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: 1 & 2}",
            "output.data.a: conflicting values 2 and 1\n    a:1:56\n    a:1:60",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: parameter.image + 1}\nparameter: {image: string}",
            "output.data.a: invalid operands string and 1 to '+' (type string and int)\n    a:1:56",
        ),
        (
            "ComponentDefinition",
            "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: a: context.nmae}",
            "context has no field \"nmae\"; did you mean name?\n    a:1:56",
        ),
    ] {
        assert_eq!(said(kind, schematic(template)), words);
    }
}

#[test]
fn templates_that_make_too_large_a_text_are_refused_as_too_expensive() {
    let mut doubled = "_a0: \"xxxxxxxxxx\"\n".to_owned();
    for index in 1..=40 {
        doubled.push_str(&format!("_a{index}: _a{0} + _a{0}\n", index - 1));
    }
    for value in ["_a40", "1000000000*\"abc\"", "1000000000*[1]"] {
        let template =
            format!("{doubled}output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: a: {value}}}\n");
        let definition = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
            "metadata": {"name": "a", "namespace": "team"},
            "spec": {"version": "1.0.1", "schematic": {"cue": {"template": template}}},
        });
        let refused = check_definition(None, &definition, None, &Uses::default()).refused;
        assert_eq!(refused.len(), 1, "{value}: {refused:?}");
        assert_eq!(refused[0].reason, "TemplateTooExpensive", "{value}");
        assert!(refused[0].message.contains("\n    a:"), "{}", refused[0].message);
    }
}

#[test]
fn templates_that_are_too_expensive_with_their_defaults_are_refused() {
    let template = "import \"list\"\n_n: list.Range(0, 100, 1)\n\
        output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: [for i in _n for j in _n for k in _n {i}]}";
    let definition = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": "a", "namespace": "team"},
        "spec": {"version": "1.0.1", "schematic": {"cue": {"template": template}}},
    });
    let refused = check_definition(None, &definition, None, &Uses::default()).refused;
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].reason, "TemplateTooExpensive");
    let message = &refused[0].message;
    assert!(
        message.starts_with("version \"1.0.1\": the template is too expensive: "),
        "{message}"
    );
    assert!(message.contains("\n    a:3:"), "{message}");
}

/// By the annotation's name, and by the one that it had before.
#[test]
fn what_is_in_use_is_deleted_only_if_its_users_may_be_left_behind() {
    let users = Users::new(["Application default/shop".to_owned()], 1);
    let by = [("a-v1.0.0".parse().unwrap(), users.clone())].into();
    let uses = Uses {
        by,
        ..Uses::default()
    };
    let refused = |name: &str, value: &str| {
        let object = json!({"metadata": {"name": "a", "annotations": {name: value}}});
        let definition = check_definition_deletion(&object, &uses).len();
        assert_eq!(check_revision_deletion(&object, Some(&users)).len(), definition);
        definition == 1
    };
    for name in ["cambium.dev/allow-orphans", "definition.oam.dev/orphan"] {
        assert!(!refused(name, "true"), "{name}");
        assert!(refused(name, "false"), "{name}");
    }
    assert!(refused("cambium.dev/other", "true"));
}

/// What admission says of a new application.
fn checked(application: &Value, catalogue: &Catalogue) -> ApplicationCheck {
    check_application(
        None,
        &Observed {
            application,
            recorded: &[],
            catalogue,
            cluster_version: &ClusterVersion::default(),
        },
    )
}

#[test]
fn misspelt_properties_are_warned_of_beside_what_is_not_supported() {
    let mut catalogue = World::published("web", &["1.0.0"]).catalogue();
    let mut policy = component("spread", Some("1.0.0"), "");
    policy["kind"] = json!("PolicyDefinition");
    policy["spec"]["schematic"]["cue"]["template"] = json!("parameter: {least?: int}\n");
    let mut world = World::new(&policy);
    world.settle();
    world.put_into(&mut catalogue);
    let mut shop = application("shop", json!({}), &["web@1"]);
    shop["spec"]["components"][0]["properties"] = json!({"txet": "a"});
    let component = "components[c0].properties.txet: no parameter has this name; did you mean \"text\"?";
    assert_eq!(checked(&shop, &catalogue).warnings, [component]);
    shop["spec"]["policies"] = json!([{"name": "wide", "type": "spread@1", "properties": {"lesat": 1}}]);
    let policy = "policies[wide].properties.lesat: no parameter has this name; did you mean \"least\"?";
    let check = checked(&shop, &catalogue);
    assert!(check.refused.is_empty(), "{check:?}");
    assert_eq!(check.warnings[..2], [component, policy]);
    assert!(check.warnings[2].contains("is not supported"), "{check:?}");
    // Ignored, it is misspelt all the same.
    shop["metadata"]["annotations"] = json!({"app.oam.dev/ignore-unsupported": "true"});
    assert_eq!(checked(&shop, &catalogue).warnings, [component, policy]);
}

#[test]
fn a_slip_in_a_new_version_is_warned_of_once() {
    let mut definition = component("a", Some("1.0.0"), "x");
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\noutpust: {}\n";
    definition["spec"]["schematic"]["cue"]["template"] = json!(template);
    let refused = check_definition(None, &definition, None, &Uses::default()).refused;
    assert!(refused.is_empty(), "{refused:?}");
    let warning = "version \"1.0.0\": nothing reads the field \"outpust\"; did you mean outputs? (a:2:1)";
    let warned = |shelf| check_definition(None, &definition, shelf, &Uses::default()).warnings;
    assert_eq!(warned(None), [warning]);
    let mut world = World::new(&definition);
    world.settle();
    let catalogue = world.catalogue();
    let shelf = catalogue.get(&Artifact::of(&definition).unwrap());
    assert!(shelf.is_some());
    assert_eq!(warned(shelf), Vec::<String>::new());
}
