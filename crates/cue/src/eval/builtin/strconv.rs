//! `strconv`.

use super::{Builtin, Function, IntoValue};
use crate::eval::expression::Value;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::packages::{CallError, strconv};

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("strconv", name, arity, call)
}

#[rustfmt::skip]
pub(super) const BUILTINS: &[Builtin] = &[
    function("ParseBool", 1, |m, a, at| strconv::parse_bool(&m.string(a, 0, at)?).into_value(m, at)),
    function("Unquote", 1, |m, a, at| strconv::unquote(&m.string(a, 0, at)?).into_value(m, at)),
    function("ParseInt", 3, |m, a, at| strconv::parse_int(&m.string(a, 0, at)?, m.integer(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    function("ParseUint", 3, |m, a, at| strconv::parse_uint(&m.string(a, 0, at)?, m.integer(a, 1, at)?, m.integer(a, 2, at)?).into_value(m, at)),
    function("Atoi", 1, |m, a, at| strconv::atoi(&m.string(a, 0, at)?).into_value(m, at)),
    function("FormatInt", 2, |m, a, at| strconv::format_int(&m.number(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("FormatUint", 2, |m, a, at| strconv::format_int(&m.number(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("Quote", 1, |m, a, at| strconv::quote(&m.string(a, 0, at)?).into_value(m, at)),
    function("QuoteToASCII", 1, |m, a, at| strconv::quote_to_ascii(&m.string(a, 0, at)?).into_value(m, at)),
    function("QuoteToGraphic", 1, |m, a, at| strconv::quote_to_graphic(&m.string(a, 0, at)?).into_value(m, at)),
    function("QuoteRune", 1, |m, a, at| strconv::quote_rune(m.integer(a, 0, at)?).into_value(m, at)),
    function("QuoteRuneToASCII", 1, |m, a, at| strconv::quote_rune_to_ascii(m.integer(a, 0, at)?).into_value(m, at)),
    function("QuoteRuneToGraphic", 1, |m, a, at| strconv::quote_rune_to_graphic(m.integer(a, 0, at)?).into_value(m, at)),
    function("IsPrint", 1, |m, a, at| strconv::is_print(m.integer(a, 0, at)?).into_value(m, at)),
    function("IsGraphic", 1, |m, a, at| strconv::is_graphic(m.integer(a, 0, at)?).into_value(m, at)),
    function("FormatBool", 1, |m, a, at| match &a[0] {
        Value::Scalar(Scalar::Bool(value)) => strconv::format_bool(*value).into_value(m, at),
        other => Err(m.wrong_argument(other, "bool", 0, at)),
    }),
    function("ParseFloat", 2, |m, a, at| {
        let float = strconv::parse_float(&m.string(a, 0, at)?, m.integer(a, 1, at)?);
        let number = float.and_then(|float| Number::from_f64(float).ok_or_else(|| CallError::new("value out of range")));
        number.into_value(m, at)
    }),
    function("FormatFloat", 4, |m, a, at| {
        let number = m.number(a, 0, at)?.to_f64();
        let format = u8::try_from(m.integer(a, 1, at)?).unwrap_or(b'%');
        strconv::format_float(number, format, m.integer(a, 2, at)?, m.integer(a, 3, at)?).into_value(m, at)
    }),
];
