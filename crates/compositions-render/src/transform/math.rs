//! Numbers: multiplied, or bounded from one side.

use serde_json::Value;

use super::{Passed, TransformError};
use crate::gofmt;
use crate::number::{self, GoNumber};

/// A math transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Math {
    /// The product; integers stay integers, and wrap around as Go's do.
    Multiply(i64),
    /// At least this.
    ClampMin(i64),
    /// At most this.
    ClampMax(i64),
}

impl Math {
    pub(super) fn apply(self, input: Passed) -> Result<Passed, TransformError> {
        let number = match &input {
            Passed::Json(Value::Number(number)) => number::of(number),
            Passed::NotFinite(float) => GoNumber::Float(*float),
            Passed::Json(other) => {
                return Err(TransformError::MathInput {
                    found: gofmt::type_name(other),
                });
            }
        };
        // Only the comparison is between integers: a float within the bound stays as it is.
        let whole = match number {
            GoNumber::Int(integer) => integer,
            GoNumber::Float(float) => number::truncate(float),
        };
        Ok(match (self, number) {
            (Self::Multiply(factor), GoNumber::Int(integer)) => {
                Passed::Json(integer.wrapping_mul(factor).into())
            }
            (Self::Multiply(factor), GoNumber::Float(float)) => Passed::float(float * factor as f64),
            (Self::ClampMin(bound), _) if whole < bound => Passed::Json(bound.into()),
            (Self::ClampMax(bound), _) if whole > bound => Passed::Json(bound.into()),
            (Self::ClampMin(_) | Self::ClampMax(_), _) => input,
        })
    }
}
