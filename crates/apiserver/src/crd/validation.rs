//! Validation of CRDs, with upstream's messages. Pure.

use cambium_cel::rules::check_schema_rules;
use cambium_schema::{FieldError, FieldPath, JsonType, names};
use serde_json::{Value, json};

use super::names::is_true;
use crate::object;

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 10] = [
    "binary",
    "bool",
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const SELECTABLE_FIELDS: usize = 8;
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Validates a CRD, and its update from `old`.
pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let spec = FieldPath::new("spec");
    let mut errors = Vec::new();
    let (plural, group) = (text(crd, "spec.names.plural"), text(crd, "spec.group"));
    let name = object::name(crd);
    if name != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid(
            FieldPath::new("metadata.name"),
            &json!(name),
            why,
        ));
    }
    errors.extend(group_and_scope(crd, &spec));
    // Schemas are a lot to read, and were read when they were written.
    if old.is_none_or(|old| old.get("spec") != crd.get("spec")) {
        errors.extend(versions(crd, old, &spec));
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(crd, &format!("spec.names.{field}")).is_empty() {
            errors.push(FieldError::required(spec.child("names").child(field), ""));
        }
    }
    errors.extend(spelling(crd.pointer("/spec/names"), &spec.child("names")));
    errors.extend(conversion(crd, &spec.child("conversion")));
    if let Some(old) = old {
        errors.extend(immutable(crd, old, &spec));
    }
    errors.extend(stored_versions(crd));
    errors.extend(approval(crd, old));
    if crd.pointer("/spec/preserveUnknownFields") == Some(&json!(true)) {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(
            spec.child("preserveUnknownFields"),
            &json!(true),
            why,
        ));
    }
    errors
}

