//! The client configuration of webhooks: the Service or URL at which an API server calls them.

use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    ServiceReference, WebhookClientConfig,
};

/// By a Service, in a cluster; by a URL, from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// A Service whose endpoints are our replicas.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The Service's port.
        port: u16,
    },
    /// The beginning of a URL: `https://127.0.0.1:9443`.
    Url(String),
}

/// Why the URL cannot be a client configuration.
#[derive(Debug, thiserror::Error)]
#[error("{url:?} is not an https base URL such as https://127.0.0.1:9443")]
pub struct ReachError {
    url: String,
}

impl Reach {
    /// The URL of a server that listens on this machine.
    pub fn local(address: std::net::SocketAddr) -> Self {
        Self::Url(format!("https://{address}"))
    }

    /// The names and addresses that a certificate must have.
    pub fn names(&self) -> Result<Vec<String>, ReachError> {
        match self {
            Self::Service { namespace, name, .. } => {
                let short = format!("{name}.{namespace}.svc");
                let long = format!("{short}.cluster.local");
                Ok(vec![short, long])
            }
            Self::Url(url) => {
                let wrong = || ReachError { url: url.clone() };
                let uri: http::Uri = url.parse().map_err(|_| wrong())?;
                match (uri.scheme_str(), uri.host()) {
                    (Some("https"), Some(host)) => Ok(vec![host.trim_matches(['[', ']']).to_owned()]),
                    _ => Err(wrong()),
                }
            }
        }
    }

    /// The `clientConfig` of one path.
    pub fn client_config(&self, path: &str, bundle: &str) -> WebhookClientConfig {
        let ca_bundle = Some(ByteString(bundle.as_bytes().to_vec()));
        match self {
            Self::Service {
                namespace,
                name,
                port,
            } => WebhookClientConfig {
                ca_bundle,
                service: Some(ServiceReference {
                    name: name.clone(),
                    namespace: namespace.clone(),
                    path: Some(path.to_owned()),
                    port: Some(i32::from(*port)),
                }),
                url: None,
            },
            Self::Url(url) => WebhookClientConfig {
                ca_bundle,
                service: None,
                url: Some(format!("{}{path}", url.trim_end_matches('/'))),
            },
        }
    }
}
