//! Transforms: what happens to a value between the two ends of a patch.

mod convert;
mod matching;
mod math;
mod string;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::gofmt::{self, TooLong};
use crate::number;
use crate::quantity::QuantityError;

pub use convert::{Convert, ConvertFormat, ValueType};
pub use matching::{Fallback, Match, Pattern, Test};
pub use math::Math;
pub use string::{StringConversion, StringTransform};

/// One transform, checked and compiled.
#[derive(Debug, Clone)]
pub enum Transform {
    /// Looks the text up in a table.
    Map(BTreeMap<String, Value>),
    /// Takes the result of the first pattern that matches.
    Match(Match),
    /// Multiplies or bounds a number.
    Math(Math),
    /// Makes a text.
    String(StringTransform),
    /// Changes the type of a value.
    Convert(Convert),
}

/// Why a value cannot be transformed. The texts are Crossplane's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum TransformError {
    #[error("type {found} is not supported for map transform")]
    MapInput { found: &'static str },
    #[error("key {key} is not found in map")]
    MapKey { key: String },
    #[error("value for key {key} is not valid JSON: unexpected end of JSON input")]
    MapNull { key: String },
    #[error("cannot match pattern at index {index}: unsupported input type '{found}'")]
    MatchInput { index: usize, found: &'static str },
    #[error("input is required to be a number for math transformer, got {found}")]
    MathInput { found: &'static str },
    #[error("cannot join non-array values")]
    JoinInput,
    #[error("regexp {pattern} had no matches for group {group}")]
    NoMatch { pattern: String, group: usize },
    #[error("string is not valid base64: illegal base64 data at input byte {position}")]
    Base64 { position: usize },
    #[error("invalid input type {found}")]
    ConvertInput { found: &'static str },
    #[error("conversion from {from} to {to} is not supported with format {format}")]
    ConvertPair {
        from: &'static str,
        to: &'static str,
        format: &'static str,
    },
    #[error("cannot convert value {input}: {problem}")]
    Convert { input: String, problem: ConvertProblem },
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("the text is longer than {limit} bytes, which fit into no object")]
    Grown { limit: usize },
}

/// Why a text does not say a value of the type it should become.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum ConvertProblem {
    #[error("strconv.{function}: parsing {input}: {problem}")]
    Number {
        function: &'static str,
        input: String,
        problem: &'static str,
    },
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    JsonType {
        found: &'static str,
        wanted: &'static str,
    },
    #[error("the text is not JSON: {problem}")]
    Json { problem: String },
    #[error("the result is not a number that JSON can say")]
    NotFinite,
}

impl Transform {
    /// The transform's type, as it is written in a composition.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Map(_) => "map",
            Self::Match(_) => "match",
            Self::Math(_) => "math",
            Self::String(_) => "string",
            Self::Convert(_) => "convert",
        }
    }

    /// Whether it looks for an expression in a text, which costs more than anything else.
    pub(crate) fn matches(&self) -> bool {
        matches!(
            self,
            Self::Match(_) | Self::String(StringTransform::Regexp { .. })
        )
    }

    /// Carries the transform out.
    ///
    /// # Errors
    /// When the value does not fit the transform.
    pub fn apply(&self, input: Value) -> Result<Value, TransformError> {
        match self {
            Self::Map(pairs) => look_up(pairs, &input),
            Self::Match(matching) => matching.apply(input),
            Self::Math(math) => math.apply(input),
            Self::String(string) => string.apply(&input).map(Value::String),
            Self::Convert(convert) => convert.apply(input),
        }
    }
}

fn look_up(pairs: &BTreeMap<String, Value>, input: &Value) -> Result<Value, TransformError> {
    let Value::String(key) = input else {
        return Err(TransformError::MapInput {
            found: gofmt::type_name(input),
        });
    };
    match pairs.get(key) {
        Some(Value::Null) => Err(TransformError::MapNull { key: key.clone() }),
        Some(value) => Ok(value.clone()),
        None => Err(TransformError::MapKey { key: key.clone() }),
    }
}

/// A value that stands in a composition, as transforms see it: all its numbers are floats.
pub(crate) fn constant(value: &Value) -> Value {
    let mut value = value.clone();
    number::loosen(&mut value);
    value
}
