//! Lineages of immutable revisions.

mod canonical;
mod digest;
mod name;
mod reference;
mod version;

pub use canonical::canonical;
pub use digest::{Digest, DigestError};
pub use name::{GivenName, NameError, RevisionName};
pub use reference::{Reference, ReferenceError, ReferenceProblem, Wanted};
pub use version::{Series, Version, VersionError, VersionProblem};
