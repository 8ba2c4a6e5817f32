//! Scaling benchmark: figures of one kind beside many objects of another kind, and beside many idle watches.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::load::{self, JSON, rate};
use crate::target::Target;
use crate::wire::{Address, Connection};

/// Watches with a selector that nothing matches.
const IDLE_WATCHES: usize = 1000;
/// Measured rounds, after one for warm-up.
const ROUNDS: usize = 5;
const NOTES: &str = "/api/v1/namespaces/default/configmaps";

/// The figures of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) get_p50: Duration,
    pub(crate) create_p50: Duration,
    pub(crate) create: f64,
    pub(crate) event_p50: Duration,
    pub(crate) event_p99: Duration,
}

/// Figures without and with the additional load, and its description.
pub(crate) struct Growth {
    pub(crate) company: String,
    pub(crate) alone: Kind,
    pub(crate) beside: Kind,
}

/// Measures ConfigMaps on three servers: alone, beside `objects` custom resources, and beside idle watches. They are
/// measured in turn, so that noise affects all of them alike.
pub(crate) async fn measure(targets: [&Target; 3], objects: usize) -> Result<Vec<Growth>> {
    let [alone, filled, watched] = targets.map(|target| target.address.clone());
    load::crd(&mut filled.connect().await?).await?;
    load::fill(&filled, objects).await?;
    let watches = idle_watches(&watched).await?;
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (address, figures) in [&alone, &filled, &watched].into_iter().zip(&mut rounds) {
            figures.push(kind(address, round).await?);
        }
    }
    drop(watches);
    let [alone, filled, watched] = rounds.map(|figures| median(&figures[1..]));
    let beside = |company: String, beside: Kind| Growth {
        company,
        alone,
        beside,
    };
    Ok(vec![
        beside(format!("{objects} objects of another kind"), filled),
        beside(
            format!("{IDLE_WATCHES} watches whose selector matches nothing"),
            watched,
        ),
    ])
}

/// The median of every figure.
fn median(rounds: &[Kind]) -> Kind {
    let duration = |figure: fn(&Kind) -> Duration| {
        let mut figures: Vec<Duration> = rounds.iter().map(figure).collect();
        percentile(&mut figures, 50)
    };
    let mut rates: Vec<f64> = rounds.iter().map(|kind| kind.create).collect();
    rates.sort_by(f64::total_cmp);
    Kind {
        get_p50: duration(|kind| kind.get_p50),
        create_p50: duration(|kind| kind.create_p50),
        create: rates[rates.len() / 2],
        event_p50: duration(|kind| kind.event_p50),
        event_p99: duration(|kind| kind.event_p99),
    }
}

async fn kind(address: &Address, round: usize) -> Result<Kind> {
    let prefix = format!("round-{round}");
    let names = prefix.clone();
    let note = move |group: &str, index: usize| {
        let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "a few words"},
            "metadata": {"name": format!("{names}-{group}-{index}"), "labels": {"app": "notes"}}});
        Bytes::from(note.to_string())
    };
    let mut connection = address.connect().await?;
    let mut creates = Vec::new();
    for index in 0..500 {
        let (body, begin) = (note("one", index), Instant::now());
        let (code, answer) = connection.send("POST", NOTES, JSON, &body).await?;
        creates.push(begin.elapsed());
        if code != 201 {
            bail!("{code} {}", String::from_utf8_lossy(&answer));
        }
    }
    let mut gets = Vec::new();
    for index in 0..2000 {
        let (path, begin) = (format!("{NOTES}/{prefix}-one-{}", index % 500), Instant::now());
        connection.send("GET", &path, "", &Bytes::new()).await?;
        gets.push(begin.elapsed());
    }
    let create = rate(
        address,
        4000,
        move |index| ("POST", NOTES.to_owned(), JSON, note("many", index)),
        201,
    );
    let create = create.await?;
    let mut events = events(address, &mut connection, &prefix).await?;
    Ok(Kind {
        get_p50: percentile(&mut gets, 50),
        create_p50: percentile(&mut creates, 50),
        create,
        event_p50: percentile(&mut events, 50),
        event_p99: percentile(&mut events, 99),
    })
}

/// Latency from sending a write to receiving its event, with one writer and one watcher.
async fn events(address: &Address, writer: &mut Connection, prefix: &str) -> Result<Vec<Duration>> {
    let mut watcher = address.connect().await?;
    let mut events = watch(writer, &mut watcher, "").await?;
    let mut times = Vec::new();
    for index in 0..500 {
        let patch = Bytes::from(json!({"data": {"index": index.to_string()}}).to_string());
        let path = format!("{NOTES}/{prefix}-one-{index}");
        let begin = Instant::now();
        let write = writer.send("PATCH", &path, "application/merge-patch+json", &patch);
        let event = async {
            events.frame().await.context("the watch ended")??;
            anyhow::Ok(begin.elapsed())
        };
        let (written, seen) = tokio::join!(write, event);
        written?;
        times.push(seen?);
    }
    Ok(times)
}

/// A watch from now on.
async fn watch(reader: &mut Connection, watcher: &mut Connection, selector: &str) -> Result<Incoming> {
    let (_, list) = reader
        .send("GET", &format!("{NOTES}?limit=1"), "", &Bytes::new())
        .await?;
    let list: Value = serde_json::from_slice(&list)?;
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .context("a version")?;
    let url = format!("{NOTES}?watch=true&resourceVersion={version}{selector}");
    let (code, body) = watcher.start("GET", &url, "", &Bytes::new()).await?;
    if code != 200 {
        bail!("a watch was refused: {code}");
    }
    Ok(body)
}

/// A thousand watches with a selector that nothing matches, each on a connection of its own.
pub(crate) async fn idle_watches(address: &Address) -> Result<Vec<(Connection, Incoming)>> {
    let mut reader = address.connect().await?;
    let mut watches = Vec::new();
    for index in 0..IDLE_WATCHES {
        let mut connection = address.connect().await?;
        let selector = format!("&labelSelector=app%3Dnobody-{index}");
        let body = watch(&mut reader, &mut connection, &selector).await?;
        watches.push((connection, body));
    }
    Ok(watches)
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}
