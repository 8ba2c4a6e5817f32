//! The schema of patches and transforms in mode Resources, as Crossplane 1.20 accepts them.

use serde_json::{Value, json};

use super::composition_schema::{choice, integer, list, object, text};

/// A list of patches.
pub(super) fn patches() -> Value {
    let types = [
        "FromCompositeFieldPath",
        "PatchSet",
        "ToCompositeFieldPath",
        "CombineFromComposite",
        "CombineToComposite",
    ];
    list(
        "Copies fields between the composite resource and this one.",
        object(
            "A patch.",
            &[],
            json!({
                "type": choice("Which way it copies. FromCompositeFieldPath, if it is not given.", &types),
                "fromFieldPath": text("The field that is copied."),
                "toFieldPath": text("The field that is written. The one that is copied, if it is not given."),
                "patchSetName": text("The patch set to take, for PatchSet."),
                "combine": combine(),
                "transforms": list("What is done to the value on its way, one after another.", transform()),
                "policy": policy(),
            }),
        ),
    )
}

fn combine() -> Value {
    let variable = object(
        "A field.",
        &["fromFieldPath"],
        json!({"fromFieldPath": text("Its path.")}),
    );
    let mut variables = list("The fields that are combined.", variable);
    variables["minItems"] = json!(1);
    object(
        "Makes one value of several fields.",
        &["strategy", "variables"],
        json!({
            "strategy": choice("How they are combined.", &["string"]),
            "variables": variables,
            "string": object("Combines them into a text.", &["fmt"], json!({
                "fmt": text("The text, with a verb such as %s for each field."),
            })),
        }),
    )
}

fn policy() -> Value {
    object(
        "What happens at the edges.",
        &[],
        json!({
            "fromFieldPath": choice(
                "Whether the field must be there. If it is Optional and missing, the patch does nothing.",
                &["Optional", "Required"],
            ),
            "mergeOptions": object("How the value is merged with what is there.", &[], json!({
                "keepMapValues": flag("Keeps values of maps that are there already."),
                "appendSlice": flag("Adds to lists that are there already."),
            })),
        }),
    )
}

fn transform() -> Value {
    object(
        "What is done to a value.",
        &["type"],
        json!({
            "type": choice("Which of the others applies.", &["map", "match", "math", "string", "convert"]),
            "map": object("Takes the value that stands under the text.", &[], json!({})),
            "match": matching(),
            "math": object("Calculates.", &[], json!({
                "type": choice("What is calculated. Multiply, if it is not given.", &["Multiply", "ClampMin", "ClampMax"]),
                "multiply": integer("The factor."),
                "clampMin": integer("The least that it may be."),
                "clampMax": integer("The most that it may be."),
            })),
            "string": string(),
            "convert": object("Makes a value of another type.", &["toType"], json!({
                "toType": choice("The type.", &["string", "int", "int64", "bool", "float64", "object", "array"]),
                "format": choice("How a text is read.", &["none", "quantity", "json"]),
            })),
        }),
    )
}

fn matching() -> Value {
    let pattern = object(
        "A pattern.",
        &["result"],
        json!({
            "type": choice("How it is compared. Literally, if it is not given.", &["literal", "regexp"]),
            "literal": text("The text that it must be."),
            "regexp": text("The regular expression that it must match."),
            "result": anything("What it becomes."),
        }),
    );
    object(
        "Takes the result of the first pattern that matches.",
        &[],
        json!({
            "patterns": list("The patterns, in this order.", pattern),
            "fallbackValue": anything("What it becomes if none matches."),
            "fallbackTo": choice("Whether it becomes the fallback value or stays what it is.", &["Value", "Input"]),
        }),
    )
}

fn string() -> Value {
    let types = ["Format", "Convert", "TrimPrefix", "TrimSuffix", "Regexp", "Join"];
    let conversions = [
        "ToUpper",
        "ToLower",
        "ToBase64",
        "FromBase64",
        "ToJson",
        "ToSha1",
        "ToSha256",
        "ToSha512",
        "ToAdler32",
    ];
    object(
        "Makes a text.",
        &[],
        json!({
            "type": choice("How. Format, if it is not given.", &types),
            "fmt": text("The text, with a verb such as %s for the value."),
            "convert": choice("The conversion.", &conversions),
            "trim": text("What is taken off."),
            "regexp": object("Takes what matches.", &["match"], json!({
                "match": text("The regular expression."),
                "group": {"type": "integer", "description": "The group that is taken. All, if it is not given."},
            })),
            "join": object("Joins a list.", &["separator"], json!({"separator": text("What stands between.")})),
        }),
    )
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn anything(description: &str) -> Value {
    json!({"description": description, "x-kubernetes-preserve-unknown-fields": true})
}
