//! Built-in kinds.

mod refused;
mod served;
mod table;
mod upstream;
