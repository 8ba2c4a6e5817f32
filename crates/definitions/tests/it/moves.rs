//! Moving an application by hand.

use crate::world::{World, application, component};
use cambium_definitions::application::{Observed, draft};
use cambium_definitions::moves::{lock, upgrade};
use cambium_definitions::{Catalogue, Consuming, asked, follow, resolve};
use cambium_definitions_render::ClusterVersion;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn an_upgrade_keeps_the_shape_of_a_reference() {
    let catalogue = World::published("a", &["1.0.0", "1.1.0", "2.3.4", "3.0.0-rc.1"]).catalogue();
    for (from, to) in [
        ("a@1.0.0", Some("a@2.3.4")),
        ("a@1", Some("a@2")),
        ("a@1.0", Some("a@2.3")),
        ("a@2", None),
        ("a@2.3.4", None),
        ("a@3.0.0-rc.1", None),
        ("unknown@1", None),
    ] {
        let shop = application("shop", json!({}), &[from]);
        let plan = upgrade(&shop, &catalogue, &BTreeMap::new()).unwrap();
        let moved = plan.moves.first().and_then(|one| one.to.as_deref());
        assert_eq!(moved, to, "{from}");
        assert_eq!(plan.spec["components"][0]["type"], to.unwrap_or(from));
    }
}

#[test]
fn a_wish_must_exist() {
    let catalogue = World::published("a", &["1.0.0", "1.1.0"]).catalogue();
    let shop = application("shop", json!({}), &["a@1.0.0", "a@1.0.0"]);
    let wish = |component: &str, version: &str| BTreeMap::from([(component.to_owned(), version.to_owned())]);
    let plan = upgrade(&shop, &catalogue, &wish("c1", "1.1.0")).unwrap();
    let types = |index: usize| plan.spec["components"][index]["type"].clone();
    assert_eq!((types(0), types(1)), (json!("a@1.0.0"), json!("a@1.1.0")));
    assert!(upgrade(&shop, &catalogue, &wish("c1", "9.9.9")).is_err());
    let refused = upgrade(&shop, &catalogue, &wish("nobody", "1.1.0")).unwrap_err();
    assert!(
        refused[0].message.contains("components are c0, c1"),
        "{refused:?}"
    );
}

#[test]
fn a_lock_holds_what_was_resolved_and_nothing_newer() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = application("shop", json!({}), &["a@1"]);
    let answers: Vec<_> = asked(&shop)
        .iter()
        .map(|one| {
            resolve(
                &catalogue,
                &Consuming::of(&shop),
                &follow(&shop).unwrap(),
                one,
                None,
            )
        })
        .collect();
    let locked = lock(&answers).unwrap();
    shop["metadata"]["annotations"] = json!({"app.oam.dev/lock": serde_json::to_string(&locked).unwrap()});
    let later = World::published("a", &["1.0.0", "1.1.0"]).catalogue();
    let draft = draft(&Observed {
        application: &shop,
        recorded: &[],
        catalogue: &later,
        cluster_version: &ClusterVersion::default(),
    });
    let resolved = draft.answers[0].outcome.as_ref().unwrap();
    assert_eq!(resolved.stored.revision.name().as_str(), "a-v1.0.0");
}

#[test]
fn a_definition_of_the_namespace_hides_the_shared_one_from_those_who_do_not_use_it() {
    use cambium_definitions::LocalDefinitions;
    use cambium_definitions::application::answers;
    let mut catalogue = Catalogue::default();
    let mut shared = component("page", Some("1.0.0"), "shared");
    shared["metadata"]["namespace"] = json!("vela-system");
    for definition in [shared, component("page", Some("9.0.0"), "near")] {
        let mut world = World::new(&definition);
        world.settle();
        world.put_into(&mut catalogue);
    }
    let follows = json!({"app.oam.dev/autoUpdate": "true"});
    let new = application("new", follows.clone(), &["page"]);
    let mut old = application("old", follows, &["page"]);
    old["status"]["references"] = json!([{"path": "components[c0]", "definitionType": "Component", "asked": "page",
        "namespace": "vela-system", "revision": "page-v1.0.0", "version": "1.0.0"}]);
    let got = |application: &Value, catalogue: &Catalogue| {
        let answers = answers(application, &[], catalogue).unwrap().answers;
        answers[0].outcome.clone().unwrap().stored.artifact.clone()
    };
    let near = got(&new, &catalogue);
    assert_eq!(near.namespace, "team");
    assert!(catalogue.hides_shared(&near));
    // Whoever may publish in the namespace does not take over what others have made with the shared one.
    let far = got(&old, &catalogue);
    assert_eq!(far.namespace, "vela-system");
    assert!(!catalogue.hides_shared(&far));
    let catalogue = catalogue.with_local(LocalDefinitions::Ignored);
    assert_eq!(got(&new, &catalogue).namespace, "vela-system");
}
