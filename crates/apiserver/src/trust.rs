//! Verifies the serving certificates of webhooks and backends against a `caBundle`.

use std::sync::Arc;

use base64::Engine as _;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Accepts certificates signed by a CA of the bundle, and certificates that are themselves in the bundle: Go does so,
/// and envtest and self-signed webhook servers rely on it.
#[derive(Debug)]
pub(crate) struct Bundle {
    certificates: Vec<CertificateDer<'static>>,
    /// `None` for an empty bundle: no certificate is accepted.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl Bundle {
    /// Parses a `caBundle`: base64 of PEM.
    pub(crate) fn read(bundle: &str, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let pem = base64::engine::general_purpose::STANDARD
            .decode(bundle)
            .map_err(|_| "not base64")?;
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let certificates = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| text(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| text(&error))?;
        }
        let authorities = match roots.is_empty() {
            true => None,
            false => Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                    .build()
                    .map_err(|error| text(&error))?,
            ),
        };
        Ok(Self {
            certificates,
            authorities,
            provider,
        })
    }
}

/// Checks a certificate that is in the bundle itself: host name, validity period, key usage.
fn check_itself(certificate: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> Result<(), Error> {
    rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < parsed.validity().not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > parsed.validity().not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let usage = parsed
        .extended_key_usage()
        .map_err(|_| CertificateError::BadEncoding)?;
    match usage.is_none_or(|usage| usage.value.any || usage.value.server_auth) {
        true => Ok(()),
        false => Err(CertificateError::InvalidPurpose.into()),
    }
}

impl ServerCertVerifier for Bundle {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.contains(certificate) {
            return check_itself(certificate, name, now).map(|()| ServerCertVerified::assertion());
        }
        match &self.authorities {
            Some(authorities) => authorities.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

    use super::*;

    fn bundle(pems: &[String]) -> Bundle {
        let base64 = base64::engine::general_purpose::STANDARD.encode(pems.concat());
        Bundle::read(&base64, Arc::new(rustls::crypto::ring::default_provider())).unwrap()
    }

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// A certificate for `localhost`, signed by another CA.
    fn leaf(change: impl FnOnce(&mut CertificateParams)) -> rcgen::Certificate {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        params
            .signed_by(&KeyPair::generate().unwrap(), &authority())
            .unwrap()
    }

    fn verdict(bundle: &Bundle, certificate: &CertificateDer<'_>, name: &'static str) -> Option<Error> {
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
        let name = ServerName::try_from(name).unwrap();
        bundle.verify_server_cert(certificate, &[], &name, &[], now).err()
    }

    #[test]
    fn a_certificate_is_believed_that_the_bundle_holds_itself() {
        let leaf = leaf(|_| {});
        let holding = bundle(&[leaf.pem()]);
        assert_eq!(verdict(&holding, leaf.der(), "localhost"), None);
        let elsewhere = verdict(&holding, leaf.der(), "example.com").unwrap();
        assert!(
            matches!(
                elsewhere,
                Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. })
            ),
            "{elsewhere:?}"
        );
        let other = bundle(&[authority().pem()]);
        assert!(verdict(&other, leaf.der(), "localhost").is_some());
        assert!(verdict(&bundle(&[]), leaf.der(), "localhost").is_some());
    }

    #[test]
    fn an_authority_of_the_bundle_is_believed() {
        let authority = authority();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let leaf = params
            .signed_by(&KeyPair::generate().unwrap(), &authority)
            .unwrap();
        assert_eq!(
            verdict(&bundle(&[authority.pem()]), leaf.der(), "localhost"),
            None
        );
    }

    #[test]
    fn being_held_is_not_enough() {
        let expired = leaf(|params| params.not_after = rcgen::date_time_ymd(2020, 1, 1));
        let error = verdict(&bundle(&[expired.pem()]), expired.der(), "localhost");
        assert_eq!(error, Some(CertificateError::Expired.into()));
        let early = leaf(|params| params.not_before = rcgen::date_time_ymd(2040, 1, 1));
        let error = verdict(&bundle(&[early.pem()]), early.der(), "localhost");
        assert_eq!(error, Some(CertificateError::NotValidYet.into()));
        let client = leaf(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
        let error = verdict(&bundle(&[client.pem()]), client.der(), "localhost");
        assert_eq!(error, Some(CertificateError::InvalidPurpose.into()));
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        let provider = || Arc::new(rustls::crypto::ring::default_provider());
        assert!(Bundle::read("*", provider()).is_err());
        let broken = base64::engine::general_purpose::STANDARD
            .encode("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        assert!(Bundle::read(&broken, provider()).is_err());
    }
}
