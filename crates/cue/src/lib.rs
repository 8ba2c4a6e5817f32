//! The CUE language in Rust: parse, resolve, evaluate, export.
//!
//! ```
//! use cambium_cue::{Source, compile};
//!
//! let program = compile(&Source::new("greeting.cue", "name: *\"world\" | string\ntext: \"hello \\(name)\"")).unwrap();
//! let value = program.evaluate(&[], Default::default()).export().unwrap();
//! assert_eq!(value.to_json(), r#"{"name":"world","text":"hello world"}"#);
//! ```
//!
//! The crate is pure: no files, no network, no clock. Evaluation is deterministic and bounded by [`Limits`]; callers bound
//! its time with [`with_deadline`].

pub mod data;
mod deadline;
pub mod diagnostic;
mod eval;
pub mod number;
pub mod packages;
mod program;
pub mod source;
pub mod syntax;

pub use data::Data;
pub use deadline::with_deadline;
pub use diagnostic::{Diagnostic, Diagnostics};
pub use eval::{
    EvaluationOptions, Inexpressible, Instance, Limits, Lookup, Member, MemberKind, OpenApi, Shape,
};
pub use program::{CompileOptions, Program, compile, compile_with};
pub use source::Source;
