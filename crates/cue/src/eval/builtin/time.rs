//! `time`, without a clock.

use super::{Builtin, Function, IntoValue};
use crate::data::Data;
use crate::eval::kind::Kind;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::packages::time;

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function("time", name, arity, call)
}

const fn validator(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::validator("time", name, Kind::STRING, arity, call)
}

const fn constant(name: &'static str, constant: fn() -> Scalar) -> Builtin {
    Builtin::constant("time", name, constant)
}

fn integer(value: i64) -> Scalar {
    Scalar::Number(Number::integer(value))
}

fn text(text: &str) -> Scalar {
    Scalar::String(text.into())
}

fn parts(parts: time::Parts) -> Data {
    let field = |name: &str, value: i64| (name.to_owned(), Data::Number(Number::integer(value)));
    Data::Struct(vec![
        field("year", parts.year),
        field("month", parts.month),
        field("day", parts.day),
        field("hour", parts.hour),
        field("minute", parts.minute),
        field("second", parts.second),
        field("nanosecond", parts.nanosecond),
    ])
}

#[rustfmt::skip]
pub(super) const BUILTINS: &[Builtin] = &[
    validator("Time", 1, |m, a, at| time::time(&m.string(a, 0, at)?).into_value(m, at)),
    validator("Duration", 1, |m, a, at| time::duration(&m.string(a, 0, at)?).into_value(m, at)),
    validator("Format", 2, |m, a, at| time::format(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("FormatString", 2, |m, a, at| time::format_string(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("Parse", 2, |m, a, at| time::parse(&m.string(a, 0, at)?, &m.string(a, 1, at)?).into_value(m, at)),
    function("ParseDuration", 1, |m, a, at| time::parse_duration(&m.string(a, 0, at)?).into_value(m, at)),
    function("FormatDuration", 1, |m, a, at| time::format_duration(m.integer(a, 0, at)?).into_value(m, at)),
    function("Unix", 2, |m, a, at| time::unix(m.integer(a, 0, at)?, m.integer(a, 1, at)?).into_value(m, at)),
    function("Split", 1, |m, a, at| time::split(&m.string(a, 0, at)?).map(parts).into_value(m, at)),
    constant("ANSIC", || text(time::LAYOUTS[0].1)),
    constant("UnixDate", || text(time::LAYOUTS[1].1)),
    constant("RubyDate", || text(time::LAYOUTS[2].1)),
    constant("RFC822", || text(time::LAYOUTS[3].1)),
    constant("RFC822Z", || text(time::LAYOUTS[4].1)),
    constant("RFC850", || text(time::LAYOUTS[5].1)),
    constant("RFC1123", || text(time::LAYOUTS[6].1)),
    constant("RFC1123Z", || text(time::LAYOUTS[7].1)),
    constant("RFC3339", || text(time::LAYOUTS[8].1)),
    constant("RFC3339Nano", || text(time::LAYOUTS[9].1)),
    constant("RFC3339Date", || text(time::LAYOUTS[10].1)),
    constant("Kitchen", || text(time::LAYOUTS[11].1)),
    constant("Kitchen24", || text(time::LAYOUTS[12].1)),
    constant("Nanosecond", || integer(time::INTEGERS[0].1)),
    constant("Microsecond", || integer(time::INTEGERS[1].1)),
    constant("Millisecond", || integer(time::INTEGERS[2].1)),
    constant("Second", || integer(time::INTEGERS[3].1)),
    constant("Minute", || integer(time::INTEGERS[4].1)),
    constant("Hour", || integer(time::INTEGERS[5].1)),
    constant("January", || integer(time::INTEGERS[6].1)),
    constant("February", || integer(time::INTEGERS[7].1)),
    constant("March", || integer(time::INTEGERS[8].1)),
    constant("April", || integer(time::INTEGERS[9].1)),
    constant("May", || integer(time::INTEGERS[10].1)),
    constant("June", || integer(time::INTEGERS[11].1)),
    constant("July", || integer(time::INTEGERS[12].1)),
    constant("August", || integer(time::INTEGERS[13].1)),
    constant("September", || integer(time::INTEGERS[14].1)),
    constant("October", || integer(time::INTEGERS[15].1)),
    constant("November", || integer(time::INTEGERS[16].1)),
    constant("December", || integer(time::INTEGERS[17].1)),
    constant("Sunday", || integer(time::INTEGERS[18].1)),
    constant("Monday", || integer(time::INTEGERS[19].1)),
    constant("Tuesday", || integer(time::INTEGERS[20].1)),
    constant("Wednesday", || integer(time::INTEGERS[21].1)),
    constant("Thursday", || integer(time::INTEGERS[22].1)),
    constant("Friday", || integer(time::INTEGERS[23].1)),
    constant("Saturday", || integer(time::INTEGERS[24].1)),
];
