//! What the standard packages do, as plain functions.

use base64::Engine;

/// Bytes as they appear in exported data.
pub(crate) fn base64_text(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