/// Adds the storage version to `status.storedVersions`.
pub(crate) fn record_stored_versions(crd: &mut Value, old: Option<&Value>) {
    let before = old
        .and_then(|old| old.pointer("/status/storedVersions"))
        .and_then(Value::as_array);
    let given = crd.pointer("/status/storedVersions").and_then(Value::as_array);
    let mut stored = given.or(before).cloned().unwrap_or_default();
    let all = crd
        .pointer("/spec/versions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for version in all.iter().filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    object::set_at(crd, "status.storedVersions", Value::Array(stored));
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    object::at(value, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn group_and_scope(crd: &Value, spec: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(crd, "spec.group");
    let path = spec.child("group");
    match names::dns1123_subdomain(group) {
        _ if group.is_empty() => errors.push(FieldError::required(path, "")),
        problems if !problems.is_empty() => {
            errors.push(FieldError::invalid(path, &json!(group), problems.join(",")));
        }
        _ if !group.contains('.') => {
            errors.push(FieldError::invalid(
                path,
                &json!(group),
                "should be a domain with at least one dot",
            ));
        }
        _ => {}
    }
    match text(crd, "spec.scope") {
        "" => errors.push(FieldError::required(spec.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(FieldError::not_supported(
            spec.child("scope"),
            &json!(other),
            &["Cluster", "Namespaced"],
        )),
    }
    errors
}

fn versions(crd: &Value, old: Option<&Value>, spec: &FieldPath) -> Vec<FieldError> {
    let all = list(crd, "/spec/versions");
    let path = spec.child("versions");
    let mut errors = Vec::new();
    for (index, version) in all.iter().enumerate() {
        let at = path.index(index);
        let problems = names::dns1035_label(text(version, "name"));
        if !problems.is_empty() {
            errors.push(FieldError::invalid(
                at.child("name"),
                &version["name"],
                problems.join(","),
            ));
        }
        errors.extend(deprecation(version, &at));
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            errors.push(FieldError::required(
                at.child("schema").child("openAPIV3Schema"),
                "",
            ));
        }
    }
    // What all versions share is reported once, where older CRDs had it.
    let shared = |field: &str| {
        all.iter()
            .all(|version| version.get(field).is_some() && version.get(field) == all[0].get(field))
    };
    let place = |field: &str, top: &str, index: usize| match shared(field) {
        true => spec.child(top),
        false => path.index(index).child(field),
    };
    for (index, version) in all.iter().enumerate() {
        let first = index == 0;
        let unchanged = old.is_some_and(|old| {
            let before = list(old, "/spec/versions")
                .iter()
                .find(|one| one["name"] == version["name"]);
            before.is_some_and(|before| before.get("schema") == version.get("schema"))
        });
        if first || !shared("schema") {
            errors.extend(schema(version, &place("schema", "validation", index), unchanged));
        }
        if first || !shared("subresources") {
            errors.extend(scale(version, &place("subresources", "subresources", index)));
        }
        if first || !shared("additionalPrinterColumns") {
            errors.extend(columns(
                version,
                &place("additionalPrinterColumns", "additionalPrinterColumns", index),
            ));
        }
        if first && shared("selectableFields") && !shared("schema") {
            let why = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(
                spec.child("selectableFields"),
                &json!(""),
                why,
            ));
        } else if first || !shared("selectableFields") {
            errors.extend(selectable(
                version,
                &place("selectableFields", "selectableFields", index),
            ));
        }
    }
    let mut seen: Vec<&Value> = all.iter().map(|version| &version["name"]).collect();
    seen.sort_by_key(|name| name.to_string());
    let shown = crd.pointer("/spec/versions").cloned().unwrap_or_default();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        errors.push(FieldError::invalid(
            path.clone(),
            &shown,
            "must contain unique version names",
        ));
    }
    if all.iter().filter(|version| version["storage"] == true).count() != 1 {
        errors.push(FieldError::invalid(
            path,
            &shown,
            "must have exactly one version marked as storage version",
        ));
    }
    errors
}

fn deprecation(version: &Value, at: &FieldPath) -> Vec<FieldError> {
    let Some(warning) = version
        .get("deprecationWarning")
        .filter(|warning| !warning.is_null())
    else {
        return vec![];
    };
    let text = warning.as_str().unwrap_or_default();
    let mut problems = Vec::new();
    if version["deprecated"] != true {
        problems.push("can only be set for deprecated versions".to_owned());
    } else {
        if text.len() > 256 {
            problems.push("must be <= 256 characters long".to_owned());
        }
        if text.is_empty() {
            problems.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    }
    problems
        .into_iter()
        .map(|why| FieldError::invalid(at.child("deprecationWarning"), warning, why))
        .collect()
}

fn schema(version: &Value, at: &FieldPath, unchanged: bool) -> Vec<FieldError> {
    let Some(raw) = version.pointer("/schema/openAPIV3Schema") else {
        return vec![];
    };
    let at = at.child("openAPIV3Schema");
    let mut errors = Vec::new();
    if version.pointer("/subresources/status").is_some() {
        errors.extend(cambium_schema::check_status_root(raw, &at));
    }
    match cambium_schema::parse(raw, &at) {
        Err(problems) => errors.extend(problems),
        // Rules that were accepted once stay accepted.
        Ok(_) if unchanged => {}
        Ok(schema) => errors.extend(check_schema_rules(&schema, &at)),
    }
    errors
}

fn scale(version: &Value, at: &FieldPath) -> Vec<FieldError> {
    if version.pointer("/subresources/scale").is_none_or(Value::is_null) {
        return vec![];
    }
    let mut errors = Vec::new();
    let rules: [(&str, &[&str], &str, bool); 3] = [
        (
            "specReplicasPath",
            &[".spec."],
            "should be a json path under .spec",
            true,
        ),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
            true,
        ),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "should be a json path under either .spec or .status",
            false,
        ),
    ];
    for (field, prefixes, why, required) in rules {
        let path = at.child("scale").child(field);
        let value = text(version, &format!("subresources.scale.{field}"));
        if value.is_empty() {
            if required {
                errors.push(FieldError::required(path, ""));
            }
        } else if let Some(problem) = simple_path(value) {
            errors.push(FieldError::invalid(path, &json!(value), problem));
        } else if !prefixes.iter().any(|prefix| value.starts_with(prefix)) {
            errors.push(FieldError::invalid(path, &json!(value), why));
        }
    }
    errors
}

fn simple_path(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

fn columns(version: &Value, at: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, column) in list(version, "/additionalPrinterColumns").iter().enumerate() {
        let at = at.index(index);
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(at.child("name"), ""));
        }
        match text(column, "type") {
            "" => errors.push(FieldError::required(at.child("type"), types)),
            kind if !COLUMN_TYPES.contains(&kind) => {
                errors.push(FieldError::invalid(at.child("type"), &json!(kind), types));
            }
            _ => {}
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let why = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(at.child("format"), &json!(format), why));
        }
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(at.child("JSONPath"), "")),
            path => {
                let problem = simple_path(path);
                errors
                    .extend(problem.map(|why| FieldError::invalid(at.child("JSONPath"), &json!(path), why)));
            }
        }
    }
    errors
}

