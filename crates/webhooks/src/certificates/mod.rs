//! Certificates that are issued and rotated by the webhooks themselves, without cert-manager.
//!
//! One authority (CA) is kept in a Secret that all replicas share; each replica signs a certificate (leaf) of its own with it and keeps that in
//! memory. Whoever calls us trusts the *bundle* that we wrote next to our address, in CRDs and webhook configurations.
//!
//! ```text
//!   Secret             bundles            leaves
//!   current A          A                  signed by A
//!   current A, next B  A                  signed by A      B is made (two thirds of A's life are over)
//!   current A, next B  A B                signed by A      B is in every bundle: the time is recorded
//!   current B, prev A  A B                signed by A or B B is promoted, a settling time later
//!   current B          B                  signed by B      A has expired, and every leaf that it signed before it
//! ```
//!
//! The law: *at every moment, every bundle that somebody may still hold verifies every leaf in use.* [`plan`] is where it is kept, and it is pure.
//! What the Secret holds is believed only if it is whole and ours; see [`Stored`].

mod authority;
mod facts;
mod leaf;
mod plan;
mod secret;

pub use authority::{Authority, AuthorityCertificate, CertificateError, PrivateKey, bundle_ids};
pub use facts::{Facts, Fingerprint, Lifetimes};
pub use leaf::{Leaf, LeafFacts, Resolver};
pub use plan::{AuthorityFacts, LeafStep, NextFacts, Observed, Plan, SecretFacts, SecretStep, plan};
pub use secret::{Authorities, Next, Stored};
