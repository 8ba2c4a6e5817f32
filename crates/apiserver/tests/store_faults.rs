//! The store on bad days: crashes at every sync, torn writes, a full disk, rotten bits.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;

use std::sync::Arc;

use cambium_apiserver::store::{Draft, Expect, History, OpenError, Store, Write, WriteError};
use disk::{Crash, Disk};
use serde_json::json;

fn put(key: &str, expect: Expect, value: u64) -> Write {
    let object =
        json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": key, "uid": key}, "value": value});
    Write {
        bucket: "/things".into(),
        key: key.into(),
        expect,
        put: Some(Draft::new(&object)),
    }
}

fn open(disk: &Disk) -> Result<Store, OpenError> {
    Store::on_backend(disk.opener(), History::default())
}

fn values(store: &Store) -> Vec<(String, u64)> {
    let entries = store.bucket(&Arc::from("/things")).list("").0;
    entries
        .iter()
        .map(|entry| (entry.name().to_owned(), entry.value()["value"].as_u64().unwrap()))
        .collect()
}

/// Writes until the disk gives up; how many writes were acknowledged.
async fn write_until_crash(store: &Store, most: u64) -> u64 {
    let mut acknowledged = 0;
    for value in 0..most {
        // Two keys in turn, changed again and again, and a third that comes and goes.
        let key = ["a", "b"][usize::try_from(value % 2).unwrap()];
        let current = store.bucket(&Arc::from("/things")).get(key);
        let expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.revision));
        match store.write(put(key, expect, value)).await {
            Ok(_) => acknowledged += 1,
            Err(_) => break,
        }
    }
    acknowledged
}

/// What the store must hold after exactly `count` of those writes.
fn expected(count: u64) -> Vec<(String, u64)> {
    let last = |parity: u64| (0..count).rev().find(|value| value % 2 == parity);
    [("a", last(0)), ("b", last(1))]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect()
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_crash_at_every_sync() {
    const WRITES: u64 = 12;
    let clean = Disk::default();
    write_until_crash(&open(&clean).unwrap(), WRITES).await;
    let syncs = clean.syncs();
    assert!(
        syncs > usize::try_from(WRITES).unwrap(),
        "every write is synced: {syncs}"
    );
    for crash in [Crash::LosesEverything, Crash::KeepsSome, Crash::TearsTheLast] {
        for at in 0..syncs {
            let disk = Disk::crashing(at, crash);
            // A store that was never there has nothing to lose: files are made aside and moved into place.
            let Ok(store) = open(&disk) else { continue };
            let acknowledged = write_until_crash(&store, WRITES).await;
            let survivor = disk.after_the_crash();
            let store = open(&survivor).unwrap_or_else(|error| panic!("{crash:?} at sync {at}: {error}"));
            let found = values(&store);
            // The write that was under way may or may not have made it; nothing else is up for debate.
            let possible = [expected(acknowledged), expected(acknowledged + 1)];
            assert!(
                possible.contains(&found),
                "{crash:?} at sync {at}: {acknowledged} acknowledged, found {found:?}"
            );
            let next = store.write(put("after", Expect::Absent, 1)).await;
            assert!(
                next.is_ok(),
                "{crash:?} at sync {at}: a store that opens can be written: {next:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_recovers() {
    let disk = Disk::default();
    let store = open(&disk).unwrap();
    store.write(put("a", Expect::Absent, 1)).await.unwrap();
    disk.fill();
    let refused = store.write(put("b", Expect::Absent, 2)).await;
    assert!(matches!(refused, Err(WriteError::Storage(_))), "{refused:?}");
    assert!(!store.is_healthy());
    assert_eq!(values(&store), [("a".to_owned(), 1)], "reads go on");
    disk.empty();
    store.write(put("c", Expect::Absent, 3)).await.unwrap();
    assert!(store.is_healthy());
    drop(store);
    let again = values(&open(&disk).unwrap());
    assert!(
        again.contains(&("a".to_owned(), 1)) && again.contains(&("c".to_owned(), 3)),
        "{again:?}"
    );
}

#[tokio::test]
async fn damage_is_refused_never_read_as_good() {
    let disk = Disk::default();
    let store = open(&disk).unwrap();
    for index in 0..50 {
        store
            .write(put(&format!("key-{index}"), Expect::Absent, index))
            .await
            .unwrap();
    }
    let good = values(&store);
    drop(store);
    let bytes = disk.bytes();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 400 + 1) {
        let mut rotten = bytes.clone();
        rotten[at] ^= 0x55;
        match open(&Disk::holding(rotten)) {
            // Space that nobody uses may rot in peace.
            Ok(store) => assert_eq!(values(&store), good, "a flipped bit at {at} went unnoticed"),
            Err(error) => {
                refused += 1;
                assert!(!matches!(error, OpenError::InUse), "{error}");
            }
        }
    }
    assert!(refused > 0, "none of the flipped bits mattered");
    for length in [0, 1, 100, bytes.len() / 2, bytes.len() - 1] {
        let short = Disk::holding(bytes[..length].to_vec());
        if let Ok(store) = open(&short) {
            assert!(
                length == 0 && values(&store).is_empty(),
                "a file cut to {length} bytes was read as good"
            );
        }
    }
}
