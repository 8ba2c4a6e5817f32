//! What controllers stand on.

mod dynamic_caches;
mod lease;
mod memory;
mod support;
mod together;
mod watch;
