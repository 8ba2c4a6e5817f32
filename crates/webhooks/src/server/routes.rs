//! Routes requests to conversion, validators and mutators.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use cambium_convert::{Registry, review};
use cambium_metrics::Metrics;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::Clients;
use super::limits::Limits;
use crate::admission::{self, Admission, AdmissionRequest, Mutator, Validator};
use crate::registration::Asks;

/// What the server answers with.
#[derive(Clone)]
pub struct Hooks {
    /// Behind `/convert`: who converts which kind. Panics of converters are answers.
    pub converters: Registry,
    /// Behind `/admit/<path>` and `/mutate/<path>`.
    pub admission: Admission,
    /// What is counted.
    pub metrics: Metrics,
}

impl Hooks {
    /// Conversion of Cambium's kinds, and these at admission.
    pub fn new(admission: Admission) -> Self {
        Self {
            converters: Registry::of_cambium(),
            admission,
            metrics: Metrics::default(),
        }
    }
}

/// The paths, and what limits them.
pub(super) struct Routes {
    converters: Arc<Registry>,
    validators: BTreeMap<&'static str, Arc<dyn Validator>>,
    mutators: BTreeMap<&'static str, Arc<dyn Mutator>>,
    limits: Limits,
    clients: Clients,
    metrics: Metrics,
    /// Apart from validations: a validator may read what has to be converted, and must not wait for itself.
    conversions: Semaphore,
    validations: Semaphore,
}

type Answer = Response<Full<Bytes>>;

/// An answer other than 200, with a text for whoever looks at it.
struct Refusal(StatusCode, String);

impl Routes {
    pub(super) fn new(hooks: Hooks, limits: Limits, clients: Clients) -> Self {
        let validators = hooks.admission.validators.into_iter();
        let mutators = hooks.admission.mutators.into_iter();
        Self {
            converters: Arc::new(hooks.converters),
            validators: validators.map(|one| (one.path(), one)).collect(),
            mutators: mutators.map(|one| (one.path(), one)).collect(),
            limits,
            clients,
            metrics: hooks.metrics,
            conversions: Semaphore::new(limits.conversions),
            validations: Semaphore::new(limits.validations),
        }
    }

