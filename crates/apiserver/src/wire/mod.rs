//! Wire formats: content negotiation, request bodies, response bodies.
//!
//! Encodings are in two places: [`Encoding`] (responses) and [`Media`] (requests).

mod accept;
mod body;
mod compress;
mod decode;
mod json;
mod response;

pub(crate) use accept::{Alternative, Encoding, Representation, SPOKEN, Shape, alternatives};
pub use body::Body;
pub(crate) use body::Chunks;
pub(crate) use compress::compress;
pub(crate) use decode::{
    BODY_LIMIT, BODY_TIMEOUT, Decoded, Media, decode, decode_json, decode_yaml, read_body, repeated_key,
    summary,
};
pub(crate) use json::fields;
pub(crate) use response::{
    Response, bytes_response, encode, status_response, stream_response, text_response, value_response,
};
