//! Fault injection between a client and a server.
//!
//! [`Faults::client`] wraps a client of the embedded server or of a real one. It records every request and can inject a
//! [`Fault`] into the k-th request that a [`Filter`] selects. Watches are recorded and disconnected, but never counted.
//!
//! Other faults last: watches that are delayed ([`Faults::lag`]) or frozen ([`Faults::freeze`]) while writes succeed, and
//! requests that are refused until further notice ([`Faults::refuse`]).
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
mod view;

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

use crate::Dice;
pub use call::{Call, Verb};
pub use every::for_every_call;
pub use recorder::Recorder;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error response with this code, without effect.
    Refuse(u16),
    /// 429 with `Retry-After`, without effect.
    TooMany(Duration),
    /// The connection breaks before the server has received the request.
    LoseRequest,
    /// The server processes the request, and the connection breaks before the response.
    LoseAnswer,
    /// The response is delayed.
    Delay(Duration),
    /// No response, and the server has not received the request.
    Hang,
    /// The request reaches the server after this time, even if the client gave up: as of a process paused while sending.
    Late(Duration),
    /// From this request on, watches send nothing for this time; other requests work.
    Freeze(Duration),
    /// The process crashes before sending: this and every later request fails, and open watches end.
    Crash,
    /// The same, and for this time the next process reads a stale cluster state.
    CrashBehind {
        /// The number of latest writes that are not visible.
        writes: usize,
        /// The duration.
        time: Duration,
    },
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

    /// Two to five random faults among `calls` calls, often close together.
    pub fn schedule(dice: &mut Dice, calls: usize) -> Vec<(usize, Self)> {
        let time = Duration::from_secs(12);
        let (writes, late) = (1 + dice.below(6), time * (1 + u32::from(dice.once_in(2))) / 2);
        let others = [401, 403, 404, 410, 504].map(Self::Refuse);
        let worse = [
            Self::Late(late),
            Self::Freeze(late),
            Self::Crash,
            Self::CrashBehind { writes, time },
        ];
        let sorts: Vec<Self> = Self::ALL.into_iter().chain(others).chain(worse).collect();
        let mut call = 0;
        let faults = (0..2 + dice.below(4)).map(|_| {
            call += match dice.once_in(2) {
                true => 1 + dice.below(4),
                false => 1 + dice.below(calls / 3),
            };
            (call, dice.pick(&sorts))
        });
        faults.collect()
    }
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
            Self::Late(time) => write!(formatter, "arrives {time:?} late"),
            Self::Freeze(time) => write!(formatter, "watches are frozen for {time:?}"),
            Self::Crash => formatter.write_str("the process crashes before it"),
            Self::CrashBehind { writes, time } => write!(
                formatter,
                "the process crashes before it, and the next one is {writes} writes behind for {time:?}"
            ),
        }
    }
}

/// Selects the requests that count; never watches.
#[derive(Clone)]
pub struct Filter(Arc<dyn Fn(&Call) -> bool + Send + Sync>);

impl Filter {
    /// Every request.
    pub fn all() -> Self {
        Self::only(|_| true)
    }

    /// Write requests.
    pub fn writes() -> Self {
        Self::only(|call| call.verb.is_write())
    }

    /// Read requests.
    pub fn reads() -> Self {
        Self::only(|call| !call.verb.is_write())
    }

    /// Requests that satisfy a predicate.
    pub fn only(is: impl Fn(&Call) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is))
    }

    /// Restricted to a resource, with or without a subresource: `applications`, `applications/status`.
    pub fn of(self, resource: &str) -> Self {
        let about = about(resource);
        Self::only(move |call| (self.0)(call) && about(call))
    }

    /// Without the requests on a resource.
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

