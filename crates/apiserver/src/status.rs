//! Errors as Kubernetes `Status` objects, with upstream's wording.

use std::borrow::Cow;

use cambium_schema::{FieldError, FieldPath};
use http::StatusCode;
use serde_json::{Map, Value, json};

/// The `Status` of a failed request.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: StatusCode,
    /// The machine-readable reason (`NotFound`, `Conflict`, …).
    pub reason: Cow<'static, str>,
    /// The human-readable message.
    pub message: String,
    /// The object and the causes that it is about.
    pub details: Option<Box<Details>>,
    /// A continue token for an inconsistent continuation of an expired list.
    pub continue_token: Option<String>,
}

/// `details` of a [`Status`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// API group.
    pub group: String,
    /// The resource or kind (upstream puts either here).
    pub kind: String,
    /// UID of the object.
    pub uid: String,
    /// One entry per problem: `(reason, message, field)`.
    pub causes: Vec<Cause>,
    /// `retryAfterSeconds`; 0 when absent.
    pub retry_after_seconds: u32,
}

/// One of several causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable.
    pub reason: String,
    /// Human-readable.
    pub message: String,
    /// The path of the field, if any.
    pub field: String,
}

/// A result whose error is a `Status`.
pub type Result<T, E = Status> = std::result::Result<T, E>;

impl Status {
    fn new(code: StatusCode, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.group = group.to_owned();
        details.kind = kind.to_owned();
        details.name = name.to_owned();
        self
    }

    /// Adds causes.
    #[must_use]
    pub fn with_causes(mut self, causes: Vec<Cause>) -> Self {
        self.details.get_or_insert_default().causes = causes;
        self
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 401: authentication failed.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 403: the user is not allowed to, or admission denied the request.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = match (resource.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (_, true) => format!("{} is forbidden: {why}", qualified(group, resource)),
            _ => format!("{} {name:?} is forbidden: {why}", qualified(group, resource)),
        };
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(group, resource, name)
    }

    /// 404: no such object.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(group, resource));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(group, resource, name)
    }

    /// 404: no such path.
    pub fn no_such_path() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_causes(vec![])
    }

    /// 405: the resource does not have this verb.
    pub fn method_not_allowed(group: &str, resource: &str, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {:?}",
            qualified(group, resource)
        );
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(group, resource, "")
    }

    /// 405 for a path that is not a resource's.
    pub fn verb_not_allowed() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_causes(vec![])
    }

    /// 406: none of the accepted media types is supported.
    pub fn not_acceptable(supported: &[&str]) -> Self {
        let message = format!(
            "406: Not Acceptable\n\nAvailable representations: {}",
            supported.join(", ")
        );
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// 406: an object that has no protobuf form.
    pub(crate) fn no_protobuf(message: String) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// 415: the media type of the body is not supported.
    pub fn unsupported_media_type(supported: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            supported.join(", ")
        );
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    /// 409: an object of this name exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(group, resource));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(group, resource, name)
    }

    /// 409: the object was modified concurrently, or is in the wrong state.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            qualified(group, resource)
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(group, resource, name)
    }

    /// 409: a server-side apply conflicts with other field managers.
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<Cause>) -> Self {
        Self::new(StatusCode::CONFLICT, "Conflict", message).with_causes(causes)
    }

    /// 410: the resource version is no longer in the history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// 413: the request body is too large.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// 422: the object failed validation.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let list: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let body = match list.as_slice() {
            [] => "<nil>".to_owned(),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let qualified = match group.is_empty() {
            true => kind.to_owned(),
            false => format!("{kind}.{group}"),
        };
        let causes = errors
            .iter()
            .map(|error| Cause {
                reason: error.kind.reason().to_owned(),
                message: error.body(),
                field: error.path.to_string(),
            })
            .collect();
        let message = format!("{qualified} {name:?} is invalid: {body}");
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(group, kind, name)
            .with_causes(causes)
    }

    /// 422 with a plain message: a patch that cannot be applied to this object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    /// The message for a resource version that is not a number.
    pub(crate) fn invalid_version(text: &str) -> String {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let why = if digits {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}")
    }

    /// 422: the result of a patch does not decode as the kind; `shown` is the result.
    pub(crate) fn invalid_patch(shown: &str, why: &str) -> Self {
        let value = Value::String(shown.to_owned());
        let error = FieldError::invalid(FieldPath::new("patch"), &value, why);
        Self::invalid("", "", "", &[error])
    }

    /// 422: contradictory options.
    pub fn invalid_options(why: &str) -> Self {
        let mut status = Self::unprocessable(format!("ListOptions.meta.k8s.io \"\" is invalid: {why}"));
        let (field, message) = why.split_once(": ").unwrap_or(("", why));
        status = status.about("meta.k8s.io", "ListOptions", "");
        status.with_causes(vec![Cause {
            reason: "FieldValueForbidden".to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        }])
    }

    /// 429: the client should retry later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut status = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
        status.details.get_or_insert_default().retry_after_seconds = retry_after_seconds;
        status
    }

    /// 500: an internal error.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        let message = message.to_string();
        let causes = vec![Cause {
            reason: String::new(),
            message: message.clone(),
            field: String::new(),
        }];
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        )
        .with_causes(causes)
    }

    /// 500 with the message unchanged.
    pub fn internal_plain(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// 500 without a reason: an error that upstream passes through unchanged.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// 501: implemented by Kubernetes but not by this server.
    pub fn not_implemented(message: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }

    /// 503: temporarily unavailable.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// 504: a request timed out.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message)
    }

    /// The `Status` of a webhook's denial, with the webhook's own code and reason.
    pub fn dictated(code: StatusCode, reason: &str, message: impl Into<String>) -> Self {
        Self::new(code, reason.to_owned(), message)
    }

    /// The `Status` as JSON.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code.as_u16(),
        });
        if self.reason.is_empty() {
            object.as_object_mut().map(|map| map.remove("reason"));
        }
        if let Some(token) = &self.continue_token {
            object["metadata"]["continue"] = json!(token);
        }
        if let Some(details) = &self.details {
            object["details"] = details.to_json();
        }
        object
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                map.insert(key.to_owned(), json!(text));
            }
        }
        if !self.causes.is_empty() {
            map.insert(
                "causes".to_owned(),
                self.causes.iter().map(Cause::to_json).collect(),
            );
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".to_owned(), json!(self.retry_after_seconds));
        }
        Value::Object(map)
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        for (key, text) in [
            ("reason", &self.reason),
            ("message", &self.message),
            ("field", &self.field),
        ] {
            if !text.is_empty() {
                map.insert(key.to_owned(), json!(text));
            }
        }
        Value::Object(map)
    }
}

/// `deployments.apps`, or plain `pods` for the core group.
pub(crate) fn qualified(group: &str, resource: &str) -> String {
    match group.is_empty() {
        true => resource.to_owned(),
        false => format!("{resource}.{group}"),
    }
}
