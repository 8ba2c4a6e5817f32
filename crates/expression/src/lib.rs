//! CEL as Kubernetes has it.
