//! Changes, and their effects on three audiences.

use std::fmt;

use cambium_lineage::Bump;
use serde::Serialize;

use crate::rules::Rule;
use crate::witness::Witness;

/// One change between two contracts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The rule that judges it.
    pub rule: &'static Rule,
    /// The API version that it is in; empty if it is about the kind as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The path of the field, such as `.spec.items[].name`, or the field of the CRD, such as `spec.scope`.
    pub path: String,
    /// The new path of a field that was renamed or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The difference in a few words, such as `string -> integer`.
    pub what: String,
    /// Its effects.
    #[serde(flatten)]
    pub effects: Effects,
    /// The bump that it demands.
    pub bump: Bump,
    /// An object that shows a break; none if there is no break, or if none was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// The effects of a change on each audience.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Effects {
    /// On clients that create and update objects.
    pub writers: Effect,
    /// On objects that are stored already.
    pub stored: Effect,
    /// On clients that read objects.
    pub readers: Effect,
}

/// The effect of a change on one audience, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// None.
    Ok,
    /// Everything keeps working, and something new can be used.
    Gains,
    /// A value appears that nobody wrote: a default, on read.
    Appears,
    /// A reader may rely on what is no longer promised.
    Maybe,
    /// What is stored stays valid while it is unchanged (ratcheting).
    Ratcheted,
    /// The value changes its meaning without an error.
    Changes,
    /// The next write of what is around it is refused.
    Frozen,
    /// Data is dropped.
    Lost,
    /// Requests are refused, or objects cannot be read.
    Breaks,
    /// It cannot be told.
    Unknown,
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Ok => "ok",
            Self::Gains => "gains",
            Self::Appears => "appears",
            Self::Maybe => "maybe",
            Self::Ratcheted => "ratcheted",
            Self::Changes => "changes",
            Self::Frozen => "frozen",
            Self::Lost => "lost",
            Self::Breaks => "breaks",
            Self::Unknown => "unknown",
        })
    }
}

/// The part of an object that a field is in, which decides who writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Users write, controllers read.
    Spec,
    /// The controller writes, users read.
    Status,
}

impl Place {
    /// The bump that effects demand here. The controller is released together with its CRD, so that it may be told to write something else; those who
    /// are outside may not.
    pub(crate) fn bump(self, effects: Effects) -> Bump {
        let (outside, writes) = match self {
            Self::Spec => (effects.writers.max(effects.readers), effects.writers),
            Self::Status => (effects.readers, effects.writers),
        };
        // The controller writes the status of every object anew; what is lost is lost all the same.
        let (lost, may_rely) = match self {
            Self::Spec => (effects.stored >= Effect::Changes, false),
            Self::Status => (effects.stored >= Effect::Lost, effects.readers == Effect::Maybe),
        };
        if outside >= Effect::Changes || lost || may_rely {
            Bump::Major
        } else if outside > Effect::Ok || effects.stored > Effect::Ok || writes > Effect::Ok {
            Bump::Minor
        } else {
            Bump::Patch
        }
    }
}

impl Change {
    /// Whether somebody has to do something because of it.
    pub fn is_break(&self) -> bool {
        self.bump == Bump::Major
    }
}
