//! Which composition a composite resource gets, and which revision of it: a table of everything that decides.

use crate::definitions::{lakes, typed};
use cambium_compositions::definition::read;
use cambium_compositions::revision::{LabelEdits, Stored};
use cambium_compositions::{
    ByRevision, Catalogue, CompositionFetcher, Consuming, Found, FromComposition, Live, Wish, select,
};
use cambium_lineage::Digest;
use serde_json::{Value, json};
use std::sync::Arc;

const VERSION: &str = "water.example.org/v1";

fn spec(kind: &str, says: &str) -> Value {
    json!({"compositeTypeRef": {"apiVersion": VERSION, "kind": kind}, "mode": "Resources",
        "resources": [{"name": says}]})
}

/// A revision: its number, whose it is by name and by identity, its channel, and its spec.
fn revision(number: u64, of: &str, owner: Option<&str>, channel: &str, spec: &Value) -> Value {
    let digest = Digest::of(spec);
    let mut spec = spec.clone();
    spec["revision"] = json!(number);
    let mut object = json!({
        "metadata": {"name": format!("{of}-{number}"), "uid": format!("{of}-{number}"),
            "annotations": {"composition.cambium.dev/digest": digest},
            "labels": {"crossplane.io/composition-name": of, "channel": channel}},
        "spec": spec,
    });
    if let Some(uid) = owner {
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": "apiextensions.crossplane.io/v1",
            "kind": "Composition", "name": of, "uid": uid, "controller": true}]);
    }
    object
}

/// Compositions, and what is in the way:
///
/// | composition | labels | revisions |
/// |---|---|---|
/// | `base` | `size: small` | 1 and 2 are stable, 3 is beta, 4 was edited, 5 is an earlier `base`'s |
/// | `other` | `size: large` | 1 |
/// | `alien` | `size: large` | 1, for another kind |
/// | `gone` | it was deleted | 1 |
/// | `empty` | `size: empty` | none |
fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    let mut declare = |name: &str, kind: &str, size: &str| {
        let object = json!({"metadata": {"name": name, "uid": name, "labels": {"size": size}}, "spec": spec(kind, name)});
        catalogue.declare(name, Some(Live::read(&object)));
    };
    declare("base", "XLake", "small");
    declare("other", "XLake", "large");
    declare("alien", "XSea", "large");
    declare("empty", "XLake", "empty");
    let mut edited = revision(4, "base", Some("base"), "stable", &spec("XLake", "4"));
    edited["spec"]["resources"] = json!([{"name": "by-hand"}]);
    let revisions = [
        revision(1, "base", Some("base"), "stable", &spec("XLake", "1")),
        revision(2, "base", Some("base"), "stable", &spec("XLake", "2")),
        revision(3, "base", Some("base"), "beta", &spec("XLake", "3")),
        edited,
        revision(5, "base", Some("an earlier one"), "stable", &spec("XLake", "5")),
        revision(1, "other", Some("other"), "stable", &spec("XLake", "1")),
        revision(1, "alien", Some("alien"), "stable", &spec("XSea", "1")),
        revision(1, "gone", Some("gone"), "stable", &spec("XLake", "1")),
    ];
    for object in &revisions {
        catalogue.put(Arc::new(Stored::read(object, LabelEdits::Follow).unwrap()));
    }
    catalogue
}

/// The composite resource that asks.
fn deep(wish: &Wish) -> Consuming {
    Consuming {
        type_: wish.composite_type.clone(),
        namespace: String::new(),
        name: "deep".to_owned(),
    }
}

/// What a composite resource with this machinery gets by a definition with more in its spec: the revision's name, or why none.
fn get(by: &dyn CompositionFetcher, definition: &Value, machinery: &Value) -> String {
    let mut object = lakes();
    for (field, value) in definition.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    let definition = read(&typed(object)).unwrap();
    let composite = json!({"metadata": {"name": "deep"}, "spec": machinery});
    let wish = Wish::of(&definition, &composite);
    match by.fetch(&catalogue(), &deep(&wish), &wish) {
        Ok(fetched) => match fetched.revision {
            Some(stored) => {
                assert_eq!(stored.composition, fetched.composition);
                stored.revision.name().to_string()
            }
            None => fetched.composition,
        },
        Err(refusal) => refusal.to_string(),
    }
}

