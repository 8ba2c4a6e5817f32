//! CEL values, which borrow from the objects they come from.

mod equal;
mod instant;
mod json;
mod list;
mod made;
mod map;
mod text;

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::functions::{Check, Cidr, Decision, Format, Quantity, Semver, Url};
use crate::types::Type;

pub(crate) use equal::{compare, equal};
pub(crate) use instant::Instant;
pub(crate) use list::List;
pub(crate) use made::Made;
pub(crate) use map::{Key, Map};
pub(crate) use text::Text;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Timestamp(Instant),
    /// In nanoseconds.
    Duration(i64),
    Type(Type),
    Optional(Option<Arc<Value<'a>>>),
    Quantity(Quantity),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(Cidr),
    Format(&'static Format),
    Semver(Arc<Semver>),
    /// A value of a field without a schema.
    Unknown(&'a Json),
    /// A message constructed by an expression.
    Made(Arc<Made<'a>>),
    /// The composited variables of a policy.
    Variables,
    /// An authorizer check under construction.
    Check(Arc<Check<'a>>),
    /// The decision of an authorizer check.
    Decision(Arc<Decision>),
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::owned(items))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The runtime type.
    pub(crate) fn ty(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Timestamp(_) => Type::Timestamp,
            Self::Duration(_) => Type::Duration,
            Self::Type(_) => Type::Type(None),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::Quantity(_) => Type::Named("kubernetes.Quantity"),
            Self::Url(_) => Type::Named("kubernetes.URL"),
            Self::Ip(_) => Type::Named("net.IP"),
            Self::Cidr(_) => Type::Named("net.CIDR"),
            Self::Format(_) => Type::Named("kubernetes.NamedFormat"),
            Self::Semver(_) => Type::Named("kubernetes.Semver"),
            Self::Unknown(_) => Type::Named("unknown"),
            Self::Made(made) => Type::Message(made.message.clone()),
            Self::Variables => Type::Named("kubernetes.variables"),
            Self::Check(check) => Type::Named(check.type_name()),
            Self::Decision(_) => Type::Named("kubernetes.authorization.Decision"),
        }
    }

    /// The name of the type in errors.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Unknown(_) => "unknown",
            Self::Made(_) => "Object",
            Self::Variables => "kubernetes.variables",
            Self::Check(check) => check.type_name(),
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    /// The number of characters, bytes, items or entries; 1 for other values.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::String(text) => text.chars().count() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(cidr) => u64::from(cidr.bits).div_ceil(8),
            _ => 1,
        }
    }

    /// The bytes allocated for a created value.
    pub(crate) fn made(&self) -> usize {
        match self {
            Self::String(Text::Shared(text)) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.made() * size_of::<Self>(),
            _ => 0,
        }
    }

    /// As [`Value::size`], looking into an optional.
    pub(crate) fn inner_size(&self) -> u64 {
        match self {
            Self::Optional(Some(inner)) => inner.inner_size(),
            _ => self.size(),
        }
    }
}
