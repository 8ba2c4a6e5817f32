//! Package `encoding/base64`: the standard alphabet with padding, as RFC 4648 has it.

use super::CallError;
use ::base64::Engine;
use ::base64::engine::general_purpose::STANDARD;

/// The length of the encoding of `length` bytes.
pub fn encoded_len(length: i64) -> i64 {
    length.saturating_add(2) / 3 * 4
}

/// The maximum number of bytes in an encoding of this length.
pub fn decoded_len(length: i64) -> i64 {
    length / 4 * 3
}

/// Bytes as text.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a text. Line breaks in it are skipped.
pub fn decode(text: &str) -> Result<Vec<u8>, CallError> {
    let (mut bytes, mut group, mut size, mut padding) = (Vec::new(), 0u32, 0, 0);
    for (at, byte) in text.bytes().enumerate() {
        let illegal = || CallError::Failed(format!("illegal base64 data at input byte {at}"));
        match byte {
            b'\r' | b'\n' => continue,
            b'=' if padding == 0 && size >= 2 || padding == 1 && size == 3 => {
                padding += 1;
                size += 1;
                group <<= 6;
            }
            _ => {
                let value = value(byte).filter(|_| padding == 0).ok_or_else(illegal)?;
                group = group << 6 | u32::from(value);
                size += 1;
            }
        }
        if size == 4 {
            let [_, decoded @ ..] = group.to_be_bytes();
            bytes.extend_from_slice(&decoded[..3 - padding]);
            size = 0;
        }
    }
    match size {
        0 => Ok(bytes),
        // Where the unfinished group starts, or where its padding should go on.
        _ => {
            let at = text.len() - if padding == 0 { size } else { 0 };
            Err(CallError::Failed(format!(
                "illegal base64 data at input byte {at}"
            )))
        }
    }
}

fn value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\x00", "//4A"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes));
            assert_eq!(encoded_len(bytes.len() as i64), text.len() as i64);
        }
        assert_eq!(decode("Zm\r\n9v\n").as_deref(), Ok(&b"foo"[..]));
        assert_eq!(decoded_len(8), 6);
    }

    /// Expected values are from Go's cue v0.14.1.
    #[test]
    fn where_text_is_wrong() {
        for (text, at) in [
            ("A", 0),
            ("QUJDA", 4),
            ("AQUJDQUJDb", 8),
            ("+b/AB\rABCD", 9),
            ("QUJ*", 3),
            ("QQ=", 3),
            ("=", 0),
        ] {
            assert_eq!(
                decode(text),
                Err(CallError::Failed(format!(
                    "illegal base64 data at input byte {at}"
                ))),
                "{text}"
            );
        }
    }
}
