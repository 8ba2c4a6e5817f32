//! The signing key of ServiceAccount tokens.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::pki::{PkiError, write_private};

/// The signature algorithm.
pub(super) const ALGORITHM: &str = "ES256";
/// The DER prefix of a P-256 public key (SubjectPublicKeyInfo).
const PUBLISHED: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The private key that signs ServiceAccount tokens. It is never printed.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
}

impl SigningKey {
    /// Generates a new key.
    pub fn generate() -> Result<Self, PkiError> {
        Self::from_pem(&rcgen::KeyPair::generate()?.serialize_pem())
    }

    /// Loads the key from `directory` (`sa.key`), or generates and saves a new one.
    pub fn load_or_generate(directory: &Path) -> Result<Self, PkiError> {
        let path = directory.join("sa.key");
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::from_pem(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let text = rcgen::KeyPair::generate()?.serialize_pem();
                write_private(&path, &text)?;
                Self::from_pem(&text)
            }
            Err(source) => Err(PkiError::File {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    fn from_pem(text: &str) -> Result<Self, PkiError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| PkiError::Key)?;
        let pair = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            key.secret_pkcs8_der(),
            &SystemRandom::new(),
        );
        let pair = pair.map_err(|_| PkiError::Key)?;
        let mut digest = Sha256::new();
        digest.update(PUBLISHED);
        digest.update(pair.public_key().as_ref());
        let id = URL_SAFE_NO_PAD.encode(digest.finalize());
        Ok(Self { pair, id })
    }

    /// The key ID under which the public key is published.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let signature = self.pair.sign(&SystemRandom::new(), message).ok()?;
        Some(signature.as_ref().to_vec())
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref())
            .verify(message, signature)
            .is_ok()
    }

    /// The public key as a JSON Web Key Set.
    pub(crate) fn published(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let coordinate = |from: usize| URL_SAFE_NO_PAD.encode(&point[from..from + 32]);
        json!({"keys": [{"use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": ALGORITHM,
            "x": coordinate(1), "y": coordinate(33)}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_kept_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().expect("a directory");
        let first = SigningKey::load_or_generate(directory.path()).expect("a new key");
        let again = SigningKey::load_or_generate(directory.path()).expect("the same key");
        assert_eq!(first.id(), again.id());
        let mode = std::fs::metadata(directory.path().join("sa.key"))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let signature = first.sign(b"text").expect("a signature");
        assert!(again.has_signed(b"text", &signature) && !again.has_signed(b"other", &signature));
        assert!(
            !SigningKey::generate()
                .expect("a key")
                .has_signed(b"text", &signature)
        );
        std::fs::write(directory.path().join("sa.key"), "nonsense").expect("a write");
        assert!(SigningKey::load_or_generate(directory.path()).is_err());
    }
}
