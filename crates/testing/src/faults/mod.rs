//! Things that go wrong between a client and a server, on purpose.
//!
//! [`Faults::client`] puts itself between a client and any other: the embedded server's or a real one's. It records
//! every request and can let the k-th of those that a [`Filter`] picks go wrong in one way ([`Fault`]). Watches
//! are recorded, and cut where a line is cut, but never counted.
//!
//! [`for_every_call`] runs a scenario once to count its calls, and then once for each call and each fault:
//!
//! ```no_run
//! # use cambium_testing::faults::{Fault, Filter, for_every_call};
//! # use cambium_testing::TestCluster;
//! # async fn example() -> anyhow::Result<()> {
//! for_every_call(&Filter::writes(), &Fault::ALL, async |faults| {
//!     let cluster = TestCluster::start().await?;
//!     let client = faults.client(&cluster.client());
//!     // … run a manager with this client; start another when `faults.crashed()` …
//!     // … and check that the end is the same.
//!     Ok(())
//! })
//! .await
//! # }
//! ```

mod call;
mod every;
mod recorder;

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::StreamExt as _;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tower_service::Service;

pub use call::{Call, Verb};
pub use every::for_every_call;
pub use recorder::Recorder;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One way for a request to go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server refuses with this code, and does nothing.
    Refuse(u16),
    /// The server asks for a pause (429 with `Retry-After`), and does nothing.
    TooMany(Duration),
    /// The request gets lost: the connection breaks before the server has seen it.
    LoseRequest,
    /// The server carries it out, and the connection breaks before the answer.
    LoseAnswer,
    /// The answer comes after this time.
    Delay(Duration),
    /// No answer ever comes, and the server has seen nothing.
    Hang,
    /// The process dies before it sends this: this and every later request fails, and open watches end.
    Crash,
}

impl Fault {
    /// One of each.
    pub const ALL: [Self; 9] = [
        Self::Refuse(409),
        Self::TooMany(Duration::from_secs(1)),
        Self::Refuse(500),
        Self::Refuse(503),
        Self::LoseRequest,
        Self::LoseAnswer,
        Self::Delay(Duration::from_secs(3)),
        Self::Hang,
        Self::Crash,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse(code) => write!(formatter, "refused with {code}"),
            Self::TooMany(pause) => write!(formatter, "refused with 429, retry after {pause:?}"),
            Self::LoseRequest => formatter.write_str("the request is lost"),
            Self::LoseAnswer => formatter.write_str("carried out, and the answer is lost"),
            Self::Delay(time) => write!(formatter, "answered after {time:?}"),
            Self::Hang => formatter.write_str("never answered"),
            Self::Crash => formatter.write_str("the process crashes before it"),
        }
    }
}

/// Which requests count. Watches never do.
#[derive(Clone)]
pub struct Filter(Arc<dyn Fn(&Call) -> bool + Send + Sync>);

impl Filter {
    /// Every request.
    pub fn all() -> Self {
        Self::only(|_| true)
    }

    /// Requests that change something.
    pub fn writes() -> Self {
        Self::only(|call| call.verb.is_write())
    }

    /// Requests that do not.
    pub fn reads() -> Self {
        Self::only(|call| !call.verb.is_write())
    }

    /// Requests of which this is true.
    pub fn only(is: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is))
    }

    /// Of these, the ones about a resource, with or without a subresource: `applications`, `applications/status`.
    pub fn of(self, resource: &str) -> Self {
        let about = about(resource);
        Self::only(move |call| (self.0)(call) && about(call))
    }

    /// Of these, the ones that are not about a resource.
    pub fn without(self, resource: &str) -> Self {
        let about = about(resource);
        Self::only(move |call| (self.0)(call) && !about(call))
    }

    fn picks(&self, call: &Call) -> bool {
        call.verb != Verb::Watch && (self.0)(call)
    }
}

fn about(resource: &str) -> impl Fn(&Call) -> bool + Send + Sync + 'static {
    let resource = resource.to_owned();
    move |call| match call.resource.strip_prefix(resource.as_str()) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// The way from clients to a server, and what goes wrong on it. Clones are the same way.
#[derive(Clone)]
pub struct Faults(Arc<Shared>);

struct Shared {
    recorder: Recorder,
    plan: Mutex<Plan>,
    line: watch::Sender<Line>,
}

struct Plan {
    filter: Filter,
    counted: Vec<Call>,
    armed: Option<(usize, Fault)>,
    struck: Option<Call>,
}

