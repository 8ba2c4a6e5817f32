//! Validation of metadata, and of webhooks and policies beyond their schemas.

pub(crate) mod metadata;
pub(crate) mod policies;
pub(crate) mod policy_params;
pub(crate) mod webhooks;
