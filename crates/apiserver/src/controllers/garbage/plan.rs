//! The rules of garbage collection, as a pure function.

use super::super::ObjectKey;
use super::graph::{FOREGROUND, ORPHAN, Reference};

/// An object with its owners and dependents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) state: State,
    pub(super) finalizers: Vec<String>,
    pub(super) owners: Vec<(Reference, Standing)>,
    pub(super) dependents: Vec<Dependent>,
}

/// The deletion state of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is not being deleted.
    Alive,
    /// It waits for its dependents (`foregroundDeletion`).
    WaitsForDependents,
    /// Its dependents are orphaned first (`orphan`).
    OrphansDependents,
    /// It waits for other finalizers.
    Leaving,
}

/// The state of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It exists.
    Present,
    /// It exists and waits for its dependents to be deleted (`foregroundDeletion`).
    WaitsForDependents,
    /// It verifiably does not exist: its kind is served, and no object of that name has that UID.
    Absent,
    /// Unverifiable: its kind is not served, or it is namespaced while the dependent is cluster-scoped.
    Unknown,
}

/// An object with an owner reference to this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) object_key: ObjectKey,
    pub(super) blocks: bool,
    pub(super) waits_for_dependents: bool,
}

/// The action on an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Nothing.
    Keep,
    /// None, until the kinds of all owners are served.
    KeepUnverified,
    /// Remove the references to these owners, which are absent or waiting for their dependents.
    DropOwners(Vec<String>),
    /// Delete it.
    Delete {
        /// The propagation policy for its own dependents.
        propagation: &'static str,
        /// Clear `blockOwnerDeletion` first, to break a cycle of objects that wait for each other.
        unblock: bool,
    },
    /// Reconcile these dependents, which block its deletion.
    Press(Vec<ObjectKey>),
    /// Remove the owner reference from these dependents, then the finalizer `orphan`.
    Orphan(Vec<ObjectKey>),
    /// Remove this finalizer.
    RemoveFinalizer(&'static str),
}

/// Decides on the action for an object.
pub(super) fn plan(observed: &Observed) -> Plan {
    match observed.state {
        // It is being deleted already; the owner of its finalizer acts next.
        State::Leaving => Plan::Keep,
        State::OrphansDependents if observed.dependents.is_empty() => Plan::RemoveFinalizer(ORPHAN),
        State::OrphansDependents => Plan::Orphan(
            observed
                .dependents
                .iter()
                .map(|one| one.object_key.clone())
                .collect(),
        ),
        State::WaitsForDependents => press(&observed.dependents),
        State::Alive => collect(observed),
    }
}

fn press(dependents: &[Dependent]) -> Plan {
    let blocking = || dependents.iter().filter(|dependent| dependent.blocks);
    if blocking().next().is_none() {
        return Plan::RemoveFinalizer(FOREGROUND);
    }
    Plan::Press(
        blocking()
            .filter(|one| !one.waits_for_dependents)
            .map(|one| one.object_key.clone())
            .collect(),
    )
}

