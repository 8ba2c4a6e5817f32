//! Values as Go formats them, for messages that are compared with Kubernetes', and for hashes over the same bytes.
//!
//! ```text
//!   json           encoding/json    {"a":1e-7,"b":"\u003c"}
//!   quote          %q               "a\x00é"
//!   plain_number   %v               1.5e+06
//! ```
//!
//! Pure: values in, text out.

mod json;
mod number;
mod quote;

pub use json::{json, write_json_text};
pub use number::{json_float, plain_float, plain_number, syntax_float, syntax_number};
pub use quote::{prints, quote};
