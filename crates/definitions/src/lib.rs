//! The rules of `core.oam.dev` as pure decisions: publishing a definition, resolving a reference, planning an Application.
//!
//! ```text
//!  definition ──► declared ──► plan ──► DefinitionRevisions, status
//!                                            │
//!                                            ▼
//!                                        Catalogue
//!                                            │ resolve
//!  application ──► asked ───────────────────►├──► draft: answers, manifests, an ApplicationRevision
//!                                            │         │
//!  live objects ─────────────────────────────┴─────────┴──► plan: what to apply, what to prune ──► status
//! ```
//!
//! Controllers carry plans out, admission refuses what could only fail, commands show them: all three ask here. Nothing in this crate
//! reads a clock, waits, or talks to anybody.

mod artifact;
mod catalogue;
mod consumers;
mod names;
mod resolve;
mod stored;

pub mod admission;
pub mod application;
pub mod definition;
pub mod identity;
pub mod moves;
pub mod rehearsal;

pub use artifact::Artifact;
pub use catalogue::{Catalogue, LocalDefinitions, Shelf};
pub use consumers::{Consumers, Consuming, Place};
pub use names::{application_revision_name, revision_name};
pub use resolve::{Answer, Asked, Follow, HeldBack, Refused, Resolved, Using, asked, follow, resolve};
pub use stored::{Stored, digest_of};
