//! Reads the versions that a definition object declares, at v1beta1 or v2beta1.

use crate::stored::digest_of;
use cambium_api::names::{annotation, reason};
use cambium_api::{v1beta1, v2beta1};
use cambium_convert::definition::{WrittenAt, convert, written_at};
use cambium_lineage::{Content, Digest, GivenName, Scheme, Version};
use serde_json::{Map, Value};

/// The fields of a spec at v1beta1, which are those of an entry of `spec.versions`. Beside `spec.versions` they are a mistake: the author meant the
/// other API version.
const OF_A_VERSION: [&str; 18] = [
    "appliesToWorkloads",
    "childResourceKinds",
    "conflictsWith",
    "controlPlaneOnly",
    "definitionRef",
    "extension",
    "manageHealthCheck",
    "manageWorkload",
    "podDisruptive",
    "podSpecPath",
    "revisionEnabled",
    "revisionLabel",
    "schematic",
    "stage",
    "status",
    "version",
    "workload",
    "workloadRefPath",
];

/// The versions that a definition declares, and the problems of its declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// How its revisions are named.
    pub scheme: Scheme,
    /// Its versions, in the order they are written; without versions, one.
    pub versions: Vec<DeclaredVersion>,
    /// The problems that keep a version from being published.
    pub problems: Vec<Problem>,
}

/// One version of a definition.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredVersion {
    /// The version or name that identifies it.
    pub called: Called,
    /// Its spec, as v1beta1 has it.
    pub spec: Value,
    /// The digest of its content.
    pub digest: Digest,
}

/// How an author identifies a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// A version, with the text that it was declared by.
    Version {
        /// The version.
        version: Version,
        /// Such as `2`.
        written: String,
    },
    /// A name in an annotation.
    Name(GivenName),
    /// Neither: it gets a number.
    Nothing,
}

/// A problem that keeps a definition, or one of its versions, from being published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One of the reasons that conditions have.
    pub reason: &'static str,
    /// The path in the object.
    pub path: String,
    /// The version as it is written, if it is about one.
    pub version: Option<String>,
    /// The message: the problem and what to do about it.
    pub message: String,
}

impl DeclaredVersion {
    /// The content as `lineage` compares it.
    pub fn content(&self) -> Content {
        match &self.called {
            Called::Version { version, .. } => Content::versioned(self.digest, version.clone()),
            Called::Name(name) => Content::named(self.digest, name.clone()),
            Called::Nothing => Content::new(self.digest),
        }
    }
}

/// How the revisions of a definition are named. A definition that was written at v1beta1 is read at v1beta1.
pub fn scheme_of(definition: &Value) -> Scheme {
    let version = definition["spec"]["version"].as_str();
    match written_at(definition) {
        Some(WrittenAt::V2beta1) => Scheme::Versioned,
        _ if version.is_some_and(|version| !version.is_empty()) => Scheme::Versioned,
        _ => Scheme::Numbered,
    }
}

/// Reads a definition at either API version.
pub fn declared(definition: &Value) -> Declared {
    match written_at(definition) {
        Some(WrittenAt::V2beta1) => many(definition),
        _ => match convert(definition.clone(), v1beta1::API_VERSION) {
            Ok(original) => one(&original),
            Err(_) => one(definition),
        },
    }
}

/// A definition that was written at v2beta1.
fn many(definition: &Value) -> Declared {
    let mut declared = Declared {
        scheme: Scheme::Versioned,
        versions: Vec::new(),
        problems: Vec::new(),
    };
    let at_v2beta1 = match convert(definition.clone(), v2beta1::API_VERSION) {
        Ok(object) => object,
        Err(error) => {
            declared.problems.push(Problem {
                reason: reason::INVALID_VERSION,
                path: "spec.versions".to_owned(),
                version: None,
                message: error.to_string(),
            });
            return declared;
        }
    };
    let versions = at_v2beta1["spec"]["versions"].as_array();
    if versions.is_none_or(Vec::is_empty) {
        declared.problems.push(Problem {
            reason: reason::INVALID_VERSION,
            path: "spec.versions".to_owned(),
            version: None,
            message: "at least one version is needed".to_owned(),
        });
    }
    let beside: Vec<&str> = OF_A_VERSION
        .into_iter()
        .filter(|field| at_v2beta1["spec"].get(field).is_some())
        .collect();
    if !beside.is_empty() {
        declared.problems.push(Problem {
            reason: reason::INVALID_VERSION,
            path: "spec".to_owned(),
            version: None,
            message: format!(
                "{}: only in an entry of spec.versions is it published; move it there, or remove it",
                beside.join(", ")
            ),
        });
    }
    for (index, entry) in versions.into_iter().flatten().enumerate() {
        let path = format!("spec.versions[{index}].version");
        let written = entry["version"].as_str().unwrap_or_default().to_owned();
        let version = match read_version(&written, &path) {
            Ok(version) => version,
            Err(problem) => {
                declared.problems.push(problem);
                continue;
            }
        };
        let same = declared.versions.iter().find_map(|other| match &other.called {
            Called::Version {
                version: known,
                written,
            } if *known == version => Some(written.clone()),
            _ => None,
        });
        if let Some(same) = same {
            declared.problems.push(Problem {
                reason: reason::DUPLICATE_VERSION,
                path,
                message: format!("{written:?} is the same version as {same:?}; keep one of them"),
                version: Some(written),
            });
            continue;
        }
        declared.push(Called::Version { version, written }, entry.clone());
    }
    declared
}

