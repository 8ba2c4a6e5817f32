//! What tests stand on.

mod faults;
mod rights;
