//! JSON Web Tokens: encoding, parsing and signatures.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::key::{ALGORITHM, SigningKey};

/// Encodes and signs claims.
pub(super) fn encode(claims: &Value, key: &SigningKey) -> Option<String> {
    let header = json!({"alg": ALGORITHM, "kid": key.id()});
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(claims));
    let signature = key.sign(signed.as_bytes())?;
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// A parsed token whose signature is not verified yet.
pub(super) struct Token<'t> {
    algorithm: String,
    claims: Vec<u8>,
    signed: &'t str,
    signature: Vec<u8>,
}

impl<'t> Token<'t> {
    /// Parses a token; `None` when it is not a JWT.
    pub(super) fn parse(token: &'t str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let part = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        let header: Value = serde_json::from_slice(&part(header)?).ok()?;
        Some(Self {
            algorithm: header.get("alg")?.as_str()?.to_owned(),
            claims: part(claims)?,
            signed,
            signature: part(signature)?,
        })
    }

    /// Its claims.
    pub(super) fn claims<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.claims).ok()
    }

    /// Verifies the signature.
    pub(super) fn is_signed_by(&self, key: &SigningKey) -> bool {
        self.algorithm == ALGORITHM && key.has_signed(self.signed.as_bytes(), &self.signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_key_has_signed_is_believed() {
        let key = SigningKey::generate().expect("a key");
        let token = encode(&json!({"sub": "ada"}), &key).expect("a token");
        let parsed = Token::parse(&token).expect("a token");
        assert!(parsed.is_signed_by(&key));
        assert_eq!(parsed.claims(), Some(json!({"sub": "ada"})));
        assert!(!parsed.is_signed_by(&SigningKey::generate().expect("a key")));

        let parts: Vec<&str> = token.split('.').collect();
        let other = URL_SAFE_NO_PAD.encode(r#"{"sub":"root"}"#);
        let forged = format!("{}.{other}.{}", parts[0], parts[2]);
        assert!(!Token::parse(&forged).expect("a token").is_signed_by(&key));
        for algorithm in ["none", "HS256", "es256"] {
            let header = URL_SAFE_NO_PAD.encode(json!({"alg": algorithm}).to_string());
            for signature in ["", parts[2]] {
                let forged = format!("{header}.{}.{signature}", parts[1]);
                assert!(
                    !Token::parse(&forged).expect("a token").is_signed_by(&key),
                    "{algorithm}"
                );
            }
        }
    }

    #[test]
    fn garbage_is_no_token() {
        let huge = "a".repeat(1 << 20);
        for garbage in ["", ".", "..", "a.b.c", "e30.e30.", "ä.ö.ü", &huge, "{}.{}.{}"] {
            assert!(
                Token::parse(garbage).is_none(),
                "{}",
                &garbage[..garbage.len().min(9)]
            );
        }
    }
}
