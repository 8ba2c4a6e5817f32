//! Checks that hold for every object: names, labels, annotations, owners, finalizers.

pub(crate) mod metadata;
pub(crate) mod policies;
pub(crate) mod policy_params;
pub(crate) mod webhooks;
