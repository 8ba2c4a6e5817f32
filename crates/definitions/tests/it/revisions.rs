//! A recorded revision renders by itself.

use crate::world::{World, application, component};
use cambium_api::names::reason;
use cambium_definitions::Catalogue;
use cambium_definitions::application::{Naming, Observed, Recorded, draft, render_revision};
use cambium_definitions_render::{ClusterVersion, Environment};
use serde_json::{Value, json};

/// The application `shop` at `web@1.0.0`, its revision, and what that rendered.
fn recorded(catalogue: &Catalogue) -> (Recorded, Vec<Value>) {
    let shop = application("shop", json!({}), &["web@1"]);
    let draft = draft(&Observed {
        application: &shop,
        recorded: &[],
        catalogue,
        cluster_version: &ClusterVersion::default(),
    });
    let work = draft.outcome.unwrap();
    let object = work.revision_object(&shop, &[]).unwrap();
    (Recorded::read(&object).unwrap(), work.objects())
}

fn rendered(recorded: &Recorded, catalogue: &Catalogue, naming: Naming<'_>) -> Vec<Value> {
    let environment = Environment {
        cluster: "local".to_owned(),
        ..Environment::default()
    };
    let revision = render_revision(recorded, catalogue, &environment, naming).unwrap();
    let manifests = revision.rendered.components.iter();
    manifests
        .flat_map(|component| component.in_dispatch_order())
        .map(|manifest| manifest.object.clone())
        .collect()
}

#[test]
fn a_recorded_revision_renders_what_it_rendered_whatever_is_published_since() {
    let mut web = World::published("web", &["1.0.0"]);
    let (recorded, objects) = recorded(&web.catalogue());
    assert_eq!(rendered(&recorded, &web.catalogue(), Naming::AsWritten), objects);
    web.apply(&component("web", Some("1.1.0"), "1.1.0"));
    web.settle();
    let now = rendered(&recorded, &web.catalogue(), Naming::AsWritten);
    assert_eq!(now, objects);
    assert_eq!(now[0]["data"]["version"], "1.0.0");
}

#[test]
fn several_revisions_live_beside_each_other_under_names_of_their_own() {
    let web = World::published("web", &["1.0.0"]);
    let (recorded, objects) = recorded(&web.catalogue());
    let beside = rendered(&recorded, &web.catalogue(), Naming::WithSuffix("v1"));
    assert_eq!(objects[0]["metadata"]["name"], "c0");
    assert_eq!(beside[0]["metadata"]["name"], "c0-v1");
    assert_eq!(beside[0]["data"], objects[0]["data"]);
}

#[test]
fn a_revision_whose_definition_revision_is_gone_is_refused() {
    let web = World::published("web", &["1.0.0"]);
    let (recorded, _) = recorded(&web.catalogue());
    let refused = render_revision(
        &recorded,
        &Catalogue::default(),
        &Environment::default(),
        Naming::AsWritten,
    )
    .unwrap_err();
    assert_eq!(refused[0].reason, reason::REVISION_CHANGED);
    assert_eq!(
        refused[0].message,
        "components[c0]: revision team/web-v1.0.0 is gone"
    );
}
