//! The CUE language, evaluated in Rust.
pub mod diagnostic;
pub mod number;
pub mod source;
pub mod syntax;