/// How the line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Line {
    down: bool,
    crashed: bool,
    cuts: usize,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    /// Nothing goes wrong yet; every request that is no watch counts.
    pub fn new() -> Self {
        Self::counting(&Filter::all())
    }

    /// Nothing goes wrong yet; these requests count.
    pub fn counting(filter: &Filter) -> Self {
        Self(Arc::new(Shared {
            recorder: Recorder::default(),
            plan: Mutex::new(Plan {
                filter: filter.clone(),
                counted: Vec::new(),
                armed: None,
                struck: None,
            }),
            line: watch::channel(Line::default()).0,
        }))
    }

    /// A client whose requests take this way to where `client`'s go.
    pub fn client(&self, client: &Client) -> Client {
        let way = Way {
            faults: self.clone(),
            client: client.clone(),
        };
        Client::new(way, client.default_namespace())
    }

    /// Lets the `k`-th request from now that counts (the first is 1) go wrong, once.
    pub fn arm(&self, k: usize, fault: Fault) {
        let mut plan = self.plan();
        plan.armed = Some((plan.counted.len() + k, fault));
        plan.struck = None;
    }

    /// The request that has gone wrong, if one has.
    pub fn struck(&self) -> Option<Call> {
        self.plan().struck.clone()
    }

    /// The requests that counted so far.
    pub fn counted(&self) -> Vec<Call> {
        self.plan().counted.clone()
    }

    /// Every request so far, counted or not.
    pub fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }

    /// Cuts what is open, and lets every request fail until [`Faults::mend`].
    pub fn sever(&self) {
        self.0.line.send_modify(|line| {
            line.down = true;
            line.cuts += 1;
        });
    }

    /// Lets requests through again.
    pub fn mend(&self) {
        self.0.line.send_modify(|line| line.down = false);
    }

    /// Ends every answer that is still under way; new requests get through.
    pub fn cut(&self) {
        self.0.line.send_modify(|line| line.cuts += 1);
    }

    /// Whether the process behind the clients is dead.
    pub fn has_crashed(&self) -> bool {
        self.0.line.borrow().crashed
    }

    /// Waits until the process behind the clients is dead.
    pub async fn crashed(&self) {
        let mut line = self.0.line.subscribe();
        let told = line.wait_for(|line| line.crashed).await;
        told.map(drop).expect("the sender is our own");
    }

    /// A new process behind the clients: requests get through again.
    pub fn revive(&self) {
        self.0.line.send_modify(|line| line.crashed = false);
    }

    /// Takes note of a request; says what is to go wrong with it.
    fn meet(&self, call: Call) -> Option<Fault> {
        self.0.recorder.record(call.clone());
        let mut plan = self.plan();
        if self.0.line.borrow().crashed || !plan.filter.picks(&call) {
            return None;
        }
        plan.counted.push(call.clone());
        let (_, fault) = plan.armed.filter(|(k, _)| *k == plan.counted.len())?;
        plan.struck = Some(call);
        Some(fault)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Way {
    faults: Faults,
    client: Client,
}

type Frames = futures::stream::BoxStream<'static, Result<http_body::Frame<bytes::Bytes>, Failure>>;

impl Service<Request<Body>> for Way {
    type Response = Response<StreamBody<Frames>>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (faults, client) = (self.faults.clone(), self.client.clone());
        Box::pin(async move {
            let fault = faults.meet(Call::of(request.method(), request.uri()));
            let mut line = faults.0.line.subscribe();
            let now = *line.borrow_and_update();
            if now.down {
                return Err("the line is down".into());
            }
            if now.crashed {
                return Err("the process is dead".into());
            }
            match fault {
                None => {}
                Some(Fault::Refuse(code)) => return refusal(code, None),
                Some(Fault::TooMany(pause)) => return refusal(429, Some(pause)),
                Some(Fault::LoseRequest) => {
                    return Err("the connection broke before the request was sent".into());
                }
                Some(Fault::LoseAnswer) => {
                    let answer = client.send(request).await?;
                    // The server is done only when it has said everything.
                    answer.into_body().collect().await?;
                    return Err("the connection broke before the answer".into());
                }
                Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
                Some(Fault::Hang) => return futures::future::pending().await,
                Some(Fault::Crash) => {
                    faults.0.line.send_modify(|line| line.crashed = true);
                    return Err("the process crashed".into());
                }
            }
            // What is under way when the line is cut is lost, carried out or not.
            tokio::select! {
                biased;
                answer = client.send(request) => Ok(answer?.map(|body| while_the_line_holds(body, line, now))),
                () = broken(line.clone(), now) => Err("the line was cut".into()),
            }
        })
    }
}

async fn broken(mut line: watch::Receiver<Line>, before: Line) {
    let is_broken = |line: &Line| line.cuts != before.cuts || line.crashed;
    if line.wait_for(is_broken).await.is_err() {
        futures::future::pending::<()>().await;
    }
}

fn while_the_line_holds(body: Body, line: watch::Receiver<Line>, before: Line) -> StreamBody<Frames> {
    let frames = futures::stream::unfold(Some(body), move |body| {
        let line = line.clone();
        async move {
            let mut body = body?;
            tokio::select! {
                biased;
                () = broken(line, before) => Some((Err("the line was cut".into()), None)),
                frame = body.frame() => Some((frame?.map_err(Into::into), Some(body))),
            }
        }
    });
    StreamBody::new(frames.boxed())
}

fn refusal(code: u16, pause: Option<Duration>) -> Result<Response<StreamBody<Frames>>, Failure> {
    let reason = match code {
        409 => "Conflict",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    };
    let mut status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "refused on purpose",
    });
    let mut answer = Response::builder()
        .status(code)
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(pause) = pause {
        status["details"] = json!({"retryAfterSeconds": pause.as_secs()});
        answer = answer.header(header::RETRY_AFTER, pause.as_secs());
    }
    let frame = http_body::Frame::data(serde_json::to_vec(&status)?.into());
    Ok(answer.body(StreamBody::new(futures::stream::iter([Ok(frame)]).boxed()))?)
}
