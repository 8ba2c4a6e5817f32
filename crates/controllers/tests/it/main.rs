//! Controllers at work.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acceptance;
mod application_edits;
mod beside;
mod beside_crossplane;
mod claiming;
mod composing;
mod composition_edits;
mod edits;
mod edits_applications;
mod edits_compositions;
mod faults;
#[allow(dead_code, reason = "tests of the calls themselves use the rest")]
#[path = "../../../functions/tests/it/server/mod.rs"]
mod function;
mod platform;
mod runtime;
mod scene;
