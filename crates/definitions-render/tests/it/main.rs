//! Applications and definitions become manifests.

mod contract;
mod definitions;
mod kubevela;
mod status;
mod support;
