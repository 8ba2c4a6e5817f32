//! Programs whose speed is measured.
