//! Moving an application by hand.

use crate::world::{World, application};
use cambium_oam::application::{Observed, draft};
use cambium_oam::moves::{lock, upgrade};
use cambium_oam::{asked, follow, resolve};
use cambium_render::ClusterVersion;
use serde_json::json;
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
    assert!(refused[0].message.contains("there are c0, c1"), "{refused:?}");
}

#[test]
fn a_lock_holds_what_was_resolved_and_nothing_newer() {
    let catalogue = World::published("a", &["1.0.0"]).catalogue();
    let mut shop = application("shop", json!({}), &["a@1"]);
    let answers: Vec<_> = asked(&shop)
        .iter()
        .map(|one| resolve(&catalogue, "team", &follow(&shop).unwrap(), one, None))
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
