//! Conversion between API versions.

mod corners;
mod properties;
mod reviews;
mod versions;