fn selectable(version: &Value, at: &FieldPath) -> Vec<FieldError> {
    let fields = list(version, "/selectableFields");
    let schema = version
        .pointer("/schema/openAPIV3Schema")
        .and_then(|raw| cambium_schema::parse(raw, at).ok());
    let (Some(schema), false) = (schema, fields.is_empty()) else {
        return vec![];
    };
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let path = text(field, "jsonPath");
        let at = at.index(index).child("jsonPath");
        let invalid = |why: String| FieldError::invalid(at.clone(), &json!(path), why);
        if path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        let mut found = Some(&schema);
        for part in path.trim_start_matches('.').split('.') {
            found = found.and_then(|schema| schema.field(part));
        }
        let Some(found) = found.filter(|_| path.starts_with('.')) else {
            errors.push(invalid(
                "is an invalid path: does not refer to a valid field".to_owned(),
            ));
            continue;
        };
        if path.starts_with(".metadata") {
            errors.push(invalid("must not point to fields in metadata".to_owned()));
        }
        if !matches!(
            found.json_type,
            JsonType::String | JsonType::Boolean | JsonType::Integer
        ) {
            errors.push(invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
                    .to_owned(),
            ));
        }
        if seen.contains(&path) {
            errors.push(FieldError::duplicate(at, &json!(path)));
        }
        seen.push(path);
    }
    if seen.len() > SELECTABLE_FIELDS {
        errors.push(FieldError::too_many(at.clone(), seen.len(), SELECTABLE_FIELDS));
    }
    errors
}

fn spelling(given: Option<&Value>, at: &FieldPath) -> Vec<FieldError> {
    let Some(given) = given else { return vec![] };
    let mut errors = Vec::new();
    for (field, mixed) in [
        ("plural", false),
        ("singular", false),
        ("kind", true),
        ("listKind", true),
    ] {
        let name = text(given, field);
        let checked = if mixed {
            name.to_lowercase()
        } else {
            name.to_owned()
        };
        let problems = names::dns1035_label(&checked);
        if !name.is_empty() && !problems.is_empty() {
            let prefix = if mixed {
                "may have mixed case, but should otherwise match: "
            } else {
                ""
            };
            let why = format!("{prefix}{}", problems.join(","));
            errors.push(FieldError::invalid(at.child(field), &json!(name), why));
        }
    }
    let mut each = |field: &str| {
        for (index, name) in list(given, &format!("/{field}")).iter().enumerate() {
            let problems = names::dns1035_label(name.as_str().unwrap_or_default());
            if !problems.is_empty() {
                errors.push(FieldError::invalid(
                    at.child(field).index(index),
                    name,
                    problems.join(","),
                ));
            }
        }
    };
    each("shortNames");
    each("categories");
    let kind = text(given, "kind");
    if !kind.is_empty() && kind == text(given, "listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(at.child("listKind"), &json!(kind), why));
    }
    errors
}

