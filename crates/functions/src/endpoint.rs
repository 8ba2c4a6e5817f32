//! The endpoint of a function, and its TLS configuration.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::uri::Authority;

/// Where a function answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    function: String,
    authority: Authority,
    tls: Option<Arc<Tls>>,
}

/// The TLS configuration of a connection. Keys are never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// The CA certificates that may have signed the function's certificate, in PEM.
    pub authority: Vec<u8>,
    /// The certificate and the key, in PEM, that are shown to the function.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the function's certificate; the host of the endpoint, if nothing is given.
    pub server_name: Option<String>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Tls");
        debug
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// Where functions may be called without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plain {
    /// On this machine alone.
    #[default]
    OnLoopback,
    /// Everywhere: anybody on the network path can read and change the messages.
    Anywhere,
}

/// Why nothing can be called there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no address.
    #[error("the endpoint of function {function:?} is not of the form host:port")]
    Address {
        /// Which function.
        function: String,
    },
    /// It would be called without TLS, and may not be.
    #[error(
        "function {function:?} at {address} is on another machine and its Function has no spec.tls; name a Secret with ca.crt, tls.crt and tls.key there, or allow plain connections"
    )]
    Insecure {
        /// Which function.
        function: String,
        /// Where.
        address: String,
    },
    /// The address says one thing, the rest another.
    #[error(
        "function {function:?} at {address}: {scheme} is written, but spec.tls is {tls}; say the same in both"
    )]
    Contradiction {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// What the address says.
        scheme: &'static str,
        /// What the rest says.
        tls: &'static str,
    },
}

impl Endpoint {
    /// Where a function answers: `host:port`, also with `dns:///` before it as Crossplane writes it, or with `http://` or `https://`.
    pub fn new(
        function: impl Into<String>,
        address: &str,
        tls: Option<Tls>,
        plain: Plain,
    ) -> Result<Self, EndpointError> {
        let function = function.into();
        let schemes = ["dns:///", "http://", "https://"];
        let scheme = schemes.into_iter().find(|scheme| address.starts_with(scheme));
        let place = address
            .strip_prefix(scheme.unwrap_or_default())
            .unwrap_or(address);
        let authority = place.trim_end_matches('/').parse::<Authority>();
        let authority = authority
            .ok()
            .filter(|authority| authority.port().is_some() && !authority.as_str().contains('@'));
        let Some(authority) = authority else {
            return Err(EndpointError::Address { function });
        };
        let written = match (scheme, &tls) {
            (Some("https://"), None) => Some(("https://", "not there")),
            (Some("http://"), Some(_)) => Some(("http://", "there")),
            _ => None,
        };
        let address = authority.to_string();
        if let Some((scheme, tls)) = written {
            return Err(EndpointError::Contradiction {
                function,
                address,
                scheme,
                tls,
            });
        }
        if tls.is_none() && plain == Plain::OnLoopback && !is_loopback(authority.host()) {
            return Err(EndpointError::Insecure { function, address });
        }
        Ok(Self {
            function,
            authority,
            tls: tls.map(Arc::new),
        })
    }

    /// Which function it is.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Where it answers, as `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        self.authority.as_str()
    }

    pub(crate) fn host(&self) -> &str {
        self.authority.host()
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(address: &str) -> Result<String, EndpointError> {
        let endpoint = Endpoint::new("f", address, None, Plain::OnLoopback)?;
        Ok(endpoint.address().to_owned())
    }

    #[test]
    fn addresses_are_host_and_port_in_each_way_of_writing_them() {
        for (written, address) in [
            ("127.0.0.1:9443", "127.0.0.1:9443"),
            ("[::1]:9443", "[::1]:9443"),
            ("http://localhost:80", "localhost:80"),
            ("dns:///localhost:80", "localhost:80"),
        ] {
            assert_eq!(plain(written).as_deref(), Ok(address), "{written}");
        }
        for wrong in [
            "",
            "localhost",
            "http://",
            "localhost:80/path",
            "user:word@localhost:80",
            "unix:///s",
        ] {
            let error = plain(wrong).unwrap_err();
            assert!(matches!(error, EndpointError::Address { .. }), "{wrong}: {error}");
            assert!(!error.to_string().contains("word"), "{error}");
        }
    }

    #[test]
    fn without_tls_only_this_machine_is_called_unless_allowed() {
        let address = "function.system.svc:9443";
        assert!(matches!(plain(address), Err(EndpointError::Insecure { .. })));
        assert!(matches!(plain("10.0.0.1:1"), Err(EndpointError::Insecure { .. })));
        assert!(Endpoint::new("f", address, None, Plain::Anywhere).is_ok());
        assert!(Endpoint::new("f", address, Some(Tls::default()), Plain::OnLoopback).is_ok());
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert!(matches!(
            plain("https://localhost:1"),
            Err(EndpointError::Contradiction { .. })
        ));
        let both = Endpoint::new("f", "http://localhost:1", Some(Tls::default()), Plain::Anywhere);
        assert!(matches!(both, Err(EndpointError::Contradiction { .. })));
    }

    #[test]
    fn keys_are_not_printed() {
        let tls = Tls {
            authority: b"authority".to_vec(),
            identity: Some((b"certificate".to_vec(), b"the key".to_vec())),
            server_name: Some("name".to_owned()),
        };
        let endpoint = Endpoint::new("f", "host:1", Some(tls), Plain::OnLoopback);
        assert_eq!(
            format!("{endpoint:?}"),
            r#"Ok(Endpoint { function: "f", authority: host:1, tls: Some(Tls { server_name: Some("name"), .. }) })"#
        );
    }
}
