//! Converts objects between API versions without loss.
//!
//! ```text
//!   ConversionReview ──► review ──► Registry ──► the converter of the group and kind
//!                        (the contract           definition::convert ──┬─► up     v1beta1 ─► v2beta1
//!                         with the API server)                         └─► down   v2beta1 ─► v1beta1
//! ```
//!
//! A kind that is to be converted, too, is one more [`Converter`] in the [`Registry`] that the webhook has.
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
mod registry;
pub mod review;

pub use error::ConvertError;
pub use registry::{Converter, Registry};