fn reference(name: &str) -> Value {
    json!({"name": name})
}

#[test]
fn composition_enforced_before_named_before_default_before_selected() {
    let (base, other) = (reference("base"), reference("other"));
    let large = json!({"matchLabels": {"size": "large"}});
    let rows = [
        // What the definition says, what the composite resource says, what it gets.
        (
            json!({"enforcedCompositionRef": other, "defaultCompositionRef": base}),
            json!({"compositionRef": base, "compositionSelector": {"matchLabels": {"size": "small"}}}),
            "other-1",
        ),
        (json!({"enforcedCompositionRef": other}), json!({}), "other-1"),
        (
            json!({"defaultCompositionRef": other}),
            json!({"compositionRef": base}),
            "base-3",
        ),
        (
            json!({}),
            json!({"compositionRef": base, "compositionSelector": large}),
            "base-3",
        ),
        (json!({"defaultCompositionRef": other}), json!({}), "other-1"),
        // Whoever selects is not given the default, not even if nothing is found.
        (
            json!({"defaultCompositionRef": base}),
            json!({"compositionSelector": large}),
            "other-1",
        ),
        (
            json!({"defaultCompositionRef": base}),
            json!({"compositionSelector": {"matchLabels": {"size": "huge"}}}),
            "cannot select Composition: no compatible Compositions found with the labels size=huge",
        ),
        // The first by name that is for the kind: `alien` has the labels too, and comes before.
        (json!({}), json!({"compositionSelector": large}), "other-1"),
        (json!({}), json!({}), "base-3"),
        (
            json!({}),
            json!({"compositionRef": {"name": "nothing"}}),
            "cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io \"nothing\" not found",
        ),
        (
            json!({"enforcedCompositionRef": {"name": "nothing"}}),
            json!({"compositionRef": base}),
            "cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io \"nothing\" not found",
        ),
        (
            json!({}),
            json!({"compositionRef": {"name": "empty"}}),
            "cannot fetch Composition: no compatible CompositionRevisions found: \"empty\" has no revision yet",
        ),
        (
            json!({}),
            json!({"compositionRef": {"name": "alien"}}),
            "cannot configure composite resource: referenced composition is not compatible with this composite resource: \
             alien-1 composes XSea of water.example.org/v1, not XLake of water.example.org/v1",
        ),
    ];
    for (definition, machinery, expected) in rows {
        assert_eq!(
            get(&ByRevision, &definition, &machinery),
            expected,
            "{definition} {machinery}"
        );
    }
}

