//! Compositions and composite resources become objects.

mod attacks;
mod function;
mod paths;
mod problems;
mod recorded;
mod render;
