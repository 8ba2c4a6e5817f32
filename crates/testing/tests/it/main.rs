//! Tests of the test support.

mod faults;
mod rights;
