//! Calls functions over gRPC connections that are kept open.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes};
use cambium_compositions_render::function::{Request, Response};
use http::uri::PathAndQuery;
use prost::Message as _;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};
use tonic::{Code, Status};

use crate::convert::{Garbled, answered, asked};
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::wire;

/// The largest answer that is taken, as in Crossplane.
pub const ANSWER_LIMIT: usize = 4 << 20;
/// The largest request that is sent.
pub const REQUEST_LIMIT: usize = 32 << 20;
/// How long it may take to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// A function that restarts is away for a moment: pauses before it is called again.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
/// The longest part of a function's error message that is passed on.
const LONGEST_MESSAGE: usize = 1024;

/// A gRPC client of functions. It keeps one connection to each, which is opened by the first call and again when it broke.
#[derive(Default)]
pub struct Functions {
    connections: Mutex<HashMap<String, (Endpoint, Channel)>>,
}

impl Functions {
    /// Asks a function, and waits for its answer for at most so long.
    pub async fn call(
        &self,
        endpoint: &Endpoint,
        request: &Request,
        deadline: Duration,
    ) -> Result<Response, CallError> {
        let bytes = Bytes::from(asked(request).encode_to_vec());
        let function = endpoint.function().to_owned();
        if bytes.len() > REQUEST_LIMIT {
            let limit = REQUEST_LIMIT;
            return Err(CallError::RequestTooLarge { function, limit });
        }
        let channel = self.channel(endpoint)?;
        let address = endpoint.address().to_owned();
        let answer = match tokio::time::timeout(deadline, patiently(channel, bytes, deadline)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(status)) => return Err(failed(endpoint, deadline, &status)),
            Err(_) => {
                return Err(CallError::Deadline {
                    function,
                    address,
                    deadline,
                });
            }
        };
        let message = wire::RunFunctionResponse::decode(answer);
        let response = message.map_err(|error| Garbled::Message(error.to_string()));
        response.and_then(answered).map_err(|garbled| CallError::Garbled {
            function,
            address,
            garbled,
        })
    }

    /// Closes the connection to a function that is no more.
    pub fn forget(&self, function: &str) {
        self.connections().remove(function);
    }

    /// The connection to a function; a new one, if it is elsewhere now or secured in another way.
    fn channel(&self, endpoint: &Endpoint) -> Result<Channel, CallError> {
        let mut connections = self.connections();
        if let Some((known, channel)) = connections.get(endpoint.function())
            && known == endpoint
        {
            return Ok(channel.clone());
        }
        let channel = connect(endpoint)?;
        connections.insert(
            endpoint.function().to_owned(),
            (endpoint.clone(), channel.clone()),
        );
        Ok(channel)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<String, (Endpoint, Channel)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is made when it is first used.
fn connect(endpoint: &Endpoint) -> Result<Channel, CallError> {
    let unusable = |error: tonic::transport::Error| CallError::Certificates {
        function: endpoint.function().to_owned(),
        address: endpoint.address().to_owned(),
        problem: innermost(&error),
    };
    let scheme = if endpoint.tls().is_some() { "https" } else { "http" };
    let target = Channel::from_shared(format!("{scheme}://{}", endpoint.address()));
    let mut target = target
        .map_err(|error| CallError::Unreachable {
            function: endpoint.function().to_owned(),
            address: endpoint.address().to_owned(),
            reason: error.to_string(),
        })?
        .connect_timeout(CONNECT);
    if let Some(tls) = endpoint.tls() {
        let name = tls.server_name.as_deref().unwrap_or(endpoint.host());
        let mut config = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&tls.authority))
            .domain_name(name);
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        target = target.tls_config(config).map_err(unusable)?;
    }
    Ok(target.connect_lazy())
}

/// Calls, and calls again while the function is unavailable: one that restarts is away for a moment.
async fn patiently(channel: Channel, request: Bytes, deadline: Duration) -> Result<Bytes, Status> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let answer = either(&channel, &request, deadline).await;
        match (answer, pauses.next()) {
            (Err(status), Some(pause)) if status.code() == Code::Unavailable => {
                tokio::time::sleep(pause).await;
            }
            (answer, _) => return answer,
        }
    }
}

/// Calls v1 of the protocol, or else v1beta1: a request is the same in both.
async fn either(channel: &Channel, request: &Bytes, deadline: Duration) -> Result<Bytes, Status> {
    match once(channel, wire::RUN_FUNCTION, request, deadline).await {
        Err(status) if status.code() == Code::Unimplemented => {
            once(channel, wire::RUN_FUNCTION_BETA, request, deadline).await
        }
        answer => answer,
    }
}

async fn once(
    channel: &Channel,
    method: &'static str,
    request: &Bytes,
    deadline: Duration,
) -> Result<Bytes, Status> {
    let mut client = Grpc::new(channel.clone()).max_decoding_message_size(ANSWER_LIMIT);
    client
        .ready()
        .await
        .map_err(|error| Status::unavailable(innermost(&error)))?;
    let mut request = tonic::Request::new(request.clone());
    request.set_timeout(deadline);
    let answer = client
        .unary(request, PathAndQuery::from_static(method), Unread)
        .await?;
    Ok(answer.into_inner())
}

/// Turns a gRPC status into an error for the operator of the function.
fn failed(endpoint: &Endpoint, deadline: Duration, status: &Status) -> CallError {
    let function = endpoint.function().to_owned();
    let address = endpoint.address().to_owned();
    let message = status.message();
    match status.code() {
        Code::Unimplemented => CallError::NotAFunction { function, address },
        Code::DeadlineExceeded => CallError::Deadline {
            function,
            address,
            deadline,
        },
        // Whichever side counts the time itself says so.
        Code::Cancelled if message == "Timeout expired" => CallError::Deadline {
            function,
            address,
            deadline,
        },
        Code::Unavailable => CallError::Unreachable {
            function,
            address,
            reason: status.source().map_or_else(|| message.to_owned(), innermost),
        },
        // What is larger than the limit is refused on this side, under this code.
        Code::OutOfRange if message.contains("message length too large") => CallError::AnswerTooLarge {
            function,
            address,
            limit: ANSWER_LIMIT,
        },
        code => CallError::Failed {
            function,
            address,
            code: format!("{code:?}"),
            message: message[..message.floor_char_boundary(LONGEST_MESSAGE)].to_owned(),
        },
    }
}

/// The innermost source of an error: the layers above it do not say more than that there is one.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Leaves messages as bytes: what cannot be read is told apart from what cannot be had.
pub struct Unread;

impl Codec for Unread {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Unread {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Unread {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
