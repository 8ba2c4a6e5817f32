//! Integration tests of CEL.

mod laws;
