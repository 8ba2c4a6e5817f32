//! Package `encoding/hex`.

use super::CallError;
use std::fmt::Write;

/// The length of the encoding of `length` bytes.
pub fn encoded_len(length: i64) -> i64 {
    length.saturating_mul(2)
}

/// The number of bytes in an encoding of this length.
pub fn decoded_len(length: i64) -> i64 {
    length / 2
}

/// Two digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The bytes of pairs of digits.
pub fn decode(text: &str) -> Result<Vec<u8>, CallError> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    if let Some(wrong) = text.bytes().position(|byte| digit(byte).is_none()) {
        let character = char::from(text.as_bytes()[wrong]);
        let shown = super::strconv::quote_rune(i64::from(u32::from(character)));
        return Err(CallError::Failed(format!(
            "encoding/hex: invalid byte: U+{:04X} {shown}",
            u32::from(character)
        )));
    }
    if text.len() % 2 == 1 {
        return Err(CallError::new("encoding/hex: odd length hex string"));
    }
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Sixteen bytes in each line: offset, bytes, and what they are as text, as `hexdump -C` shows them.
pub fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, line) in bytes.chunks(16).enumerate() {
        let mut digits = String::new();
        for column in 0..16 {
            match line.get(column) {
                Some(byte) => digits.push_str(&format!(" {byte:02x}")),
                None => digits.push_str("   "),
            }
            if column == 7 {
                digits.push(' ');
            }
        }
        let shown: String = line
            .iter()
            .map(|byte| {
                if (32..=126).contains(byte) {
                    char::from(*byte)
                } else {
                    '.'
                }
            })
            .collect();
        text.push_str(&format!("{:08x} {digits}  |{shown}|\n", index * 16));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes() {
        assert_eq!(encode(b"\x00\xffa"), "00ff61");
        assert_eq!(decode("00FF61").as_deref(), Ok(&b"\x00\xffa"[..]));
        assert_eq!((encoded_len(3), decoded_len(7)), (6, 3));
    }

    /// Expected values are from Go's cue v0.14.1.
    #[test]
    fn what_is_wrong_with_a_text() {
        assert_eq!(
            decode("abc"),
            Err(CallError::new("encoding/hex: odd length hex string"))
        );
        assert_eq!(
            decode("ag"),
            Err(CallError::new("encoding/hex: invalid byte: U+0067 'g'"))
        );
        assert_eq!(
            decode("é0"),
            Err(CallError::new("encoding/hex: invalid byte: U+00C3 'Ã'"))
        );
    }

    #[test]
    fn dumps() {
        let expected = "00000000  00 01 68 65 6c 6c 6f 20  77 6f 72 6c 64 21 21 21  |..hello world!!!|\n\
                        00000010  ff                                                |.|\n";
        assert_eq!(dump(b"\x00\x01hello world!!!\xff"), expected);
    }
}
