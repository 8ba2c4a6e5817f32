//! `/version`, `/healthz`, `/livez`, `/readyz`.

use http::StatusCode;
use serde_json::json;

use crate::server::Server;
use crate::wire::{Encoding, Response, text_response, value_response};

/// The Kubernetes version whose behaviour this server follows.
pub const KUBERNETES_VERSION: &str = "v1.36.4";

/// Serves health and version; `None` for other paths.
pub(crate) fn serve(server: &Server, path: &str, query: &str) -> Option<Response> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let root = parts.next()?;
    let name = parts.next();
    match (root, name) {
        ("version", None) => Some(version()),
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

/// Each check by name: whether it holds.
fn results(server: &Server) -> [(&'static str, bool); 3] {
    [
        ("ping", true),
        ("store", server.store.is_healthy()),
        ("controllers", server.is_ready()),
    ]
}

fn checks(server: &Server, root: &str, name: Option<&str>, query: &str) -> Response {
    let live = root == "livez";
    let excluded: Vec<&str> = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("exclude="))
        .collect();
    let list: Vec<_> = results(server)
        .into_iter()
        .filter(|(check, _)| name.is_none_or(|name| name == *check) && !excluded.contains(check))
        .filter(|(check, _)| !(live && *check == "controllers"))
        .collect();
    if name.is_some() && list.is_empty() {
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
