//! `cambium-pipeline` against the server's HTTP responses: the same stored objects, errors and warnings, word for word.
//!
//! Each case creates a CRD with a generated schema and objects of it, tightens the schema, and updates the objects, so
//! that ratcheting applies.

use std::cell::Cell;

use cambium_pipeline::{Malformed, Pipeline, Written};
use http::{HeaderValue, Method};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestCaseResult};
use serde_json::{Value, json};

use super::arbitrary::{Mutations, mutations, tree};
use super::definitions::{self, instance};
use super::law;
use super::place::{Answer, Defined, Place, Sent};

#[test]
fn the_pipeline_says_of_generated_objects_what_the_server_answers() {
    let changes = prop::collection::vec((tree(), mutations(), mutations()), 20..26);
    let tally = Tally::default();
    law(
        150,
        (definitions::schema(), changes, any::<u64>()),
        |place, (schema, changes, seed)| {
            let Some(resource) = place.define(&schema)? else {
                return Ok(());
            };
            let mut compared = Compared::of(place, &resource, &tally)?;
            let mut stored = Vec::new();
            for (index, (tree, mutations, _)) in changes.iter().enumerate() {
                let fitting = instance(&schema, seed.wrapping_add(index as u64), 0);
                let spec = match index % 4 {
                    0 | 1 => fitting,
                    2 => mutated(fitting, mutations),
                    _ => tree.clone(),
                };
                stored.extend(compared.create(&format!("o{index}"), &spec)?);
            }
            compared.replace_schema(&definitions::tightened(&schema, seed))?;
            for (index, object) in stored.iter().enumerate() {
                compared.read(object)?;
                let (tree, _, mutations) = &changes[index % changes.len()];
                compared.update(object, |spec| spec)?;
                compared.update(object, |spec| mutated(spec, mutations))?;
                let fitting = instance(&schema, seed.wrapping_sub(index as u64), 0);
                compared.update(object, |_| if index % 3 == 0 { tree.clone() } else { fitting })?;
            }
            resource.remove(place)
        },
    );
    // Each of the ways that a write can go has been taken often.
    let Tally {
        created,
        updated,
        refused,
        undecodable,
        forgiven,
    } = &tally;
    let all = created.get() + updated.get() + refused.get() + undecodable.get();
    assert!(all > 2000, "{tally:?}");
    assert!(
        [created, updated, refused].iter().all(|count| count.get() > 200),
        "{tally:?}"
    );
    assert!(
        [undecodable, forgiven].iter().all(|count| count.get() > 2),
        "{tally:?}"
    );
}

/// Counts of write outcomes.
#[derive(Debug, Default)]
struct Tally {
    created: Cell<usize>,
    updated: Cell<usize>,
    refused: Cell<usize>,
    undecodable: Cell<usize>,
    /// Updates accepted only through ratcheting.
    forgiven: Cell<usize>,
}

fn count(counter: &Cell<usize>) {
    counter.set(counter.get() + 1);
}

/// A resource of a server, and the crate's pipeline of its current schema.
struct Compared<'a> {
    place: &'a Place,
    resource: &'a Defined,
    pipeline: Pipeline,
    tally: &'a Tally,
}

impl<'a> Compared<'a> {
    fn of(place: &'a Place, resource: &'a Defined, tally: &'a Tally) -> Result<Self, TestCaseError> {
        let crd = place.send(Sent::new(Method::GET, &resource.crd_path()))?.body;
        // What the server serves, the crate compiles.
        let pipeline = Pipeline::of_version(&crd, "v1");
        let pipeline = pipeline.map_err(|error| TestCaseError::fail(error.to_string()))?;
        Ok(Self {
            place,
            resource,
            pipeline,
            tally,
        })
    }

    /// Replaces the schema, if the server accepts it.
    fn replace_schema(&mut self, schema: &Value) -> TestCaseResult {
        let path = self.resource.crd_path();
        let mut crd = self.place.send(Sent::new(Method::GET, &path))?.body;
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema.clone();
        self.place.send(Sent::new(Method::PUT, &path).json(&crd))?;
        self.place.settle();
        *self = Self::of(self.place, self.resource, self.tally)?;
        Ok(())
    }

    /// Creates an object; returns the stored one if it is accepted.
    fn create(&self, name: &str, spec: &Value) -> Result<Option<Value>, TestCaseError> {
        let Some(object) = sent(self.resource.object(name, spec)) else {
            return Ok(None);
        };
        let written = self.pipeline.create(object.clone());
        let path = self.resource.collection();
        self.same(Method::POST, &path, &object, &written)?;
        match written.is_ok_and(|written| written.is_accepted()) {
            true => self.there(&object).map(Some),
            false => Ok(None),
        }
    }

