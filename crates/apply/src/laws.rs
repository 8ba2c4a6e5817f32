//! Properties of managed fields, apply and strategic merge that hold for every object.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fieldpath::{Path, PathElement, Set};
use crate::generators::{Write, any_json, any_schema, metadata, pod_spec, spec, spec_with_repeats, write};
use crate::managers::{FieldManager, Force, ManagedFields, ManagerId, OneVersion, Timestamp};
use crate::strategic;
use crate::typed::fixtures::{schema, sorts};
use crate::typed::{self, Duplicates, Type};

const EMPTY: &Set = &Set::new();

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        4 => "[abc]".prop_map(|name| PathElement::field(&name)),
        1 => any_json().prop_map(|value| PathElement::key([("k".to_owned(), value)])),
        1 => any_json().prop_map(PathElement::value),
        1 => (0i64..3).prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    vec(vec(element(), 1..4), 0..8).prop_map(|paths| Set::of(paths.into_iter().map(Path::from)))
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": {"name": "a"}, "spec": spec})
}

/// Drops empty containers: upstream leaves `null` where a container loses its last field.
fn without_empties(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let fields: serde_json::Map<_, _> = fields
                .into_iter()
                .filter_map(|(name, field)| Some((name, without_empties(field)?)))
                .collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().filter_map(without_empties).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        scalar => Some(scalar),
    }
}

fn at(second: usize) -> Timestamp {
    Timestamp::parse(&format!("2024-01-01T00:00:{second:02}Z")).unwrap()
}

