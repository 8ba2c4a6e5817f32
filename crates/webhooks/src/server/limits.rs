//! Limits of the server: connections, sizes and timeouts.

use std::time::Duration;

/// What the server gives to its clients at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections. The next one waits until one of them closes.
    pub connections: usize,
    /// Bytes in the body of a request.
    pub body: usize,
    /// Bytes in the head of a request. An HTTP/1.1 head that comes in one piece may have twice as many.
    pub head: usize,
    /// Conversions at a time.
    pub conversions: usize,
    /// Validations at a time.
    pub validations: usize,
    /// For the TLS handshake.
    pub hello: Duration,
    /// For the head of an HTTP/1.1 request; a connection that is kept open between requests waits as long.
    pub head_time: Duration,
    /// For the body of a request.
    pub body_time: Duration,
    /// For a connection without a request.
    pub idle: Duration,
    /// For a validator.
    pub validation: Duration,
    /// For open requests when the server stops, and for a client to take the last answer.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            body: 8 << 20,
            head: 64 << 10,
            conversions: 64,
            validations: 64,
            hello: Duration::from_secs(10),
            head_time: Duration::from_secs(90),
            body_time: Duration::from_secs(15),
            idle: Duration::from_secs(120),
            // A second less than the API server waits, so that the client reads our words and not its own.
            validation: Duration::from_secs(9),
            farewell: Duration::from_secs(5),
        }
    }
}
