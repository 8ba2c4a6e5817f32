//! What controllers stand on.

mod children;
mod lease;
mod memory;
mod support;
mod together;
mod watch;
