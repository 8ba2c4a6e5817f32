//! PartialObjectMetadata and its list, which clients request by `Accept` and which are not in the OpenAPI documents.

use cambium_schema::{Property, Schema};

use crate::constructors::{STRING, field, list, object};
use crate::generated::meta_v1::{LIST_META, OBJECT_META};

static PARTIAL_FIELDS: [Property; 3] = [
    field("apiVersion", 0, &STRING),
    field("kind", 0, &STRING),
    field("metadata", 1, &OBJECT_META),
];
static PARTIAL: Schema = object(
    "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
    &PARTIAL_FIELDS,
);
static ITEMS: Schema = list(&PARTIAL);
static PARTIAL_LIST_FIELDS: [Property; 4] = [
    field("apiVersion", 0, &STRING),
    field("items", 2, &ITEMS),
    field("kind", 0, &STRING),
    field("metadata", 1, &LIST_META),
];
static PARTIAL_LIST: Schema = object(
    "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList",
    &PARTIAL_LIST_FIELDS,
);

/// The schema of `PartialObjectMetadata`, or of its list.
pub(crate) fn partial(kind: &str) -> Option<&'static Schema> {
    match kind {
        "PartialObjectMetadata" => Some(&PARTIAL),
        "PartialObjectMetadataList" => Some(&PARTIAL_LIST),
        _ => None,
    }
}
