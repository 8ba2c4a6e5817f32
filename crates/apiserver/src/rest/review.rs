//! Access reviews: SubjectAccessReview, TokenReview and others, answered in `status`.

use std::collections::BTreeMap;

use cambium_schema::{FieldError, FieldPath};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, intake};
use crate::auth::{Action, Decision, Held, ResourceAction, User, tokens};
use crate::object;
use crate::status::{Result, Status};
use crate::wire::{Response, value_response};

/// Answers a review.
pub(super) fn review(call: &Call) -> Result<Response> {
    let question = intake::object(call)?;
    let mut answer = match &*call.resource.kind {
        "SelfSubjectAccessReview" => {
            refuse(check_access(&question, Asked::Oneself))?;
            with_status(question.clone(), access(call, &question, &call.user))
        }
        "SubjectAccessReview" => {
            refuse(check_access(&question, Asked::Somebody))?;
            with_status(question.clone(), access(call, &question, &subject(&question)))
        }
        "LocalSubjectAccessReview" => {
            refuse(check_access(&question, Asked::SomebodyHere))?;
            with_status(question.clone(), access(call, &question, &subject(&question)))
        }
        "SelfSubjectRulesReview" => rules(call, &question)?,
        "SelfSubjectReview" => json!({
            "metadata": {"creationTimestamp": object::timestamp(call.server.sources.now())},
            "status": {"userInfo": call.user.to_json()},
        }),
        "TokenReview" => token(call, question)?,
        _ => return Err(Status::verb_not_allowed()),
    };
    answer["apiVersion"] = json!(call.resource.api_version);
    answer["kind"] = json!(call.resource.kind);
    Ok(value_response(
        StatusCode::CREATED,
        call.representation.encoding,
        &answer,
    ))
}

fn with_status(mut question: Value, status: Value) -> Value {
    question["status"] = status;
    question
}

