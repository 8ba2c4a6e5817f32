//! Lineages of immutable revisions: resolving references, issuing revisions, the publish gate, retention.
//!
//! ```text
//!   content ──canonical──► Digest ─┐
//!                                  ├─► next ───► unchanged, reuse, issue, conflict ─┐
//!   Version, GivenName ────────────┘       ▲                                          ├─► publish ──► PublishVerdict
//!                                          │                                Candidate ─┘
//!               Revision … Revision ──► Lineage ──► retain ──► keep, mark, delete
//!                                          │
//!   Reference, Policy, InUse, Lock, Closed ──► resolve ──► one revision, or a refusal
//! ```
//!
//! Nothing here reads a clock or a store, and nothing knows what the revisions are revisions of: names of annotations and labels
//! stay outside, policies come in as enums, and the time is an argument.

mod canonical;
mod closed;
mod digest;
mod lineage;
mod lock;
mod name;
mod next;
mod publish;
mod reference;
mod resolve;
mod retain;
mod revision;
mod version;

pub use canonical::canonical;
pub use closed::{Closed, Closures};
pub use digest::{Digest, DigestError};
pub use lineage::{HIGHEST_NUMBER, Lineage, LineageBuilder, LineageError, LineageProblem, Scheme};
pub use lock::{Lock, LockError, LockRefusal, Locked};
pub use name::{GivenName, NameError, RevisionName};
pub use next::{Content, Next, Place, next};
pub use publish::{Candidate, Findings, PublishVerdict, UnnamedCandidate, publish, publish_unnamed};
pub use reference::{Reference, ReferenceError, ReferenceProblem, Wanted};
pub use resolve::{
    Choice, Chosen, Explanation, InUse, Movement, Newer, PassedOver, Policy, Question, Refusal, Resolution,
    Selector, Verdict, resolve,
};
pub use retain::{Action, KeepReason, Retained, Retention, Usage, Users, retain};
pub use revision::Revision;
pub use version::{Bump, Series, Version, VersionError, VersionProblem};
