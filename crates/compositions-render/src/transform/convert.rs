//! From one type to another.

use serde_json::Value;

use super::{ConvertProblem, Passed, TransformError};
use crate::gofmt;
use crate::number::{self, GoNumber};
use crate::quantity;

/// A convert transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convert {
    /// What comes out.
    pub to: ValueType,
    /// How a text is read.
    pub format: ConvertFormat,
}

/// The types that a value can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API and say it")]
pub enum ValueType {
    String,
    Bool,
    Int64,
    Float64,
    Object,
    Array,
}

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API and say it")]
pub enum ConvertFormat {
    None,
    Quantity,
    Json,
}

impl ValueType {
    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bool => "bool",
            Self::Int64 => "int64",
            Self::Float64 => "float64",
            Self::Object => "object",
            Self::Array => "array",
        }
    }

    fn of(value: &Passed) -> Option<Self> {
        let Passed::Json(value) = value else {
            return Some(Self::Float64);
        };
        Some(match value {
            Value::String(_) => Self::String,
            Value::Bool(_) => Self::Bool,
            Value::Number(number) => match number::of(number) {
                GoNumber::Int(_) => Self::Int64,
                GoNumber::Float(_) => Self::Float64,
            },
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        })
    }
}

impl ConvertFormat {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Quantity => "quantity",
            Self::Json => "json",
        }
    }
}

impl Convert {
    pub(super) fn apply(self, input: Passed) -> Result<Passed, TransformError> {
        let from = ValueType::of(&input).ok_or_else(|| TransformError::ConvertInput {
            found: gofmt::type_name(&input),
        })?;
        if from == self.to {
            return Ok(input);
        }
        let converted = match (&input, self.format) {
            (Passed::Json(Value::String(text)), _) => from_text(text, self.to, self.format),
            (Passed::Json(Value::Bool(value)), ConvertFormat::None) => from_bool(*value, self.to).map(Ok),
            (Passed::Json(Value::Number(number)), ConvertFormat::None) => {
                from_number(number::of(number), self.to).map(Ok)
            }
            (Passed::NotFinite(float), ConvertFormat::None) => {
                from_number(GoNumber::Float(*float), self.to).map(Ok)
            }
            _ => None,
        };
        match converted {
            None => Err(TransformError::ConvertPair {
                from: from.name(),
                to: self.to.name(),
                format: self.format.name(),
            }),
            Some(Ok(value)) => Ok(value),
            Some(Err(problem)) => Err(TransformError::Convert {
                input: gofmt::sprintf("%s", &[gofmt::Argument::from(&input)])?,
                problem,
            }),
        }
    }
}

fn from_text(text: &str, to: ValueType, format: ConvertFormat) -> Option<Result<Passed, ConvertProblem>> {
    let json = Passed::Json;
    Some(match (to, format) {
        (ValueType::Int64, ConvertFormat::None) => parse_int(text).map(Value::from).map(json),
        (ValueType::Bool, ConvertFormat::None) => parse_bool(text).map(Value::from).map(json),
        (ValueType::Float64, ConvertFormat::None) => parse_float(text),
        (ValueType::Float64, ConvertFormat::Quantity) => quantity::approximate(text)
            .map(Passed::float)
            .map_err(ConvertProblem::from),
        (ValueType::Object, ConvertFormat::Json) => {
            parse_json(text, "map[string]interface {}", Value::is_object).map(json)
        }
        (ValueType::Array, ConvertFormat::Json) => {
            parse_json(text, "[]interface {}", Value::is_array).map(json)
        }
        _ => return None,
    })
}

fn from_bool(value: bool, to: ValueType) -> Option<Passed> {
    Some(Passed::Json(match to {
        ValueType::String => value.to_string().into(),
        ValueType::Int64 => i64::from(value).into(),
        ValueType::Float64 => f64::from(u8::from(value)).into(),
        ValueType::Bool | ValueType::Object | ValueType::Array => return None,
    }))
}

fn from_number(number: GoNumber, to: ValueType) -> Option<Passed> {
    Some(Passed::Json(match (number, to) {
        (GoNumber::Int(integer), ValueType::String) => integer.to_string().into(),
        (GoNumber::Int(integer), ValueType::Bool) => (integer == 1).into(),
        (GoNumber::Int(integer), ValueType::Float64) => (integer as f64).into(),
        (GoNumber::Float(float), ValueType::String) => gofmt::float_text(float).into(),
        (GoNumber::Float(float), ValueType::Bool) => (float == 1.0).into(),
        (GoNumber::Float(float), ValueType::Int64) => number::truncate(float).into(),
        _ => return None,
    }))
}

fn number_problem(function: &'static str, text: &str, problem: &'static str) -> ConvertProblem {
    ConvertProblem::Number {
        function,
        input: gofmt::quoted(text),
        problem,
    }
}

const SYNTAX: &str = "invalid syntax";
const RANGE: &str = "value out of range";

fn parse_int(text: &str) -> Result<i64, ConvertProblem> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(number_problem("ParseInt", text, SYNTAX));
    }
    text.parse().map_err(|_| number_problem("ParseInt", text, RANGE))
}

fn parse_bool(text: &str) -> Result<bool, ConvertProblem> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(number_problem("ParseBool", text, SYNTAX)),
    }
}

fn parse_float(text: &str) -> Result<Passed, ConvertProblem> {
    let problem = |problem| number_problem("ParseFloat", text, problem);
    let plain = without_underscores(text).ok_or_else(|| problem(SYNTAX))?;
    let value = match hexadecimal_float(&plain) {
        Some(value) => value,
        None => plain.parse::<f64>().map_err(|_| problem(SYNTAX))?,
    };
    let is_signed = text.starts_with(['+', '-']);
    let named = text.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    match value {
        value if value.is_nan() && is_signed => Err(problem(SYNTAX)),
        value if value.is_infinite() && !named => Err(problem(RANGE)),
        value => Ok(Passed::float(value)),
    }
}

/// Go lets underscores stand between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |place: Option<usize>| {
        place
            .and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_hexdigit)
    };
    let stray = bytes
        .iter()
        .enumerate()
        .any(|(at, byte)| *byte == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1))));
    (!stray).then(|| text.replace('_', ""))
}

/// `0x1.8p3`: the power of two is not optional.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let (digits, exponent) = rest.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let hexadecimal = format!("{whole}{fraction}");
    if hexadecimal.is_empty() || hexadecimal.len() > 13 {
        return None;
    }
    let mantissa = u64::from_str_radix(&hexadecimal, 16).ok()? as f64;
    if mantissa == 0.0 {
        return Some(sign * mantissa);
    }
    // Beyond these, everything is infinite or zero.
    let exponent = exponent.parse::<i32>().ok()?.clamp(-2000, 2000);
    let shift = exponent - 4 * i32::try_from(fraction.len()).ok()?;
    Some(sign * mantissa * 2f64.powi(shift))
}

fn parse_json(
    text: &str,
    wanted: &'static str,
    fits: impl Fn(&Value) -> bool,
) -> Result<Value, ConvertProblem> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| ConvertProblem::Json {
        problem: error.to_string(),
    })?;
    if !value.is_null() && !fits(&value) {
        let found = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) | Value::Null => "object",
        };
        return Err(ConvertProblem::JsonType { found, wanted });
    }
    number::loosen(&mut value);
    Ok(value)
}
