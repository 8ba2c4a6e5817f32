//! Parses a request: the resource path and the query options.

use cambium_schema::{ErrorKind, FieldError, FieldPath};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::status::{Result, Status};

/// A parsed path under `/api` or `/apis`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The rest of a `…/proxy/…` path.
    pub(crate) tail: String,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch: bool,
    /// The path is below `namespaces/x/`, where only namespaced resources exist.
    pub(crate) inside: bool,
}

impl ResourcePath {
    /// Parses a path; `None` when it names no resource (discovery, health checks, unknown paths).
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/').filter(|part| !part.is_empty());
        let mut parsed = Self::default();
        match parts.next()? {
            "api" => {}
            "apis" => parsed.group = parts.next()?.to_owned(),
            _ => return None,
        }
        parsed.version = parts.next()?.to_owned();
        let mut rest: Vec<String> = parts
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        if rest.first().is_some_and(|first| first == "watch") && rest.len() > 1 {
            parsed.watch = true;
            rest.remove(0);
        }
        // `namespaces/x` is the Namespace itself; `namespaces/x/pods` are the pods in it.
        let inside =
            rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2].as_str(), "status" | "finalize");
        if inside {
            parsed.inside = true;
            parsed.namespace = rest.remove(1);
            rest.remove(0);
        }
        let mut rest = rest.into_iter();
        parsed.resource = rest.next()?;
        parsed.name = rest.next().unwrap_or_default();
        parsed.subresource = rest.next().unwrap_or_default();
        parsed.tail = rest.collect::<Vec<_>>().join("/");
        if parsed.resource == "namespaces" && parsed.group.is_empty() && !parsed.inside {
            parsed.namespace = parsed.name.clone();
        }
        Some(parsed)
    }
}

/// Whether a path has one reading only. Authorization reads segments; a backend that decodes `%2F`, resolves `..` or
/// skips empty segments would answer for another object than the authorized one. No object name needs any of these.
pub(crate) fn is_unambiguous(path: &str) -> bool {
    if path.contains("//") {
        return false;
    }
    if !path.contains('%') && !path.contains("/.") {
        return true;
    }
    path.split('/').all(|segment| {
        let decoded = percent_decode_str(segment).decode_utf8();
        decoded.is_ok_and(|segment| !matches!(&*segment, "." | "..") && !segment.contains(['/', '\\', '\0']))
    })
}

/// The options in a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Options {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) watch: bool,
    pub(crate) allow_bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
    /// The error for an invalid `timeout`.
    bad_timeout: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: Option<bool>,
    pub(crate) pretty: bool,
    pub(crate) include_object: IncludeObject,
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) propagation_policy: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    problems: Vec<Problem>,
}

/// A query option with an invalid value: an error for the verbs that have the option, ignored by the others.
#[derive(Debug, Clone, PartialEq)]
struct Problem {
    option: &'static str,
    what: Bad,
}

#[derive(Debug, Clone, PartialEq)]
enum Bad {
    /// It cannot be parsed.
    Syntax(String),
    /// It can be parsed and is not allowed.
    Value(Box<FieldError>),
}

/// `fieldValidation`: how unknown and duplicate fields are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// `includeObject` of a Table: which part of the object each row carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
    /// An unknown value; an error for Tables.
    Unknown(String),
}

