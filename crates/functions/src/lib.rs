//! A gRPC client for composition functions.
//!
//! ```text
//!  compositions_render::function::Request ──► wire ──► gRPC (RunFunction, v1 or else v1beta1) ──► the function
//!                                                                                                    │
//!  compositions_render::function::Response ◄── wire ◄────────────────────────────────────────────────┘
//! ```
//!
//! The protocol is Crossplane's, `apiextensions.fn.proto`: functions that were written for Crossplane answer as they are. One connection is
//! kept to each function, and used by all. What to ask and what an answer means is decided elsewhere; this crate carries it there and back,
//! in a limited time and of a limited size, and says what went wrong where.

mod call;
mod convert;
mod endpoint;
mod error;
pub mod wire;

pub use call::{ANSWER_LIMIT, Functions, REQUEST_LIMIT, Unread};
pub use convert::{Garbled, answered, asked};
pub use endpoint::{Endpoint, EndpointError, Plain, Tls};
pub use error::CallError;
