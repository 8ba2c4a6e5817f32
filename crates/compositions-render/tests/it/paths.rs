//! Laws of field paths, and what happens to them on bad days.
use cambium_compositions_render::path::{
    FieldPath, HIGHEST_INDEX, MergeOptions, PathError, PathSyntaxError, Repeats, Segment,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn path(text: &str) -> FieldPath {
    text.parse().unwrap()
}

fn any_path() -> impl Strategy<Value = String> {
    let name = "[a-zA-Zä]{1,4}";
    let step = prop_oneof![
        name.prop_map(|name| format!(".{name}")),
        (0u32..6).prop_map(|index| format!("[{index}]")),
        "[a-z]{1,3}\\.[a-z/]{1,3}".prop_map(|name| format!("['{name}']")),
    ];
    (name, prop::collection::vec(step, 0..6)).prop_map(|(first, steps)| first + &steps.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_set_is_what_one_gets(text in any_path(), value in any_value()) {
        let mut object = json!({});
        path(&text).set(&mut object, value.clone()).unwrap();
        prop_assert_eq!(path(&text).get(&object).unwrap(), &value);
    }

    #[test]
    fn setting_twice_is_setting_once(text in any_path(), object in any_value(), value in any_value()) {
        let mut once = object;
        if path(&text).set(&mut once, value.clone()).is_ok() {
            let mut twice = once.clone();
            path(&text).set(&mut twice, value).unwrap();
            prop_assert_eq!(once, twice);
        }
    }

    #[test]
    fn what_is_deleted_is_not_found(text in any_path(), value in any_value()) {
        let mut object = json!({});
        let path = path(&text);
        path.set(&mut object, value).unwrap();
        path.delete(&mut object).unwrap();
        prop_assert!(path.get(&object).unwrap_err().is_not_found());
    }

    #[test]
    fn a_path_reads_back_as_itself(text in "\\PC{0,24}") {
        if let Ok(path) = text.parse::<FieldPath>() {
            prop_assert_eq!(path.to_string().parse::<FieldPath>().unwrap(), path);
        }
    }

    #[test]
    fn no_text_and_no_object_is_too_strange(text in "[a-c\\.\\[\\]\\*'0-9]{0,16}", mut object in any_value(), value in any_value()) {
        if let Ok(path) = text.parse::<FieldPath>() {
            let _ = path.get(&object);
            let _ = path.expand(&object);
            let _ = path.delete(&mut object);
            for options in [(false, false), (true, false), (false, true), (true, true)] {
                let options = MergeOptions { keep_map_values: options.0, append_slice: options.1 };
                let _ = path.merge(&mut object, value.clone(), Some(options), Repeats::LeaveOut);
            }
            let _ = path.set(&mut object, value);
        }
    }

    #[test]
    fn every_expansion_is_there(object in any_value()) {
        for text in ["[*]", "a[*]", "[*].b", "[*][*]", "a.b[*]"] {
            for place in path(text).expand(&object).unwrap_or_default() {
                prop_assert!(place.get(&object).is_ok());
            }
        }
    }

    #[test]
    fn merging_again_changes_nothing(object in any_value(), value in any_value(), keep in any::<bool>(), append in any::<bool>()) {
        let options = Some(MergeOptions { keep_map_values: keep, append_slice: append });
        let mut once = json!({"a": object});
        if path("a").merge(&mut once, value.clone(), options, Repeats::LeaveOut).is_ok() {
            let mut twice = once.clone();
            path("a").merge(&mut twice, value, options, Repeats::LeaveOut).unwrap();
            prop_assert_eq!(once, twice);
        }
    }
}

#[test]
fn syntax_errors_name_the_place() {
    for (text, expected) in [
        ("", PathSyntaxError::Empty),
        (
            ".a",
            PathSyntaxError::Unexpected {
                found: '.',
                position: 0,
            },
        ),
        (
            "ä.[0]",
            PathSyntaxError::Unexpected {
                found: '[',
                position: 3,
            },
        ),
        (
            "a]",
            PathSyntaxError::Unexpected {
                found: ']',
                position: 1,
            },
        ),
        ("a[0", PathSyntaxError::Unterminated { position: 1 }),
    ] {
        assert_eq!(text.parse::<FieldPath>(), Err(expected), "{text}");
    }
}

#[test]
fn a_huge_index_is_refused_before_anything_is_made() {
    let mut object = json!({"a": []});
    for text in ["a[1025]", "a[4294967295]", "new[1][99999].x"] {
        let refused = path(text).set(&mut object, json!(1)).unwrap_err();
        assert!(matches!(refused, PathError::IndexTooLarge { .. }), "{refused}");
    }
    assert_eq!(object, json!({"a": []}));
    path(&format!("a[{HIGHEST_INDEX}]"))
        .set(&mut object, json!(1))
        .unwrap();
    assert_eq!(object["a"].as_array().unwrap().len(), 1025);
}

#[test]
fn a_wildcard_over_a_hundred_thousand_elements_is_linear_and_bounded() {
    let many: Vec<Value> = (0..100_000).map(|number| json!({"n": number})).collect();
    let object = json!({"a": many});
    assert_eq!(path("a[*].n").expand(&object).unwrap().len(), 100_000);
    let row: Vec<Value> = vec![json!({"n": 1}); 1000];
    let square = json!({"a": vec![json!(row); 1000]});
    assert!(matches!(
        path("a[*][*].n").expand(&square),
        Err(PathError::TooMany { .. })
    ));
}

#[test]
fn names_are_kept_as_they_are() {
    assert_eq!(
        path("a['b.c/d'].0").segments(),
        [
            Segment::Field("a".to_owned()),
            Segment::Field("b.c/d".to_owned()),
            Segment::Field("0".to_owned())
        ]
    );
    assert!(path("a[*].b").expands());
    assert!(!path("a.*.b").expands());
}