fn text<'v>(question: &'v Value, path: &str) -> &'v str {
    object::at(question, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The user of a SubjectAccessReview, without added groups.
fn subject(question: &Value) -> User {
    let extra = object::at(question, "spec.extra").and_then(Value::as_object);
    let extra = extra.into_iter().flatten();
    User {
        name: text(question, "spec.user").to_owned(),
        uid: text(question, "spec.uid").to_owned(),
        groups: texts(object::at(question, "spec.groups")),
        extra: extra
            .map(|(key, values)| (key.clone(), texts(Some(values))))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn access(call: &Call, question: &Value, user: &User) -> Value {
    let text = |path: &str| text(question, path);
    let action = match object::at(question, "spec.resourceAttributes") {
        Some(_) => Action::on(
            text("spec.resourceAttributes.verb"),
            ResourceAction {
                group: text("spec.resourceAttributes.group"),
                resource: text("spec.resourceAttributes.resource"),
                subresource: text("spec.resourceAttributes.subresource"),
                namespace: text("spec.resourceAttributes.namespace"),
                name: text("spec.resourceAttributes.name"),
            },
        ),
        None => Action {
            verb: text("spec.nonResourceAttributes.verb"),
            resource: None,
            path: text("spec.nonResourceAttributes.path"),
        },
    };
    let (allowed, reason) = match call.server.authorizer.authorize(user, &action) {
        Decision::Allow(why) => (true, why),
        Decision::NoOpinion(why) => (false, why),
    };
    match reason.is_empty() {
        true => json!({"allowed": allowed}),
        false => json!({"allowed": allowed, "reason": reason}),
    }
}

fn rules(call: &Call, question: &Value) -> Result<Value> {
    let namespace = text(question, "spec.namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let held = call.server.authorizer.rules_for(&call.user, namespace);
    let incomplete = held.is_none();
    let Held { rules, problems } = held.unwrap_or_default();
    let about = |paths: bool| {
        let rules = rules.iter().filter(|rule| rule.resources.is_empty() == paths);
        rules.map(crate::auth::Rule::to_json).collect::<Vec<_>>()
    };
    let mut status = json!({
        "resourceRules": about(false),
        "nonResourceRules": about(true),
        "incomplete": incomplete,
    });
    if !problems.is_empty() {
        status["evaluationError"] = json!(crate::auth::together(&problems));
    }
    Ok(json!({"metadata": {}, "spec": {}, "status": status}))
}

fn token(call: &Call, question: Value) -> Result<Value> {
    let token = text(&question, "spec.token");
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let mut audiences = texts(object::at(&question, "spec.audiences"));
    if audiences.is_empty() {
        audiences = tokens::own_audiences();
    }
    let status = match tokens::recognise(&call.server, token, &audiences) {
        Ok(recognised) => {
            json!({"authenticated": true, "user": recognised.user.to_json(), "audiences": recognised.audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    };
    Ok(with_status(question, status))
}

/// The subject of an access review.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The caller.
    Oneself,
    /// Another user.
    Somebody,
    /// Another user, in one namespace.
    SomebodyHere,
}

/// Validates an access review.
fn check_access(question: &Value, asked: Asked) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut invalid = |path: &str, value: &Value, why: &str| {
        errors.push(FieldError::invalid(FieldPath::new(path), value, why));
    };
    let resource = object::at(question, "spec.resourceAttributes");
    let other = object::at(question, "spec.nonResourceAttributes");
    let shown = |other: &Value| {
        let part = |field: &str| other.get(field).and_then(Value::as_str).unwrap_or_default();
        json!({"Path": part("path"), "Verb": part("verb")})
    };
    match (resource, other) {
        (Some(_), Some(other)) => invalid(
            "spec.nonResourceAttributes",
            &shown(other),
            "cannot be specified in combination with resourceAttributes",
        ),
        (None, None) => invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        _ => {}
    }
    let nobody =
        text(question, "spec.user").is_empty() && texts(object::at(question, "spec.groups")).is_empty();
    if asked != Asked::Oneself && nobody {
        invalid(
            "spec.user",
            &json!(""),
            "at least one of user or group must be specified",
        );
    }
    let mut selectors = Vec::new();
    for field in ["fieldSelector", "labelSelector"] {
        selectors.extend(check_selector(resource, field));
    }
    errors.append(&mut selectors);
    let mut metadata = object::metadata(question).clone();
    if asked == Asked::SomebodyHere {
        metadata.remove("namespace");
    }
    metadata.retain(|_, value| !value.is_null());
    if !metadata.is_empty() {
        let why = match asked {
            Asked::SomebodyHere => "must be empty except for namespace",
            _ => "must be empty",
        };
        let value = Value::Object(object::metadata(question).clone());
        errors.push(FieldError::invalid(FieldPath::new("metadata"), &value, why));
    }
    if asked == Asked::SomebodyHere {
        let namespace = text(question, "spec.resourceAttributes.namespace");
        if resource.is_some() && namespace != object::namespace(question) {
            let path = FieldPath::new("spec.resourceAttributes.namespace");
            let why = "must match metadata.namespace";
            errors.push(FieldError::invalid(path, &json!(namespace), why));
        }
        if let Some(other) = other {
            let path = FieldPath::new("spec.nonResourceAttributes");
            let why = "disallowed on this kind of request";
            errors.push(FieldError::invalid(path, &shown(other), why));
        }
    }
    errors
}

/// A selector has either `rawSelector` or `requirements`.
fn check_selector(resource: Option<&Value>, field: &str) -> Option<FieldError> {
    let selector = resource?.get(field)?;
    let path = FieldPath::new("spec.resourceAttributes").child(field);
    let raw = selector
        .get("rawSelector")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let requirements = selector.get("requirements").and_then(Value::as_array);
    match (raw.is_empty(), requirements.is_none_or(Vec::is_empty)) {
        (false, false) => {
            let why = "may not specified at the same time as requirements";
            Some(FieldError::invalid(path.child("rawSelector"), &json!(raw), why))
        }
        (true, true) => {
            let why = format!("when {path} is specified, requirements or rawSelector is required");
            Some(FieldError::required(path.child("requirements"), why))
        }
        _ => None,
    }
}

/// 422 when there are errors. Upstream names no kind here.
fn refuse(errors: Vec<FieldError>) -> Result<()> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(Status::invalid("authorization.k8s.io", "", "", &errors)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(question: Value, asked: Asked) -> Vec<String> {
        let errors = check_access(&question, asked);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_question_is_about_one_thing_and_somebody() {
        let resource = json!({"verb": "get", "resource": "pods"});
        let path = json!({"verb": "get", "path": "/x"});
        let none: [&str; 0] = [];
        assert_eq!(
            problems(json!({"spec": {"resourceAttributes": resource}}), Asked::Oneself),
            none
        );
        assert_eq!(
            problems(json!({"spec": {}}), Asked::Oneself),
            [
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
            ]
        );
        assert_eq!(
            problems(
                json!({"spec": {"resourceAttributes": resource, "nonResourceAttributes": path}}),
                Asked::Somebody
            ),
            [
                r#"spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes"#,
                r#"spec.user: Invalid value: "": at least one of user or group must be specified"#
            ]
        );
    }

    #[test]
    fn a_local_question_stays_in_its_namespace() {
        let question = |namespace: &str| json!({"metadata": {"namespace": "a"}, "spec": {"user": "u", "resourceAttributes": {"namespace": namespace}}});
        let none: [&str; 0] = [];
        assert_eq!(problems(question("a"), Asked::SomebodyHere), none);
        assert_eq!(
            problems(question("b"), Asked::SomebodyHere),
            [r#"spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace"#]
        );
        assert_eq!(
            problems(question("a"), Asked::Somebody).len(),
            1,
            "metadata must be empty"
        );
    }
}