impl Options {
    /// Parses a query string. Unknown options are ignored, as upstream ignores them.
    pub(crate) fn parse(query: &str) -> Self {
        let mut options = Self::default();
        // Pairs with a semicolon are dropped, as Go drops them.
        for pair in query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(&value.replace('+', " "))
                .decode_utf8_lossy()
                .into_owned();
            options.set(&percent_decode_str(key).decode_utf8_lossy(), value);
        }
        options
    }

    /// Refuses invalid values of options that the verb has.
    pub(crate) fn check(&self, verb: &str) -> Result<()> {
        let (kind, known): (&str, &[&str]) = match verb {
            "list" | "watch" => ("ListOptions", &["limit", "timeoutSeconds"]),
            "get" => ("GetOptions", &[]),
            "create" => ("CreateOptions", &["dryRun", "fieldManager", "fieldValidation"]),
            "update" => ("UpdateOptions", &["dryRun", "fieldManager", "fieldValidation"]),
            "patch" => ("PatchOptions", &["dryRun", "fieldManager", "fieldValidation"]),
            "delete" => ("DeleteOptions", &["dryRun", "gracePeriodSeconds"]),
            _ => (
                "DeleteOptions",
                &["dryRun", "gracePeriodSeconds", "limit", "timeoutSeconds"],
            ),
        };
        let relevant = || {
            self.problems
                .iter()
                .filter(|problem| known.contains(&problem.option))
        };
        let mut values = Vec::new();
        for problem in relevant() {
            match &problem.what {
                Bad::Syntax(why) => return Err(Status::bad_request(why)),
                Bad::Value(error) => values.push(FieldError::clone(error)),
            }
        }
        match values.is_empty() {
            true => Ok(()),
            false => Err(Status::invalid("meta.k8s.io", kind, "", &values)),
        }
    }

    /// Refuses an invalid `timeout` for every verb but watch, which uses `timeoutSeconds`.
    pub(crate) fn check_timeout(&self, verb: &str) -> Result<()> {
        match &self.bad_timeout {
            Some(why) if verb != "watch" => Err(Status::bad_request(why)),
            _ => Ok(()),
        }
    }

    fn set(&mut self, key: &str, value: String) {
        match key {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "limit" => {
                let limit = self.number("limit", &value).unwrap_or_default();
                self.limit = usize::try_from(limit.max(0)).unwrap_or(usize::MAX);
            }
            "continue" => self.continue_token = value,
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.resource_version_match = value,
            "watch" => self.watch = flag(&value),
            "allowWatchBookmarks" => self.allow_bookmarks = flag(&value),
            "sendInitialEvents" => self.send_initial_events = Some(flag(&value)),
            "timeoutSeconds" => {
                let seconds = self.number("timeoutSeconds", &value);
                self.timeout_seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
            }
            "dryRun" => match value.as_str() {
                "All" => self.dry_run = true,
                _ => self.refuse("dryRun", unsupported("dryRun", &json!([value]), "\"All\"")),
            },
            "fieldManager" => match field_manager(&value) {
                Some(error) => self.refuse("fieldManager", error),
                None => self.field_manager = value,
            },
            "fieldValidation" => match value.as_str() {
                "" | "Warn" => self.field_validation = FieldValidation::Warn,
                "Ignore" => self.field_validation = FieldValidation::Ignore,
                "Strict" => self.field_validation = FieldValidation::Strict,
                _ => {
                    let supported = "\"\", \"Ignore\", \"Strict\", \"Warn\"";
                    let error = unsupported("fieldValidation", &json!(value), supported);
                    self.refuse("fieldValidation", error);
                }
            },
            "timeout" if !is_duration(&value) => {
                self.bad_timeout = Some(format!(
                    "invalid timeout specified in the request URL - time: invalid duration {value:?}"
                ));
            }
            "force" => self.force = Some(flag(&value)),
            "pretty" => self.pretty = flag(&value),
            "includeObject" => match value.as_str() {
                "" | "Metadata" => self.include_object = IncludeObject::Metadata,
                "None" => self.include_object = IncludeObject::None,
                "Object" => self.include_object = IncludeObject::Object,
                _ => self.include_object = IncludeObject::Unknown(value),
            },
            "gracePeriodSeconds" => self.grace_period_seconds = self.number("gracePeriodSeconds", &value),
            "propagationPolicy" => self.propagation_policy = Some(value),
            "orphanDependents" => self.orphan_dependents = Some(flag(&value)),
            _ => {}
        }
    }

    fn refuse(&mut self, option: &'static str, error: FieldError) {
        let what = Bad::Value(Box::new(error));
        self.problems.push(Problem { option, what });
    }

    fn number(&mut self, option: &'static str, value: &str) -> Option<i64> {
        let parsed = value.parse::<i64>();
        if let Err(error) = &parsed {
            use std::num::IntErrorKind::{NegOverflow, PosOverflow};
            let why = match error.kind() {
                PosOverflow | NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            let why = format!("strconv.ParseInt: parsing {value:?}: {why}");
            let what = Bad::Syntax(why);
            self.problems.push(Problem { option, what });
        }
        parsed.ok()
    }
}

/// As upstream reads booleans in queries: everything but these is true.
fn flag(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

/// Whether Go would read this as a duration: numbers with units, or zero.
fn is_duration(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    if text.is_empty() || text == "0" {
        return text == "0";
    }
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .into_iter()
            .filter_map(|unit| digits.strip_prefix(unit))
            .min_by_key(|rest| rest.len());
        match unit {
            Some(after) if digits.len() < rest.len() => rest = after,
            _ => return false,
        }
    }
    true
}