fn with_books<T>(second: usize, run: impl FnOnce(&FieldManager<'_>) -> T) -> T {
    let schema = sorts();
    let versions = OneVersion {
        api_version: "x/v1",
        schema: &schema,
    };
    run(&FieldManager {
        api_version: "x/v1",
        kind: "Sort",
        subresource: "",
        versions: &versions,
        reset_fields: EMPTY,
        blank: None,
        now: at(second),
    })
}

proptest! {
    #[test]
    fn sets_obey_the_laws_of_sets(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.intersection(&b.intersection(&c)), a.intersection(&b).intersection(&c));
        prop_assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.intersection(&a), a.clone());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.recursive_difference(&b).difference(&b), a.recursive_difference(&b));
        prop_assert!(a.leaves().difference(&a).is_empty());
        prop_assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
        for path in a.paths() {
            prop_assert!(a.contains(path.elements()));
            prop_assert_eq!(a.difference(&b).contains(path.elements()), !b.contains(path.elements()));
        }
    }

    #[test]
    fn a_set_is_what_was_written_of_it(set in set()) {
        prop_assert_eq!(Set::from_fields_v1(&set.to_fields_v1()), Ok(set));
    }

    #[test]
    fn reading_fields_never_panics(value in any_json(), key in "[fkvi.x]?:?.{0,6}") {
        let _ = Set::from_fields_v1(&value);
        let _ = Set::from_fields_v1(&json!({ key: value.clone() }));
        let _ = ManagedFields::decode(&value);
    }

    #[test]
    fn an_object_on_top_of_itself_is_itself(spec in spec()) {
        let (schema, object) = (sorts(), object(spec));
        let ty = Type::object(&schema);
        prop_assert_eq!(typed::validate(ty, &object, Duplicates::Refused), Ok(()));
        prop_assert_eq!(typed::merge(ty, &object, &object), Ok(object.clone()));
        prop_assert!(typed::compare(ty, &object, &object).unwrap().is_same());
        prop_assert_eq!(typed::remove(ty, &object, EMPTY), object);
    }

    #[test]
    fn a_comparison_is_its_own_mirror(old in spec_with_repeats(), new in spec_with_repeats()) {
        let (schema, old, new) = (sorts(), object(old), object(new));
        let there = typed::compare(Type::object(&schema), &old, &new).unwrap();
        let back = typed::compare(Type::object(&schema), &new, &old).unwrap();
        prop_assert_eq!(there.added, back.removed);
        prop_assert_eq!(there.removed, back.added);
        prop_assert_eq!(there.modified, back.modified);
    }

    #[test]
    fn no_schema_and_no_value_make_it_panic(schema_json in any_schema(), a in any_json(), b in any_json(), set in set()) {
        let schema = schema(&schema_json);
        for ty in [Type::of(&schema), Type::object(&schema)] {
            let _ = typed::validate(ty, &a, Duplicates::Refused);
            let _ = typed::to_field_set(ty, &a);
            let _ = typed::merge(ty, &a, &b);
            let _ = typed::compare(ty, &a, &b);
            let _ = typed::remove(ty, &a, &set);
            let _ = typed::extract(ty, &a, &set);
            let _ = typed::reconcile(ty, &set);
            let _ = typed::with_named_fields(Some(ty), &set);
            if typed::validate(ty, &a, Duplicates::Refused).is_ok() {
                prop_assert!(typed::compare(ty, &a, &a).unwrap().is_same());
            }
        }
    }

    #[test]
    fn no_object_makes_the_managers_panic(live in any_json(), new in any_json(), managed in any_json(), metadata in metadata()) {
        with_books(1, |books| {
            let mut live = object(live);
            live["metadata"]["managedFields"] = managed;
            for config in [new.clone(), object(new.clone()), json!({"apiVersion": "x/v1", "kind": "Sort", "metadata": metadata, "spec": new})] {
                let _ = books.apply(Some(&live), &config, "kubectl", Force::No);
                let _ = books.apply(Some(&new), &config, "me", Force::Yes);
                let _ = books.update(Some(&live), &mut config.clone(), "me");
                let _ = books.update(None, &mut config.clone(), "me");
            }
        });
    }

    #[test]
    fn no_patch_makes_strategic_merge_panic(original in any_json(), patch in any_json(), spec in pod_spec(false), directives in pod_spec(true)) {
        let pod = strategic::tests::pod();
        let (spec, directives) = (json!({ "spec": spec }), json!({ "spec": directives }));
        for original in [&original, &spec, &json!({ "spec": original.clone() })] {
            for patch in [&patch, &directives, &json!({ "spec": patch.clone() })] {
                let _ = strategic::apply(&pod, original, patch);
            }
        }
        prop_assert_eq!(strategic::apply(&pod, &spec, &json!({})), Ok(spec));
    }

    #[test]
    fn writes_keep_the_books_in_order(writes in vec(write(), 1..6)) {
        let schema = sorts();
        let ty = Type::object(&schema);
        let mut live: Option<Value> = None;
        for (second, write) in writes.into_iter().enumerate() {
            let (written, writer) = match write {
                Write::Apply { manager, spec, force } => {
                    let config = without_empties(object(spec)).unwrap();
                    let force = if force { Force::Yes } else { Force::No };
                    let Ok(written) = with_books(second, |books| books.apply(live.as_ref(), &config, manager, force)) else { continue };
                    prop_assert_eq!(&typed::merge(ty, &written, &config).unwrap(), &written, "what was applied is there");
                    let again = with_books(second + 1, |books| books.apply(Some(&written), &config, manager, Force::No));
                    prop_assert_eq!(again.as_ref(), Ok(&written), "applying again changes nothing");
                    (written, ManagerId::applier(manager, ""))
                }
                Write::Update { manager, spec } => {
                    let mut written = object(spec);
                    with_books(second, |books| books.update(live.as_ref(), &mut written, manager)).unwrap();
                    let mut again = written.clone();
                    with_books(second + 1, |books| books.update(Some(&written), &mut again, manager)).unwrap();
                    prop_assert_eq!(&again, &written, "updating again changes nothing");
                    (written, ManagerId::updater(manager, "x/v1", ""))
                }
            };
            if let Some(live) = &live {
                let changes = typed::compare(ty, live, &written).unwrap();
                let changed = changes.added.union(&changes.modified);
                for entry in ManagedFields::of(&written).unwrap().entries.iter().filter(|entry| entry.id != writer) {
                    let shared = entry.fields.intersection(&changed);
                    prop_assert!(shared.is_empty(), "{} still owns {shared}, which {writer} changed", entry.id);
                    prop_assert!(entry.fields.intersection(&changes.removed).is_empty());
                }
            }
            live = Some(written);
        }
    }
}
