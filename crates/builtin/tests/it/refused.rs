//! Invalid objects, with the errors of a real server (1.36.4).
//!
//! Each line of `refused.jsonl` has the request (`given`) and the causes of the response (`errors`); objects without
//! causes are accepted.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads its cases"
)]

use serde_json::{Value, json};

#[test]
fn bad_objects_are_refused_in_the_words_of_a_real_server() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refused.jsonl")).unwrap();
    let mut differences = Vec::new();
    let mut count = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        count += 1;
        let given = errors_of(&case["given"]);
        let mut expected: Vec<String> = serde_json::from_value(case["errors"].clone()).unwrap();
        expected.sort();
        if given != expected {
            differences.push(format!(
                "{}\n  we:   {}\n  real: {}",
                case["given"]["kind"],
                given.join("\n        "),
                expected.join("\n        ")
            ));
        }
    }
    assert!(count > 400);
    assert!(
        differences.is_empty(),
        "{} of {count} differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn errors_of(given: &Value) -> Vec<String> {
    let (group, version) = match given["apiVersion"].as_str().unwrap().split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", given["apiVersion"].as_str().unwrap()),
    };
    let row = cambium_builtin::find_kind(group, version, given["kind"].as_str().unwrap()).unwrap();
    let mut object = given.clone();
    cambium_builtin::decode(row, &mut object).unwrap();
    cambium_builtin::default(row, &mut object);
    object["metadata"]["uid"] = json!("the-uid");
    if row.kind == "Event" {
        object["metadata"]["namespace"] = json!("t-builtin");
    }
    cambium_builtin::prepare_for_create(row, &mut object);
    let mut errors: Vec<String> = cambium_builtin::validate(row, &object, None)
        .iter()
        .map(ToString::to_string)
        .collect();
    errors.sort();
    errors
}