/// The connection between clients and a server, with injected faults. Clones share the state.
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
    armed: Vec<(usize, Fault)>,
    struck: Vec<Call>,
    refusing: Option<(Filter, u16)>,
    /// The resource version of each write.
    written: Vec<u64>,
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Line {
    down: bool,
    crashed: bool,
    cuts: usize,
    frozen: bool,
    lag: Duration,
    /// Streaming lists are served at this revision.
    view: Option<u64>,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    /// Without faults; counts every request except watches.
    pub fn new() -> Self {
        Self::counting(&Filter::all())
    }

    /// Without faults; counts the selected requests.
    pub fn counting(filter: &Filter) -> Self {
        Self(Arc::new(Shared {
            recorder: Recorder::default(),
            plan: Mutex::new(Plan {
                filter: filter.clone(),
                counted: Vec::new(),
                armed: Vec::new(),
                struck: Vec::new(),
                refusing: None,
                written: Vec::new(),
            }),
            line: watch::channel(Line::default()).0,
        }))
    }

    /// Wraps a client.
    pub fn client(&self, client: &Client) -> Client {
        let way = Way {
            faults: self.clone(),
            client: client.clone(),
        };
        Client::new(way, client.default_namespace())
    }

    /// Injects a fault into the `k`-th counted request from now (the first is 1), once.
    pub fn arm(&self, k: usize, fault: Fault) {
        self.arm_each(&[(k, fault)]);
    }

    /// The same for several requests.
    pub fn arm_each(&self, faults: &[(usize, Fault)]) {
        let mut plan = self.plan();
        let before = plan.counted.len();
        plan.armed = faults.iter().map(|(k, fault)| (before + k, *fault)).collect();
        plan.struck.clear();
    }

    /// The requests with injected faults, in order.
    pub fn struck(&self) -> Vec<Call> {
        self.plan().struck.clone()
    }

    /// Refuses the selected requests with this code, new watches included, until [`Faults::allow`].
    pub fn refuse(&self, filter: &Filter, code: u16) {
        self.plan().refusing = Some((filter.clone(), code));
    }

    /// Ends what [`Faults::refuse`] began.
    pub fn allow(&self) {
        self.plan().refusing = None;
    }

    /// Delays all watch events from now on.
    pub fn lag(&self, time: Duration) {
        self.0.line.send_modify(|line| line.lag = time);
    }

    /// Freezes watches until [`Faults::thaw`].
    pub fn freeze(&self) {
        self.0.line.send_modify(|line| line.frozen = true);
    }

    /// Whether watches are frozen.
    pub fn is_frozen(&self) -> bool {
        self.0.line.borrow().frozen
    }

    /// Resumes watches with all withheld events.
    pub fn thaw(&self) {
        self.0.line.send_modify(|line| {
            line.frozen = false;
            line.view = None;
        });
    }

    fn thaw_after(&self, time: Duration) {
        let faults = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            faults.thaw();
        });
    }

    /// The counted requests so far.
    pub fn counted(&self) -> Vec<Call> {
        self.plan().counted.clone()
    }

    /// All requests so far, counted or not.
    pub fn recorder(&self) -> &Recorder {
        &self.0.recorder
    }

    /// Disconnects everything, and fails all requests until [`Faults::mend`].
    pub fn sever(&self) {
        self.0.line.send_modify(|line| {
            line.down = true;
            line.cuts += 1;
        });
    }

    /// Ends [`Faults::sever`].
    pub fn mend(&self) {
        self.0.line.send_modify(|line| line.down = false);
    }

    /// Aborts all responses in flight; new requests work.
    pub fn cut(&self) {
        self.0.line.send_modify(|line| line.cuts += 1);
    }

    /// Whether the client process has crashed.
    pub fn has_crashed(&self) -> bool {
        self.0.line.borrow().crashed
    }

    /// Waits until the client process has crashed.
    pub async fn crashed(&self) {
        let mut line = self.0.line.subscribe();
        let told = line.wait_for(|line| line.crashed).await;
        told.map(drop).expect("the sender is our own");
    }

    /// Starts a new client process: requests work again.
    pub fn revive(&self) {
        self.0.line.send_modify(|line| line.crashed = false);
    }

    /// Records a request; returns the fault to inject.
    fn meet(&self, call: &Call) -> Option<Fault> {
        self.0.recorder.record(call.clone());
        let mut plan = self.plan();
        if self.0.line.borrow().crashed {
            return None;
        }
        if let Some((filter, code)) = &plan.refusing
            && (filter.0)(call)
        {
            return Some(Fault::Refuse(*code));
        }
        if !plan.filter.picks(call) {
            return None;
        }
        plan.counted.push(call.clone());
        let counted = plan.counted.len();
        let (_, fault) = *plan.armed.iter().find(|(k, _)| *k == counted)?;
        plan.struck.push(call.clone());
        Some(fault)
    }

    /// Crashes the client process; the next one does not see the latest `unseen` writes.
    fn crash(&self, unseen: Option<usize>) {
        let view = unseen.and_then(|writes| {
            let plan = self.plan();
            plan.written
                .len()
                .checked_sub(writes + 1)
                .map(|last| plan.written[last])
        });
        self.0.line.send_modify(|line| {
            line.crashed = true;
            line.view = view;
            line.frozen |= view.is_some();
        });
    }

    /// Records the resource version of a write.
    fn wrote(&self, answer: &[u8]) {
        let object: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
        let version = object["metadata"]["resourceVersion"].as_str();
        if let Some(version) = version.and_then(|version| version.parse().ok()) {
            let mut plan = self.plan();
            let highest = plan.written.last().copied().unwrap_or_default();
            plan.written.push(highest.max(version));
        }
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
            let call = Call::of(request.method(), request.uri());
            let fault = faults.meet(&call);
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
                Some(Fault::Late(time)) => {
                    let sent = tokio::spawn(async move {
                        tokio::time::sleep(time).await;
                        client.send(request).await
                    });
                    return Ok(sent.await??.map(|body| StreamBody::new(view::frames(body))));
                }
                Some(Fault::Freeze(time)) => {
                    faults.freeze();
                    faults.thaw_after(time);
                }
                Some(Fault::Crash) => {
                    faults.crash(None);
                    return Err("the process crashed".into());
                }
                Some(Fault::CrashBehind { writes, time }) => {
                    faults.crash(Some(writes));
                    faults.thaw_after(time);
                    return Err("the process crashed".into());
                }
            }
            // What is under way when the line is cut is lost, carried out or not.
            let answered = answer(&faults, &client, &call, request, line.clone());
            let answer = tokio::select! {
                biased;
                answer = answered => answer?,
                () = broken(line.clone(), now) => return Err("the line was cut".into()),
            };
            Ok(answer.map(|frames| while_the_line_holds(frames, line, now)))
        })
    }
}

