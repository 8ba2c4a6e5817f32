//! Defaulted objects, compared with the responses of a real server (1.36.4).
//!
//! Each file of `served/` has the request (`given`) and the response (`served`), without cluster-specific values (UIDs,
//! times, addresses) and values of admission plugins.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads its cases"
)]

use serde_json::{Value, json};

#[test]
fn new_objects_are_as_a_real_server_serves_them() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/served");
    let mut differences = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let case: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let made = made(&case["given"]);
        if made != case["served"] {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            differences.extend(difference(&name, &made, &case["served"]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The object as it would be stored.
fn made(given: &Value) -> Value {
    let (group, version) = match given["apiVersion"].as_str().unwrap().split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", given["apiVersion"].as_str().unwrap()),
    };
    let row = cambium_builtin::find_kind(group, version, given["kind"].as_str().unwrap()).unwrap();
    let mut object = given.clone();
    cambium_builtin::decode(row, &mut object).unwrap();
    let decoded = object.clone();
    cambium_builtin::decode(row, &mut object).unwrap();
    assert_eq!(object, decoded, "decoding twice");
    cambium_builtin::default(row, &mut object);
    object["metadata"]["uid"] = json!("the-uid");
    // Nodes bring their status; a definition's is made elsewhere.
    if row.kind != "Node" {
        object.as_object_mut().unwrap().remove("status");
        cambium_builtin::initial_status(row, &mut object);
    }
    cambium_builtin::prepare_for_create(row, &mut object);
    let errors = cambium_builtin::validate(row, &object, None);
    assert!(errors.is_empty(), "{}: {errors:?}", given["metadata"]["name"]);
    let defaulted = object.clone();
    cambium_builtin::default(row, &mut object);
    assert_eq!(object, defaulted, "defaulting twice");
    object["metadata"].as_object_mut().unwrap().remove("uid");
    if row.kind == "CustomResourceDefinition" {
        object.as_object_mut().unwrap().remove("status");
    }
    object
}

fn difference(at: &str, made: &Value, served: &Value) -> Vec<String> {
    match (made, served) {
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<_> = a.keys().chain(b.keys()).collect();
            names.sort();
            names.dedup();
            let inside = |name: &String| match (a.get(name), b.get(name)) {
                (Some(a), Some(b)) => difference(&format!("{at}.{name}"), a, b),
                (Some(a), None) => vec![format!("{at}.{name}: we have {a}")],
                (None, b) => vec![format!("{at}.{name}: we lack {}", b.unwrap_or(&Value::Null))],
            };
            names.into_iter().flat_map(inside).collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .flat_map(|(index, (a, b))| difference(&format!("{at}[{index}]"), a, b))
                .collect()
        }
        (a, b) if a == b => Vec::new(),
        (a, b) => vec![format!("{at}: {a} instead of {b}")],
    }
}
