//! Source text to syntax tree.
//!
//! [`parse`] reads a whole file and reports every independent problem. The tree keeps what was written: spans, comments
//! and attributes stay with the nodes they belong to, because tools read them (KubeVela's patch markers are comments).

pub mod ast;
mod lexer;
mod literal;
mod parser;
mod token;

pub use parser::{parse, parse_bytes};
