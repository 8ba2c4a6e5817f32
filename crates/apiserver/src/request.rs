//! What a request asks for: the path, and the query's options.

use percent_encoding::percent_decode_str;

use crate::status::{Result, Status};

/// A path under `/api` or `/apis`, taken apart.
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
}

impl ResourcePath {
    /// Takes a path apart; `None` when it names no resource (discovery, health, nonsense).
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
        // `namespaces/x` alone is the Namespace; `namespaces/x/pods` is what is in it.
        let inside =
            rest.len() > 2 && rest[0] == "namespaces" && !matches!(rest[2].as_str(), "status" | "finalize");
        if inside {
            parsed.namespace = rest.remove(1);
            rest.remove(0);
        }
        let mut rest = rest.into_iter();
        parsed.resource = rest.next()?;
        parsed.name = rest.next().unwrap_or_default();
        parsed.subresource = rest.next().unwrap_or_default();
        parsed.tail = rest.collect::<Vec<_>>().join("/");
        if parsed.resource == "namespaces" && parsed.group.is_empty() {
            parsed.namespace = parsed.name.clone();
        }
        Some(parsed)
    }
}

/// The options in a query, each checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: Option<bool>,
    pub(crate) pretty: bool,
    pub(crate) include_object: IncludeObject,
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) propagation_policy: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
}

/// What to do with fields that the kind does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// What the rows of a Table carry beside their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl Options {
    /// Reads a query string. Unknown options are ignored, as upstream ignores them; known ones
    /// with bad values are refused.
    pub(crate) fn parse(query: &str) -> Result<Self> {
        let mut options = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(&value.replace('+', " "))
                .decode_utf8_lossy()
                .into_owned();
            options.set(&percent_decode_str(key).decode_utf8_lossy(), value)?;
        }
        Ok(options)
    }

    fn set(&mut self, key: &str, value: String) -> Result<()> {
        match key {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "limit" => {
                let limit: i64 = number(key, &value)?;
                self.limit = usize::try_from(limit.max(0)).unwrap_or(usize::MAX);
            }
            "continue" => self.continue_token = value,
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.resource_version_match = value,
            "watch" => self.watch = flag(&value),
            "allowWatchBookmarks" => self.allow_bookmarks = flag(&value),
            "sendInitialEvents" => self.send_initial_events = Some(flag(&value)),
            "timeoutSeconds" => self.timeout_seconds = Some(number(key, &value)?),
            "dryRun" => match value.as_str() {
                "All" => self.dry_run = true,
                "" => {}
                _ => return Err(unsupported("dryRun", &value, "\"All\"")),
            },
            "fieldManager" => self.field_manager = field_manager(value)?,
            "fieldValidation" => {
                self.field_validation = match value.as_str() {
                    "" | "Warn" => FieldValidation::Warn,
                    "Ignore" => FieldValidation::Ignore,
                    "Strict" => FieldValidation::Strict,
                    _ => return Err(unsupported(key, &value, "\"Ignore\", \"Strict\", \"Warn\"")),
                }
            }
            "force" => self.force = Some(flag(&value)),
            "pretty" => self.pretty = flag(&value),
            "includeObject" => {
                self.include_object = match value.as_str() {
                    "" | "Metadata" => IncludeObject::Metadata,
                    "None" => IncludeObject::None,
                    "Object" => IncludeObject::Object,
                    _ => {
                        return Err(Status::bad_request(format!(
                            "unrecognized includeObject value: {value:?}"
                        )));
                    }
                }
            }
            "gracePeriodSeconds" => self.grace_period_seconds = Some(number(key, &value)?),
            "propagationPolicy" => self.propagation_policy = Some(value).filter(|policy| !policy.is_empty()),
            "orphanDependents" => self.orphan_dependents = Some(flag(&value)),
            _ => {}
        }
        Ok(())
    }
}

/// As upstream reads booleans in queries: everything but these is true.
fn flag(value: &str) -> bool {
    !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| {
        Status::bad_request(format!(
            "strconv.ParseInt: parsing {value:?}: invalid syntax (query parameter {key:?})"
        ))
    })
}

fn unsupported(field: &str, value: &str, supported: &str) -> Status {
    Status::unprocessable(format!(
        " \"\" is invalid: {field}: Unsupported value: {value:?}: supported values: {supported}"
    ))
}

fn field_manager(value: String) -> Result<String> {
    const LONGEST: usize = 128;
    if value.len() > LONGEST {
        return Err(Status::unprocessable(format!(
            " \"\" is invalid: fieldManager: Too long: may not be more than {LONGEST} bytes"
        )));
    }
    if value.chars().any(char::is_control) {
        return Err(Status::unprocessable(format!(
            " \"\" is invalid: fieldManager: Invalid value: {value:?}: should only contain printable characters"
        )));
    }
    Ok(value)
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
    fn options_with_bad_values_are_refused() {
        assert!(Options::parse("dryRun=All&limit=5&x=y").is_ok_and(|o| o.dry_run && o.limit == 5));
        for bad in [
            "dryRun=Some",
            "limit=x",
            "fieldValidation=strict",
            "includeObject=All",
            "timeoutSeconds=-",
        ] {
            assert!(Options::parse(bad).is_err(), "{bad}");
        }
    }
}