/// A definition that was written at v1beta1.
fn one(definition: &Value) -> Declared {
    let spec = match &definition["spec"] {
        Value::Null => Value::Object(Map::new()),
        spec => spec.clone(),
    };
    let name = definition["metadata"]["annotations"]
        .get(annotation::REVISION_NAME)
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty());
    let version = spec["version"].as_str().filter(|version| !version.is_empty());
    let mut declared = Declared {
        scheme: scheme_of(definition),
        versions: Vec::new(),
        problems: Vec::new(),
    };
    let called = match (version, name) {
        (Some(written), Some(_)) => {
            let kind = definition["kind"].as_str().unwrap_or_default();
            Err(Problem {
                reason: reason::VERSION_AND_NAME,
                path: "spec.version".to_owned(),
                version: Some(written.to_owned()),
                message: format!(
                    "{kind} has both spec.version and revision name annotation. Only one can be present"
                ),
            })
        }
        (Some(written), None) => read_version(written, "spec.version").map(|version| Called::Version {
            version,
            written: written.to_owned(),
        }),
        (None, Some(name)) => name.parse().map(Called::Name).map_err(|error| Problem {
            reason: reason::INVALID_VERSION,
            path: format!("metadata.annotations[{}]", annotation::REVISION_NAME),
            version: Some(name.to_owned()),
            message: format!("invalid definitionRevision name {name}:{error}"),
        }),
        (None, None) => Ok(Called::Nothing),
    };
    match called {
        Ok(called) => declared.push(called, spec),
        Err(problem) => declared.problems.push(problem),
    }
    declared
}

impl Declared {
    fn push(&mut self, called: Called, spec: Value) {
        let digest = digest_of(&spec);
        self.versions.push(DeclaredVersion { called, spec, digest });
    }
}

fn read_version(written: &str, path: &str) -> Result<Version, Problem> {
    // The first words are KubeVela's.
    let refuse = |why: String| Problem {
        reason: reason::INVALID_VERSION,
        path: path.to_owned(),
        version: Some(written.to_owned()),
        message: format!("Not a valid version: {why}"),
    };
    let version = Version::declared(written).map_err(|error| refuse(error.to_string()))?;
    match version.build().is_empty() {
        true => Ok(version),
        // Versions that differ in it are equal, no object can be named or labelled by it, and no reference could choose it.
        false => Err(refuse(format!(
            "{written:?} has build metadata (+{}), which tells no versions apart; write {}",
            version.build(),
            written.split('+').next().unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn build_metadata_is_refused() {
        let definition = serde_json::json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "web"},
            "spec": {"version": "1.2.3+build5"},
        });
        let declared = declared(&definition);
        assert!(declared.versions.is_empty());
        assert_eq!(
            declared.problems[0].message,
            "Not a valid version: \"1.2.3+build5\" has build metadata (+build5), which tells no versions apart; write 1.2.3"
        );
    }

    #[test]
    fn the_fields_of_a_version_are_those_of_v1beta1() {
        let mut fields = BTreeSet::new();
        for definition in cambium_api::crds::definitions() {
            let stored = definition.spec.versions.iter().find(|version| version.storage);
            let schema = serde_json::to_value(&stored.unwrap().schema).unwrap();
            let spec = &schema["openAPIV3Schema"]["properties"]["spec"]["properties"];
            fields.extend(spec.as_object().unwrap().keys().cloned());
        }
        assert_eq!(
            fields.iter().collect::<Vec<_>>(),
            OF_A_VERSION.iter().collect::<Vec<_>>()
        );
    }
}
