//! The parts of a CompositeResourceDefinition's schema that are written by hand.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::Names;

pub(super) fn immutable() -> Value {
    json!([{"rule": "self == oldSelf", "message": "Value is immutable"}])
}

pub(super) fn names(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Names::json_schema(generator);
    let rules = json!([
        {"rule": "self == oldSelf", "message": "Value is immutable"},
        {"rule": "self.plural == self.plural.lowerAscii()", "fieldPath": ".plural", "message": "Plural name must be lowercase"},
        {"rule": "!has(self.singular) || self.singular == self.singular.lowerAscii()", "fieldPath": ".singular",
            "message": "Singular name must be lowercase"},
    ]);
    schema.insert("x-kubernetes-validations".to_owned(), rules);
    schema
}

pub(super) fn conversion(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["strategy"],
        "x-kubernetes-validations": [{
            "rule": "self.strategy != 'Webhook' || has(self.webhook)", "fieldPath": ".webhook",
            "message": "Webhook configuration is required when conversion strategy is Webhook",
        }],
        "properties": {
            "strategy": {"type": "string", "enum": ["None", "Webhook"], "description": "`None` changes the apiVersion alone, `Webhook` asks somebody."},
            "webhook": {
                "type": "object",
                "description": "Who is asked.",
                "required": ["conversionReviewVersions"],
                "properties": {
                    "conversionReviewVersions": {
                        "type": "array", "items": {"type": "string"},
                        "description": "The versions of ConversionReview that the webhook understands.",
                    },
                    "clientConfig": {
                        "type": "object",
                        "description": "Where it is.",
                        "properties": {
                            "url": {"type": "string", "description": "Its address, if it is outside the cluster."},
                            "caBundle": {"type": "string", "format": "byte", "description": "Who signed its certificate, as PEM."},
                            "service": {
                                "type": "object",
                                "description": "Its Service, if it is in the cluster.",
                                "required": ["name", "namespace"],
                                "properties": {
                                    "name": {"type": "string", "description": "The Service's name."},
                                    "namespace": {"type": "string", "description": "The Service's namespace."},
                                    "path": {"type": "string", "description": "The path of the URL."},
                                    "port": {"type": "integer", "format": "int32", "description": "The Service's port."},
                                },
                            },
                        },
                    },
                },
            },
        },
    })
}

pub(super) fn printer_columns(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "type", "jsonPath"],
            "properties": {
                "name": {"type": "string", "description": "The heading."},
                "type": {"type": "string", "description": "What the value is, such as `string` or `date`."},
                "jsonPath": {"type": "string", "description": "Where the value is."},
                "format": {"type": "string", "description": "How the value is formatted."},
                "description": {"type": "string", "description": "What the column is for."},
                "priority": {"type": "integer", "format": "int32", "description": "Above 0: shown by `-o wide` alone."},
            },
        },
    })
}

pub(super) fn scale(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["specReplicasPath", "statusReplicasPath"],
        "properties": {
            "specReplicasPath": {"type": "string", "description": "Where the wanted number is."},
            "statusReplicasPath": {"type": "string", "description": "Where the observed number is."},
            "labelSelectorPath": {"type": "string", "description": "Where the selector of pods is."},
        },
    })
}
