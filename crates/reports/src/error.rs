//! Errors of reports.

use cambium_definitions::Refused;

/// The reasons that a report cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The subject does not exist; the text names those that do.
    #[error("{0}")]
    NotFound(String),
    /// It can mean several things, or nothing; the text says how to ask.
    #[error("{0}")]
    Unclear(String),
    /// The user may not read something that the answer depends on.
    #[error("{0}")]
    Forbidden(String),
    /// The rules of definitions and applications refuse it.
    #[error("{}", messages(.0))]
    Refused(Vec<Refused>),
}

impl From<Vec<Refused>> for Unanswered {
    fn from(refused: Vec<Refused>) -> Self {
        Self::Refused(refused)
    }
}

fn messages(refused: &[Refused]) -> String {
    let messages: Vec<&str> = refused.iter().map(|one| one.message.as_str()).collect();
    messages.join("\n")
}
