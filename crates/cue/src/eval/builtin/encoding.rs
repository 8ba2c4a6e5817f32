//! `encoding/base64`, `encoding/hex` and `crypto`.

use super::{Builtin, IntoValue};
use crate::eval::Machine;
use crate::eval::error::Error;
use crate::eval::expression::Value;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::packages::crypto::{self, Hash};
use crate::packages::{base64, hex};
use crate::program::ir::Position;

#[rustfmt::skip]
pub(super) const BASE64: &[Builtin] = &[
    Builtin::function("encoding/base64", "EncodedLen", 2, |m, a, at| { standard(m, a, at)?; base64::encoded_len(m.integer(a, 1, at)?).into_value(m, at) }),
    Builtin::function("encoding/base64", "DecodedLen", 2, |m, a, at| { standard(m, a, at)?; base64::decoded_len(m.integer(a, 1, at)?).into_value(m, at) }),
    Builtin::function("encoding/base64", "Encode", 2, |m, a, at| { standard(m, a, at)?; base64::encode(&m.bytes(a, 1, at)?).into_value(m, at) }),
    Builtin::function("encoding/base64", "Decode", 2, |m, a, at| { standard(m, a, at)?; base64::decode(&m.string(a, 1, at)?).into_value(m, at) }),
];

/// Only the standard encoding exists; `null` names it.
fn standard<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<(), Error> {
    match &arguments[0] {
        Value::Scalar(Scalar::Null) => Ok(()),
        _ => Err(machine.fatal("base64: unsupported encoding: cannot use value as encoding", at)),
    }
}

#[rustfmt::skip]
pub(super) const HEX: &[Builtin] = &[
    Builtin::function("encoding/hex", "EncodedLen", 1, |m, a, at| hex::encoded_len(m.integer(a, 0, at)?).into_value(m, at)),
    Builtin::function("encoding/hex", "DecodedLen", 1, |m, a, at| hex::decoded_len(m.integer(a, 0, at)?).into_value(m, at)),
    Builtin::function("encoding/hex", "Encode", 1, |m, a, at| hex::encode(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::function("encoding/hex", "Decode", 1, |m, a, at| hex::decode(&m.string(a, 0, at)?).into_value(m, at)),
    Builtin::function("encoding/hex", "Dump", 1, |m, a, at| hex::dump(&m.bytes(a, 0, at)?).into_value(m, at)),
];

fn size(size: i64) -> Scalar {
    Scalar::Number(Number::integer(size))
}

#[rustfmt::skip]
pub(super) const MD5: &[Builtin] = &[
    Builtin::function("crypto/md5", "Sum", 1, |m, a, at| Hash::Md5.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/md5", "Size", || size(Hash::Md5.size())),
    Builtin::constant("crypto/md5", "BlockSize", || size(Hash::Md5.block_size())),
];

#[rustfmt::skip]
pub(super) const SHA1: &[Builtin] = &[
    Builtin::function("crypto/sha1", "Sum", 1, |m, a, at| Hash::Sha1.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha1", "Size", || size(Hash::Sha1.size())),
    Builtin::constant("crypto/sha1", "BlockSize", || size(Hash::Sha1.block_size())),
];

#[rustfmt::skip]
pub(super) const SHA256: &[Builtin] = &[
    Builtin::function("crypto/sha256", "Sum256", 1, |m, a, at| Hash::Sha256.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha256", "Size", || size(Hash::Sha256.size())),
    Builtin::function("crypto/sha256", "Sum224", 1, |m, a, at| Hash::Sha224.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha256", "Size224", || size(Hash::Sha224.size())),
    Builtin::constant("crypto/sha256", "BlockSize", || size(Hash::Sha256.block_size())),
];

#[rustfmt::skip]
pub(super) const SHA512: &[Builtin] = &[
    Builtin::function("crypto/sha512", "Sum512", 1, |m, a, at| Hash::Sha512.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha512", "Size", || size(Hash::Sha512.size())),
    Builtin::function("crypto/sha512", "Sum384", 1, |m, a, at| Hash::Sha384.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha512", "Size384", || size(Hash::Sha384.size())),
    Builtin::function("crypto/sha512", "Sum512_224", 1, |m, a, at| Hash::Sha512To224.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha512", "Size224", || size(Hash::Sha512To224.size())),
    Builtin::function("crypto/sha512", "Sum512_256", 1, |m, a, at| Hash::Sha512To256.sum(&m.bytes(a, 0, at)?).into_value(m, at)),
    Builtin::constant("crypto/sha512", "Size256", || size(Hash::Sha512To256.size())),
    Builtin::constant("crypto/sha512", "BlockSize", || size(Hash::Sha512.block_size())),
];

#[rustfmt::skip]
pub(super) const HMAC: &[Builtin] = &[
    Builtin::function("crypto/hmac", "Sign", 3, |m, a, at| crypto::hmac_sign(&m.string(a, 0, at)?, &m.bytes(a, 1, at)?, &m.bytes(a, 2, at)?).into_value(m, at)),
    Builtin::constant("crypto/hmac", "MD5", || Scalar::String("MD5".into())),
    Builtin::constant("crypto/hmac", "SHA1", || Scalar::String("SHA1".into())),
    Builtin::constant("crypto/hmac", "SHA224", || Scalar::String("SHA224".into())),
    Builtin::constant("crypto/hmac", "SHA256", || Scalar::String("SHA256".into())),
    Builtin::constant("crypto/hmac", "SHA384", || Scalar::String("SHA384".into())),
    Builtin::constant("crypto/hmac", "SHA512", || Scalar::String("SHA512".into())),
    Builtin::constant("crypto/hmac", "SHA512_224", || Scalar::String("SHA512_224".into())),
    Builtin::constant("crypto/hmac", "SHA512_256", || Scalar::String("SHA512_256".into())),
];
