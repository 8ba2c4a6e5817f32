//! Patch-and-transform: what a composition makes of a composite resource, and what the composed resources say in return.
//!
//! ```text
//!   spec of a revision ──► Composition::read ──► Composition (compiled, once)
//!                                                    │
//!   composite resource, what exists ────────────────►├──► desired: an object for each template, or why not
//!                                                    │
//!   composite resource, what exists, its secrets ───►└──► observe: the composite patched, readiness, connection details
//!
//!   RunFunctionRequest ──► function::{patch_and_transform, auto_ready, literal_response} ──► RunFunctionResponse
//! ```
//!
//! This is Crossplane's native engine as its v1.20 has it, and the function that took its place, in-process: a revision that is pinned pins
//! everything that composes. Objects are JSON trees. Texts are made by Go's rules ([`gofmt`]), expressions are Go's ([`regexp`]), numbers are
//! `int64` or `float64`, and errors say what Crossplane's say. Nothing here reads a clock, makes a name, or talks to anybody: names of new
//! objects are given by whoever applies them.
//!
//! Where it differs on purpose: what can only fail is refused when it is read, all of it at once; one resource that cannot be made
//! does not keep the others from being observed; what merges with its own last result does not grow; formats and expressions are bounded.

mod budget;
mod connection;
mod desired;
mod metadata;
mod number;
mod observe;
mod patch;
mod problem;
mod quantity;
mod read;
mod readiness;
mod schema_checks;
mod template;

pub mod function;
pub mod gofmt;
pub mod path;
pub mod regexp;
pub mod transform;

pub use budget::Budget;
pub use connection::{ConnectionDetail, ConnectionDetails, DetailSource, connection_details};
pub use desired::{Desired, RenderError, composed, desired};
pub use metadata::{CLAIM_NAME_LABEL, CLAIM_NAMESPACE_LABEL, COMPOSITE_LABEL, RESOURCE_NAME_ANNOTATION};
pub use observe::{Observation, ObservedResource, ResourceObservation, observe};
pub use patch::{Patch, PatchError, PatchType, Source};
pub use problem::{Fault, Problem, Problems};
pub use quantity::QuantityError;
pub use readiness::{Readiness, ReadinessCheck, ReadinessError, ReadinessProblem, readiness};
pub use schema_checks::{Misfit, Place, is_judged, misfits};
pub use template::{Composition, Template, validate};
