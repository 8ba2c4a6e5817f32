//! Values as Go writes them, because clients know Kubernetes' messages by heart, and because what is compared or hashed must have the same bytes.
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
