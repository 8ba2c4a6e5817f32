//! Content negotiation of OpenAPI documents.

use std::cmp::Reverse;

use http::header::{ACCEPT, HeaderMap};
use serde_json::Value;

use super::gnostic;
use crate::wire::{Alternative, alternatives};

/// A media type and its encoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) media: &'static str,
    /// The encoder; `None` for JSON.
    pub(super) encode: Option<fn(&Value) -> Vec<u8>>,
}

/// The accepted media types of a document, each with the form that is served for it.
type Forms = [(&'static str, Form); 3];

const JSON: Form = Form {
    media: "application/json",
    encode: None,
};
const V2_PROTOBUF: Form = Form {
    media: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    encode: Some(gnostic::v2::document),
};
const V3_PROTOBUF: Form = Form {
    media: "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    encode: Some(gnostic::v3::document),
};

/// The media types of OpenAPI v2.
pub(super) const V2: Forms = [
    (JSON.media, JSON),
    (V2_PROTOBUF.media, V2_PROTOBUF),
    (
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        V2_PROTOBUF,
    ),
];

/// The media types of OpenAPI v3.
pub(super) const V3: Forms = [
    (JSON.media, JSON),
    (V3_PROTOBUF.media, V3_PROTOBUF),
    (
        "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
        V3_PROTOBUF,
    ),
];

/// The client's preferred form: by quality, exact media types before wildcards. `None` if none is acceptable.
pub(super) fn choose(headers: &HeaderMap, forms: &Forms) -> Option<Form> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let accept = accept.filter(|accept| !accept.trim().is_empty()).unwrap_or("*/*");
    let mut wanted = alternatives(accept);
    wanted.sort_by(|one, other| {
        let by_quality = other.quality.total_cmp(&one.quality);
        by_quality.then_with(|| vagueness(one).cmp(&vagueness(other)))
    });
    wanted.iter().find_map(|one| {
        let fitting = forms.iter().find(|(media, _)| fits(one.media, media));
        fitting.map(|(_, form)| *form)
    })
}

/// Sorts exact media types first and `*/*` last.
fn vagueness(alternative: &Alternative<'_>) -> Reverse<(bool, bool)> {
    let (kind, subtype) = parts(alternative.media);
    Reverse((kind != "*", subtype != "*"))
}

fn fits(wanted: &str, media: &str) -> bool {
    let ((wanted_kind, wanted_subtype), (kind, subtype)) = (parts(wanted), parts(media));
    (wanted_kind == "*" || wanted_kind == kind) && (wanted_subtype == "*" || wanted_subtype == subtype)
}

/// Type and subtype; `*` alone means `*/*`.
fn parts(media: &str) -> (&str, &str) {
    media
        .split_once('/')
        .unwrap_or((media, if media == "*" { "*" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_one_that_is_liked_best() {
        let (json, protobuf) = (Some(JSON.media), Some(V3_PROTOBUF.media));
        let named = V3_PROTOBUF.media;
        let older = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
        for (accept, expected) in [
            (String::new(), json),
            ("*/*".to_owned(), json),
            ("*".to_owned(), json),
            ("application/*".to_owned(), json),
            ("application/json;charset=utf-8".to_owned(), json),
            (named.to_owned(), protobuf),
            (older.to_owned(), protobuf),
            (format!("{named}, application/json"), protobuf),
            (format!("application/json, {named}"), json),
            (format!("application/json;q=0.5, {named};q=0.9"), protobuf),
            (format!("{named};q=0.2, */*;q=0.8"), json),
            (format!("*/*, {named}"), protobuf),
            (format!("text/html, {older}"), protobuf),
            ("text/html".to_owned(), None),
            ("application/yaml".to_owned(), None),
            (
                "application/com.github.proto-openapi.spec.v2@v1.0+protobuf".to_owned(),
                None,
            ),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
            let chosen = choose(&headers, &V3).map(|form| form.media);
            assert_eq!(chosen, expected, "{accept:?}");
        }
    }
}
