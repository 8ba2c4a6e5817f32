//! The controllers, and what they stand on.
//!
//! A controller observes, decides and acts; it knows a [`kube::Client`] and nothing about the server behind
//! it. [`runtime`] holds what every controller needs and none should write twice: objects in memory, changes
//! told once, a queue, a lease.

pub mod runtime;