    /// Replaces the spec of an object.
    fn update(&self, object: &Value, change: impl FnOnce(Value) -> Value) -> TestCaseResult {
        let old = self.there(object)?;
        let mut new = old.clone();
        new["spec"] = change(new["spec"].take());
        let Some(new) = sent(new) else {
            return Ok(());
        };
        let written = self.pipeline.update(new.clone(), &old);
        let anew = self.pipeline.create(new.clone());
        if let (Ok(written), Ok(anew)) = (&written, anew)
            && written.is_accepted()
            && !anew.is_accepted()
        {
            count(&self.tally.forgiven);
        }
        self.same(Method::PUT, &self.path(object), &new, &written)
    }

    /// Reads an object stored under an older schema through the current one.
    fn read(&self, stored: &Value) -> TestCaseResult {
        let mut read = stored.clone();
        self.pipeline.read(&mut read);
        prop_assert_eq!(content(self.there(stored)?), content(read));
        Ok(())
    }

    fn there(&self, object: &Value) -> Result<Value, TestCaseError> {
        Ok(self.place.send(Sent::new(Method::GET, &self.path(object)))?.body)
    }

    fn path(&self, object: &Value) -> String {
        let name = object["metadata"]["name"].as_str().unwrap();
        format!("{}/{name}", self.resource.collection())
    }

    /// Sends the object, and compares the response with the crate's result.
    fn same(
        &self,
        method: Method,
        path: &str,
        object: &Value,
        written: &Result<Written, Malformed>,
    ) -> TestCaseResult {
        let send = |query: &str| {
            let path = format!("{path}?{query}");
            self.place.send(Sent::new(method.clone(), &path).json(object))
        };
        let kind = object["kind"].as_str().unwrap();
        let undecodable =
            |why: &str| format!("{kind} in version \"v1\" cannot be handled as a {kind}: {why}");
        let written = match written {
            Ok(written) => written,
            Err(malformed) => {
                count(&self.tally.undecodable);
                return refused(&send("")?, 400, &undecodable(&malformed.to_string()));
            }
        };
        if !written.unknown_fields.is_empty() {
            let problems = unknown(written).collect::<Vec<_>>().join(", ");
            let why = undecodable(&format!("strict decoding error: {problems}"));
            refused(&send("fieldValidation=Strict")?, 400, &why)?;
        }
        let answer = send("fieldValidation=Warn")?;
        prop_assert_eq!(&answer.warnings, &warnings(written));
        if written.is_accepted() {
            count(match answer.code {
                201 => &self.tally.created,
                _ => &self.tally.updated,
            });
            prop_assert!(
                matches!(answer.code, 200 | 201),
                "accepted: {written:?}\nanswer: {answer:?}"
            );
            prop_assert_eq!(content(answer.body), content(written.object.clone()));
            return Ok(());
        }
        count(&self.tally.refused);
        let errors: Vec<String> = written.errors.iter().map(ToString::to_string).collect();
        let errors = match errors.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let name = object["metadata"]["name"].as_str().unwrap();
        refused(
            &answer,
            422,
            &format!("{kind}.example.com {name:?} is invalid: {errors}"),
        )?;
        let causes = written.errors.iter().map(|error| {
            json!({"reason": error.kind.reason(), "message": error.body(), "field": error.path.to_string()})
        });
        prop_assert_eq!(&answer.body["details"]["causes"], &causes.collect::<Value>());
        Ok(())
    }
}

fn refused(answer: &Answer, code: u16, message: &str) -> TestCaseResult {
    let told = answer.body["message"].as_str().unwrap_or_default();
    prop_assert_eq!((answer.code, told), (code, message));
    Ok(())
}

fn unknown(written: &Written) -> impl Iterator<Item = String> {
    written
        .unknown_fields
        .iter()
        .map(|path| format!("unknown field {path:?}"))
}

/// Warnings in the form of response headers.
fn warnings(written: &Written) -> Vec<String> {
    let forgiven = written.warnings.iter().map(ToString::to_string);
    let mut told: Vec<String> = Vec::new();
    for warning in unknown(written).chain(forgiven) {
        let text: String = warning
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        if HeaderValue::from_str(&text).is_ok() && !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

/// The fields that the schema covers.
fn content(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("metadata");
    object
}

/// An object as sent; `None` if it is nested too deeply to be stored.
fn sent(object: Value) -> Option<Value> {
    fn depth(value: &Value) -> usize {
        let inside = match value {
            Value::Array(items) => items.iter().map(depth).max(),
            Value::Object(fields) => fields.values().map(depth).max(),
            _ => None,
        };
        1 + inside.unwrap_or_default()
    }
    let text = object.to_string();
    (depth(&object) < 80).then(|| serde_json::from_str(&text).unwrap())
}

fn mutated(mut value: Value, mutations: &Mutations) -> Value {
    mutations.apply(&mut value);
    value
}
