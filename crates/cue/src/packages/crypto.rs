//! Packages `crypto/md5`, `crypto/sha1`, `crypto/sha256`, `crypto/sha512` and `crypto/hmac`.

use super::CallError;
use md5::Md5;
use sha1::Sha1;
use sha2::digest::core_api::BlockSizeUser;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};

/// A hash function, with the name that `hmac.Sign` knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// `MD5`
    Md5,
    /// `SHA1`
    Sha1,
    /// `SHA224`
    Sha224,
    /// `SHA256`
    Sha256,
    /// `SHA384`
    Sha384,
    /// `SHA512`
    Sha512,
    /// `SHA512_224`
    Sha512To224,
    /// `SHA512_256`
    Sha512To256,
}

impl Hash {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 8] = [
        ("MD5", Self::Md5),
        ("SHA1", Self::Sha1),
        ("SHA224", Self::Sha224),
        ("SHA256", Self::Sha256),
        ("SHA384", Self::Sha384),
        ("SHA512", Self::Sha512),
        ("SHA512_224", Self::Sha512To224),
        ("SHA512_256", Self::Sha512To256),
    ];

    /// The hash of some bytes.
    pub fn sum(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Md5 => Md5::digest(bytes).to_vec(),
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha224 => Sha224::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
            Self::Sha384 => Sha384::digest(bytes).to_vec(),
            Self::Sha512 => Sha512::digest(bytes).to_vec(),
            Self::Sha512To224 => Sha512_224::digest(bytes).to_vec(),
            Self::Sha512To256 => Sha512_256::digest(bytes).to_vec(),
        }
    }

    /// Bytes of a hash.
    pub fn size(self) -> i64 {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha512To224 => 28,
            Self::Sha256 | Self::Sha512To256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Bytes that it takes at once.
    pub fn block_size(self) -> i64 {
        match self {
            Self::Md5 | Self::Sha1 | Self::Sha224 | Self::Sha256 => 64,
            Self::Sha384 | Self::Sha512 | Self::Sha512To224 | Self::Sha512To256 => 128,
        }
    }
}

/// The signature of some bytes with a key (RFC 2104), with the hash of that name.
pub fn hmac_sign(hash: &str, key: &[u8], bytes: &[u8]) -> Result<Vec<u8>, CallError> {
    let found = Hash::ALL.iter().find(|(name, _)| *name == hash);
    let (_, hash) = found.ok_or_else(|| CallError::new("unsupported hash function"))?;
    Ok(match hash {
        Hash::Md5 => sign::<Md5>(key, bytes),
        Hash::Sha1 => sign::<Sha1>(key, bytes),
        Hash::Sha224 => sign::<Sha224>(key, bytes),
        Hash::Sha256 => sign::<Sha256>(key, bytes),
        Hash::Sha384 => sign::<Sha384>(key, bytes),
        Hash::Sha512 => sign::<Sha512>(key, bytes),
        Hash::Sha512To224 => sign::<Sha512_224>(key, bytes),
        Hash::Sha512To256 => sign::<Sha512_256>(key, bytes),
    })
}

fn sign<Algorithm: Digest + BlockSizeUser>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut block = match key.len() <= Algorithm::block_size() {
        true => key.to_vec(),
        false => Algorithm::digest(key).to_vec(),
    };
    block.resize(Algorithm::block_size(), 0);
    let padded = |mask: u8| block.iter().map(|byte| byte ^ mask).collect::<Vec<u8>>();
    let inner = Algorithm::new()
        .chain_update(padded(0x36))
        .chain_update(bytes)
        .finalize();
    Algorithm::new()
        .chain_update(padded(0x5c))
        .chain_update(inner)
        .finalize()
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::hex;

    /// Expected values are from Go's cue v0.14.1.
    #[test]
    fn of_abc() {
        for (hash, expected) in [
            (Hash::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                Hash::Sha224,
                "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
            ),
            (
                Hash::Sha256,
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                Hash::Sha512To224,
                "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa",
            ),
            (
                Hash::Sha512To256,
                "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
            ),
        ] {
            assert_eq!(hex::encode(&hash.sum(b"abc")), expected, "{hash:?}");
        }
        for (name, hash) in Hash::ALL {
            assert_eq!(hash.sum(b"abc").len() as i64, hash.size(), "{name}");
        }
    }

    #[test]
    fn signatures() {
        let long = vec![b'k'; 200];
        for (name, key, expected) in [
            ("MD5", &b"key"[..], "d2fe98063f876b03193afb49b4979591"),
            ("SHA1", b"key", "4fd0b215276ef12f2b3e4c8ecac2811498b656fc"),
            (
                "SHA256",
                b"key",
                "9c196e32dc0175f86f4b1cb89289d6619de6bee699e4c378e68309ed97a1a6ab",
            ),
            (
                "SHA256",
                &long,
                "ce632aa86d6a3fd3c79f06217c0a506599d055cd38eb385b16a2939f2488f686",
            ),
        ] {
            assert_eq!(
                hmac_sign(name, key, b"abc")
                    .map(|bytes| hex::encode(&bytes))
                    .as_deref(),
                Ok(expected),
                "{name}"
            );
        }
        assert_eq!(
            hmac_sign("x", b"", b""),
            Err(CallError::new("unsupported hash function"))
        );
    }
}
