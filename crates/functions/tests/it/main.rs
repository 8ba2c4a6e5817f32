//! Calls of composition functions.

mod calls;
mod numbers;
mod server;
