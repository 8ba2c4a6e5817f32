//! Server-side apply, managed fields and strategic merge: pure functions over JSON trees and schemas.
//!
//! ```text
//!  fieldpath   field paths, field sets, and the encoding of sets (`fieldsV1`)
//!      ▲
//!    typed     operations by schema: field sets, merge, compare, remove, extract
//!      ▲
//!   managers   field ownership: create/update/patch, apply, conflicts, `managedFields`
//!
//!  strategic   strategic merge patches, by the patch strategies of built-in types
//! ```
//!
//! Nothing here reads a clock, a store or a registry: the time is an argument, other versions of an object come from
//! [`managers::Versions`].

pub mod fieldpath;
pub mod managers;
pub mod strategic;
pub mod typed;

mod go_text;
mod object_meta;

pub use object_meta::OBJECT_META;

#[cfg(test)]
mod generators;
#[cfg(test)]
mod laws;
