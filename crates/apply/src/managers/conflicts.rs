//! Conflicts of server-side apply.

use std::fmt;

use thiserror::Error;

use super::entry::ManagerId;
use crate::fieldpath::{Path, Set};

/// The reason of conflict causes.
pub const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns it.
    pub manager: ManagerId,
    /// The path of the field.
    pub path: Path,
}

/// The conflicts of an apply with other managers.
///
/// The text is the message of upstream's `Status`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Conflicts(pub Vec<Conflict>);

/// One entry of `details.causes` of a `Status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Always [`FIELD_MANAGER_CONFLICT`].
    pub reason: &'static str,
    /// The conflicting manager.
    pub message: String,
    /// The path of the field.
    pub field: String,
}

impl Conflicts {
    /// The causes, for `details.causes`.
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |conflict: &Conflict| Cause {
            reason: FIELD_MANAGER_CONFLICT,
            message: format!("conflict with {}", conflict.manager),
            field: conflict.path.to_string(),
        };
        self.0.iter().map(cause).collect()
    }

    /// All fields in conflict.
    pub(super) fn fields(&self) -> Set {
        Set::of(self.0.iter().map(|conflict| conflict.path.clone()))
    }

    /// Sorted by manager, so that the message is always the same.
    pub(super) fn of(found: Vec<(ManagerId, Set)>) -> Self {
        let mut found = found;
        found.sort_by_cached_key(|(manager, _)| manager.sort_key());
        let conflicts = found.into_iter().flat_map(|(manager, fields)| {
            fields.paths().into_iter().map(move |path| Conflict {
                manager: manager.clone(),
                path,
            })
        });
        Self(conflicts.collect())
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {}: {}",
                only.manager, only.path
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut previous: Option<&ManagerId> = None;
        for Conflict { manager, path } in &self.0 {
            if previous != Some(manager) {
                let newline = if previous.is_some() { "\n" } else { "" };
                write!(f, "{newline}conflicts with {manager}:")?;
                previous = Some(manager);
            }
            write!(f, "\n- {path}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_upstreams() {
        let fields = |names: &[&str]| Set::of(names.iter().map(|name| Path::fields(["spec", *name])));
        let kubectl = ManagerId::updater("kubectl-client-side-apply", "apps/v1", "");
        let one = Conflicts::of(vec![(kubectl.clone(), fields(&["replicas"]))]);
        assert_eq!(
            one.to_string(),
            r#"Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas"#
        );
        assert_eq!(
            one.causes(),
            [Cause {
                reason: "FieldManagerConflict",
                message: r#"conflict with "kubectl-client-side-apply" using apps/v1"#.to_owned(),
                field: ".spec.replicas".to_owned(),
            }]
        );
        let many = Conflicts::of(vec![
            (kubectl, fields(&["replicas"])),
            (ManagerId::applier("hpa", ""), fields(&["replicas", "paused"])),
        ]);
        assert_eq!(
            many.to_string(),
            "Apply failed with 3 conflicts: conflicts with \"hpa\":\n- .spec.paused\n- .spec.replicas\nconflicts with \"kubectl-client-side-apply\" using apps/v1:\n- .spec.replicas"
        );
    }
}
