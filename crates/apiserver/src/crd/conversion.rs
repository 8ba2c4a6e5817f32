//! Conversion between versions of a CRD: strategy `Webhook`, or `None`, which only changes `apiVersion`.

use std::time::Duration;

use cambium_schema::FieldPath;
use serde_json::{Value, json};

use super::Definition;
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::validation::metadata;

/// Timeout of a conversion webhook; it is not configurable, as upstream.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Definition {
    /// Converts objects to another version.
    pub(crate) async fn convert(
        &self,
        server: &Server,
        mut objects: Vec<Value>,
        version: &str,
    ) -> Result<Vec<Value>> {
        let wanted = format!("{}/{version}", self.group);
        let stale: Vec<usize> = (0..objects.len())
            .filter(|index| objects[*index]["apiVersion"] != wanted)
            .collect();
        if stale.is_empty() {
            return Ok(objects);
        }
        if !self.converts_by_webhook() {
            for index in stale {
                objects[index]["apiVersion"] = json!(wanted);
            }
            return Ok(objects);
        }
        // One ConversionReview for all objects: a list calls the webhook once, not once per object.
        let given: Vec<Value> = stale.iter().map(|index| objects[*index].clone()).collect();
        let converted = self.call_webhook(server, &given, &wanted).await?;
        for (index, value) in stale.into_iter().zip(converted) {
            objects[index] = value;
        }
        if let Some(target) = self.versions.iter().find(|one| one.name == version) {
            for object in &mut objects {
                // A webhook may return fields that the target schema does not specify.
                target.pipeline.prune(object);
            }
        }
        Ok(objects)
    }

    async fn call_webhook(&self, server: &Server, given: &[Value], wanted: &str) -> Result<Vec<Value>> {
        let kind = self
            .raw
            .pointer("/spec/names/kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let from = given
            .first()
            .and_then(|object| object["apiVersion"].as_str())
            .unwrap_or_default();
        let name = format!("{from}, Kind={kind}");
        let fail =
            |why: String| Status::internal_plain(format!("conversion webhook for {name} failed: {why}"));
        let reviews = self
            .raw
            .pointer("/spec/conversion/webhook/conversionReviewVersions")
            .and_then(Value::as_array);
        let known = |one: &&Value| matches!(one.as_str(), Some("v1" | "v1beta1"));
        let review_version = reviews
            .and_then(|list| list.iter().find(known))
            .and_then(Value::as_str);
        let Some(review_version) = review_version else {
            return Err(fail("no supported conversion review versions".to_owned()));
        };
        let api = format!("apiextensions.k8s.io/{review_version}");
        let uid = server.sources.uid();
        let review = json!({
            "kind": "ConversionReview", "apiVersion": api,
            "request": {"uid": uid, "desiredAPIVersion": wanted, "objects": given},
        });
        let config = self
            .raw
            .pointer("/spec/conversion/webhook/clientConfig")
            .cloned()
            .unwrap_or_default();
        let answer = server
            .webhooks
            .call(server, &config, &review, TIMEOUT)
            .await
            .map_err(|error| fail(error.to_string()))?;
        if answer["kind"] != "ConversionReview" || answer["apiVersion"] != api {
            let got = (
                answer["apiVersion"].as_str().unwrap_or_default(),
                answer["kind"].as_str().unwrap_or_default(),
            );
            let why = format!(
                "expected webhook response of {api}, Kind=ConversionReview, got {}, Kind={}",
                got.0, got.1
            );
            return Err(fail(why));
        }
        let Some(response) = answer.get("response").filter(|response| response.is_object()) else {
            return Err(fail("no response provided".to_owned()));
        };
        let answered = response["uid"].as_str().unwrap_or_default();
        // Only v1 requires the response to repeat the UID.
        if review_version == "v1" && answered != uid {
            return Err(fail(format!("expected response.uid={uid:?}, got {answered:?}")));
        }
        let status = response
            .pointer("/result/status")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if status != "Success" {
            let message = response
                .pointer("/result/message")
                .and_then(Value::as_str)
                .unwrap_or_default();
            return Err(fail(match message {
                "" => format!("response.result.status was '{status}', not 'Success'"),
                message => message.to_owned(),
            }));
        }
        let converted = response["convertedObjects"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if converted.len() != given.len() {
            let (got, expected) = (converted.len(), given.len());
            return Err(Status::internal_plain(format!(
                "conversion webhook for {name} returned {got} objects, expected {expected}"
            )));
        }
        let check = |(index, (new, old)): (usize, (Value, &Value))| {
            settle(new, old, wanted).map_err(|why| {
                Status::internal_plain(format!(
                    "conversion webhook for {name} returned invalid {}: {why}",
                    place(&why, index)
                ))
            })
        };
        converted.into_iter().zip(given).enumerate().map(check).collect()
    }
}

fn place(why: &str, index: usize) -> String {
    match why.contains("metadata") {
        true => "metadata".to_owned(),
        false => format!("object at index {index}"),
    }
}

/// Validates a converted object, and restores the metadata that a webhook may not change.
fn settle(mut new: Value, old: &Value, wanted: &str) -> Result<Value, String> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&new, "apiVersion"), text(&new, "kind"));
    if version != wanted {
        return Err(format!(
            "invalid groupVersion (expected {wanted}, received {version})"
        ));
    }
    if kind != text(old, "kind") {
        return Err(format!(
            "invalid kind (expected {}, received {kind})",
            text(old, "kind")
        ));
    }
    let Some(given) = new.get("metadata") else {
        return Err("missing metadata in converted object".to_owned());
    };
    let Some(given) = given.as_object().cloned() else {
        return Err("invalid metadata of type in converted object".to_owned());
    };
    for (field, label) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let before = object::meta_text(old, field);
        let after = given.get(field).and_then(Value::as_str).unwrap_or_default();
        if before != after {
            return Err(format!("must have the same {label}: {before} != {after}"));
        }
    }
    // A webhook may convert labels and annotations only; all other metadata is restored.
    let mut restored = object::metadata(old).clone();
    for field in ["labels", "annotations"] {
        restored.remove(field);
        let Some(map) = given.get(field) else { continue };
        let strings = map
            .as_object()
            .is_some_and(|map| map.values().all(Value::is_string));
        if !strings && !map.is_null() {
            return Err(format!(
                "metadata.{field} must be a map of strings in converted object"
            ));
        }
        if map.as_object().is_some_and(|map| !map.is_empty()) {
            restored.insert(field.to_owned(), map.clone());
        }
    }
    new["metadata"] = Value::Object(restored);
    let path = FieldPath::new("metadata").child("labels");
    let errors = metadata::validate_labels(object::metadata(&new).get("labels"), &path);
    match errors.first() {
        Some(error) => Err(error.to_string()),
        None => Ok(new),
    }
}
