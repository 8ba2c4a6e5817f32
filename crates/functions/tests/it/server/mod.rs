//! A composition function for tests: a server on this machine that answers as a test says.

use bytes::Bytes;
use cambium_functions::Unread;
use cambium_functions::wire::{RUN_FUNCTION, RUN_FUNCTION_BETA, RunFunctionRequest, RunFunctionResponse};
use prost::Message as _;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::ServerTlsConfig;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};

/// What a function does when it is asked.
pub(crate) enum Reply {
    Answer(Box<RunFunctionResponse>),
    /// Bytes that may be no answer at all.
    Bytes(Vec<u8>),
    Error(Status),
    Never,
}

impl Reply {
    pub(crate) fn answer(response: RunFunctionResponse) -> Self {
        Self::Answer(Box::new(response))
    }
}

type Behaviour = dyn Fn(RunFunctionRequest) -> Reply + Send + Sync;

/// A function at work.
pub(crate) struct FunctionServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<RunFunctionRequest>>>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl FunctionServer {
    /// Serves the protocol of today, somewhere.
    pub(crate) async fn start(
        behaviour: impl Fn(RunFunctionRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::serve("127.0.0.1:0", RUN_FUNCTION, None, behaviour).await
    }

    /// Serves the protocol of yesterday alone.
    pub(crate) async fn beta(
        behaviour: impl Fn(RunFunctionRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::serve("127.0.0.1:0", RUN_FUNCTION_BETA, None, behaviour).await
    }

    pub(crate) async fn serve(
        address: &str,
        method: &'static str,
        tls: Option<ServerTlsConfig>,
        behaviour: impl Fn(RunFunctionRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel::<()>();
        let function = Function {
            behaviour: Arc::new(behaviour),
            asked: asked.clone(),
        };
        let service = tower::service_fn(move |request: http::Request<tonic::body::Body>| {
            let function = function.clone();
            async move {
                let served = request.uri().path() == method;
                let call = tower::service_fn(move |request: Request<Bytes>| {
                    let function = function.clone();
                    async move {
                        match served {
                            true => function.answer(request.into_inner()).await,
                            false => Err(Status::unimplemented("no such method")),
                        }
                    }
                });
                let mut grpc = tonic::server::Grpc::new(Unread).max_decoding_message_size(64 << 20);
                Ok::<_, Infallible>(grpc.unary(call, request).await)
            }
        });
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let task = tokio::spawn(async move {
            let incoming = TcpIncoming::from(listener);
            let until = async {
                let _ = stopped.await;
            };
            let served = server.serve_with_incoming_shutdown(service, incoming, until);
            served.await.unwrap();
        });
        let stop = Some(stop);
        Self {
            address,
            asked,
            stop,
            task,
        }
    }

    /// How to reach it.
    pub(crate) fn endpoint(&self) -> String {
        self.address.to_string()
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<RunFunctionRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Ends it, and closes its connections.
    pub(crate) async fn stop(mut self) -> SocketAddr {
        drop(self.stop.take());
        let _ = (&mut self.task).await;
        self.address
    }
}

impl Drop for FunctionServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Function {
    behaviour: Arc<Behaviour>,
    asked: Arc<Mutex<Vec<RunFunctionRequest>>>,
}

impl Function {
    async fn answer(&self, bytes: Bytes) -> Result<Response<Bytes>, Status> {
        let request =
            RunFunctionRequest::decode(bytes).map_err(|error| Status::internal(error.to_string()))?;
        self.asked.lock().unwrap().push(request.clone());
        match (self.behaviour)(request) {
            Reply::Answer(response) => Ok(Response::new(response.encode_to_vec().into())),
            Reply::Bytes(bytes) => Ok(Response::new(bytes.into())),
            Reply::Error(status) => Err(status),
            Reply::Never => std::future::pending().await,
        }
    }
}

/// The answer of a function that changes nothing.
pub(crate) fn passing_on(request: &RunFunctionRequest) -> RunFunctionResponse {
    RunFunctionResponse {
        desired: request.desired.clone(),
        context: request.context.clone(),
        ..RunFunctionResponse::default()
    }
}
