//! Reading readiness checks and connection details.

use super::Dialect;
use super::node::Node;
use crate::connection::{ConnectionDetail, DetailSource};
use crate::problem::Problems;
use crate::readiness::ReadinessCheck;

const CHECKS: [&str; 7] = [
    "MatchString",
    "MatchInteger",
    "NonEmpty",
    "MatchCondition",
    "MatchTrue",
    "MatchFalse",
    "None",
];

pub(super) fn readiness_checks(
    resource: &Node<'_>,
    dialect: Dialect,
    problems: &mut Problems,
) -> Vec<ReadinessCheck> {
    let checks = resource.child("readinessChecks").items(problems);
    checks
        .iter()
        .filter_map(|check| readiness_check(check, dialect, problems))
        .collect()
}

fn readiness_check(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<ReadinessCheck> {
    let kind = node.child("type");
    let name = kind.text(problems).unwrap_or_default();
    match name {
        "None" => return Some(ReadinessCheck::None),
        "MatchCondition" => return match_condition(node, dialect, problems),
        _ if !CHECKS.contains(&name) => {
            kind.unknown(name, "unknown readiness check type", &CHECKS, problems);
            return None;
        }
        _ => {}
    }
    let text = node.child("matchString");
    let wanted_text = text.text(problems);
    if name == "MatchString" && missing(wanted_text, &"", dialect) {
        let how = if dialect == Dialect::Core { "empty" } else { "nil" };
        text.required(
            &format!("cannot be {how} for type MatchString"),
            "add the text to wait for",
            problems,
        );
    }
    let number = node.child("matchInteger");
    let wanted_number = number.integer(problems);
    if name == "MatchInteger" && missing(wanted_number, &0, dialect) {
        let how = if dialect == Dialect::Core { "0" } else { "nil" };
        let suggestion = "add the number to wait for; a Composition cannot wait for 0";
        number.required(
            &format!("cannot be {how} for type MatchInteger"),
            suggestion,
            problems,
        );
    }
    let path = node.child("fieldPath").path("cannot be empty", problems)?;
    Some(match name {
        "NonEmpty" => ReadinessCheck::NonEmpty(path),
        "MatchTrue" => ReadinessCheck::MatchTrue(path),
        "MatchFalse" => ReadinessCheck::MatchFalse(path),
        "MatchString" => ReadinessCheck::MatchString(path, wanted_text?.to_owned()),
        _ => ReadinessCheck::MatchInteger(path, wanted_number?),
    })
}

/// A Composition cannot tell an empty value from none.
fn missing<T: PartialEq>(value: Option<T>, empty: &T, dialect: Dialect) -> bool {
    value.is_none_or(|value| dialect == Dialect::Core && value == *empty)
}

fn match_condition(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<ReadinessCheck> {
    let condition = node.child("matchCondition");
    if condition.value().is_none() {
        let reason = "cannot be empty for type MatchCondition";
        condition.required(reason, "add the condition's type and status", problems);
        return None;
    }
    let mut text = |field: &str, default: &str| {
        let node = condition.child(field);
        let written = node.text(problems);
        match written {
            // The API server fills in what is not written, and leaves alone what is written as empty.
            None if node.value().is_none() && dialect == Dialect::Core => Some(default.to_owned()),
            None | Some("") => {
                let suggestion = format!("write {field}: {default:?}");
                node.required("cannot be empty for type MatchCondition", &suggestion, problems);
                None
            }
            Some(text) => Some(text.to_owned()),
        }
    };
    let (kind, status) = (text("type", "Ready"), text("status", "True"));
    Some(ReadinessCheck::MatchCondition {
        kind: kind?,
        status: status?,
    })
}

const DETAILS: [&str; 3] = ["FromConnectionSecretKey", "FromFieldPath", "FromValue"];

pub(super) fn connection_details(
    resource: &Node<'_>,
    dialect: Dialect,
    problems: &mut Problems,
) -> Vec<ConnectionDetail> {
    let details = resource.child("connectionDetails").items(problems);
    details
        .iter()
        .filter_map(|detail| connection_detail(detail, dialect, problems))
        .collect()
}

fn connection_detail(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<ConnectionDetail> {
    let kind = node.child("type");
    let (value, key, field) = (
        node.child("value"),
        node.child("fromConnectionSecretKey"),
        node.child("fromFieldPath"),
    );
    let name = match kind.text(problems).filter(|kind| !kind.is_empty()) {
        Some(name) => name,
        None if dialect == Dialect::Function => {
            kind.required(
                "connection detail type is required",
                "say where the value comes from",
                problems,
            );
            return None;
        }
        None if value.value().is_some() => "FromValue",
        None if key.value().is_none() && field.value().is_some() => "FromFieldPath",
        None => "FromConnectionSecretKey",
    };
    let mut missing = |node: &Node<'_>, what: &str| {
        if node.value().is_none() {
            let reason = format!("connection detail of type {name:?} {what} is not set");
            node.required(&reason, "say where the value comes from", problems);
        }
    };
    let source = match name {
        "FromValue" => {
            missing(&value, "value");
            value
                .text(problems)
                .map(|value| DetailSource::Value(value.to_owned()))
        }
        "FromConnectionSecretKey" => {
            missing(&key, "key");
            key.text(problems).map(|key| DetailSource::Key(key.to_owned()))
        }
        "FromFieldPath" => {
            missing(&field, "fromFieldPath");
            field.parsed_path(problems).map(DetailSource::Field)
        }
        other => {
            kind.unknown(other, "unknown connection detail type", &DETAILS, problems);
            return None;
        }
    };
    let given = node.child("name");
    let name = match (given.text(problems), &source) {
        (Some(name), _) if !name.is_empty() => name.to_owned(),
        (None, Some(DetailSource::Key(key))) if dialect == Dialect::Core && given.value().is_none() => {
            key.clone()
        }
        (None, None) if dialect == Dialect::Core => return None,
        _ => {
            given.required(
                "connection detail is missing name",
                "name the key of the secret",
                problems,
            );
            return None;
        }
    };
    Some(ConnectionDetail {
        name,
        source: source?,
    })
}
