//! What compositions publish, and what composite resources get.

mod admission;
mod claim;
mod concerned;
mod definition_crds;
mod definition_read;
mod definition_status;
mod definitions;
mod layout;
mod pipeline;
mod revisions;
mod selection;
