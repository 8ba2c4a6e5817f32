//! Tasks that need a program.
fn main() {}
