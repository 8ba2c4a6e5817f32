//! Laws of structural schemas.

mod laws;
