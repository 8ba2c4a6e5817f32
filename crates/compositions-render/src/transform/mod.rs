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
    #[error("cannot marshal to JSON: {0}")]
    Marshal(NotJson),
    #[error("cannot generate hash: cannot marshal to JSON: {0}")]
    Hash(NotJson),
    #[error("unable to generate Adler checksum: cannot marshal to JSON: {0}")]
    Checksum(NotJson),
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error("the text is longer than {limit} bytes, which fit into no object")]
    Grown { limit: usize },
}

/// JSON has no NaN and no infinities.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("json: unsupported value: {0}")]
pub struct NotJson(String);

/// A value between transforms: one that JSON has, or a float that it has not, which a later transform may still make a text of.
#[derive(Debug, Clone, PartialEq)]
pub enum Passed {
    /// A value.
    Json(Value),
    /// NaN or an infinity.
    NotFinite(f64),
}

impl Passed {
    fn float(value: f64) -> Self {
        serde_json::Number::from_f64(value).map_or(Self::NotFinite(value), |number| Self::Json(number.into()))
    }

    /// The value, if JSON has it.
    ///
    /// # Errors
    /// For NaN and infinities.
    pub fn into_json(self) -> Result<Value, NotJson> {
        match self {
            Self::Json(value) => Ok(value),
            Self::NotFinite(float) => Err(NotJson::new(float)),
        }
    }
}

impl NotJson {
    fn new(float: f64) -> Self {
        Self(gofmt::float_text(float))
    }
}

impl From<Value> for Passed {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

impl<'a> From<&'a Passed> for gofmt::Argument<'a> {
    fn from(passed: &'a Passed) -> Self {
        match passed {
            Passed::Json(value) => Self::Json(value),
            Passed::NotFinite(float) => Self::NotFinite(*float),
        }
    }
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

    /// What it costs for each byte of its input: looking for an expression costs more than anything else.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Match(matching) => matching.cost(),
            Self::String(StringTransform::Regexp { regexp, .. }) => regexp.cost(),
            _ => 1,
        }
    }

    /// Carries the transform out.
    ///
    /// # Errors
    /// When the value does not fit the transform.
    pub fn apply(&self, input: Passed) -> Result<Passed, TransformError> {
        match self {
            Self::Map(pairs) => look_up(pairs, &input).map(Passed::Json),
            Self::Match(matching) => matching.apply(input),
            Self::Math(math) => math.apply(input),
            Self::String(string) => string.apply(&input).map(|text| Passed::Json(text.into())),
            Self::Convert(convert) => convert.apply(input),
        }
    }
}

fn look_up(pairs: &BTreeMap<String, Value>, input: &Passed) -> Result<Value, TransformError> {
    let Passed::Json(Value::String(key)) = input else {
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
