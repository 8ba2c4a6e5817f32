//! Functions and operators, by library.

mod addresses;
mod authorize;
mod bytes;
mod convert;
mod formats;
mod json_patches;
mod lists;
mod operators;
mod optionals;
mod quantities;
mod regexes;
mod semvers;
mod sets;
mod signature;
mod strings;
mod table;
mod template;
mod times;
mod urls;

use crate::error::Result;
use crate::value::Value;

pub(crate) use addresses::Cidr;
pub use authorize::{Answer, Authorize, Question, Subject};
pub(crate) use authorize::{Check, Decision};
pub(crate) use bytes::{decode_base64, encode_base64};
pub(crate) use convert::to_string;
pub(crate) use formats::Format;
pub(crate) use operators::contains;
pub(crate) use operators::insert;
pub(crate) use quantities::Quantity;
pub(crate) use regexes::{apply_compiled, apply_regex, compilation, compile_pattern, matching};
pub(crate) use semvers::Semver;
pub(crate) use signature::{Overload, Style, overloads};
pub(crate) use template::check as check_template;
pub(crate) use times::{
    is_duration, is_timestamp, parse_date, parse_format_duration, parse_format_timestamp,
};
pub(crate) use urls::Url;

/// The implementation of a function. The receiver of a member function is the first argument.
pub(crate) type Implementation = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>>;

/// Finds an implementation by the function's full name.
pub(crate) fn implementation(name: &str) -> Option<Implementation> {
    operators::find(name)
        .or_else(|| convert::find(name))
        .or_else(|| strings::find(name))
        .or_else(|| lists::find(name))
        .or_else(|| sets::find(name))
        .or_else(|| regexes::find(name))
        .or_else(|| optionals::find(name))
        .or_else(|| times::find(name))
        .or_else(|| addresses::find(name))
        .or_else(|| quantities::find(name))
        .or_else(|| semvers::find(name))
        .or_else(|| urls::find(name))
        .or_else(|| formats::find(name))
        .or_else(|| json_patches::find(name))
        .or_else(|| authorize::find(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_declared_does_something() {
        // Those are no functions but steps of their own.
        let steps = [
            "_&&_",
            "_||_",
            "_?_:_",
            "@not_strictly_false",
            "_[_]",
            "_[?_]",
            "_?._",
            "or",
            "orValue",
        ];
        for row in table::ROWS {
            assert!(
                implementation(row.0).is_some() || steps.contains(&row.0),
                "{}",
                row.0
            );
        }
    }
}
