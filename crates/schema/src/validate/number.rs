//! Validates numbers: ranges, multiples, enumerations.

use serde_json::{Number, Value};

use super::Reading;
use super::outcome::{Outcome, Problem};
use super::value_type;
use crate::model::{Constraints, JsonType, Schema};
use cambium_go_text::plain_float;

/// A number as Kubernetes decodes it: outside of `int64` it is a float.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Numeric {
    Integer(i64),
    Float(f64),
}

impl From<&Number> for Numeric {
    fn from(number: &Number) -> Self {
        match number.as_i64() {
            Some(integer) => Self::Integer(integer),
            None => Self::Float(number.as_f64().unwrap_or_default()),
        }
    }
}

impl Numeric {
    fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Integer(integer) => Value::from(integer),
            Self::Float(float) => Value::from(float),
        }
    }

    fn shown(self) -> String {
        match self {
            Self::Integer(integer) => integer.to_string(),
            Self::Float(float) => plain_float(float),
        }
    }
}

/// Whether a float is an integer within the safe range of JSON.
pub(super) fn is_whole(float: f64) -> bool {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    if !(-SAFE..=SAFE).contains(&float) {
        return false;
    }
    let truncated = float.trunc();
    float == truncated || (truncated > 0.0 && (float - truncated) / (float + truncated) < 1e-9)
}

pub(super) fn check(schema: &Schema, limits: &Constraints, number: &Number, path: &str) -> Outcome {
    let value = Numeric::from(number);
    let range = Range {
        json_type: schema.json_type,
        format: value_type::format(schema, Reading::Served),
        path,
    };
    let mut outcome = Outcome {
        checks: 1,
        ..Outcome::default()
    };
    outcome.problems.extend(range.refuses(value, "Checked"));
    if let Some(factor) = limits.multiple_of {
        let beyond = range.refuses(Numeric::Float(factor), "MultipleOf");
        let compared = native(value, beyond.is_some());
        beyond
            .into_iter()
            .chain(multiple_of(path, compared, factor))
            .for_each(|problem| outcome.add(problem));
    }
    let bounds = [
        (&limits.minimum, Bound::Minimum),
        (&limits.maximum, Bound::Maximum),
    ];
    for (limit, bound) in bounds {
        let Some((limit, exclusive)) = limit else { continue };
        let limit = limit.as_f64().unwrap_or_default();
        let beyond = range.refuses(Numeric::Float(limit), bound.title());
        let compared = native(value, beyond.is_some());
        let problem = bound.violation(path, compared, limit, *exclusive);
        beyond
            .into_iter()
            .chain(problem)
            .for_each(|problem| outcome.add(problem));
    }
    outcome
}

/// A limit outside the type's range is compared as a float.
fn native(value: Numeric, limit_is_beyond: bool) -> Numeric {
    match limit_is_beyond {
        true => Numeric::Float(value.float()),
        false => value,
    }
}

/// The numbers a type and its format can hold.
struct Range<'a> {
    json_type: JsonType,
    format: &'a str,
    path: &'a str,
}

impl Range<'_> {
    fn refuses(&self, value: Numeric, what: &str) -> Option<Problem> {
        let whole = match value {
            Numeric::Integer(integer) => Some(integer as i128),
            Numeric::Float(float) if float == float.trunc() && float.abs() < 1e30 => Some(float as i128),
            Numeric::Float(_) => None,
        };
        let (type_name, fits) = match (self.json_type, self.format) {
            (JsonType::Integer, "int32") => {
                ("integer", whole.is_some_and(|whole| i32::try_from(whole).is_ok()))
            }
            (JsonType::Integer, _) => ("integer", whole.is_some_and(|whole| i64::try_from(whole).is_ok())),
            (JsonType::Number, "float") => ("number", value.float().abs() <= f64::from(f32::MAX)),
            _ => return None,
        };
        if fits {
            return None;
        }
        let format = match self.format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        Some(Problem::unnamed(format!(
            "{what} value must be of type {type_name} {format} in {}",
            self.path
        )))
    }
}

#[derive(Clone, Copy)]
enum Bound {
    Minimum,
    Maximum,
}

impl Bound {
    fn title(self) -> &'static str {
        match self {
            Self::Minimum => "Minimum boundary",
            Self::Maximum => "Maximum boundary",
        }
    }

    fn violation(self, path: &str, value: Numeric, limit: f64, exclusive: bool) -> Option<Problem> {
        let limit = match value {
            Numeric::Integer(_) => Numeric::Integer(limit as i64),
            Numeric::Float(_) => Numeric::Float(limit),
        };
        let order = match (value, limit) {
            (Numeric::Integer(value), Numeric::Integer(limit)) => Some(value.cmp(&limit)),
            (value, limit) => value.float().partial_cmp(&limit.float()),
        }?;
        let (wrong, phrase) = match (self, exclusive) {
            (Self::Minimum, false) => (order.is_lt(), "greater than or equal to"),
            (Self::Minimum, true) => (order.is_le(), "greater than"),
            (Self::Maximum, false) => (order.is_gt(), "less than or equal to"),
            (Self::Maximum, true) => (order.is_ge(), "less than"),
        };
        let message = || format!("{path} in body should be {phrase} {}", limit.shown());
        wrong.then(|| Problem::invalid(path, &value.value(), message()))
    }
}

fn multiple_of(path: &str, value: Numeric, factor: f64) -> Option<Problem> {
    let factor = match value {
        Numeric::Integer(_) => Numeric::Integer(factor as i64),
        Numeric::Float(_) => Numeric::Float(factor),
    };
    if factor.float() <= 0.0 {
        let message = format!(
            "factor MultipleOf declared for {path} must be positive: {}",
            factor.shown()
        );
        return Some(Problem::invalid(path, &factor.value(), message));
    }
    let divides = match (value, factor) {
        (Numeric::Integer(value), Numeric::Integer(factor)) => value % factor == 0,
        (value, factor) if factor.float() < 1.0 => is_whole(1.0 / factor.float() * value.float()),
        (value, factor) => is_whole(value.float() / factor.float()),
    };
    let message = || format!("{path} in body should be a multiple of {}", factor.shown());
    (!divides).then(|| Problem::invalid(path, &value.value(), message()))
}

/// Whether a value equals a listed one. Numbers are converted to the listed value's type first, as Go does; null never
/// matches.
pub(super) fn same(value: &Value, listed: &Value) -> bool {
    match (value, listed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(listed)) => {
            match (Numeric::from(value), Numeric::from(listed)) {
                (Numeric::Integer(value), Numeric::Integer(listed)) => value == listed,
                (Numeric::Float(value), Numeric::Integer(listed)) => value as i64 == listed,
                (value, Numeric::Float(listed)) => value.float() == listed,
            }
        }
        (Value::Number(value), Value::String(listed)) => {
            let character = value
                .as_i64()
                .and_then(|code| u32::try_from(code).ok())
                .and_then(char::from_u32);
            character.is_some_and(|character| listed.chars().eq([character]))
        }
        (value, listed) => value == listed,
    }
}
