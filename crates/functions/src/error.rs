//! Errors of calls to functions.

use std::time::Duration;

use crate::convert::Garbled;

/// Why a call failed. Texts name the function and its address, and never the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The certificates or the key cannot be used.
    #[error(
        "cannot call function {function:?} at {address}: its Secret does not hold usable certificates ({problem}); it needs ca.crt, tls.crt and tls.key in PEM"
    )]
    Certificates {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// What is wrong with them.
        problem: String,
    },
    /// The function is unreachable.
    #[error(
        "cannot reach function {function:?} at {address}: {reason}; is it running, and is the endpoint right?"
    )]
    Unreachable {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// What the connection said.
        reason: String,
    },
    /// It took too long.
    #[error(
        "function {function:?} at {address} did not answer within {}s; is it overloaded, or is the deadline too short?",
        deadline.as_secs_f32()
    )]
    Deadline {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// How long it had.
        deadline: Duration,
    },
    /// The server at the endpoint does not serve the protocol.
    #[error(
        "{address} does not serve apiextensions.fn.proto.v1 or v1beta1; is it the endpoint of function {function:?}?"
    )]
    NotAFunction {
        /// Which function.
        function: String,
        /// Where.
        address: String,
    },
    /// The request is larger than anything that is sent.
    #[error(
        "the request to function {function:?} is larger than {limit} bytes; is everything needed that is composed and required?"
    )]
    RequestTooLarge {
        /// Which function.
        function: String,
        /// The most that is sent.
        limit: usize,
    },
    /// The answer is larger than anything that is taken.
    #[error("the answer of function {function:?} at {address} is larger than {limit} bytes")]
    AnswerTooLarge {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// The most that is taken.
        limit: usize,
    },
    /// The function answered with an error.
    #[error("function {function:?} at {address} failed with {code}: {message}")]
    Failed {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// The code of gRPC, by its name.
        code: String,
        /// What the function said.
        message: String,
    },
    /// The answer is none.
    #[error("function {function:?} at {address}: {garbled}")]
    Garbled {
        /// Which function.
        function: String,
        /// Where.
        address: String,
        /// What is wrong with it.
        #[source]
        garbled: Garbled,
    },
}
