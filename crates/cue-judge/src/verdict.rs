//! Two answers to one program.

use crate::json;
use crate::oracle::Answer;

/// How our answer stands to the oracle's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The same value, or both refuse.
    Agree,
    /// A value each, and not the same.
    Differ,
    /// We refuse what the oracle gives a value to.
    OursOnlyErrors,
    /// We give a value to what the oracle refuses.
    OracleOnlyErrors,
    /// We say that we do not do this.
    Unsupported,
    /// We crashed.
    Panic,
    /// We did not end.
    Hang,
}

impl Verdict {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 7] = [
        Self::Agree,
        Self::Differ,
        Self::OursOnlyErrors,
        Self::OracleOnlyErrors,
        Self::Unsupported,
        Self::Panic,
        Self::Hang,
    ];

    /// Compares our answer with the oracle's.
    pub fn of(ours: &Answer, oracle: &Answer) -> Self {
        match (ours, oracle) {
            (Answer::Panic(_), _) => Self::Panic,
            (Answer::Hang, _) => Self::Hang,
            (Answer::Unsupported(_), _) => Self::Unsupported,
            // Nothing can be said about what the oracle itself falls over.
            (_, Answer::Panic(_) | Answer::Hang) => Self::Agree,
            (Answer::Value(ours), Answer::Value(oracle)) if json::same(ours, oracle) => Self::Agree,
            (Answer::Value(_), Answer::Value(_)) => Self::Differ,
            (Answer::Value(_), _) => Self::OracleOnlyErrors,
            (_, Answer::Value(_)) => Self::OursOnlyErrors,
            _ => Self::Agree,
        }
    }

    /// What a report calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Differ => "differ",
            Self::OursOnlyErrors => "ours only errors",
            Self::OracleOnlyErrors => "Go only errors",
            Self::Unsupported => "not supported",
            Self::Panic => "panic",
            Self::Hang => "hang",
        }
    }
}
