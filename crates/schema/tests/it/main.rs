//! Property tests of structural schemas.

mod laws;
