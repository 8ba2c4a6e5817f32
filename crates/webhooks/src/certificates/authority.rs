//! A certificate authority: created, read from the Secret, and signing.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::facts::{Facts, Fingerprint, later};

/// The prefix of the subject of Cambium's certificate authorities.
const NAME: &str = "cambium-webhooks";

/// How far clocks may disagree.
const SLACK: SignedDuration = SignedDuration::from_hours(24);

/// Why a certificate could not be made or believed. Says nothing of keys.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It could not be made.
    #[error("make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// It could not be used for TLS.
    #[error("use the certificate for TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// It cannot be used, for this reason.
    #[error("{0}")]
    Unusable(&'static str),
}

/// A private key in PEM. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey(String);

impl PrivateKey {
    /// For the Secret, and nothing else.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateKey(…)")
    }
}

/// The certificate of an authority that Cambium created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityCertificate {
    pem: String,
    facts: Facts,
}

impl AuthorityCertificate {
    /// Parses one certificate in PEM, which must be that of an authority that Cambium created.
    pub fn parse(pem: &str) -> Result<Self, CertificateError> {
        use CertificateError::Unusable;
        let mut all = CertificateDer::pem_slice_iter(pem.as_bytes());
        let (Some(Ok(der)), None) = (all.next(), all.next()) else {
            return Err(Unusable("it is not one certificate in PEM"));
        };
        let Ok((_, certificate)) = X509Certificate::from_der(&der) else {
            return Err(Unusable("it is not a certificate"));
        };
        if !certificate.is_ca() {
            return Err(Unusable("it is not the certificate of an authority"));
        }
        let mut names = certificate.subject().iter_common_name();
        if !names.any(|name| name.as_str().is_ok_and(|name| name.starts_with(NAME))) {
            return Err(Unusable("it is not an authority of ours"));
        }
        let validity = certificate.validity();
        let at = |seconds| Timestamp::from_second(seconds).map_err(|_| Unusable("its validity is no time"));
        let facts = Facts {
            from: at(validity.not_before.timestamp())?,
            until: at(validity.not_after.timestamp())?,
            id: Fingerprint::of(&der),
        };
        Ok(Self {
            pem: pem.to_owned(),
            facts,
        })
    }

    /// As PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Which one, and when it is valid.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }
}

/// A certificate and the key that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    certificate: AuthorityCertificate,
    key: PrivateKey,
}

impl Authority {
    /// A new one.
    pub fn generate(now: Timestamp, lifetime: SignedDuration) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let mut params = valid(now, later(now, lifetime), SLACK);
        params
            .distinguished_name
            .push(DnType::CommonName, format!("{NAME} {now:.0}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: AuthorityCertificate::parse(&certificate.pem())?,
            key: PrivateKey(key.serialize_pem()),
        })
    }

    /// Reads one, and checks that key and certificate belong together.
    pub fn parse(certificate: &str, key: &str) -> Result<Self, CertificateError> {
        use CertificateError::Unusable;
        let pair = KeyPair::from_pem(key).map_err(|_| Unusable("its key is not a private key in PEM"))?;
        let parsed = AuthorityCertificate::parse(certificate)?;
        let issuer = Issuer::from_ca_cert_pem(certificate, &pair);
        issuer.map_err(|_| Unusable("it cannot sign"))?;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes());
        let der = der.map_err(|_| Unusable("it is not one certificate in PEM"))?;
        let matches = X509Certificate::from_der(&der)
            .is_ok_and(|(_, x509)| x509.public_key().raw == pair.subject_public_key_info());
        match matches {
            true => Ok(Self {
                certificate: parsed,
                key: PrivateKey(key.to_owned()),
            }),
            false => Err(Unusable("its key belongs to another certificate")),
        }
    }

    /// The certificate.
    pub fn certificate(&self) -> &AuthorityCertificate {
        &self.certificate
    }

    /// The key.
    pub(super) fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// Signs a certificate.
    pub(super) fn sign(
        &self,
        mut params: CertificateParams,
        key: &KeyPair,
    ) -> Result<rcgen::Certificate, CertificateError> {
        let issuer = Issuer::from_ca_cert_pem(self.certificate.pem(), KeyPair::from_pem(&self.key.0)?)?;
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(key, &issuer)?)
    }
}

/// Parameters of a certificate. Its validity begins earlier than now, for clients whose clocks are behind.
pub(super) fn valid(now: Timestamp, until: Timestamp, slack: SignedDuration) -> CertificateParams {
    let date = |at: Timestamp| {
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.not_before = date(later(now, -slack));
    params.not_after = date(until);
    params
}

/// The fingerprints of the certificates in a caBundle. Anything else in it is ignored.
pub fn bundle_ids(pem: &[u8]) -> std::collections::BTreeSet<Fingerprint> {
    let all = CertificateDer::pem_slice_iter(pem);
    all.filter_map(Result::ok)
        .map(|der| Fingerprint::of(&der))
        .collect()
}
