//! Protobuf's wire format: keys, varints, lengths.

use super::DecodeError;

/// A field's value on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// 32 bits, which no built-in type uses.
    Fixed32,
}

/// Reads one field after another.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next field's number and value.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, DecodeError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3)
            .ok()
            .filter(|number| *number > 0)
            .ok_or(DecodeError::Malformed)?;
        let wire = match key & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Truncated)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Some((number, wire)))
    }

    /// A varint.
    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Malformed)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.take(N)?.try_into().map_err(|_| DecodeError::Truncated)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// Writes a field that is a number.
pub fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    put_raw_varint(out, u64::from(number) << 3);
    put_raw_varint(out, value);
}

/// Writes a field that is 64 bits wide.
pub fn put_fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    put_raw_varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a field that is bytes: a string, bytes or a message.
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_raw_varint(out, u64::from(number) << 3 | 2);
    put_raw_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_raw_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
