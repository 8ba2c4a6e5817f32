//! Things that go wrong between a client and a server, on purpose.
//!
//! [`Faults::client`] puts itself between a client and any other: the embedded server's or a real one's. It records
//! every request and can let the k-th of those that a [`Filter`] picks go wrong in one way ([`Fault`]). Watches
//! are recorded, and cut where a line is cut, but never counted.
//!
//! Other faults last: watches that are late ([`Faults::lag`]) or frozen ([`Faults::freeze`]) while writes succeed, and requests that are refused
//! until further notice ([`Faults::refuse`]).
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
    /// The request reaches the server after this time, also when nobody waits for the answer any more: a process that was paused while it sent it.
    Late(Duration),
    /// From this request on, watches say nothing for this time. Requests are answered as ever.
    Freeze(Duration),
    /// The process dies before it sends this: this and every later request fails, and open watches end.
    Crash,
    /// The same, and for this time the next process sees the cluster as it was so many writes ago.
    CrashBehind {
        /// How many of the writes are not seen yet.
        writes: usize,
        /// For how long.
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

    /// Two to five faults of all sorts at some of so many calls, one often soon after another.
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
    armed: Vec<(usize, Fault)>,
    struck: Vec<Call>,
    refusing: Option<(Filter, u16)>,
    /// The resource version of each write.
    written: Vec<u64>,
}

/// How the line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Line {
    down: bool,
    crashed: bool,
    cuts: usize,
    frozen: bool,
    lag: Duration,
    /// Streaming lists are answered as of this revision.
    view: Option<u64>,
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
                armed: Vec::new(),
                struck: Vec::new(),
                refusing: None,
                written: Vec::new(),
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
        self.arm_each(&[(k, fault)]);
    }

    /// The same for several requests.
    pub fn arm_each(&self, faults: &[(usize, Fault)]) {
        let mut plan = self.plan();
        let before = plan.counted.len();
        plan.armed = faults.iter().map(|(k, fault)| (before + k, *fault)).collect();
        plan.struck.clear();
    }

    /// The requests that have gone wrong, in their order.
    pub fn struck(&self) -> Vec<Call> {
        self.plan().struck.clone()
    }

    /// Refuses all of these requests with this code, watches that begin included, until [`Faults::allow`].
    pub fn refuse(&self, filter: &Filter, code: u16) {
        self.plan().refusing = Some((filter.clone(), code));
    }

    /// Ends what [`Faults::refuse`] began.
    pub fn allow(&self) {
        self.plan().refusing = None;
    }

    /// From now on, whatever a watch shows comes this much later.
    pub fn lag(&self, time: Duration) {
        self.0.line.send_modify(|line| line.lag = time);
    }

    /// Watches stay open and show nothing until [`Faults::thaw`].
    pub fn freeze(&self) {
        self.0.line.send_modify(|line| line.frozen = true);
    }

    /// Whether watches show nothing at this moment.
    pub fn is_frozen(&self) -> bool {
        self.0.line.borrow().frozen
    }

    /// Watches go on, with everything that they did not show.
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

    /// The process dies; the next one sees what the server had before the last of these writes.
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

    /// Remembers the resource version that a write has made.
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

/// What the server answers, as the line shows it.
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
