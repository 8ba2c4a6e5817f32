//! Labels and field manager of objects that the webhooks write.

/// The label that names the tool which manages an object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// The value of that label, and the field manager.
pub const CAMBIUM: &str = "cambium";

/// The label on CRDs that the webhooks keep; its value is the name of the webhook configuration.
pub const KEPT_BY: &str = "webhooks.cambium.dev/kept-by";

/// The annotation on CRDs with the version of the program that wrote their schemas.
pub const SCHEMA_VERSION: &str = "webhooks.cambium.dev/schema-version";

/// The suffix of webhook names.
pub const WEBHOOK_SUFFIX: &str = ".webhooks.cambium.dev";
