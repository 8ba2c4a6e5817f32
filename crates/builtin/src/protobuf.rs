//! The protobuf encoding of built-in kinds, transcoded to and from JSON along their schemas.
//!
//! There is no code per type: a [`Schema`](cambium_schema::Schema) has the number of each field. Exceptions:
//!
//! - a struct that Go inlines in JSON is nested in protobuf; the field's number is then a path, 8 bits per level;
//! - Go writes the zero value of every scalar that is not a pointer, so the fields whose zero is significant are
//!   generated beside the schemas;
//! - a list inside a map or a list is wrapped in a message with the one field 1;
//! - a few types have special encodings (times, quantities, raw JSON).

mod decode;
mod encode;
mod special;
mod wire;

pub use decode::{DecodeError, MAX_BYTES, decode, decode_message};
pub use encode::{EncodeError, encode, encode_message, watch_frame};
pub use wire::{put_bytes, put_fixed64, put_varint};

/// The magic prefix of an encoded object.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// Maximum nesting of messages.
const MAX_DEPTH: usize = 200;

/// The part of a field number's path that comes after `level` outer numbers, outermost lowest.
const fn path_below(number: u32, level: u32) -> u32 {
    if level >= 4 { 0 } else { number >> (8 * level) }
}

/// Whether the outermost `level` numbers of two paths are the same.
const fn same_outer(a: u32, b: u32, level: u32) -> bool {
    level == 0 || (a ^ b) << (32 - 8 * level) == 0
}

#[cfg(test)]
mod tests;
