//! The program, as a user runs it.

mod commands;
mod guides;
mod kubectl;
mod manager;
mod offline;
mod program;
mod sandbox;