/// The server's response as seen through the connection.
async fn answer(
    faults: &Faults,
    client: &Client,
    call: &Call,
    request: Request<Body>,
    line: watch::Receiver<Line>,
) -> Result<Response<Frames>, Failure> {
    let view = line.borrow().view;
    if let Some(revision) = view.filter(|_| call.verb == Verb::Watch) {
        let (uri, headers) = (request.uri().clone(), request.headers().clone());
        if let Some(copy) = view::older_copy(client, &uri, &headers, revision).await? {
            let answer = Response::builder().header(header::CONTENT_TYPE, "application/json");
            return Ok(answer.body(copy.frames(client, line).await?)?);
        }
    }
    let answer = client.send(request).await?;
    if call.verb == Verb::Watch {
        return Ok(answer.map(|body| view::late(view::frames(body), line)));
    }
    let (head, body) = answer.into_parts();
    let bytes = body.collect().await?.to_bytes();
    if call.verb.is_write() && head.status.is_success() {
        faults.wrote(&bytes);
    }
    let frames = futures::stream::iter([Ok(http_body::Frame::data(bytes))]);
    Ok(Response::from_parts(head, frames.boxed()))
}

async fn broken(mut line: watch::Receiver<Line>, before: Line) {
    let is_broken = |line: &Line| line.cuts != before.cuts || line.crashed;
    if line.wait_for(is_broken).await.is_err() {
        futures::future::pending::<()>().await;
    }
}

fn while_the_line_holds(frames: Frames, line: watch::Receiver<Line>, before: Line) -> StreamBody<Frames> {
    let frames = futures::stream::unfold(Some(frames), move |frames| {
        let line = line.clone();
        async move {
            let mut frames = frames?;
            tokio::select! {
                biased;
                () = broken(line, before) => Some((Err("the line was cut".into()), None)),
                frame = frames.next() => Some((frame?, Some(frames))),
            }
        }
    });
    StreamBody::new(frames.boxed())
}

fn refusal(code: u16, pause: Option<Duration>) -> Result<Response<StreamBody<Frames>>, Failure> {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
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
