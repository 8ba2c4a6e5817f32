//! Objects from one API version to another, without loss.
//!
//! ```text
//!   ConversionReview ──► review ──► definition::convert ──┬─► up     v1beta1 ─► v2beta1
//!                        (the contract                    └─► down   v2beta1 ─► v1beta1
//!                         with the API server)
//! ```
//!
//! Objects are JSON trees: partial objects are converted as far as they go, and fields that nobody here knows are kept. A conversion sees
//! one object and nothing else, so what the other version cannot say travels in an annotation of the object itself
//! ([`cambium_api::names::annotation::CONVERSION`]).
//!
//! It does not validate: what is stored must be readable, however it came to be stored. Refusing is for admission, which asks
//! [`definition::written_at`], [`definition::edited_elsewhere`] and [`definition::check_size`].

mod canonical;
pub mod definition;
mod error;
pub mod review;

pub use error::ConvertError;
