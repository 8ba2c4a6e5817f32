//! The API server: what it promises its clients, and what it stands on.

#![recursion_limit = "256"]

mod acceptance;
mod access;
mod clients;
mod clock;
mod controllers;
mod details;
mod fairness;
mod fuzz;
mod network;
mod policy_access;
mod store_faults;
mod store_model;
