//! Certificates: the server's CA, its serving certificate, client certificates.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

use crate::private;

/// Failure to create or read a certificate.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The certificate could not be created or parsed.
    #[error("invalid certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// Not a private key of the expected kind.
    #[error("invalid private key")]
    Key,
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key. Never logged.
    pub key: String,
}

/// A certificate authority.
pub struct Authority {
    identity: Identity,
    issuer: Issuer<'static, KeyPair>,
}

/// Ten years: longer than any test cluster lives.
const DAYS: i64 = 3650;

impl Authority {
    /// Generates a new CA.
    pub fn generate(now: jiff::Timestamp) -> Result<Self, PkiError> {
        let key = KeyPair::generate()?;
        let mut params = params("cambium-ca", &[], now)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let certificate = params.self_signed(&key)?;
        let identity = Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        };
        Ok(Self {
            issuer: Issuer::new(params, key),
            identity,
        })
    }

    /// Loads the CA from `directory` (`ca.crt`, `ca.key`), or generates and saves a new one.
    pub fn load_or_generate(directory: &Path, now: jiff::Timestamp) -> Result<Self, PkiError> {
        let (certificate, key) = (directory.join("ca.crt"), directory.join("ca.key"));
        if certificate.exists() && key.exists() {
            let identity = Identity {
                certificate: read(&certificate)?,
                key: read(&key)?,
            };
            let issuer = Issuer::from_ca_cert_pem(&identity.certificate, KeyPair::from_pem(&identity.key)?)?;
            return Ok(Self { identity, issuer });
        }
        let authority = Self::generate(now)?;
        write_private(&key, &authority.identity.key)?;
        write_private(&certificate, &authority.identity.certificate)?;
        Ok(authority)
    }

    /// The CA certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.identity.certificate
    }

    /// Issues a serving certificate for these DNS names and IP addresses.
    pub fn server(&self, names: &[String], now: jiff::Timestamp) -> Result<Identity, PkiError> {
        let mut params = params("cambium-apiserver", &[], now)?;
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into()?),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// Issues a client certificate for a user with groups.
    pub fn client(&self, user: &str, groups: &[&str], now: jiff::Timestamp) -> Result<Identity, PkiError> {
        let mut params = params(user, groups, now)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Result<Identity, PkiError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

fn params(
    common_name: &str,
    organizations: &[&str],
    now: jiff::Timestamp,
) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    for organization in organizations {
        params
            .distinguished_name
            .push(DnType::OrganizationName, *organization);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let date = |days: i64| {
        let at = now
            .checked_add(jiff::SignedDuration::from_hours(24 * days))
            .unwrap_or(now);
        let civil = at.to_zoned(jiff::tz::TimeZone::UTC).date();
        rcgen::date_time_ymd(
            civil.year().into(),
            civil.month().unsigned_abs(),
            civil.day().unsigned_abs(),
        )
    };
    // A day of slack for clocks that disagree.
    params.not_before = date(-1);
    params.not_after = date(DAYS);
    Ok(params)
}

fn read(path: &Path) -> Result<String, PkiError> {
    std::fs::read_to_string(path).map_err(|source| PkiError::File {
        path: path.display().to_string(),
        source,
    })
}

/// Atomically writes a file with mode 0600. Symbolic links are replaced, never followed.
pub fn write_private(path: &Path, text: &str) -> Result<(), PkiError> {
    private::write(path, text).map_err(|source| PkiError::File {
        path: path.display().to_string(),
        source,
    })
}
