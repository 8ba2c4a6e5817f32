//! Compositions and composite resources become objects.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attacks;
mod function;
mod paths;
mod problems;
mod recorded;
mod render;
