//! `/version`, `/healthz`, `/livez`, `/readyz`.

use http::StatusCode;
use serde_json::json;

use crate::server::Server;
use crate::wire::{Encoding, Response, text_response, value_response};

/// The Kubernetes version whose behaviour this server follows.
pub const KUBERNETES_VERSION: &str = "v1.36.4";

/// Serves health and version; `None` for other paths.
pub(crate) fn serve(server: &Server, path: &str, query: &str) -> Option<Response> {
    let (root, name) = match path.trim_matches('/').split_once('/') {
        Some((root, name)) => (root, name),
        None => (path.trim_matches('/'), ""),
    };
    match (root, name) {
        ("version", "") => Some(version()),
        ("healthz" | "livez" | "readyz", name) => Some(checks(server, root, name, query)),
        _ => None,
    }
}

fn version() -> Response {
    let mut numbers = KUBERNETES_VERSION.trim_start_matches('v').split('.');
    let value = json!({
        "major": numbers.next(), "minor": numbers.next(),
        "gitVersion": format!("{KUBERNETES_VERSION}+cambium"), "gitCommit": "", "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    value_response(StatusCode::OK, Encoding::Json, &value)
}

/// The condition behind a health check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    /// The server answers.
    Answers,
    /// The last write was synced to disk.
    Store,
    /// The bootstrap objects exist, and the controllers run.
    Started,
    /// The same, checked by `/readyz` only.
    Synced,
}

/// The checks under upstream's names, which probes and dashboards request. Fewer components can fail here, so several
/// names map to one condition.
const CHECKS: [(&str, Check); 25] = [
    ("ping", Check::Answers),
    ("log", Check::Answers),
    ("etcd", Check::Store),
    ("informer-sync", Check::Synced),
    (
        "poststarthook/start-apiserver-admission-initializer",
        Check::Started,
    ),
    ("poststarthook/generic-apiserver-start-informers", Check::Started),
    (
        "poststarthook/priority-and-fairness-config-consumer",
        Check::Started,
    ),
    ("poststarthook/priority-and-fairness-filter", Check::Started),
    ("poststarthook/storage-readiness", Check::Store),
    ("poststarthook/start-apiextensions-informers", Check::Started),
    ("poststarthook/start-apiextensions-controllers", Check::Started),
    ("poststarthook/crd-informer-synced", Check::Started),
    ("poststarthook/bootstrap-controller", Check::Started),
    ("poststarthook/start-system-namespaces-controller", Check::Started),
    (
        "poststarthook/start-service-ip-repair-controllers",
        Check::Started,
    ),
    ("poststarthook/rbac/bootstrap-roles", Check::Started),
    (
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        Check::Started,
    ),
    (
        "poststarthook/start-cluster-authentication-info-controller",
        Check::Started,
    ),
    ("poststarthook/start-kube-aggregator-informers", Check::Started),
    ("poststarthook/apiservice-registration-controller", Check::Started),
    (
        "poststarthook/apiservice-status-local-available-controller",
        Check::Started,
    ),
    (
        "poststarthook/apiservice-status-remote-available-controller",
        Check::Started,
    ),
    ("poststarthook/kube-apiserver-autoregistration", Check::Started),
    ("autoregister-completion", Check::Started),
    ("poststarthook/apiservice-openapi-controller", Check::Started),
];

impl Check {
    fn holds(self, server: &Server) -> bool {
        match self {
            Self::Answers => true,
            Self::Store => server.store.is_healthy(),
            Self::Started | Self::Synced => server.is_ready(),
        }
    }
}

fn checks(server: &Server, root: &str, name: &str, query: &str) -> Response {
    let excluded: Vec<&str> = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("exclude="))
        .collect();
    let list: Vec<(&str, bool)> = CHECKS
        .into_iter()
        .filter(|(check, _)| (name.is_empty() || name == *check) && !excluded.contains(check))
        .filter(|(_, check)| root == "readyz" || *check != Check::Synced)
        .map(|(name, check)| (name, check.holds(server)))
        .collect();
    if !name.is_empty() && list.is_empty() {
        return text_response(StatusCode::NOT_FOUND, "404 page not found\n");
    }
    let healthy = list.iter().all(|(_, holds)| *holds);
    let code = if healthy {
        StatusCode::OK
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    let verbose = query
        .split('&')
        .any(|pair| pair == "verbose" || pair.starts_with("verbose="));
    if healthy && !verbose {
        return text_response(code, "ok");
    }
    let mut text = String::new();
    for (check, holds) in &list {
        text.push_str(&match holds {
            true => format!("[+]{check} ok\n"),
            false => format!("[-]{check} failed: reason withheld\n"),
        });
    }
    text.push_str(&format!(
        "{root} check {}\n",
        if healthy { "passed" } else { "failed" }
    ));
    text_response(code, text)
}
