//! The serving certificate of a replica, and the resolver in which it is swapped at run time.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::{SignedDuration, Timestamp};
use rcgen::{DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use serde::Serialize;

use super::authority::{Authority, CertificateError, valid};
use super::facts::{Fingerprint, two_thirds};

/// How far clocks may disagree, for a leaf.
const SLACK: SignedDuration = SignedDuration::from_hours(1);

/// Identity, issuer and validity of a serving certificate, as the plan of rotation sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeafFacts {
    /// The authority that signed it.
    pub by: Fingerprint,
    /// When it was made.
    pub made: Timestamp,
    /// Until when it is valid.
    pub until: Timestamp,
}

impl LeafFacts {
    /// When it should be replaced: after two thirds of its life.
    pub fn renewal(&self) -> Timestamp {
        two_thirds(self.made, self.until)
    }
}

/// A certificate for TLS, with its key.
#[derive(Clone)]
pub struct Leaf {
    facts: LeafFacts,
    certified: Arc<CertifiedKey>,
}

impl Leaf {
    /// A new one, for a server reached by these names and addresses.
    pub fn sign(
        authority: &Authority,
        names: &[String],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let mut params = valid(now, until, SLACK);
        params
            .distinguished_name
            .push(DnType::CommonName, "cambium-webhooks");
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into()?),
            });
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = authority.sign(params, &key)?;
        let der = PrivateKeyDer::try_from(key.serialize_der())
            .map_err(|_| CertificateError::Unusable("its key is not usable for TLS"))?;
        let provider = rustls::crypto::ring::default_provider();
        let signer = provider.key_provider.load_private_key(der)?;
        Ok(Self {
            facts: LeafFacts {
                by: authority.certificate().facts().id.clone(),
                made: now,
                until,
            },
            certified: Arc::new(CertifiedKey::new(vec![certificate.der().clone()], signer)),
        })
    }

    /// Its issuer and validity.
    pub fn facts(&self) -> &LeafFacts {
        &self.facts
    }

    /// The certificate, as it is shown.
    pub fn certified(&self) -> &Arc<CertifiedKey> {
        &self.certified
    }
}

/// Shows the leaf of the moment. Swapping it disturbs no connection that is open.
#[derive(Default)]
pub struct Resolver(ArcSwapOption<Leaf>);

impl Resolver {
    /// The leaf of the moment.
    pub fn leaf(&self) -> Option<Arc<Leaf>> {
        self.0.load_full()
    }

    /// From now on, this one.
    pub fn swap(&self, leaf: Leaf) {
        self.0.store(Some(Arc::new(leaf)));
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load().as_ref().map(|leaf| leaf.certified.clone())
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let facts = self.leaf().map(|leaf| leaf.facts.clone());
        formatter.debug_tuple("Resolver").field(&facts).finish()
    }
}
