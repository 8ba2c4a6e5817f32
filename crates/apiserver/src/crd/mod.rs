//! Resources that a CustomResourceDefinition defines.

mod controller;
mod definition;

pub(crate) use controller::{load, run};
pub(crate) use definition::{Definition, Version};
