//! The store against a naive model: a map, and a list of all changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_apiserver::store::{Draft, EventKind, Expect, History, Store, Write, WriteError};
use proptest::prelude::*;
use serde_json::json;

#[derive(Debug, Clone)]
enum Step {
    Put { key: u8, guess: Guess },
    Delete { key: u8, guess: Guess },
    ListAt { back: u64 },
    WatchFrom { back: u64 },
}

/// The precondition that a writer uses.
#[derive(Debug, Clone, Copy)]
enum Guess {
    Right,
    Absent,
    Stale,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let guess = prop_oneof![6 => Just(Guess::Right), 1 => Just(Guess::Absent), 1 => Just(Guess::Stale)];
    let step = prop_oneof![
        5 => (0..6_u8, guess.clone()).prop_map(|(key, guess)| Step::Put { key, guess }),
        2 => (0..6_u8, guess).prop_map(|(key, guess)| Step::Delete { key, guess }),
        1 => (0..30_u64).prop_map(|back| Step::ListAt { back }),
        1 => (0..30_u64).prop_map(|back| Step::WatchFrom { back }),
    ];
    prop::collection::vec(step, 1..80)
}

/// The model: all states of the store.
#[derive(Default)]
struct Model {
    now: BTreeMap<String, u64>,
    states: BTreeMap<u64, BTreeMap<String, u64>>,
    events: Vec<(u64, String, EventKind)>,
}

impl Model {
    fn at(&self, revision: u64) -> BTreeMap<String, u64> {
        self.states
            .range(..=revision)
            .next_back()
            .map(|(_, state)| state.clone())
            .unwrap_or_default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_store_is_a_map_with_a_memory(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(steps))?;
    }
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let history = History {
        events: 20,
        bytes: 1 << 20,
    };
    let store = Store::in_memory(history);
    let name: Arc<str> = "/things".into();
    let bucket = store.bucket(&name);
    let mut model = Model::default();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Put { key, guess } | Step::Delete { key, guess } => {
                let key = format!("k{key}");
                let current = model.now.get(&key).copied();
                let expect = match (guess, current) {
                    (Guess::Right, Some(revision)) => Expect::Revision(revision),
                    (Guess::Stale, Some(revision)) => Expect::Revision(revision + 1000),
                    (Guess::Stale, None) => Expect::Revision(7),
                    (Guess::Absent, _) | (Guess::Right, None) => Expect::Absent,
                };
                let object =
                    json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": key}, "number": number});
                // Deleting what is not there is asked for as what it is: a wish for a revision.
                let deletes = matches!(step, Step::Delete { .. });
                if deletes && expect == Expect::Absent {
                    continue;
                }
                let put = (!deletes).then(|| Draft::new(&object));
                let write = Write {
                    bucket: name.clone(),
                    key: key.as_str().into(),
                    expect,
                    put,
                };
                let answer = store.write(write).await;
                match (expect, current) {
                    (Expect::Absent, Some(_)) => prop_assert!(matches!(answer, Err(WriteError::Exists))),
                    (Expect::Revision(_), None) => prop_assert!(matches!(answer, Err(WriteError::Missing))),
                    (Expect::Revision(wanted), Some(is)) if wanted != is => {
                        prop_assert!(matches!(answer, Err(WriteError::Changed)));
                    }
                    _ => {
                        let revision = answer.unwrap().revision;
                        prop_assert_eq!(revision, store.revision(), "one counter for all");
                        let kind = if deletes {
                            EventKind::Delete
                        } else {
                            EventKind::Put
                        };
                        match kind {
                            EventKind::Put => model.now.insert(key.clone(), revision),
                            EventKind::Delete => model.now.remove(&key),
                        };
                        model.states.insert(revision, model.now.clone());
                        model.events.push((revision, key, kind));
                    }
                }
            }
            Step::ListAt { back } => {
                let revision = store.revision().saturating_sub(back);
                if let Ok(entries) = bucket.list_at(revision, "", "") {
                    let found: BTreeMap<String, u64> = entries
                        .iter()
                        .map(|entry| (entry.name().to_owned(), entry.revision))
                        .collect();
                    prop_assert_eq!(found, model.at(revision));
                } else {
                    prop_assert!(
                        model.events.iter().filter(|(at, ..)| *at > revision).count() >= history.events
                    );
                }
            }
            Step::WatchFrom { back } => {
                let revision = store.revision().saturating_sub(back);
                if let Ok(events) = bucket.events_after(revision, 1000) {
                    let found: Vec<_> = events
                        .iter()
                        .map(|event| (event.entry.revision, event.entry.name().to_owned(), event.kind))
                        .collect();
                    let expected: Vec<_> = model
                        .events
                        .iter()
                        .filter(|(at, ..)| *at > revision)
                        .cloned()
                        .collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
    let found: BTreeMap<String, u64> = bucket
        .list("")
        .0
        .iter()
        .map(|entry| (entry.name().to_owned(), entry.revision))
        .collect();
    prop_assert_eq!(found, model.now);
    Ok(())
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    let name: Arc<str> = "/things".into();
    let object = |number: u64| {
        Draft::new(
            &json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "labels": {"n": number.to_string()}}}),
        )
    };
    let (before, last) = {
        let store = Store::open(&path, History::default()).unwrap();
        let mut expect = Expect::Absent;
        for number in 0..10 {
            let write = Write {
                bucket: name.clone(),
                key: "a".into(),
                expect,
                put: Some(object(number)),
            };
            expect = Expect::Revision(store.write(write).await.unwrap().revision);
        }
        let gone = Write {
            bucket: name.clone(),
            key: "b".into(),
            expect: Expect::Absent,
            put: Some(object(0)),
        };
        let gone = store.write(gone).await.unwrap().revision;
        let delete = Write {
            bucket: name.clone(),
            key: "b".into(),
            expect: Expect::Revision(gone),
            put: None,
        };
        store.write(delete).await.unwrap();
        assert!(matches!(
            Store::open(&path, History::default()),
            Err(cambium_apiserver::store::OpenError::InUse)
        ));
        let events = store.bucket(&name).events_after(0, 100).unwrap();
        (events, store.revision())
    };
    let store = reopen(&path, History::default()).await;
    assert_eq!(store.revision(), last);
    let after = store.bucket(&name).events_after(0, 100).unwrap();
    let tell = |events: &[Arc<cambium_apiserver::store::Event>]| -> Vec<_> {
        let previous =
            |event: &cambium_apiserver::store::Event| event.previous.as_ref().map(|entry| entry.revision);
        events
            .iter()
            .map(|event| {
                (
                    event.entry.revision,
                    event.kind,
                    event.entry.value(),
                    previous(event),
                )
            })
            .collect()
    };
    assert_eq!(tell(&after), tell(&before), "watches resume where they were");
    assert_eq!(store.bucket(&name).get("a").unwrap().label("n"), Some("9"));
}