fn unsupported(field: &str, value: &Value, supported: &str) -> FieldError {
    FieldError {
        kind: ErrorKind::NotSupported,
        path: FieldPath::new(field),
        shown: value.to_string(),
        detail: format!("supported values: {supported}"),
    }
}

fn field_manager(value: &str) -> Option<FieldError> {
    const LONGEST: usize = 128;
    let path = FieldPath::new("fieldManager");
    if value.len() > LONGEST {
        return Some(FieldError::too_long(path, LONGEST));
    }
    let (at, strange) = value.char_indices().find(|(_, c)| c.is_control())?;
    let why = format!(
        "invalid character U+{:04X} (at position {at})",
        u32::from(strange)
    );
    Some(FieldError::invalid(path, &json!(value), why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> (String, String, String, String, String) {
        let path = ResourcePath::parse(path).unwrap();
        (
            path.group,
            path.namespace,
            path.resource,
            path.name,
            path.subresource,
        )
    }

    #[test]
    fn paths_are_taken_apart() {
        let of = |parts: [&str; 5]| {
            let [a, b, c, d, e] = parts.map(str::to_owned);
            (a, b, c, d, e)
        };
        assert_eq!(parsed("/api/v1/pods"), of(["", "", "pods", "", ""]));
        assert_eq!(parsed("/api/v1/namespaces"), of(["", "", "namespaces", "", ""]));
        assert_eq!(
            parsed("/api/v1/namespaces/a"),
            of(["", "a", "namespaces", "a", ""])
        );
        assert_eq!(
            parsed("/api/v1/namespaces/a/status"),
            of(["", "a", "namespaces", "a", "status"])
        );
        assert_eq!(
            parsed("/api/v1/namespaces/a/pods/b"),
            of(["", "a", "pods", "b", ""])
        );
        assert_eq!(
            parsed("/apis/apps/v1/namespaces/a/deployments/b/scale"),
            of(["apps", "a", "deployments", "b", "scale"])
        );
        assert!(
            ResourcePath::parse("/api/v1/watch/namespaces/a/pods")
                .unwrap()
                .watch
        );
        assert_eq!(ResourcePath::parse("/apis/apps/v1"), None);
        assert_eq!(ResourcePath::parse("/healthz"), None);
    }

    #[test]
    fn paths_that_backends_read_differently_are_ambiguous() {
        for clear in [
            "/",
            "/apis/g/v1/things/",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:admin",
            "/apis/g/v1/things/a%3Ab",
            "/apis/g/v1/things/a..b",
            "/.well-known/openid-configuration",
        ] {
            assert!(is_unambiguous(clear), "{clear}");
        }
        for ambiguous in [
            "//",
            "/apis/g/v1//things",
            "/apis/g/v1/things//",
            "/apis/g/v1/things%2Fa",
            "/apis/g/v1/things%2fa",
            "/apis/g/v1/things%5Ca",
            "/apis/g/v1/./things",
            "/apis/g/v1/namespaces/mine/../yours/things",
            "/apis/g/v1/namespaces/mine/%2e%2E/yours/things",
            "/apis/g/v1/namespaces/mine/.%2e/yours/things",
            "/apis/g/v1/things/..",
            "/apis/g/v1/things/%00",
            "/apis/g/v1/things/%ff",
        ] {
            assert!(!is_unambiguous(ambiguous), "{ambiguous}");
        }
    }

    #[test]
    fn options_with_bad_values_are_refused() {
        let options = Options::parse("dryRun=All&limit=5&x=y");
        assert!(options.dry_run && options.limit == 5 && options.check("list").is_ok());
        for (verb, bad) in [
            ("create", "dryRun=Some"),
            ("list", "limit=x"),
            ("patch", "fieldValidation=strict"),
            ("watch", "timeoutSeconds=-"),
        ] {
            assert!(Options::parse(bad).check(verb).is_err(), "{bad}");
            assert!(Options::parse(bad).check("get").is_ok(), "{bad}");
        }
    }

    #[test]
    fn a_timeout_that_is_no_duration_is_refused_except_for_watches() {
        let options = Options::parse("timeout=soon");
        let refusal = options.check_timeout("get").unwrap_err();
        assert_eq!(refusal.code, 400);
        assert!(
            refusal
                .message
                .contains("invalid timeout specified in the request URL"),
            "{}",
            refusal.message
        );
        assert!(options.check_timeout("watch").is_ok());
        assert!(Options::parse("timeout=0s").check_timeout("get").is_ok());
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for good in ["0", "1s", "1.5h", "-5s", "1h30m", "10ms", "1µs"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "1", "abc", "s", "1x", "-", "1s2"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
