//! The rules of `apiextensions.crossplane.io`, as pure decisions.
//!
//! ```text
//!  CompositeResourceDefinition ──read──► Definition ──► CRD of the XR, CRD of the claim
//!                                            │                 │ observed
//!                                            │ layout          ▼
//!                                            ▼              status: Established, Offered
//!                            compositionRef, resourceRefs, … of an XR
//! ```
//!
//! Nothing in this crate reads a clock, waits, or talks to anybody.

pub mod admission;
mod catalogue;
pub mod claim;
pub mod composite;
mod consumers;
mod content;
pub mod definition;
mod layout;
pub mod pipeline;
mod rate_limit;
pub mod revision;
mod select;
mod unknown_fields;

pub use catalogue::{Catalogue, Direction, Live, Shelf};
pub use consumers::{Consumer, Consumers, Consuming, Uses};
pub use content::Content;

pub use layout::{
    ClaimReference, Field, Layout, ResourceReference, SecretReference, composite_of, delete_policy,
};
pub use rate_limit::RateLimit;
pub use select::{
    ByRevision, CompositionFetcher, Fetched, Found, FromComposition, Refusal, Selector, Wish, select,
};
