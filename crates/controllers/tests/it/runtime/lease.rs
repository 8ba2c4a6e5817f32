//! Who leads, when everything is well and when it is not.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use cambium_apiserver::ApiServer;
use cambium_controllers::runtime::lease::{Election, Leadership, Settings, run_while_leader};
use cambium_testing::{Fault, Faults, Filter, TestCluster, for_every_call, virtual_clock};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

async fn embedded() -> Result<TestCluster> {
    TestCluster::embedded(ApiServer::builder().clock(virtual_clock())).await
}

fn settings(identity: &str) -> Settings {
    Settings::new("default", "lease", identity)
}

async fn until(leadership: &mut Receiver<Leadership>, is: impl FnMut(&Leadership) -> bool) {
    let told = tokio::time::timeout(600 * SECOND, leadership.wait_for(is)).await;
    told.expect("within ten minutes").unwrap();
}

async fn leads(leadership: &mut Receiver<Leadership>) {
    until(leadership, Leadership::is_leading).await;
}

async fn follows(leadership: &mut Receiver<Leadership>) {
    until(leadership, |now| !now.is_leading()).await;
}

async fn lease(cluster: &TestCluster) -> Result<Lease> {
    Ok(Api::<Lease>::namespaced(cluster.client(), "default")
        .get("lease")
        .await?)
}

