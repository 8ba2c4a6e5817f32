//! Errors of conversion.

/// The reasons that an object cannot be converted. The texts fit after "failed to convert: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// It is something else than a JSON object.
    #[error("not a JSON object")]
    NotAnObject,
    /// No converter is registered for its kind.
    #[error("no converter for kind {kind:?}")]
    UnknownKind {
        /// The kind, empty if there is none.
        kind: String,
    },
    /// It is at a version that its converter does not know.
    #[error("API version {found:?} is not supported (supported: {known})")]
    UnknownVersion {
        /// The version that it is at.
        found: String,
        /// The versions of its kind.
        known: String,
    },
    /// It is wanted at a version that its converter does not know.
    #[error("desired API version {desired:?} is not supported (supported: {known})")]
    UnknownDesiredVersion {
        /// The version that was asked for.
        desired: String,
        /// The versions of its kind.
        known: String,
    },
    /// Metadata that the API server would not take back.
    #[error("{path} must be {expected}")]
    InvalidMetadata {
        /// The path in the object.
        path: String,
        /// The expected type.
        expected: &'static str,
    },
    /// Its versions do not fit into the annotations of one object.
    #[error(
        "the versions besides the highest need {bytes} bytes of annotations, and Kubernetes allows {limit}: \
         remove versions that nobody uses, or shorten templates"
    )]
    TooLarge {
        /// The size of all annotations together.
        bytes: usize,
        /// The limit of Kubernetes.
        limit: usize,
    },
    /// A bug of ours.
    #[error("internal error during conversion: {message}")]
    Internal {
        /// What the bug said.
        message: String,
    },
}
