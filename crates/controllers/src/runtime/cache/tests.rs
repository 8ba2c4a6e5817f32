use proptest::prelude::*;
use serde_json::json;

use super::*;

type Told = Arc<Mutex<Vec<Change>>>;

fn cache() -> (Arc<Cache>, Told) {
    let told = Told::default();
    let tell = told.clone();
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::ConfigMap>(&());
    let cache = Cache::new(resource, move |change| {
        tell.lock().expect("no panic").push(change)
    });
    (cache, told)
}

/// Object `a` with this uid at this version, whose content is `text`.
fn object(uid: &str, version: u64, text: &str) -> Object {
    let value = json!({
        "metadata": {"name": "a", "namespace": "n", "uid": uid, "resourceVersion": version.to_string()},
        "data": {"text": text},
    });
    serde_json::from_value(value).expect("an object")
}

fn key() -> Key {
    Key::new("n", "a")
}

fn version(cache: &Cache) -> Option<u64> {
    cache.get(&key()).map(|record| record.version())
}

/// `3>5` from the watch, `3>5!` from ourselves.
fn lines(told: &Told) -> Vec<String> {
    let version = |record: &Option<Arc<Record>>| record.as_ref().map_or(0, |record| record.version());
    let told = told.lock().expect("no panic");
    told.iter()
        .map(|change| {
            let mark = if change.origin == Origin::Ourselves {
                "!"
            } else {
                ""
            };
            format!("{}>{}{mark}", version(&change.before), version(&change.after))
        })
        .collect()
}

#[test]
fn an_answer_is_known_at_once_and_its_echo_is_silent() {
    let (cache, told) = cache();
    cache.seen(object("u", 1, "old"));
    cache.learn(object("u", 3, "new"));
    assert_eq!(version(&cache), Some(3));
    cache.seen(object("u", 2, "between"));
    cache.seen(object("u", 3, "new"));
    cache.seen(object("u", 4, "later"));
    assert_eq!(lines(&told), ["0>1", "1>3!", "3>4"]);
}

#[test]
fn an_answer_that_comes_after_newer_news_is_ignored() {
    let (cache, told) = cache();
    cache.seen(object("u", 5, "new"));
    cache.learn(object("u", 3, "old"));
    cache.learn(object("u", 5, "new"));
    assert_eq!((version(&cache), lines(&told)), (Some(5), vec!["0>5".to_owned()]));
}

#[test]
fn a_deletion_of_ours_is_not_undone_by_what_the_watch_still_has_to_tell() {
    let (cache, told) = cache();
    cache.seen(object("u", 1, "x"));
    cache.learn_gone(&key(), "u");
    cache.seen(object("u", 2, "somebody was faster"));
    assert_eq!(version(&cache), None);
    cache.seen_gone(object("u", 3, "x"));
    cache.seen(object("v", 4, "again"));
    assert_eq!(version(&cache), Some(4));
    assert_eq!(lines(&told), ["0>1", "1>0!", "0>4"]);
}

#[test]
fn an_object_made_again_outlives_the_deletion_of_the_one_before() {
    let (cache, told) = cache();
    cache.seen(object("u", 1, "x"));
    cache.learn_gone(&key(), "u");
    cache.learn(object("v", 4, "again"));
    cache.seen(object("u", 2, "late"));
    cache.seen_gone(object("u", 3, "late"));
    cache.seen(object("v", 4, "again"));
    assert_eq!(
        (version(&cache), lines(&told)),
        (Some(4), vec!["0>1".into(), "1>0!".into(), "0>4!".into()])
    );
    cache.seen_gone(object("v", 6, "again"));
    assert!(cache.is_empty());
}

#[test]
fn a_deletion_names_the_object_that_it_means() {
    let (cache, _) = cache();
    cache.seen(object("v", 4, "another"));
    cache.learn_gone(&key(), "u");
    assert_eq!(version(&cache), Some(4));
}

#[test]
fn a_list_without_an_object_means_it_is_gone_unless_we_have_just_written_it() {
    let (cache, told) = cache();
    cache.seen(object("u", 1, "x"));
    assert!(cache.vanished(|_| false).is_empty());
    assert_eq!(lines(&told), ["0>1", "1>0"]);
    cache.learn(object("v", 7, "ours"));
    assert_eq!(cache.vanished(|_| false), [key()]);
    assert_eq!(version(&cache), Some(7));
    cache.drop_if(&key(), 7);
    assert!(cache.is_empty());
    // Once the watch has told it, lists are believed.
    cache.learn(object("w", 9, "ours"));
    cache.seen(object("w", 9, "ours"));
    assert!(cache.vanished(|_| false).is_empty());
    assert!(cache.is_empty());
}