/// Reopens a store; its writer thread releases the file a moment after the store is dropped.
async fn reopen(path: &std::path::Path, history: History) -> Store {
    for _ in 0..1000 {
        match Store::open(path, history) {
            Ok(store) => return store,
            Err(cambium_apiserver::store::OpenError::InUse) => {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the store is never let go of")
}

const SMALL: History = History {
    events: 8192,
    bytes: 2 << 20,
};

/// A write of an object of 200 kB.
fn large(key: &str, expect: Expect, number: usize) -> Write {
    let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": key}, "number": number,
        "data": "x".repeat(200_000)});
    Write {
        bucket: "/things".into(),
        key: key.into(),
        expect,
        put: Some(Draft::new(&object)),
    }
}

fn megabytes(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).unwrap().len() >> 20
}

#[tokio::test]
async fn the_log_is_bounded_by_bytes_on_disk_and_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    let name: Arc<str> = "/things".into();
    let store = Store::open(&path, SMALL).unwrap();
    let mut expect = Expect::Absent;
    for number in 0..200 {
        let written = store.write(large("a", expect, number)).await.unwrap();
        expect = Expect::Revision(written.revision);
    }
    let newest = store.revision();
    assert!(megabytes(&path) < 20, "{} MB", megabytes(&path));
    drop(store);
    let store = reopen(&path, SMALL).await;
    let bucket = store.bucket(&name);
    assert_eq!(store.revision(), newest);
    assert_eq!(bucket.get("a").unwrap().value()["number"], 199);
    let oldest = bucket.events_after(0, 1000).unwrap_err().oldest;
    let events = bucket.events_after(oldest, 1000).unwrap();
    let bytes: usize = events
        .iter()
        .filter_map(|event| Some(event.previous.as_ref()?.json.len()))
        .sum();
    assert!((1..=SMALL.bytes).contains(&bytes), "{bytes} bytes");
    assert_eq!(events.last().unwrap().entry.revision, newest);
    assert_eq!(
        events.len() as u64,
        newest - oldest,
        "none is missing after the oldest"
    );
}

#[tokio::test]
async fn a_log_that_was_too_large_is_shortened_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    let store = Store::open(&path, History::default()).unwrap();
    let mut expect = Expect::Absent;
    for number in 0..100 {
        let written = store.write(large("a", expect, number)).await.unwrap();
        expect = Expect::Revision(written.revision);
    }
    let newest = store.revision();
    drop(store);
    let before = megabytes(&path);
    let store = reopen(&path, SMALL).await;
    let bucket = store.bucket(&Arc::from("/things"));
    assert_eq!(store.revision(), newest);
    assert_eq!(bucket.get("a").unwrap().value()["number"], 99);
    assert!(bucket.events_after(newest - 50, 1000).is_err());
    assert_eq!(bucket.events_after(newest - 5, 1000).unwrap().len(), 5);
    assert!(
        megabytes(&path) < before / 2,
        "{before} MB, then {} MB",
        megabytes(&path)
    );
}

#[tokio::test]
async fn space_is_given_back_while_running() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    let store = Store::open(&path, SMALL).unwrap();
    let keys: Vec<String> = (0..200).map(|number| format!("k{number}")).collect();
    let creations = keys.iter().map(|key| large(key, Expect::Absent, 0)).collect();
    let created: Vec<_> = store
        .write_all(creations)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let before = megabytes(&path);
    assert!(before >= 38, "{before} MB");
    let deletions = created.iter().map(|entry| Write {
        bucket: "/things".into(),
        key: entry.key.clone(),
        expect: Expect::Revision(entry.revision),
        put: None,
    });
    for answer in store.write_all(deletions.collect()).await {
        answer.unwrap();
    }
    assert!(megabytes(&path) < 20, "{before} MB, then {} MB", megabytes(&path));
    store.write(large("after", Expect::Absent, 1)).await.unwrap();
    drop(store);
    let store = reopen(&path, SMALL).await;
    let (entries, _) = store.bucket(&Arc::from("/things")).list("");
    assert_eq!(entries.len(), 1);
}
