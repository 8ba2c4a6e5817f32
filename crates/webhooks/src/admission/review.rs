//! Decodes and encodes `AdmissionReview` v1 and v1beta1, which have the same shape.

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{AdmissionRequest, Mutation, Verdict};

const GROUP: &str = "admission.k8s.io/";

/// Why a body is not an `AdmissionReview` with a request.
#[derive(Debug, thiserror::Error)]
#[error("the body is not an AdmissionReview: {0}")]
pub struct NotAReview(String);

/// The version of a review, and the question in it.
pub(crate) fn decode(body: &[u8]) -> Result<(String, AdmissionRequest), NotAReview> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Review {
        #[serde(default)]
        api_version: String,
        #[serde(default)]
        kind: String,
        #[serde(default)]
        request: Option<Value>,
    }
    let review: Review = serde_json::from_slice(body).map_err(|error| NotAReview(error.to_string()))?;
    let known = matches!(review.api_version.strip_prefix(GROUP), Some("v1" | "v1beta1"));
    if !known || review.kind != "AdmissionReview" {
        let (version, kind) = (&review.api_version, &review.kind);
        return Err(NotAReview(format!(
            "apiVersion {version:?} and kind {kind:?} are not those of v1 or v1beta1"
        )));
    }
    let Some(request) = review.request else {
        return Err(NotAReview("it has no request".to_owned()));
    };
    let request: AdmissionRequest =
        serde_json::from_value(request).map_err(|error| NotAReview(format!("request: {error}")))?;
    if request.uid.is_empty() {
        return Err(NotAReview("request.uid is empty".to_owned()));
    }
    Ok((review.api_version, request))
}

/// The answer to a question, with what becomes of the object: a JSON patch, encoded as the API server wants it.
pub(crate) fn mutated(api_version: &str, uid: &str, mutation: &Mutation) -> Value {
    let mut review = answer(api_version, uid, &mutation.verdict);
    let allowed = matches!(mutation.verdict, Verdict::Allowed { .. });
    if allowed && !mutation.patch.0.is_empty() {
        let patch = ByteString(json!(mutation.patch).to_string().into_bytes());
        review["response"]["patchType"] = json!("JSONPatch");
        review["response"]["patch"] = json!(patch);
    }
    review
}

/// The answer to a question, at the version in which it was asked.
pub(crate) fn answer(api_version: &str, uid: &str, verdict: &Verdict) -> Value {
    let mut response = Map::new();
    response.insert("uid".to_owned(), json!(uid));
    match verdict {
        Verdict::Allowed { warnings } => {
            response.insert("allowed".to_owned(), json!(true));
            if !warnings.is_empty() {
                response.insert("warnings".to_owned(), json!(warnings));
            }
        }
        Verdict::Denied {
            code,
            reason,
            message,
        } => {
            let mut status = json!({"status": "Failure", "code": code, "reason": reason, "message": message});
            if *code == 422 {
                // Of an invalid object, kubectl shows the causes, and `kubectl edit` nothing else.
                status["details"] =
                    json!({"causes": [{"reason": "FieldValueInvalid", "field": "spec", "message": message}]});
            }
            response.insert("allowed".to_owned(), json!(false));
            response.insert("status".to_owned(), status);
        }
    }
    json!({"apiVersion": api_version, "kind": "AdmissionReview", "response": response})
}
