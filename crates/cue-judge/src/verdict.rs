//! Compares two results of a program.

use crate::json;
use crate::oracle::Answer;

/// The comparison of our result with the oracle's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Equal values, or both fail.
    Agree,
    /// Different values.
    Differ,
    /// Only we fail.
    OursOnlyErrors,
    /// Only the oracle fails.
    OracleOnlyErrors,
    /// We do not support the program.
    Unsupported,
    /// We panicked.
    Panic,
    /// We timed out.
    Hang,
}

impl Verdict {
    /// All verdicts, in report order.
    pub const ALL: [Self; 7] = [
        Self::Agree,
        Self::Differ,
        Self::OursOnlyErrors,
        Self::OracleOnlyErrors,
        Self::Unsupported,
        Self::Panic,
        Self::Hang,
    ];

    /// Compares our result with the oracle's.
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

    /// Its name in reports.
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
