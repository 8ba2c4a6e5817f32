//! Signatures of functions.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::table::{ROWS, Row};
use crate::types::{Param, Type};

/// The call style of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `f(x)`
    Global,
    /// `x.f()`
    Member,
}

/// An overload of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) style: Style,
    /// The argument types; for member functions, the receiver first.
    pub(crate) arguments: Vec<Type>,
    pub(crate) result: Type,
    /// The type parameters it mentions.
    pub(crate) parameters: Vec<Param>,
}

/// The overloads of a function, and its static name.
pub(crate) fn overloads(name: &str) -> Option<(&'static str, &'static [Overload])> {
    static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
        let mut functions: HashMap<&'static str, Vec<Overload>> = HashMap::new();
        for row in ROWS {
            functions.entry(row.0).or_default().push(overload(row));
        }
        functions
    });
    FUNCTIONS
        .get_key_value(name)
        .map(|(name, overloads)| (*name, overloads.as_slice()))
}

fn overload((_, id, style, arguments, result): &Row) -> Overload {
    let inner = arguments.trim_start_matches('(').trim_end_matches(')');
    // The outermost parentheses are the list's own, so what closes at the end was not trimmed evenly.
    let inner = match arguments.len() > 2 {
        true => &arguments[1..arguments.len() - 1],
        false => inner,
    };
    let arguments: Vec<Type> = split(inner).into_iter().map(parse).collect();
    let result = parse(result);
    let mut parameters = Vec::new();
    arguments
        .iter()
        .chain([&result])
        .for_each(|ty| collect(ty, &mut parameters));
    Overload {
        id,
        style: *style,
        arguments,
        result,
        parameters,
    }
}

fn collect(ty: &Type, parameters: &mut Vec<Param>) {
    match ty {
        Type::Param(parameter) if !parameters.contains(parameter) => parameters.push(*parameter),
        _ => ty
            .parameters()
            .into_iter()
            .for_each(|inner| collect(inner, parameters)),
    }
}

fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (index, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn parse(text: &'static str) -> Type {
    if let Some((name, rest)) = text.split_once('(') {
        let mut inner = split(&rest[..rest.len() - 1]).into_iter().map(parse);
        let mut next = || inner.next().unwrap_or(Type::Dyn);
        return match name {
            "list" => Type::list(next()),
            "map" => {
                let key = next();
                Type::map(key, next())
            }
            "optional_type" => Type::optional(next()),
            _ => Type::Type(Some(next().into())),
        };
    }
    match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type(None),
        _ => match text.chars().next() {
            Some(name) if text.len() == 1 => Type::Param(Param::Named(name)),
            _ => Type::Named(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads_back_as_written() {
        for row in ROWS {
            let overload = overload(row);
            let arguments: Vec<String> = overload.arguments.iter().map(ToString::to_string).collect();
            assert_eq!(format!("({})", arguments.join(", ")), row.3);
            assert_eq!(overload.result.to_string(), row.4);
        }
    }
}
