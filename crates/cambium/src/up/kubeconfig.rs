//! Writes the kubeconfig: one context per cluster, with credentials, mode 0600.

use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cambium_apiserver::pki::write_private;
use serde_json::json;

use super::cluster::Cluster;
use super::{UpError, make_private};

/// The first line of a kubeconfig that `cambium up` wrote. A file without it is never overwritten.
const MARK: &str = "# Written by `cambium up`, anew at every start.";

/// Refuses to overwrite a file that `cambium up` did not write.
pub(crate) fn check(path: &Path) -> Result<(), UpError> {
    match beginning(path) {
        Ok(text) if text == MARK.as_bytes() || text.is_empty() => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(UpError::ForeignKubeconfig {
            path: path.to_owned(),
        }),
    }
}

/// As much of a file as the mark is long. What is no file, such as a pipe, is not waited for.
fn beginning(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::from(std::io::ErrorKind::InvalidInput));
    }
    let mut text = Vec::with_capacity(MARK.len());
    let file = std::fs::File::open(path)?;
    file.take(MARK.len() as u64).read_to_end(&mut text)?;
    Ok(text)
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

/// What to tell about a file for which there is no space. What the operating system said is part of the error's own text.
pub(crate) fn not_written(error: &anyhow::Error) -> String {
    format!(
        "failed to write the kubeconfig: {error}; free space on the disk and start again, or use an older one"
    )
}

/// Whether the file could not be written because there is no space for it.
pub(crate) fn disk_is_full(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let kind =
        |cause: &(dyn std::error::Error + 'static)| Some(cause.downcast_ref::<std::io::Error>()?.kind());
    error
        .chain()
        .any(|cause| matches!(kind(cause), Some(StorageFull | QuotaExceeded)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambium_apiserver::pki::PkiError;

    #[test]
    fn what_the_operating_system_said_is_told_once() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let (path, said) = ("/data/kubeconfig", full().to_string());
        let file = PkiError::File {
            path: path.to_owned(),
            source: full(),
        };
        let directory = UpError::Directory {
            path: path.into(),
            source: full(),
        };
        for error in [anyhow::Error::from(file), directory.into()] {
            assert!(disk_is_full(&error));
            let told = not_written(&error);
            assert_eq!(told.matches(&said).count(), 1, "{told}");
            assert!(told.contains(path), "{told}");
        }
    }
}
