//! kube-rs watchers and controllers over a day of virtual time, with repeated disconnects and a short watch history.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::clients::control::{control, settled};
use crate::clients::support::{Dice, define, probes, write};
use anyhow::Result;
use cambium_apiserver::ApiServer;
use cambium_apiserver::store::History;
use cambium_testing::{TestCluster, virtual_clock};
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, StreamBody};
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::client::Body;
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::sync::watch;
use tower_service::Service;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Frames = Pin<Box<dyn futures::Stream<Item = Result<http_body::Frame<bytes::Bytes>, Failure>> + Send>>;

/// A connection to a server that can be cut.
#[derive(Clone)]
struct Line {
    server: ApiServer,
    down: Arc<AtomicBool>,
    cuts: Arc<watch::Sender<usize>>,
    watches: Arc<AtomicUsize>,
}

impl Line {
    fn to(server: ApiServer) -> Self {
        Self {
            server,
            down: Arc::default(),
            cuts: Arc::new(watch::channel(0).0),
            watches: Arc::default(),
        }
    }

    /// Aborts all responses in flight.
    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Service<http::Request<Body>> for Line {
    type Response = http::Response<StreamBody<Frames>>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        if request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"))
        {
            self.watches.fetch_add(1, Ordering::Relaxed);
        }
        let mut line = self.clone();
        Box::pin(async move {
            if line.down.load(Ordering::Relaxed) {
                return Err("the line is down".into());
            }
            let cuts = line.cuts.subscribe();
            let answer = line
                .server
                .call(request)
                .await
                .map_err(|never: Infallible| match never {})?;
            Ok(answer.map(|body| {
                let frames = futures::stream::unfold(Some(body), move |body| {
                    let mut cuts = cuts.clone();
                    async move {
                        let mut body = body?;
                        tokio::select! {
                            biased;
                            _ = cuts.changed() => Some((Err("the line was cut".into()), None)),
                            frame = body.frame() => {
                                Some((frame?.map_err(|error| error.to_string().into()), Some(body)))
                            }
                        }
                    }
                });
                StreamBody::new(frames.boxed())
            }))
        })
    }
}

/// Counts relists of a watcher, and those caused by a 410.
#[derive(Default)]
struct Troubles {
    lists: AtomicUsize,
    expired: AtomicUsize,
}

/// A reflector store for a selector.
fn follow(client: Client, config: watcher::Config, troubles: &Arc<Troubles>) -> Store<DynamicObject> {
    let api: Api<DynamicObject> = Api::namespaced_with(client, "default", &probes());
    let writer = reflector::store::Writer::new(probes());
    let (store, troubles) = (writer.as_reader(), troubles.clone());
    let events = watcher(api, config).default_backoff().reflect(writer);
    tokio::spawn(events.for_each(move |event| {
        match &event {
            Ok(watcher::Event::Init) => drop(troubles.lists.fetch_add(1, Ordering::Relaxed)),
            Err(watcher::Error::WatchError(status)) if status.code == 410 => {
                troubles.expired.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
        async {}
    }));
    store
}

/// Cuts the connection now and then, sometimes for longer than the watch history.
async fn trouble(line: Line) {
    let mut dice = Dice(99);
    loop {
        tokio::time::sleep(Duration::from_secs(dice.below(1200))).await;
        let outage = dice.below(3) == 0;
        line.down.store(outage, Ordering::Relaxed);
        line.cut();
        if outage {
            tokio::time::sleep(Duration::from_secs(dice.below(1800))).await;
            line.down.store(false, Ordering::Relaxed);
        }
    }
}

async fn a_day(config: watcher::Config) -> Result<()> {
    // Longer than the burst with which the controller catches up with every probe after an outage (whoever
    // runs beside it on this one thread sees none of it before its end), shorter than what a watch sees
    // written in its time.
    let history = History {
        events: 48,
        ..History::default()
    };
    let builder = ApiServer::builder().clock(virtual_clock()).history(history);
    let cluster = TestCluster::embedded(builder).await?;
    let direct = cluster.client();
    define(&direct).await?;
    let line = Line::to(cluster.server().expect("it is embedded").clone());
    let client = Client::new(line.clone(), "default");

    let (everything, red, nothing) = (
        Arc::<Troubles>::default(),
        Arc::<Troubles>::default(),
        Arc::<Troubles>::default(),
    );
    let stores = [
        ("the controller", "", control(client.clone(), config.clone())),
        (
            "everything",
            "",
            follow(client.clone(), config.clone(), &everything),
        ),
        (
            "red",
            "color=red",
            follow(client.clone(), config.clone().labels("color=red"), &red),
        ),
        // On a line without trouble, so that only bookmarks keep it from falling behind.
        (
            "nothing",
            "color=green",
            follow(direct.clone(), config.labels("color=green"), &nothing),
        ),
    ];
    // The log is short: whoever has listed must watch before anything is written.
    let server = cluster.server().expect("it is embedded").clone();
    while server.open_watches() < stores.len() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begin = tokio::time::Instant::now();
    let troubles = tokio::spawn(trouble(line.clone()));
    let writers =
        (1..=4).map(|seed| tokio::spawn(write(direct.clone(), seed, 1500, Duration::from_secs(43))));
    let mut changes = 0;
    for writer in writers.collect::<Vec<_>>() {
        changes += writer.await??;
    }
    troubles.abort();
    line.down.store(false, Ordering::Relaxed);
    settled(&direct, &stores).await?;

    // What was meant to happen did.
    assert!(changes > 3000, "{changes} changes");
    assert!(
        begin.elapsed() > Duration::from_secs(8 * 3600),
        "{:?}",
        begin.elapsed()
    );
    let watches = line.watches.load(Ordering::Relaxed);
    assert!(
        watches > 3 * 8 * 12,
        "a watch ends every 290 s at the latest: {watches}"
    );
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    assert!(
        count(&everything.expired) > 3,
        "{} times 410",
        count(&everything.expired)
    );
    assert!(
        count(&red.lists) > count(&red.expired),
        "each 410 is followed by a list"
    );
    assert_eq!(
        (count(&nothing.lists), count(&nothing.expired)),
        (1, 0),
        "bookmarks kept it up to date"
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_controller_lives_through_a_day_of_trouble() -> Result<()> {
    a_day(watcher::Config::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_controller_with_streaming_lists_lives_through_a_day_of_trouble() -> Result<()> {
    a_day(watcher::Config::default().streaming_lists()).await
}
