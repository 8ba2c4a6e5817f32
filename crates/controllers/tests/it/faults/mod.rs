//! Bad days, in virtual time.

mod compositions;
mod definitions;
