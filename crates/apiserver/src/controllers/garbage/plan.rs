//! The rules of garbage collection.

use super::super::Place;
use super::graph::{FOREGROUND, ORPHAN, Reference};

/// An object, its owners and its dependents, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) state: State,
    pub(super) finalizers: Vec<String>,
    pub(super) owners: Vec<(Reference, Standing)>,
    pub(super) dependents: Vec<Dependent>,
}

/// How far an object's deletion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is not being deleted.
    Alive,
    /// It waits for its dependents (`foregroundDeletion`).
    WaitsForDependents,
    /// Its dependents are to be let go first (`orphan`).
    OrphansDependents,
    /// It waits for somebody else's finalizer.
    Leaving,
}

/// What became of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Present,
    /// It is there and waits for its dependents to go.
    WaitsForDependents,
    /// It is certainly not there: its kind is served, and no object of that name has that UID.
    Absent,
    /// Nobody can tell: its kind is not served, or it cannot be the owner of an object without a namespace.
    Unknown,
}

/// An object that names this one as an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) place: Place,
    pub(super) blocks: bool,
    pub(super) waits_for_dependents: bool,
}

/// What to do about an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Nothing.
    Keep,
    /// Nothing, until the kinds of all owners are known.
    KeepUnverified,
    /// Remove the references to these owners, which are gone or going.
    DropOwners(Vec<String>),
    /// Delete it.
    Delete {
        /// What becomes of its own dependents.
        propagation: &'static str,
        /// Whether it must stop holding its owners first, because owners and dependents wait in a circle.
        unblock: bool,
    },
    /// Have a look at these dependents, which hold it.
    Press(Vec<Place>),
    /// Let these dependents go, then remove the finalizer.
    Orphan(Vec<Place>),
    /// Remove a finalizer whose work is done.
    RemoveFinalizer(&'static str),
}

/// Decides what becomes of an object.
pub(super) fn plan(observed: &Observed) -> Plan {
    match observed.state {
        State::Leaving => Plan::Keep,
        State::OrphansDependents if observed.dependents.is_empty() => Plan::RemoveFinalizer(ORPHAN),
        State::OrphansDependents => {
            Plan::Orphan(observed.dependents.iter().map(|one| one.place.clone()).collect())
        }
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
            .map(|one| one.place.clone())
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

    fn place(key: &str) -> Place {
        Place {
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
            place: place(key),
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
        assert_eq!(plan(&blocked), Plan::Press(vec![place("n/a")]));
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
            Plan::Orphan(vec![place("n/a")])
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