#[test]
fn revision_by_policy_selector_and_name() {
    let rows = [
        // What the definition says, what the composite resource says besides its composition, what it gets.
        (json!({}), json!({}), "base-3"),
        (
            json!({}),
            json!({"compositionUpdatePolicy": "Automatic"}),
            "base-3",
        ),
        // Those who follow have no say in which.
        (
            json!({}),
            json!({"compositionRevisionRef": reference("base-1")}),
            "base-3",
        ),
        (
            json!({}),
            json!({"compositionRevisionRef": reference("nothing")}),
            "base-3",
        ),
        // A selector narrows: the newest that has the labels, and holds what was published, and is not an earlier composition's.
        (
            json!({}),
            json!({"compositionRevisionSelector": {"matchLabels": {"channel": "stable"}}}),
            "base-2",
        ),
        (
            json!({}),
            json!({"compositionRevisionSelector": {"matchLabels": {"channel": "stable"}}, "compositionRevisionRef": reference("base-3")}),
            "base-2",
        ),
        (
            json!({}),
            json!({"compositionRevisionSelector": {"matchLabels": {"channel": "none"}}}),
            "cannot fetch Composition: no compatible CompositionRevisions found: no revision of \"base\" has the labels channel=none",
        ),
        // The definition's selector is for those who have neither selector nor revision.
        (
            json!({"defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}}}),
            json!({}),
            "base-2",
        ),
        (
            json!({"defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}}}),
            json!({"compositionRevisionSelector": {"matchLabels": {"channel": "beta"}}}),
            "base-3",
        ),
        (
            json!({"defaultCompositionRevisionSelector": {"matchLabels": {"channel": "stable"}}}),
            json!({"compositionRevisionRef": reference("base-1")}),
            "base-3",
        ),
        // Manual: what is named, or the current one, whatever is selected.
        (json!({}), json!({"compositionUpdatePolicy": "Manual"}), "base-3"),
        (
            json!({}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionSelector": {"matchLabels": {"channel": "none"}}}),
            "base-3",
        ),
        (
            json!({}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("base-1")}),
            "base-1",
        ),
        // The policy: enforced before said before default.
        (
            json!({"enforceCompositionUpdatePolicy": "Manual", "defaultCompositionUpdatePolicy": "Automatic"}),
            json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": reference("base-1")}),
            "base-1",
        ),
        (
            json!({"enforceCompositionUpdatePolicy": "Automatic"}),
            json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("base-1")}),
            "base-3",
        ),
        (
            json!({"defaultCompositionUpdatePolicy": "Manual"}),
            json!({"compositionRevisionRef": reference("base-1")}),
            "base-1",
        ),
        (
            json!({"defaultCompositionUpdatePolicy": "Manual"}),
            json!({"compositionUpdatePolicy": "Automatic", "compositionRevisionRef": reference("base-1")}),
            "base-3",
        ),
    ];
    for (definition, mut machinery, expected) in rows {
        machinery["compositionRef"] = reference("base");
        assert_eq!(
            get(&ByRevision, &definition, &machinery),
            expected,
            "{definition} {machinery}"
        );
    }
}

#[test]
fn a_pin_must_be_there_be_the_compositions_be_intact_and_fit() {
    let rows = [
        // The composition, the revision, and what is wrong with it.
        (
            "base",
            "nothing",
            "CompositionRevision.apiextensions.crossplane.io \"nothing\" not found",
        ),
        (
            "base",
            "other-1",
            "\"other-1\" belongs to the Composition \"other\", not to \"base\"",
        ),
        (
            "base",
            "base-5",
            "\"base-5\" belongs to the Composition \"base\", not to \"base\"",
        ),
        ("base", "base-4", "\"base-4\" was edited after it was published"),
        (
            "alien",
            "alien-1",
            "alien-1 composes XSea of water.example.org/v1, not XLake",
        ),
        (
            "nothing",
            "base-1",
            "\"base-1\" belongs to the Composition \"base\", not to \"nothing\"",
        ),
    ];
    for (composition, revision, expected) in rows {
        let machinery = json!({"compositionRef": reference(composition), "compositionUpdatePolicy": "Manual",
            "compositionRevisionRef": reference(revision)});
        let refusal = get(&ByRevision, &json!({}), &machinery);
        assert!(refusal.contains(expected), "{revision}: {refusal}");
    }
    // A composition that is gone leaves its revisions to those who are pinned, and nothing to those who follow.
    let pinned = json!({"compositionRef": reference("gone"), "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": reference("gone-1")});
    assert_eq!(get(&ByRevision, &json!({}), &pinned), "gone-1");
    let following = json!({"compositionRef": reference("gone")});
    assert!(
        get(&ByRevision, &json!({}), &following)
            .contains("Composition.apiextensions.crossplane.io \"gone\" not found")
    );
    // An enforced composition does not let a pin to another one's revision through.
    let enforced = json!({"enforcedCompositionRef": reference("other")});
    let pinned = json!({"compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("base-1")});
    assert!(get(&ByRevision, &enforced, &pinned).contains("belongs to the Composition \"base\""));
}

#[test]
fn a_revision_that_is_nobodys_belongs_to_the_composition_it_is_labelled_with() {
    let mut catalogue = catalogue();
    let object = revision(9, "base", None, "beta", &spec("XLake", "9"));
    catalogue.put(Arc::new(Stored::read(&object, LabelEdits::Follow).unwrap()));
    let definition = read(&typed(lakes())).unwrap();
    let wish = Wish::of(
        &definition,
        &json!({"spec": {"compositionRef": reference("base")}}),
    );
    let fetched = ByRevision.fetch(&catalogue, &deep(&wish), &wish).unwrap();
    assert_eq!(fetched.revision.unwrap().revision.name().as_str(), "base-9");
}

#[test]
fn without_revisions_the_composition_is_used_as_it_is() {
    let rows = [
        (json!({"compositionRef": reference("base")}), "base"),
        (json!({"compositionRef": reference("empty")}), "empty"),
        (
            json!({"compositionRef": reference("base"), "compositionUpdatePolicy": "Manual", "compositionRevisionRef": reference("base-1")}),
            "base",
        ),
        (
            json!({"compositionSelector": {"matchLabels": {"size": "large"}}}),
            "other",
        ),
    ];
    for (machinery, expected) in rows {
        assert_eq!(
            get(&FromComposition, &json!({}), &machinery),
            expected,
            "{machinery}"
        );
    }
    for (composition, expected) in [
        (
            "gone",
            "Composition.apiextensions.crossplane.io \"gone\" not found",
        ),
        ("alien", "alien composes XSea"),
    ] {
        let machinery = json!({"compositionRef": reference(composition)});
        let refusal = get(&FromComposition, &json!({}), &machinery);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_number_that_somebody_gave_does_not_move_those_who_follow_the_composition() {
    let mut catalogue = catalogue();
    let forged = revision(6000, "base", None, "beta", &spec("XLake", "forged"));
    let current = revision(6, "base", Some("base"), "stable", &spec("XLake", "base"));
    for object in [&forged, &current] {
        catalogue.put(Arc::new(Stored::read(object, LabelEdits::Follow).unwrap()));
    }
    let definition = read(&typed(lakes())).unwrap();
    let get = |machinery: Value| {
        let composite = json!({"metadata": {"name": "deep"}, "spec": machinery});
        let wish = Wish::of(&definition, &composite);
        let fetched = ByRevision.fetch(&catalogue, &deep(&wish), &wish);
        fetched.unwrap().revision.unwrap().revision.name().to_string()
    };
    assert_eq!(get(json!({"compositionRef": reference("base")})), "base-6");
    // Whoever selects by labels gets the newest that has them.
    let selector = json!({"matchLabels": {"channel": "beta"}});
    let beta = json!({"compositionRef": reference("base"), "compositionRevisionSelector": selector});
    assert_eq!(get(beta), "base-6000");
}

#[test]
fn nobody_runs_a_revision_that_cannot_be_pinned() {
    let definition = read(&typed(lakes())).unwrap();
    let runs = |machinery: Value| {
        let composite = json!({"metadata": {"name": "deep"}, "spec": machinery});
        let wish = Wish::of(&definition, &composite);
        ByRevision
            .fetch(&catalogue(), &deep(&wish), &wish)
            .unwrap_err()
            .leaves_named()
    };
    let pin = |revision: &str| json!({"compositionRef": {"name": "base"}, "compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": revision}});
    assert!(!runs(pin("nothing")));
    assert!(!runs(pin("other-1")));
    assert!(runs(pin("base-4")), "it was edited after it was used");
    let selector = json!({"matchLabels": {"channel": "none"}});
    let follows = json!({"compositionRef": {"name": "base"}, "compositionRevisionRef": {"name": "base-1"}, "compositionRevisionSelector": selector});
    assert!(runs(follows), "what it has stays");
}

/// What one look finds, in a word.
fn looked(catalogue: &Catalogue, machinery: &Value) -> String {
    let definition = read(&typed(lakes())).unwrap();
    let composite = json!({"metadata": {"name": "deep"}, "spec": machinery});
    let wish = Wish::of(&definition, &composite);
    match select(&ByRevision, catalogue, &deep(&wish), &wish) {
        Found::Content(fetched) => fetched.revision.unwrap().revision.name().to_string(),
        Found::Publishing(_) => "is being published".to_owned(),
        Found::Refused(_) => "is refused".to_owned(),
    }
}

/// What waits and what is refused is decided by the catalogue that the revision was missing from: at no moment of a publish is anybody refused.
#[test]
fn nobody_is_refused_at_any_moment_of_a_publish() {
    let mut catalogue = Catalogue::default();
    let composition = |size: &str, channel: &str, says: &str| {
        let metadata = json!({"name": "new", "uid": "new", "labels": {"size": size, "channel": channel}});
        Some(Live::read(
            &json!({"metadata": metadata, "spec": spec("XLake", says)}),
        ))
    };
    let put = |catalogue: &mut Catalogue, number, channel: &str, says: &str| {
        let object = revision(number, "new", Some("new"), channel, &spec("XLake", says));
        catalogue.put(Arc::new(Stored::read(&object, LabelEdits::Follow).unwrap()));
    };
    let wish = |channel: &str| {
        json!({
            "compositionSelector": {"matchLabels": {"size": "small"}},
            "compositionRevisionSelector": {"matchLabels": {"channel": channel}},
        })
    };
    assert_eq!(looked(&catalogue, &wish("stable")), "is refused");
    catalogue.declare("new", composition("small", "stable", "1"));
    assert_eq!(looked(&catalogue, &wish("stable")), "is being published");
    put(&mut catalogue, 1, "stable", "1");
    assert_eq!(looked(&catalogue, &wish("stable")), "new-1");
    assert_eq!(looked(&catalogue, &wish("beta")), "is refused");
    // An edit, first of its content and then of its labels alone.
    catalogue.declare("new", composition("small", "beta", "2"));
    assert_eq!(looked(&catalogue, &wish("beta")), "is being published");
    put(&mut catalogue, 2, "beta", "2");
    assert_eq!(looked(&catalogue, &wish("beta")), "new-2");
    catalogue.declare("new", composition("small", "rapid", "2"));
    assert_eq!(looked(&catalogue, &wish("rapid")), "is being published");
    put(&mut catalogue, 2, "rapid", "2");
    assert_eq!(looked(&catalogue, &wish("rapid")), "new-2");
    assert_eq!(looked(&catalogue, &wish("none")), "is refused");
}

#[test]
fn a_closed_revision_is_for_those_alone_for_whom_it_was_opened() {
    let definition = read(&typed(lakes())).unwrap();
    let mut catalogue = catalogue();
    let get = |catalogue: &Catalogue, machinery: &Value| {
        let composite = json!({"metadata": {"name": "deep"}, "spec": machinery});
        let wish = Wish::of(&definition, &composite);
        match ByRevision.fetch(catalogue, &deep(&wish), &wish) {
            Ok(fetched) => fetched.revision.unwrap().revision.name().to_string(),
            Err(refusal) => refusal.to_string(),
        }
    };
    let follows = json!({"compositionRef": reference("base")});
    let told = json!({"compositionRef": reference("base"), "compositionUpdatePolicy": "Manual",
        "compositionRevisionRef": reference("base-3")});
    let base = "base".to_owned();
    let newest = "base-3".parse().unwrap();
    assert_eq!(get(&catalogue, &follows), "base-3");
    catalogue.closures_mut().close(&base, "base-3".parse().unwrap());
    assert_eq!(get(&catalogue, &follows), "base-2");
    assert_eq!(get(&catalogue, &told), "base-3");
    let consumer = deep(&Wish::of(&definition, &json!({"metadata": {}, "spec": follows})));
    catalogue.closures_mut().open_for(&base, &newest, [consumer]);
    assert_eq!(get(&catalogue, &follows), "base-3");
    for revision in ["base-1", "base-2", "base-3"] {
        catalogue.closures_mut().close(&base, revision.parse().unwrap());
    }
    assert!(get(&catalogue, &follows).contains("is closed for it"));
}
