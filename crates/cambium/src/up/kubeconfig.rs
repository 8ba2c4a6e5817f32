//! The kubeconfig: one context per cluster, credentials inside, for its owner's eyes only.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_apiserver::pki::write_private;
use serde_json::json;

use super::cluster::Cluster;
use super::{UpError, make_private};

/// What the first line of our files says. A file without it is somebody else's, and is left alone.
const MARK: &str = "# Written by `cambium up`, anew at every start.";

/// Refuses to overwrite a file that somebody else wrote.
pub(crate) fn check(path: &Path) -> Result<(), UpError> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) || text.is_empty() => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(UpError::ForeignKubeconfig {
            path: path.to_owned(),
        }),
    }
}

/// Writes the contexts of all clusters; the first one is current.
pub(crate) fn write(path: &Path, clusters: &[Cluster]) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        make_private(parent)?;
    }
    let encode = |text: &str| STANDARD.encode(text);
    let named = |name: &str, key: &str, value: serde_json::Value| json!({"name": name, key: value});
    let each = |of: &dyn Fn(&Cluster) -> serde_json::Value| clusters.iter().map(of).collect::<Vec<_>>();
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": clusters.first().map(|cluster| cluster.name.as_str()),
        "clusters": each(&|cluster| named(&cluster.name, "cluster", json!({
            "server": format!("https://{}", cluster.address),
            "certificate-authority-data": encode(&cluster.authority),
        }))),
        "users": each(&|cluster| named(&cluster.name, "user", json!({
            "client-certificate-data": encode(&cluster.admin.certificate),
            "client-key-data": encode(&cluster.admin.key),
        }))),
        "contexts": each(&|cluster| named(&cluster.name, "context", json!({
            "cluster": cluster.name, "user": cluster.name,
        }))),
    });
    let text = format!("{MARK}\n{}\n", serde_saphyr::to_string(&config)?);
    write_private(path, &text)?;
    Ok(())
}