fn collect(observed: &Observed) -> Plan {
    let with = |standing| {
        observed
            .owners
            .iter()
            .filter(move |(_, actual)| *actual == standing)
    };
    if observed.owners.is_empty() {
        return Plan::Keep;
    }
    // Deleting by mistake cannot be undone: while the kind of an owner is not served, the object stays.
    if with(Standing::Unknown).next().is_some() {
        return Plan::KeepUnverified;
    }
    let waiting = with(Standing::WaitsForDependents).count();
    if with(Standing::Present).next().is_some() {
        let gone = observed
            .owners
            .iter()
            .filter(|(_, standing)| *standing != Standing::Present);
        let gone: Vec<String> = gone.map(|(owner, _)| owner.uid.clone()).collect();
        return if gone.is_empty() {
            Plan::Keep
        } else {
            Plan::DropOwners(gone)
        };
    }
    // The last living owner waits for its dependents, so this object is deleted in the foreground, too, and its own
    // dependents before it.
    if waiting > 0 && !observed.dependents.is_empty() {
        let unblock = observed
            .dependents
            .iter()
            .any(|dependent| dependent.waits_for_dependents);
        return Plan::Delete {
            propagation: "Foreground",
            unblock,
        };
    }
    let has = |finalizer: &str| observed.finalizers.iter().any(|one| one == finalizer);
    // A policy that was chosen before by finalizers is kept.
    let propagation = match () {
        () if has(ORPHAN) => "Orphan",
        () if has(FOREGROUND) => "Foreground",
        () => "Background",
    };
    Plan::Delete {
        propagation,
        unblock: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKGROUND: Plan = Plan::Delete {
        propagation: "Background",
        unblock: false,
    };

    fn object_key(key: &str) -> ObjectKey {
        ObjectKey {
            bucket: "/configmaps".into(),
            key: key.into(),
        }
    }

    fn owned(standings: &[Standing]) -> Observed {
        let reference = |index: usize| Reference {
            uid: format!("u{index}"),
            ..Reference::default()
        };
        let owners = standings
            .iter()
            .enumerate()
            .map(|(index, standing)| (reference(index), *standing))
            .collect();
        Observed {
            state: State::Alive,
            finalizers: vec![],
            owners,
            dependents: vec![],
        }
    }

    fn dependent(key: &str, blocks: bool, waits_for_dependents: bool) -> Dependent {
        Dependent {
            object_key: object_key(key),
            blocks,
            waits_for_dependents,
        }
    }

    #[test]
    fn an_object_goes_when_all_its_owners_are_gone() {
        use Standing::{Absent, Present, Unknown, WaitsForDependents};
        assert_eq!(plan(&owned(&[])), Plan::Keep);
        assert_eq!(plan(&owned(&[Absent])), BACKGROUND);
        assert_eq!(plan(&owned(&[Absent, WaitsForDependents])), BACKGROUND);
        assert_eq!(plan(&owned(&[Present, Present])), Plan::Keep);
        assert_eq!(
            plan(&owned(&[Present, Absent])),
            Plan::DropOwners(vec!["u1".into()])
        );
        assert_eq!(
            plan(&owned(&[WaitsForDependents, Present])),
            Plan::DropOwners(vec!["u0".into()])
        );
        assert_eq!(plan(&owned(&[Unknown])), Plan::KeepUnverified);
        assert_eq!(
            plan(&owned(&[Absent, Unknown])),
            Plan::KeepUnverified,
            "never on a guess"
        );
    }

    #[test]
    fn what_is_leaving_is_left_alone() {
        let observed = Observed {
            state: State::Leaving,
            ..owned(&[Standing::Absent])
        };
        assert_eq!(plan(&observed), Plan::Keep);
    }

    #[test]
    fn foreground_deletion_waits_for_those_who_block_only() {
        let with = |dependents| Observed {
            state: State::WaitsForDependents,
            dependents,
            ..owned(&[])
        };
        assert_eq!(plan(&with(vec![])), Plan::RemoveFinalizer(FOREGROUND));
        assert_eq!(
            plan(&with(vec![dependent("n/a", false, false)])),
            Plan::RemoveFinalizer(FOREGROUND)
        );
        let blocked = with(vec![dependent("n/a", true, false), dependent("n/b", true, true)]);
        assert_eq!(plan(&blocked), Plan::Press(vec![object_key("n/a")]));
    }

    #[test]
    fn foreground_deletion_goes_down_the_tree_and_breaks_circles() {
        let with = |dependents| Observed {
            dependents,
            ..owned(&[Standing::WaitsForDependents])
        };
        assert_eq!(
            plan(&with(vec![dependent("n/a", true, false)])),
            Plan::Delete {
                propagation: "Foreground",
                unblock: false
            }
        );
        assert_eq!(
            plan(&with(vec![dependent("n/a", true, true)])),
            Plan::Delete {
                propagation: "Foreground",
                unblock: true
            }
        );
    }

    #[test]
    fn orphans_are_let_go_before_the_owner_goes() {
        let with = |dependents| Observed {
            state: State::OrphansDependents,
            dependents,
            ..owned(&[])
        };
        assert_eq!(
            plan(&with(vec![dependent("n/a", true, false)])),
            Plan::Orphan(vec![object_key("n/a")])
        );
        assert_eq!(plan(&with(vec![])), Plan::RemoveFinalizer(ORPHAN));
    }

    #[test]
    fn an_existing_finalizer_says_how_an_object_wants_to_be_deleted() {
        let mut observed = owned(&[Standing::Absent]);
        observed.finalizers = vec![ORPHAN.to_owned()];
        assert_eq!(
            plan(&observed),
            Plan::Delete {
                propagation: "Orphan",
                unblock: false
            }
        );
    }
}
