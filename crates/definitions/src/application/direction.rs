//! Whether a component was upgraded or downgraded.

use cambium_api::names::reason;
use cambium_api::v1beta1::RunningRevision;
use cambium_lineage::Version;

/// Which way a component moved from one revision to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To a higher version or number; or to a revision that has neither in common with the one before.
    Upgrade,
    /// To a lower version or number.
    Downgrade,
}

impl Direction {
    /// Which way it is from one revision to another: by their versions, or else by the numbers in their names.
    pub fn of(from: &RunningRevision, to: &RunningRevision) -> Self {
        let version = |of: &RunningRevision| Version::declared(of.version.as_deref()?).ok();
        let is_down = match (version(from), version(to)) {
            (Some(from), Some(to)) => to < from,
            (None, None) => match (numbered(&from.revision), numbered(&to.revision)) {
                (Some((definition, from)), Some((same, to))) => same == definition && to < from,
                _ => false,
            },
            _ => false,
        };
        match is_down {
            true => Self::Downgrade,
            false => Self::Upgrade,
        }
    }

    /// The reason of the event that tells of it.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Upgrade => reason::UPGRADED,
            Self::Downgrade => reason::DOWNGRADED,
        }
    }
}

/// The definition and the number in the name of a revision, as in `web-v3`.
fn numbered(revision: &str) -> Option<(&str, u64)> {
    let (definition, number) = revision.rsplit_once("-v")?;
    Some((definition, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_numbers_say_which_way_it_is() {
        let at = |revision: &str, version: Option<&str>| RunningRevision {
            revision: revision.to_owned(),
            version: version.map(str::to_owned),
            ..RunningRevision::default()
        };
        let versioned = |version: &str| at(&format!("web-v{version}"), Some(version));
        let numbered = |name: &str| at(name, None);
        for (from, to, expected) in [
            (versioned("1.2.3"), versioned("1.10.0"), Direction::Upgrade),
            (versioned("1.10.0"), versioned("1.2.3"), Direction::Downgrade),
            (versioned("1.0.0"), versioned("1.0.0-rc.1"), Direction::Downgrade),
            (numbered("web-v2"), numbered("web-v10"), Direction::Upgrade),
            (numbered("web-v10"), numbered("web-v2"), Direction::Downgrade),
            (numbered("web-v2"), numbered("other-v1"), Direction::Upgrade),
            (numbered("web-v2"), numbered("web-vblue"), Direction::Upgrade),
            (numbered("web-v2"), versioned("1.0.0"), Direction::Upgrade),
        ] {
            assert_eq!(Direction::of(&from, &to), expected, "{from:?} {to:?}");
        }
    }
}
