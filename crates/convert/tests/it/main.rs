//! Conversion between API versions.

mod corners;
mod properties;
mod registry;
mod reviews;
mod versions;
