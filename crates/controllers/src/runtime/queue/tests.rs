use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn queue() -> Queue<&'static str> {
    Queue::new(Backoff {
        first: SECOND,
        longest: 10 * SECOND,
    })
}

/// Takes what is ready, and how long after `begin` it was.
async fn take(queue: &Queue<&'static str>, begin: Instant) -> (&'static str, u64) {
    let ticket = queue.next().await.expect("the queue was not stopped");
    let key = *ticket.key();
    ticket.finish(Outcome::Done);
    (key, begin.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_key_added_twice_runs_once_and_keys_run_in_order() {
    let (queue, begin) = (queue(), Instant::now());
    for key in ["a", "b", "a", "c", "b"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 3);
    for expected in ["a", "b", "c"] {
        assert_eq!(take(&queue, begin).await, (expected, 0));
    }
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_runs_runs_again_and_not_at_the_same_time() {
    let queue = queue();
    queue.add("a");
    let ticket = queue.next().await.expect("a key");
    queue.add("a");
    queue.add("a");
    assert!(queue.next().now_or_never().is_none(), "it runs already");
    ticket.finish(Outcome::Done);
    let ticket = queue.next().await.expect("a key");
    assert_eq!(*ticket.key(), "a");
    ticket.finish(Outcome::Done);
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn the_earliest_alarm_counts_and_a_run_takes_it_away() {
    let (queue, begin) = (queue(), Instant::now());
    queue.add_after("a", 9 * SECOND);
    queue.add_after("a", 3 * SECOND);
    queue.add_after("a", 5 * SECOND);
    queue.add_after("b", 4 * SECOND);
    assert_eq!(take(&queue, begin).await, ("a", 3));
    queue.add("b");
    assert_eq!(take(&queue, begin).await, ("b", 3));
    assert!(queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn an_alarm_set_while_workers_sleep_wakes_one_in_time() {
    let (queue, begin) = (queue(), Instant::now());
    queue.add_after("late", 60 * SECOND);
    let (one, two) = (queue.clone(), queue.clone());
    let sleepers = [
        tokio::spawn(async move { take(&one, begin).await }),
        tokio::spawn(async move { take(&two, begin).await }),
    ];
    tokio::task::yield_now().await;
    queue.add_after("early", 5 * SECOND);
    let mut taken: Vec<_> = futures::future::join_all(sleepers).await;
    taken.sort_by_key(|one| one.as_ref().expect("no panic").1);
    let taken: Vec<_> = taken.into_iter().map(|one| one.expect("no panic")).collect();
    assert_eq!(taken, [("early", 5), ("late", 60)]);
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_a_key_leaves_the_alarms_to_somebody_else() {
    let (queue, begin) = (queue(), Instant::now());
    let other = queue.clone();
    let sleeper = tokio::spawn(async move { take(&other, begin).await });
    tokio::task::yield_now().await;
    queue.add("now");
    queue.add_after("soon", SECOND);
    // The sleeper, or we, take the first; the other gets the second although its taker is busy.
    let busy = queue.next().await.expect("a key");
    let slept = sleeper.await.expect("no panic");
    let mut keys = [*busy.key(), slept.0];
    keys.sort_unstable();
    assert_eq!(keys, ["now", "soon"]);
    busy.finish(Outcome::Done);
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_up_to_a_limit_and_success_forgets_them() {
    let queue = queue();
    let waits: Vec<u64> = (0..6).map(|_| queue.retry("a").as_secs()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    let begin = Instant::now();
    assert_eq!(take(&queue, begin).await, ("a", 1), "the earliest wish stands");
    assert_eq!(queue.failures(&"a"), 0);
    assert_eq!(queue.retry("a"), SECOND);
}

#[test]
fn no_number_of_failures_is_too_much() {
    let backoff = Backoff::default();
    for failures in [0, 1, 31, 32, 33, u32::MAX] {
        assert!(backoff.after(failures) <= backoff.longest);
    }
    assert_eq!(backoff.after(u32::MAX), backoff.longest);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_panics_or_is_dropped_has_failed() {
    let (queue, begin) = (queue(), Instant::now());
    queue.add("a");
    drop(queue.next().await);
    assert_eq!(queue.failures(&"a"), 1);
    let runs = Arc::new(AtomicUsize::new(0));
    let (stop, counted) = (queue.clone(), runs.clone());
    queue
        .work(2, move |_| {
            let (run, stop) = (counted.fetch_add(1, Ordering::Relaxed), stop.clone());
            async move {
                assert!(run > 0, "the first run panics");
                stop.stop();
                Outcome::Done
            }
        })
        .await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(
        begin.elapsed(),
        3 * SECOND,
        "one second after the first failure, two after the second"
    );
}

#[tokio::test(start_paused = true)]
async fn stopping_lets_what_runs_finish_and_starts_nothing_else() {
    let queue = Queue::default();
    for key in 0..10 {
        queue.add(key);
    }
    let finished = Arc::new(AtomicUsize::new(0));
    let (stop, count) = (queue.clone(), finished.clone());
    let work = queue.work(3, move |_| {
        let (stop, count) = (stop.clone(), count.clone());
        async move {
            tokio::time::sleep(SECOND).await;
            stop.stop();
            tokio::time::sleep(SECOND).await;
            count.fetch_add(1, Ordering::Relaxed);
            Outcome::Done
        }
    });
    work.await;
    assert_eq!((finished.load(Ordering::Relaxed), queue.len()), (3, 7));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_work_cancels_it() {
    let queue = Queue::default();
    queue.add(1);
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let work = queue.work(1, move |_| {
        tell.notify_one();
        futures::future::pending()
    });
    tokio::select! {
        () = work => unreachable!("it never ends"),
        () = begun.notified() => {}
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(queue.failures(&1), 1, "its ticket was given back");
}

/// Ten thousand random additions by several tasks, against what must hold: never twice at the same time, and
/// whatever is added is run after it was added.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_no_addition_is_lost_and_no_key_runs_twice_at_once() {
    const KEYS: usize = 50;
    let queue: Queue<usize> = Queue::default();
    let counters = || Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
    let (added, seen, running) = (counters(), counters(), counters());
    let worker = {
        let (queue, added, seen) = (queue.clone(), added.clone(), seen.clone());
        tokio::spawn(async move {
            let work = move |key: usize| {
                let (added, seen, running) = (added.clone(), seen.clone(), running.clone());
                async move {
                    assert_eq!(running[key].fetch_add(1, Ordering::SeqCst), 0, "{key} runs twice");
                    seen[key].store(added[key].load(Ordering::SeqCst), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    running[key].fetch_sub(1, Ordering::SeqCst);
                    Outcome::Done
                }
            };
            queue.work(8, work).await;
        })
    };
    let adders = (0..4).map(|adder| {
        let (queue, added) = (queue.clone(), added.clone());
        tokio::spawn(async move {
            for step in 0..2500 {
                let key = (step * 7 + adder * 13) % KEYS;
                added[key].fetch_add(1, Ordering::SeqCst);
                match step % 3 {
                    0 => queue.add_after(key, Duration::from_micros(step as u64)),
                    _ => queue.add(key),
                }
                if step % 50 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    });
    for adder in adders.collect::<Vec<_>>() {
        adder.await.expect("no panic");
    }
    let deadline = Instant::now() + 30 * SECOND;
    while !queue.is_idle() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    queue.stop();
    worker.await.expect("no panic");
    for key in 0..KEYS {
        let (added, seen) = (
            added[key].load(Ordering::SeqCst),
            seen[key].load(Ordering::SeqCst),
        );
        assert_eq!(added, seen, "key {key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_changed_what_it_depends_on_is_followed_by_another_at_once_and_then_less_and_less_often() {
    let (queue, begin) = (queue(), Instant::now());
    queue.add("a");
    let mut runs = Vec::new();
    for _ in 0..14 {
        let ticket = queue.next().await.expect("a key");
        runs.push(begin.elapsed().as_secs());
        assert_eq!(queue.failures(ticket.key()), 0, "it was no failure");
        ticket.finish(Outcome::Again);
    }
    assert_eq!(runs, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 7]);
    // Whoever came to rest may change again at once.
    let ticket = queue.next().await.expect("a key");
    ticket.finish(Outcome::Done);
    assert!(queue.is_idle());
    queue.add("a");
    queue.next().await.expect("a key").finish(Outcome::Again);
    assert_eq!(queue.len(), 1);
}
