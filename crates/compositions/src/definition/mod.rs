//! CompositeResourceDefinitions: validation, CRDs, status.
//!
//! ```text
//!  read ──► Problems: everything that is wrong, each with the path of its field
//!    │
//!    └────► Definition ──► composite_crd, claim_crd
//!                              │ applied, observed
//!                              └──► status
//! ```

mod candidate;
mod crd;
mod parsed;
mod problem;
mod read;
mod schema;
mod standard_fields;
mod status;

pub use candidate::Candidate;
pub use crd::{claim_crd, composite_crd};
pub use parsed::Definition;
pub use problem::{Problem, Problems};
pub use read::read;
pub use status::{CrdState, Observed, crd_state, status};