fn conversion(crd: &Value, at: &FieldPath) -> Vec<FieldError> {
    let Some(conversion) = crd
        .pointer("/spec/conversion")
        .filter(|conversion| !conversion.is_null())
    else {
        return vec![];
    };
    let mut errors = Vec::new();
    let config = conversion.pointer("/webhook/clientConfig");
    let reviews = list(conversion, "/webhook/conversionReviewVersions");
    let strategy = text(conversion, "strategy");
    match strategy {
        "" => errors.push(FieldError::required(at.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => errors.push(FieldError::not_supported(
            at.child("strategy"),
            &json!(other),
            &["None", "Webhook"],
        )),
    }
    let client = at.child("webhookClientConfig");
    let versions = at.child("conversionReviewVersions");
    if strategy != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        errors.extend(config.map(|_| FieldError::forbidden(client, why)));
        if !reviews.is_empty() {
            errors.push(FieldError::forbidden(versions, why));
        }
        return errors;
    }
    match config {
        None => errors.push(FieldError::required(
            client,
            "required when strategy is set to Webhook",
        )),
        Some(config) => {
            let (url, service) = (config.get("url"), config.get("service"));
            match (
                url.and_then(Value::as_str),
                service.filter(|service| !service.is_null()),
            ) {
                (Some(url), None) => {
                    errors.extend(crate::validation::webhooks::url(&client.child("url"), url))
                }
                (None, Some(service)) => {
                    errors.extend(crate::validation::webhooks::service(
                        &client.child("service"),
                        service,
                    ));
                }
                _ => errors.push(FieldError::required(
                    client,
                    "exactly one of url or service is required",
                )),
            }
        }
    }
    if reviews.is_empty() {
        errors.push(FieldError::required(versions, ""));
    } else if !reviews.iter().any(|one| one == "v1" || one == "v1beta1") {
        let shown = Value::Array(reviews.to_vec());
        errors.push(FieldError::invalid(
            versions,
            &shown,
            "must include at least one of v1, v1beta1",
        ));
    }
    errors
}

fn immutable(crd: &Value, old: &Value, spec: &FieldPath) -> Vec<FieldError> {
    let mut fields = vec!["group", "names.plural"];
    if is_true(old, "Established") {
        fields.splice(0..0, ["scope", "names.kind"]);
    }
    let changed = |field: &&str| {
        let path = format!("spec.{field}");
        object::at(crd, &path) != object::at(old, &path)
    };
    fields
        .into_iter()
        .filter(changed)
        .map(|field| {
            let value = object::at(crd, &format!("spec.{field}"))
                .cloned()
                .unwrap_or_default();
            FieldError::invalid(spec.child(field), &value, "field is immutable")
        })
        .collect()
}

fn stored_versions(crd: &Value) -> Vec<FieldError> {
    let path = FieldPath::new("status.storedVersions");
    let stored = list(crd, "/status/storedVersions");
    let shown = Value::Array(stored.to_vec());
    if stored.is_empty() {
        return vec![FieldError::invalid(
            path,
            &shown,
            "must have at least one stored version",
        )];
    }
    let all = list(crd, "/spec/versions");
    let mut errors = Vec::new();
    for version in all
        .iter()
        .filter(|version| version["storage"] == true && !stored.contains(&version["name"]))
    {
        let why = format!("must have the storage version {}", text(version, "name"));
        errors.push(FieldError::invalid(path.clone(), &shown, why));
    }
    for (index, name) in stored.iter().enumerate() {
        if !all.iter().any(|version| version["name"] == *name) {
            let name = name.as_str().unwrap_or_default();
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            errors.push(FieldError::invalid(path.index(index), &json!(name), why));
        }
    }
    errors
}

/// Groups under `*.k8s.io` and `*.kubernetes.io` need the annotation `api-approved.kubernetes.io`.
fn approval(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let group = text(crd, "spec.group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    let given = object::annotation(crd, APPROVAL);
    let before = old.map(|old| object::annotation(old, APPROVAL));
    if !protected || before == Some(given) {
        return vec![];
    }
    let path = FieldPath::new("metadata.annotations").key(APPROVAL);
    let link = "see https://github.com/kubernetes/enhancements/pull/1111";
    match given {
        None | Some("") => {
            let why = format!("protected groups must have approval annotation {APPROVAL:?}, {link}");
            vec![FieldError::required(path, why)]
        }
        Some(value) if value.starts_with("unapproved") || value.contains("://") => vec![],
        Some(value) => {
            let why = format!(
                "protected groups must have approval annotation {APPROVAL:?} with either a URL or a reason starting with \"unapproved\", {link}"
            );
            vec![FieldError::invalid(path, &json!(value), why)]
        }
    }
}
