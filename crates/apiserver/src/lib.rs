//! An embedded Kubernetes API server.
pub mod status;
pub mod store;
mod object;
mod source;