#[test]
fn a_new_version_of_the_same_content_is_stored_and_can_be_told_apart() {
    let (cache, told) = cache();
    cache.seen(object("u", 1, "x"));
    cache.seen(object("u", 2, "x"));
    cache.seen(object("u", 3, "y"));
    let same: Vec<bool> = told
        .lock()
        .expect("no panic")
        .iter()
        .map(Change::same_content)
        .collect();
    assert_eq!((version(&cache), same), (Some(3), vec![false, true, false]));
}

#[test]
fn objects_are_found_by_namespace_and_name() {
    let (cache, _) = cache();
    for (namespace, name) in [("b", "2"), ("a", "1"), ("b", "1"), ("bb", "0"), ("", "c")] {
        let value = json!({"metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"}});
        let one = serde_json::from_value(value).expect("an object");
        cache.seen(one);
    }
    let names =
        |found: Vec<(Key, Arc<Record>)>| found.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>();
    assert_eq!(names(cache.all()), ["c", "a/1", "b/1", "b/2", "bb/0"]);
    assert_eq!(names(cache.in_namespace("b")), ["b/1", "b/2"]);
}

#[test]
fn a_deletion_that_a_late_list_contradicts_holds_until_the_server_denies_it() {
    let deleted = || {
        let (cache, _) = cache();
        cache.seen(object("u1", 5, "x"));
        cache.learn_gone(&key(), "u1");
        let (_, doubt) = cache.listed(object("u1", 5, "x"));
        cache.vanished(|_| true);
        (cache, doubt.expect("it was deleted"))
    };
    // The server does not have it: what a late watch repeats of it is no news.
    let (cache, _) = deleted();
    cache.seen(object("u1", 6, "y"));
    assert_eq!(version(&cache), None);
    // The server has it: its store was restored.
    let (cache, doubt) = deleted();
    cache.settle(&doubt, object("u1", 5, "x"));
    assert_eq!(version(&cache), Some(5));
    // The server could not be asked.
    let (cache, doubt) = deleted();
    cache.forget(&doubt);
    cache.seen(object("u1", 5, "x"));
    assert_eq!(version(&cache), Some(5));
}

/// One version of the one object in a history: its uid, or that it was deleted.
#[derive(Debug, Clone)]
enum Entry {
    Is(String, u64),
    Deleted(String, u64),
}

/// A history of creations, updates and deletions of one object.
fn history(steps: &[bool]) -> Vec<Entry> {
    let (mut history, mut alive, mut lives) = (Vec::new(), false, 0);
    for (step, end) in steps.iter().enumerate() {
        let version = step as u64 + 1;
        if alive && *end {
            history.push(Entry::Deleted(format!("u{lives}"), version));
            alive = false;
        } else {
            lives += u64::from(!alive);
            alive = true;
            history.push(Entry::Is(format!("u{lives}"), version));
        }
    }
    history
}

proptest! {
    /// A watch tells a history in order; in between, answers to writes of ours come early or late. Whatever the order, the
    /// cache ends like the server, never goes back, and what it told is a chain.
    #[test]
    fn any_mixture_of_watch_and_answers_ends_like_the_server(
        steps in prop::collection::vec(prop::bool::weighted(0.3), 1..24),
        answers in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30), 0..12),
        relists in prop::collection::vec(0usize..30, 0..3),
    ) {
        let history = history(&steps);
        let (cache, told) = cache();
        for place in 0..=history.len() {
            // An answer may come before the watch has told it, but not before it has happened.
            for (index, when) in &answers {
                let entry = index.index(history.len());
                if (*when).min(entry) == place {
                    match &history[entry] {
                        Entry::Is(uid, version) => cache.learn(object(uid, *version, "x")),
                        Entry::Deleted(uid, _) => cache.learn_gone(&key(), uid),
                    }
                }
            }
            if relists.contains(&place) && place > 0 {
                let listed = matches!(history[place - 1], Entry::Is(..));
                if let Entry::Is(uid, version) = &history[place - 1] {
                    cache.seen(object(uid, *version, "x"));
                }
                cache.vanished(|_| listed);
            }
            match history.get(place) {
                Some(Entry::Is(uid, version)) => drop(cache.seen(object(uid, *version, "x"))),
                Some(Entry::Deleted(uid, version)) => cache.seen_gone(object(uid, *version, "x")),
                None => {}
            }
        }
        let expected = match history.last() {
            Some(Entry::Is(_, version)) => Some(*version),
            _ => None,
        };
        prop_assert_eq!(version(&cache), expected);
        let told = told.lock().expect("no panic");
        let mut last: Option<Arc<Record>> = None;
        for change in told.iter() {
            prop_assert_eq!(&change.before, &last, "a chain");
            prop_assert!(change.before.is_some() || change.after.is_some());
            last = change.after.clone();
        }
    }
}
