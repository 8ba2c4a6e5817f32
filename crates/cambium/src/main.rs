//! The `cambium` program.
fn main() {}
