//! Limits the number of Update managers of an object.

use std::collections::BTreeMap;

use super::entry::{ManagerId, Operation};
use super::managed_fields::ManagedFields;
use super::timestamp::Timestamp;

const MAX_UPDATERS: usize = 10;
const OLD_UPDATES: &str = "ancient-changes";

/// Merges the oldest Update managers of each version into one until the limit is met.
pub(super) fn cap_updaters(managers: &mut ManagedFields) {
    let updaters = managers
        .entries
        .iter()
        .filter(|entry| entry.id.operation == Operation::Update);
    let mut updaters: Vec<_> = updaters
        .map(|entry| (entry.time.map_or(0, Timestamp::seconds), entry.id.clone()))
        .collect();
    if updaters.len() <= MAX_UPDATERS {
        return;
    }
    updaters.sort_by_cached_key(|(seconds, id)| (*seconds, id.sort_key()));
    let mut count = updaters.len();
    let mut first_of_version: BTreeMap<String, ManagerId> = BTreeMap::new();
    for (_, id) in updaters {
        if count <= MAX_UPDATERS {
            return;
        }
        // Per API version, as fields of different versions cannot be merged into one set.
        let bucket = ManagerId::updater(OLD_UPDATES, &id.api_version, "");
        let Some(first) = first_of_version.get(&id.api_version).cloned() else {
            first_of_version.insert(id.api_version.clone(), id);
            continue;
        };
        let Some(mut newest) = managers.remove(&id) else {
            continue;
        };
        // An existing bucket is newer than the first entry, which then stays separate.
        let first_stays = first != bucket && id != bucket && managers.get(&bucket).is_some();
        let older = if first_stays {
            None
        } else {
            managers.remove(&first)
        };
        for older in older.into_iter().chain(managers.remove(&bucket)) {
            newest.fields = newest.fields.union(&older.fields);
        }
        newest.id = bucket;
        managers.entries.push(newest);
        count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::fieldpath::{Path, Set};
    use crate::managers::Entry;

    use super::*;

    fn updater(name: &str, version: &str, second: u32) -> Entry {
        Entry {
            id: ManagerId::updater(name, version, ""),
            api_version: version.to_owned(),
            time: Some(Timestamp::parse(&format!("2024-01-01T00:00:{second:02}Z")).unwrap()),
            fields: Set::of([Path::fields([name])]),
        }
    }

    fn names(managers: &ManagedFields) -> Vec<String> {
        let mut names: Vec<_> = managers
            .entries
            .iter()
            .map(|entry| {
                format!(
                    "{}@{}: {}",
                    entry.id.manager,
                    entry.api_version,
                    entry.fields.to_string().replace('\n', " ")
                )
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn ten_updaters_stay() {
        let entries: Vec<_> = (0..10).map(|n| updater(&format!("m{n}"), "v1", n)).collect();
        let mut managers = ManagedFields {
            entries: entries.clone(),
        };
        managers.entries.push(Entry {
            id: ManagerId::applier("applier", ""),
            ..updater("applier", "v1", 59)
        });
        cap_updaters(&mut managers);
        assert_eq!(managers.entries.len(), 11);
        assert_eq!(managers.entries[..10], entries[..]);
    }

    #[test]
    fn the_oldest_of_a_version_become_one() {
        let mut managers = ManagedFields {
            entries: (0..12)
                .rev()
                .map(|n| updater(&format!("m{n:02}"), "v1", n))
                .collect(),
        };
        cap_updaters(&mut managers);
        assert_eq!(managers.entries.len(), 10);
        assert_eq!(names(&managers)[0], "ancient-changes@v1: .m00 .m01 .m02");
        let bucket = managers
            .get(&ManagerId::updater("ancient-changes", "v1", ""))
            .unwrap();
        assert_eq!(
            bucket.time,
            Some(Timestamp::parse("2024-01-01T00:00:02Z").unwrap())
        );

        managers.entries.push(updater("m12", "v1", 12));
        cap_updaters(&mut managers);
        assert_eq!(names(&managers)[0], "ancient-changes@v1: .m00 .m01 .m02 .m03");
        assert_eq!(managers.entries.len(), 10);
    }

    #[test]
    fn versions_are_not_mixed() {
        let mut managers = ManagedFields {
            entries: (0..11)
                .map(|n| updater(&format!("m{n:02}"), if n % 2 == 0 { "v1" } else { "v2" }, n))
                .collect(),
        };
        cap_updaters(&mut managers);
        assert_eq!(
            names(&managers)[..2],
            ["ancient-changes@v1: .m00 .m02", "m01@v2: .m01"]
        );
    }

    #[test]
    fn a_bucket_that_ties_with_another_loses_nothing() {
        let mut managers = ManagedFields {
            entries: (0..10)
                .map(|n| updater(&format!("m{n:02}"), "v1", 5 + n))
                .collect(),
        };
        managers.entries.push(updater("a", "v1", 0));
        managers.entries.push(updater("ancient-changes", "v1", 0));
        cap_updaters(&mut managers);
        assert_eq!(managers.entries.len(), 10);
        assert_eq!(
            names(&managers)[0],
            "ancient-changes@v1: .a .ancient-changes .m00"
        );
    }
}
