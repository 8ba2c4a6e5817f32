//! CEL types.

use std::fmt;
use std::sync::Arc;

use crate::declare::Object;

/// The type of an expression.
#[derive(Debug, Clone)]
pub enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// An untypable expression; reported once, then ignored.
    Error,
    /// Only `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A signed 64-bit number.
    Int,
    /// An unsigned 64-bit number.
    Uint,
    /// A 64-bit floating point number.
    Double,
    /// A string.
    String,
    /// Bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// A list of one type.
    List(Arc<Type>),
    /// A map from one type to another.
    Map(Arc<(Type, Type)>),
    /// An object whose fields a schema declares.
    Object(Arc<Object>),
    /// A named type of a library (`net.IP`, `kubernetes.Quantity`).
    Named(&'static str),
    /// A message type that expressions construct (`Object.spec`, `JSONPatch`).
    Message(Arc<str>),
    /// An optional.
    Optional(Arc<Type>),
    /// The type of a type.
    Type(Option<Arc<Type>>),
    /// A type to be inferred: a parameter of a signature, or a variable of the checker.
    Param(Param),
}

/// A type to be inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Param {
    /// A parameter of a function's signature (`A`).
    Named(char),
    /// A variable of the checker.
    Variable(u32),
}

impl Type {
    pub(crate) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(crate) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    pub(crate) fn optional(inner: Self) -> Self {
        Self::Optional(Arc::new(inner))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type parameters.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(item) | Self::Optional(item) | Self::Type(Some(item)) => vec![item],
            Self::Map(entry) => vec![&entry.0, &entry.1],
            _ => Vec::new(),
        }
    }

    /// Whether both have the same constructor, regardless of parameters.
    pub(crate) fn same_constructor(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.name == b.name,
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Message(a), Self::Message(b)) => a == b,
            (Self::Param(a), Self::Param(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }

    /// Whether its values always have size 1.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Timestamp | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.same_constructor(other) && self.parameters() == other.parameters()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Timestamp => "timestamp",
            Self::Duration => "duration",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Object(object) => &object.name,
            Self::Named(name) => name,
            Self::Message(name) => name,
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Param(Param::Named(name)) => return write!(formatter, "{name}"),
            Self::Param(Param::Variable(id)) => return write!(formatter, "_var{id}"),
        };
        formatter.write_str(name)?;
        let parameters = self.parameters();
        if parameters.is_empty() {
            return Ok(());
        }
        let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        write!(formatter, "({})", parameters.join(", "))
    }
}
