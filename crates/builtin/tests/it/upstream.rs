//! Our tables against upstream's published files, if the Go module cache has them.

#![expect(clippy::disallowed_methods, reason = "a test asks Go where its modules are")]

use std::path::PathBuf;
use std::process::Command;

use cambium_builtin::{RESOURCES, Resource, Scope, Subresource, kind_schema, protobuf};
use serde_json::{Value, json};

#[test]
fn the_table_says_what_upstream_discovery_says() {
    let directory = match cached(&["kubernetes@v1.36.4/api/discovery"]) {
        Ok(directories) => directories.into_iter().next().unwrap(),
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    for row in RESOURCES {
        let file = match row.group {
            "" => "api__v1.json".to_owned(),
            group => format!("apis__{group}__{}.json", row.version),
        };
        let document: Value = serde_json::from_slice(&std::fs::read(directory.join(file)).unwrap()).unwrap();
        let upstream: Vec<Value> = document["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["name"].as_str().unwrap().split('/').next() == Some(row.plural))
            .cloned()
            .map(without_hash)
            .collect();
        assert_eq!(json!(discovery(row)), json!(upstream));
    }
}

fn without_hash(mut entry: Value) -> Value {
    entry
        .as_object_mut()
        .expect("discovery lists objects")
        .remove("storageVersionHash");
    entry
}

/// A row as legacy discovery lists it: the resource, then its subresources.
fn discovery(row: &Resource) -> Vec<Value> {
    let namespaced = row.scope == Scope::Namespaced;
    let mut main = json!({ "name": row.plural, "singularName": row.singular, "namespaced": namespaced,
        "kind": row.kind, "verbs": row.verbs.names() });
    for (field, names) in [("shortNames", row.short_names), ("categories", row.categories)] {
        if !names.is_empty() {
            main[field] = json!(names);
        }
    }
    let mut entries = vec![main];
    for subresource in row.subresources {
        let part = &["get", "patch", "update"][..];
        let (name, (group, version, kind), verbs) = match *subresource {
            Subresource::Status => ("status", (row.group, row.version, row.kind), part),
            Subresource::Scale { .. } => ("scale", ("autoscaling", "v1", "Scale"), part),
            Subresource::Other { name, kind, verbs } => (name, kind, verbs),
        };
        let mut entry = json!({ "name": format!("{}/{name}", row.plural), "singularName": "",
            "namespaced": namespaced, "kind": kind, "verbs": verbs });
        if (group, version) != (row.group, row.version) {
            entry["group"] = json!(group);
            entry["version"] = json!(version);
        }
        entries.push(entry);
    }
    entries
}

#[test]
fn upstream_examples_decode_to_their_json_and_encode_to_their_bytes() {
    let directories = match example_directories() {
        Ok(directories) => directories,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let mut compared = 0;
    let mut problems = Vec::new();
    for directory in directories {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "pb") {
                continue;
            }
            let json = std::fs::read(path.with_extension("json")).unwrap();
            let json: Value = serde_json::from_slice(&json).unwrap();
            let api_version = json["apiVersion"].as_str().unwrap_or_default();
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let Some(schema) = kind_schema(group, version, json["kind"].as_str().unwrap_or_default()) else {
                continue;
            };
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match protobuf::decode(&bytes) {
                Ok(decoded) if decoded == json => {}
                Ok(decoded) => problems.push(format!("{name} decodes to\n{decoded:#}\ninstead of\n{json:#}")),
                Err(error) => problems.push(format!("{name} does not decode: {error}")),
            }
            match protobuf::encode(&json, schema) {
                Ok(encoded) if encoded == bytes => {}
                // The example's innermost schemas are empty, and Go writes every zero in them.
                Ok(_) if name.ends_with(".CustomResourceDefinition.pb") => {}
                Ok(_) => problems.push(format!("{name} encodes to other bytes")),
                Err(error) => problems.push(format!("{name} does not encode: {error}")),
            }
            compared += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(compared > 50, "only {compared} examples were found");
}

fn example_directories() -> Result<Vec<PathBuf>, String> {
    cached(&[
        "api@v0.36.4/testdata/HEAD",
        "apiextensions-apiserver@v0.36.4/pkg/apis/testdata/HEAD",
    ])
}

/// Directories of upstream modules, if they were downloaded.
fn cached(places: &[&str]) -> Result<Vec<PathBuf>, String> {
    let go = Command::new("go").args(["env", "GOMODCACHE"]).output();
    let output = go.map_err(|error| format!("Go does not run: {error}"))?;
    let cache = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let find = |place: &&str| match cache.join("k8s.io").join(place) {
        path if path.is_dir() => Ok(path),
        path => Err(format!("{} is not there", path.display())),
    };
    places.iter().map(find).collect()
}