#[tokio::test]
async fn one_of_two_leads_and_the_other_follows_when_it_lets_go() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace("lease").await?;
    let of = |identity: &str| Settings {
        retry: Duration::from_millis(100),
        ..Settings::new(&namespace, "lease", identity)
    };
    let first = Election::start(cluster.manager().await?, of("first"));
    leads(&mut first.leadership()).await;
    let second = Election::start(cluster.manager().await?, of("second"));
    let mut following = second.leadership();
    let held_by_first = Leadership::Following {
        holder: Some("first".to_owned()),
    };
    until(&mut following, |now| *now == held_by_first).await;
    let mut leading = first.leadership();
    first.release().await;
    assert!(
        !leading.borrow_and_update().is_leading(),
        "it says so before it lets go"
    );
    leads(&mut following).await;
    let api: Api<Lease> = Api::namespaced(cluster.client(), &namespace);
    let spec = api.get("lease").await?.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("second"));
    assert_eq!(
        (spec.lease_duration_seconds, spec.lease_transitions),
        (Some(15), Some(1))
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn of_many_who_start_at_once_exactly_one_leads() -> Result<()> {
    let cluster = embedded().await?;
    let elections: Vec<Election> = (0..20)
        .map(|number| Election::start(cluster.client(), settings(&number.to_string())))
        .collect();
    for _ in 0..100 {
        sleep(SECOND).await;
        let leaders = elections
            .iter()
            .filter(|one| one.leadership().borrow().is_leading())
            .count();
        assert_eq!(leaders, 1);
    }
    assert_eq!(lease(&cluster).await?.spec.unwrap().lease_transitions, Some(0));
    Ok(())
}

/// Whoever loses power is followed after the lease has run out, and not before.
#[tokio::test(start_paused = true)]
async fn a_holder_that_vanishes_is_followed_when_its_lease_has_run_out() -> Result<()> {
    let cluster = embedded().await?;
    let first = Election::start(cluster.client(), settings("first"));
    leads(&mut first.leadership()).await;
    let second = Election::start(cluster.client(), settings("second"));
    sleep(61 * SECOND).await;
    let (mut one, mut two) = (first.leadership(), second.leadership());
    let begin = Instant::now();
    drop(first);
    leads(&mut two).await;
    let waited = begin.elapsed();
    assert!(waited > 12 * SECOND && waited <= 17 * SECOND, "{waited:?}");
    assert!(!one.borrow_and_update().is_leading());
    Ok(())
}

/// A holder that is cut off knows it before anybody else may lead, whatever the other's clock says.
#[tokio::test(start_paused = true)]
async fn a_holder_that_is_cut_off_stops_before_another_starts() -> Result<()> {
    for hang in [false, true] {
        let cluster = embedded().await?;
        let faults = Faults::new();
        let mut skewed = settings("first");
        // A clock that is a year off moves nothing.
        skewed.clock = Arc::new(|| "2031-01-01T00:00:00Z".parse().unwrap());
        let first = Election::start(faults.client(&cluster.client()), skewed);
        let mut one = first.leadership();
        leads(&mut one).await;
        let second = Election::start(cluster.client(), settings("second"));
        let mut two = second.leadership();
        sleep(30 * SECOND).await;
        let begin = Instant::now();
        if hang {
            faults.arm(1, Fault::Hang);
            // One request that hangs is not the end of it: a new term begins as soon as the old one is over.
            until(&mut one, |now| *now == Leadership::Leading { term: 2 }).await;
            assert!(begin.elapsed() <= 10 * SECOND, "{:?}", begin.elapsed());
            assert!(!two.borrow().is_leading());
            continue;
        }
        faults.sever();
        follows(&mut one).await;
        let stopped = begin.elapsed();
        assert!(stopped <= 10 * SECOND, "{stopped:?}");
        assert!(!two.borrow().is_leading());
        leads(&mut two).await;
        assert!(
            begin.elapsed() > stopped + 2 * SECOND,
            "{:?} and {:?}",
            begin.elapsed(),
            stopped
        );
        faults.mend();
        let held_by_second = Leadership::Following {
            holder: Some("second".to_owned()),
        };
        until(&mut one, |now| *now == held_by_second).await;
        assert!(two.borrow().is_leading());
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_takes_by_force_is_lost_at_the_next_look() -> Result<()> {
    let cluster = embedded().await?;
    let faults = Faults::new();
    let election = Election::start(faults.client(&cluster.client()), settings("us"));
    let mut leadership = election.leadership();
    leads(&mut leadership).await;
    let api: Api<Lease> = Api::namespaced(cluster.client(), "default");
    let patch = Patch::Merge(json!({"spec": {"holderIdentity": "thief"}}));
    api.patch("lease", &PatchParams::default(), &patch).await?;
    let begin = Instant::now();
    follows(&mut leadership).await;
    assert!(begin.elapsed() <= 2 * SECOND, "{:?}", begin.elapsed());
    // The thief never renews.
    leads(&mut leadership).await;
    assert!(begin.elapsed() >= 15 * SECOND);
    // Somebody deletes it: nobody else holds it, so it is made again.
    api.delete("lease", &kube::api::DeleteParams::default()).await?;
    sleep(5 * SECOND).await;
    assert_eq!(
        lease(&cluster).await?.spec.unwrap().holder_identity.as_deref(),
        Some("us")
    );
    assert!(leadership.borrow().is_leading());
    Ok(())
}

/// Each of the first calls goes wrong in each way: it leads within a while all the same, and no two ever lead.
#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_somebody_leads_and_never_two() -> Result<()> {
    for_every_call(&Filter::all(), &Fault::ALL, async |faults| {
        let cluster = embedded().await?;
        let one = Election::start(faults.client(&cluster.client()), settings("one"));
        let two = Election::start(cluster.client(), settings("two"));
        let (first, second) = (one.leadership(), two.leadership());
        let mut last_leader = Instant::now();
        for _ in 0..400 {
            sleep(Duration::from_millis(100)).await;
            match (first.borrow().is_leading(), second.borrow().is_leading()) {
                (true, true) => anyhow::bail!("both lead"),
                (false, false) => anyhow::ensure!(last_leader.elapsed() < 20 * SECOND, "nobody leads"),
                _ => last_leader = Instant::now(),
            }
        }
        one.release().await;
        anyhow::ensure!(!first.borrow().is_leading());
        sleep(20 * SECOND).await;
        anyhow::ensure!(second.borrow().is_leading(), "the other leads");
        Ok(())
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn work_is_dropped_when_leadership_is_lost_and_made_again_when_it_is_back() -> Result<()> {
    struct Guard(Arc<AtomicBool>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    let cluster = embedded().await?;
    let faults = Faults::new();
    let election = Election::start(faults.client(&cluster.client()), settings("us"));
    let (made, working) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, flag) = (made.clone(), working.clone());
    let work = tokio::spawn(run_while_leader(election.leadership(), move || {
        count.fetch_add(1, Ordering::SeqCst);
        flag.store(true, Ordering::SeqCst);
        let guard = Guard(flag.clone());
        async move {
            let _guard = guard;
            futures::future::pending::<()>().await;
        }
    }));
    let state = || (made.load(Ordering::SeqCst), working.load(Ordering::SeqCst));
    sleep(SECOND).await;
    assert_eq!(state(), (1, true));
    faults.sever();
    sleep(11 * SECOND).await;
    assert_eq!(state(), (1, false));
    faults.mend();
    sleep(3 * SECOND).await;
    assert_eq!(state(), (2, true));
    election.release().await;
    assert!(work.await?.is_none(), "there is nothing more to wait for");
    assert_eq!(state(), (2, false));
    Ok(())
}

/// At rest a leader renews, a follower looks, and that is all.
#[tokio::test(start_paused = true)]
async fn at_rest_there_is_one_request_every_two_seconds() -> Result<()> {
    let cluster = embedded().await?;
    let (one, two) = (Faults::new(), Faults::new());
    let first = Election::start(one.client(&cluster.client()), settings("one"));
    leads(&mut first.leadership()).await;
    let _second = Election::start(two.client(&cluster.client()), settings("two"));
    sleep(SECOND).await;
    one.recorder().clear();
    two.recorder().clear();
    sleep(600 * SECOND).await;
    assert_eq!(
        one.recorder().summary(),
        [("update leases".to_owned(), 300)].into()
    );
    assert_eq!(two.recorder().summary(), [("get leases".to_owned(), 300)].into());
    Ok(())
}
