//! What an API server does with a bundle.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use cambium_webhooks::certificates::Leaf;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

/// Whether somebody who trusts a bundle believes a leaf at a moment.
pub(crate) fn believes(bundle: &str, leaf: &Leaf, name: &str, now: Timestamp) -> Result<()> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
    let shown = leaf.certified().end_entity_cert()?;
    let seconds = u64::try_from(now.as_second()).context("after 1970")?;
    let moment = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
    verifier.verify_server_cert(shown, &[], &ServerName::try_from(name.to_owned())?, &[], moment)?;
    Ok(())
}
