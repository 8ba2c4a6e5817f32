//! CEL, as Kubernetes judges it.

mod laws;