    /// Answers a request, and counts it if somebody is asked. `shown` says whether its client has shown a certificate, which was verified then.
    pub(super) async fn answer<B>(&self, request: Request<B>, shown: bool) -> Answer
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (path, began) = (request.uri().path().to_owned(), Instant::now());
        let answer = self.answer_to(request, shown).await;
        let part = |asks: Asks| path.strip_prefix(asks.path());
        let is_hook = path == "/convert"
            || part(Asks::Validators).is_some_and(|hook| self.validators.contains_key(hook))
            || part(Asks::Mutators).is_some_and(|hook| self.mutators.contains_key(hook));
        if is_hook {
            let code = answer.status().as_u16();
            self.metrics.answered(&path, code, began.elapsed());
        }
        answer
    }

    async fn answer_to<B>(&self, request: Request<B>, shown: bool) -> Answer
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = request.uri().path().to_owned();
        let part = |asks: Asks| path.strip_prefix(asks.path());
        let answered = match (path.as_str(), part(Asks::Validators), part(Asks::Mutators)) {
            ("/healthz", ..) => match request.method() {
                &Method::GET | &Method::HEAD => return respond(StatusCode::OK, "text/plain", "ok".into()),
                _ => return not_allowed("GET, HEAD"),
            },
            _ if !shown && matches!(self.clients, Clients::SignedBy(_)) => Err(Refusal(
                StatusCode::FORBIDDEN,
                "a client certificate is required here".to_owned(),
            )),
            ("/convert", ..) if request.method() != Method::POST => return not_allowed("POST"),
            ("/convert", ..) => self.convert(request).await,
            (_, Some(hook), _) => match self.validators.get(hook) {
                Some(_) if request.method() != Method::POST => return not_allowed("POST"),
                Some(validator) => self.validate(validator.clone(), request).await,
                None => Err(nothing_at(&path)),
            },
            (_, _, Some(hook)) => match self.mutators.get(hook) {
                Some(_) if request.method() != Method::POST => return not_allowed("POST"),
                Some(mutator) => self.mutate(mutator.clone(), request).await,
                None => Err(nothing_at(&path)),
            },
            _ => Err(nothing_at(&path)),
        };
        match answered {
            Ok(body) => respond(StatusCode::OK, "application/json", body.to_string().into()),
            Err(Refusal(code, text)) => respond(code, "text/plain; charset=utf-8", (text + "\n").into()),
        }
    }

    async fn convert<B>(&self, request: Request<B>) -> Result<Value, Refusal>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        is_json(request.headers())?;
        let _permit = self.permit(&self.conversions).await?;
        let body = self.body(request).await?;
        let (converters, size) = (self.converters.clone(), body.len());
        let convert = move || {
            let review = conversion_review(&body)?;
            let by_kind = |object, desired: &str| converters.convert(object, desired);
            Ok(review::answer_with(review, &by_kind))
        };
        if size <= AT_ONCE {
            return convert();
        }
        let done = tokio::task::spawn_blocking(convert).await;
        done.unwrap_or_else(|error| Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())))
    }

    async fn validate<B>(&self, validator: Arc<dyn Validator>, request: Request<B>) -> Result<Value, Refusal>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (_permit, version, question) = self.question(request).await?;
        let uid = question.uid.clone();
        let verdict = admission::ask(validator, question, self.limits.validation).await;
        Ok(admission::answer(&version, &uid, &verdict))
    }

    async fn mutate<B>(&self, mutator: Arc<dyn Mutator>, request: Request<B>) -> Result<Value, Refusal>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (_permit, version, question) = self.question(request).await?;
        let uid = question.uid.clone();
        let mutation = admission::ask_mutator(mutator, question, self.limits.validation).await;
        Ok(admission::mutated(&version, &uid, &mutation))
    }

    /// What an API server asks, and the right to be answered.
    async fn question<B>(
        &self,
        request: Request<B>,
    ) -> Result<(SemaphorePermit<'_>, String, AdmissionRequest), Refusal>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        is_json(request.headers())?;
        let permit = self.permit(&self.validations).await?;
        let body = self.body(request).await?;
        let decoded = admission::decode(&body);
        let (version, question) =
            decoded.map_err(|error| Refusal(StatusCode::BAD_REQUEST, error.to_string()))?;
        Ok((permit, version, question))
    }

    /// The right to be worked on, or the news that there are too many.
    async fn permit<'a>(&self, permits: &'a Semaphore) -> Result<SemaphorePermit<'a>, Refusal> {
        match tokio::time::timeout(self.limits.body_time, permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Refusal(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests at a time".to_owned(),
            )),
        }
    }

    async fn body<B>(&self, request: Request<B>) -> Result<Bytes, Refusal>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limit = self.limits.body;
        let too_large = || {
            let text = format!("the body has more than {limit} bytes");
            Refusal(StatusCode::PAYLOAD_TOO_LARGE, text)
        };
        let announced = request.headers().get(CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let body = Limited::new(request.into_body(), limit).collect();
        match tokio::time::timeout(self.limits.body_time, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(error)) => Err(Refusal(StatusCode::BAD_REQUEST, error.to_string())),
            Err(_) => Err(Refusal(
                StatusCode::REQUEST_TIMEOUT,
                "the body did not arrive in time".to_owned(),
            )),
        }
    }
}

/// Bytes of a review that is converted without moving to another thread: less than a millisecond's work.
const AT_ONCE: usize = 64 << 10;

/// Only what is no review at all is an HTTP error. The API server shows nobody the text of one, so all else is said in an answer.
fn conversion_review(body: &[u8]) -> Result<Value, Refusal> {
    let not_a_review = |why: String| {
        let text = format!("the body is not a ConversionReview: {why}");
        Refusal(StatusCode::BAD_REQUEST, text)
    };
    let review: Value = serde_json::from_slice(body).map_err(|error| not_a_review(error.to_string()))?;
    match &review["kind"] {
        Value::String(kind) if kind == "ConversionReview" => Ok(review),
        kind => Err(not_a_review(format!("its kind is {kind}"))),
    }
}

fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let given = given.unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    match media.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(Refusal(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("content-type {given:?}: expected application/json"),
        )),
    }
}

fn nothing_at(path: &str) -> Refusal {
    Refusal(StatusCode::NOT_FOUND, format!("no webhook is served at {path}"))
}

fn not_allowed(allowed: &'static str) -> Answer {
    let text = format!("the method must be one of {allowed}\n");
    let mut answer = respond(
        StatusCode::METHOD_NOT_ALLOWED,
        "text/plain; charset=utf-8",
        text.into(),
    );
    answer
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn respond(code: StatusCode, media: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = code;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    answer
}
