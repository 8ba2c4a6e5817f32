//! The store under faults: crashes at every sync, torn writes, a full disk, bit rot.

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

/// Writes until the disk fails; returns the number of acknowledged writes.
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

/// The expected contents after exactly `count` of those writes.
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

/// A small temporary file system. Needs root.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(megabytes: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let size = format!("size={megabytes}m");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "cambium-test"])
            .arg(directory.path())
            .stderr(std::process::Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(directory))
    }

    /// Fills the remaining space.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.0.path().join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn make_space(&self) {
        for file in ["filler", "others"] {
            std::fs::remove_file(self.0.path().join(file)).unwrap();
        }
    }

    async fn open(&self) -> Store {
        for _ in 0..1000 {
            match Store::open(&self.0.path().join("store.redb"), History::default()) {
                Ok(store) => return store,
                // The writer's thread lets go of the file a moment after the store is dropped.
                Err(OpenError::InUse) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the store is never let go of")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

fn large(key: &str, expect: Expect) -> Write {
    let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": key, "uid": key}, "value": 1,
        "data": "x".repeat(100_000)});
    Write {
        bucket: "/things".into(),
        key: key.into(),
        expect,
        put: Some(Draft::new(&object)),
    }
}

fn deletion(entry: &cambium_apiserver::store::Entry) -> Write {
    Write {
        bucket: "/things".into(),
        key: entry.key.clone(),
        expect: Expect::Revision(entry.revision),
        put: None,
    }
}

#[tokio::test]
async fn on_a_full_disk_deletions_and_restarts_work() {
    let Some(disk) = SmallDisk::mount(32) else {
        eprintln!("skipped: mounting a tmpfs is not permitted");
        return;
    };
    std::fs::write(disk.0.path().join("others"), vec![1; 8 << 20]).unwrap();
    let store = disk.open().await;
    let mut acknowledged = vec![];
    let refused = loop {
        match store
            .write(large(&format!("key-{}", acknowledged.len()), Expect::Absent))
            .await
        {
            Ok(entry) => acknowledged.push(entry),
            Err(error) => break error,
        }
        assert!(acknowledged.len() < 1000, "the disk is never full");
    };
    assert!(
        refused.to_string().contains("delete objects, which still works"),
        "{refused}"
    );
    assert!(!store.is_healthy());
    disk.fill();
    let bucket = store.bucket(&Arc::from("/things"));
    assert_eq!(bucket.len(), acknowledged.len(), "what was acknowledged is there");
    for entry in acknowledged.drain(..20) {
        store.write(deletion(&entry)).await.unwrap();
    }
    // What was deleted made room.
    for number in 0..5 {
        store
            .write(large(&format!("again-{number}"), Expect::Absent))
            .await
            .unwrap();
    }
    drop((store, bucket));

    let store = disk.open().await;
    let bucket = store.bucket(&Arc::from("/things"));
    assert_eq!(bucket.len(), acknowledged.len() + 5);
    // What is needed to start is written, and deletions go on working.
    store.write(put("small", Expect::Absent, 1)).await.unwrap();
    for entry in acknowledged.drain(..20) {
        store.write(deletion(&entry)).await.unwrap();
    }
    // An object with finalizers is changed before it goes.
    let last = acknowledged.pop().unwrap();
    let object = json!({"apiVersion": "v1", "kind": "Thing", "value": 1,
        "metadata": {"name": &*last.key, "deletionTimestamp": "2030-01-01T00:00:00Z"}});
    let marked = Write {
        put: Some(Draft::new(&object)),
        ..deletion(&last)
    };
    let marked = store.write(marked).await.unwrap();
    store.write(deletion(&marked)).await.unwrap();

    disk.make_space();
    store.write(large("after", Expect::Absent)).await.unwrap();
    assert!(store.is_healthy());
    drop((store, bucket));
    let store = disk.open().await;
    assert_eq!(store.bucket(&Arc::from("/things")).len(), acknowledged.len() + 7);
}
