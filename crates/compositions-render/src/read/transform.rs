//! Reading transforms.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Dialect;
use super::node::Node;
use crate::problem::Problems;
use crate::regexp::{self, Regex, RegexpError};
use crate::transform::{
    Convert, ConvertFormat, Fallback, Match, Math, Pattern, StringConversion, StringTransform, Test,
    Transform, ValueType, constant,
};

const TYPES: [&str; 5] = ["map", "match", "math", "string", "convert"];

pub(super) fn read(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Transform> {
    let kind = node.child("type");
    let name = kind.text(problems).unwrap_or_default();
    if !TYPES.contains(&name) {
        kind.unknown(name, "unknown transform type", &TYPES, problems);
        return None;
    }
    let settings = node.child(name);
    let Some(value) = settings.value() else {
        let reason = format!("given transform type {name} requires configuration");
        settings.required(&reason, &format!("add {name}: with its settings"), problems);
        return None;
    };
    match name {
        "map" => map(&settings, value, problems),
        "match" => matching(&settings, dialect, problems).map(Transform::Match),
        "math" => math(&settings, dialect, problems).map(Transform::Math),
        "string" => string(&settings, dialect, problems).map(Transform::String),
        _ => convert(&settings, problems).map(Transform::Convert),
    }
}

fn map(node: &Node<'_>, value: &Value, problems: &mut Problems) -> Option<Transform> {
    let Value::Object(pairs) = value else {
        node.invalid(
            "must be an object",
            "write a key and a value for each input",
            problems,
        );
        return None;
    };
    if pairs.is_empty() {
        let reason = "at least one pair must be specified if a map transform is specified";
        node.child("pairs")
            .required(reason, "write a key and a value for each input", problems);
        return None;
    }
    let pairs: BTreeMap<_, _> = pairs
        .iter()
        .map(|(key, value)| (key.clone(), constant(value)))
        .collect();
    Some(Transform::Map(pairs))
}

fn matching(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Match> {
    let patterns = node.child("patterns");
    let written = patterns.items(problems);
    if written.is_empty() {
        let reason = "at least one pattern must be specified if a match transform is specified";
        patterns.required(reason, "add a pattern with a result", problems);
    }
    let patterns: Vec<Option<Pattern>> = written
        .iter()
        .map(|node| pattern(node, dialect, problems))
        .collect();
    let value = node.child("fallbackValue");
    let to = node.child("fallbackTo");
    let fallback = match to.text(problems).unwrap_or_default() {
        "" | "Value" => Fallback::Value(value.value().map(constant).unwrap_or_default()),
        "Input" => {
            if value.value().is_some() {
                let reason = "cannot set both a fallback value and the fallback to input flag";
                value.invalid(reason, "take away fallbackValue or fallbackTo", problems);
            }
            Fallback::Input
        }
        other => {
            to.unknown(other, "unknown fallback", &["Value", "Input"], problems);
            return None;
        }
    };
    Some(Match {
        patterns: patterns.into_iter().collect::<Option<_>>()?,
        fallback,
    })
}

fn pattern(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Pattern> {
    let kind = node.child("type");
    let test = match kind.text(problems).unwrap_or_default() {
        "" | "literal" => {
            let literal = node.child("literal");
            if literal.value().is_none() {
                literal.required(
                    "literal pattern type requires a literal",
                    "add the text to match",
                    problems,
                );
            }
            Test::Literal(literal.text(problems)?.to_owned())
        }
        "regexp" => {
            let regexp = node.child("regexp");
            if regexp.value().is_none() {
                regexp.required(
                    "regexp pattern type requires a regexp",
                    "add the expression",
                    problems,
                );
            }
            Test::Regexp(compiled(&regexp, problems)?)
        }
        other => {
            kind.unknown(other, "unknown pattern type", &["literal", "regexp"], problems);
            return None;
        }
    };
    let result = node.child("result");
    if !result.is_written() && dialect == Dialect::Core {
        result.required(
            "a pattern requires a result",
            "add the value that comes out",
            problems,
        );
    }
    Some(Pattern {
        test,
        result: result.value().map(constant).unwrap_or_default(),
    })
}

fn compiled(node: &Node<'_>, problems: &mut Problems) -> Option<Regex> {
    let text = node.text(problems)?;
    let compiled = match problems.may_compile_more() {
        true => regexp::compile(text),
        false => Err(RegexpError::Together),
    };
    let size = match &compiled {
        Ok(regexp) => regexp.size(),
        // That it is too large is found out only in the end.
        Err(RegexpError::TooLarge { .. }) => regexp::LARGEST,
        Err(_) => 0,
    };
    let compiled = match problems.may_compile(size) {
        true => compiled,
        false => Err(RegexpError::Together),
    };
    match compiled {
        Ok(regexp) => Some(regexp),
        Err(error) => {
            node.invalid("invalid regexp", error.to_string(), problems);
            None
        }
    }
}

fn math(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Math> {
    let kind = node.child("type");
    let mut value = |field: &str, words: &str| {
        let field = node.child(field);
        if field.value().is_none() {
            let reason = format!("must specify a value if a {words} math transform is specified");
            field.required(&reason, "add a whole number", problems);
        }
        field.integer(problems)
    };
    match type_or_default(&kind, "Multiply", dialect) {
        Some("Multiply") => value("multiply", "multiply").map(Math::Multiply),
        Some("ClampMin") => value("clampMin", "clamp min").map(Math::ClampMin),
        Some("ClampMax") => value("clampMax", "clamp max").map(Math::ClampMax),
        Some(other) => {
            let known = ["Multiply", "ClampMin", "ClampMax"];
            kind.unknown(other, "unknown math transform type", &known, problems);
            None
        }
        None => {
            kind.required("math transform type is required", "add type: Multiply", problems);
            None
        }
    }
}

/// In a Composition the API server fills in what is missing; the input of a function has to say it.
fn type_or_default<'v>(kind: &Node<'v>, default: &'v str, dialect: Dialect) -> Option<&'v str> {
    let written = match kind.value() {
        None => "",
        Some(Value::String(text)) => text,
        Some(_) => "?",
    };
    match (written, dialect) {
        ("", Dialect::Core) => Some(default),
        ("", Dialect::Function) => None,
        (written, _) => Some(written),
    }
}

fn string(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<StringTransform> {
    const TYPES: [&str; 6] = ["Format", "Convert", "TrimPrefix", "TrimSuffix", "Regexp", "Join"];
    let kind = node.child("type");
    let mut setting = |field: &str, reason: &str, suggestion: &str| {
        let field = node.child(field);
        if field.value().is_none() {
            field.required(reason, suggestion, problems);
        }
        field.value().map(|_| field)
    };
    let trim = ("trim transform requires a trim value", "add the text to cut off");
    match type_or_default(&kind, "Format", dialect) {
        Some("Format") => {
            let format = setting(
                "fmt",
                "format transform requires a format",
                "add a format, as in \"%s-db\"",
            )?;
            Some(StringTransform::Format(format.text(problems)?.to_owned()))
        }
        Some("Convert") => {
            let reason = "convert transform requires a conversion type";
            conversion(
                &setting("convert", reason, "add a conversion, as in ToUpper")?,
                problems,
            )
        }
        Some("TrimPrefix") => Some(StringTransform::TrimPrefix(
            setting("trim", trim.0, trim.1)?.text(problems)?.to_owned(),
        )),
        Some("TrimSuffix") => Some(StringTransform::TrimSuffix(
            setting("trim", trim.0, trim.1)?.text(problems)?.to_owned(),
        )),
        Some("Regexp") => {
            let reason = "regexp transform requires a regexp";
            expression(&setting("regexp", reason, "add regexp.match")?, problems)
        }
        Some("Join") => {
            let join = setting("join", "join transform requires a join", "add join.separator")?;
            let separator = join.child("separator");
            if separator.value().is_none() && dialect == Dialect::Core {
                separator.required(
                    "join transform requires a separator",
                    "add a text, as in \",\"",
                    problems,
                );
            }
            let separator = separator.text(problems).unwrap_or_default().to_owned();
            Some(match dialect {
                Dialect::Core => StringTransform::Join(separator),
                Dialect::Function => StringTransform::JoinAndCut(separator),
            })
        }
        Some("Replace") if dialect == Dialect::Function => {
            let reason = "replace transform requires a replace";
            let replace = setting("replace", reason, "add replace.search and replace.replace")?;
            let mut text = |field: &str| replace.child(field).text(problems).unwrap_or_default().to_owned();
            Some(StringTransform::Replace {
                search: text("search"),
                replace: text("replace"),
            })
        }
        Some(other) => {
            kind.unknown(other, "unknown string transform type", &TYPES, problems);
            None
        }
        None => {
            kind.required("string transform type is required", "add type: Format", problems);
            None
        }
    }
}

fn conversion(node: &Node<'_>, problems: &mut Problems) -> Option<StringTransform> {
    const NAMES: [&str; 9] = [
        "ToUpper",
        "ToLower",
        "ToJson",
        "ToBase64",
        "FromBase64",
        "ToSha1",
        "ToSha256",
        "ToSha512",
        "ToAdler32",
    ];
    let conversion = match node.text(problems)? {
        "ToUpper" => StringConversion::ToUpper,
        "ToLower" => StringConversion::ToLower,
        "ToJson" => StringConversion::ToJson,
        "ToBase64" => StringConversion::ToBase64,
        "FromBase64" => StringConversion::FromBase64,
        "ToSha1" => StringConversion::ToSha1,
        "ToSha256" => StringConversion::ToSha256,
        "ToSha512" => StringConversion::ToSha512,
        "ToAdler32" => StringConversion::ToAdler32,
        other => {
            node.unknown(other, "unknown string conversion type", &NAMES, problems);
            return None;
        }
    };
    Some(StringTransform::Convert(conversion))
}

fn expression(node: &Node<'_>, problems: &mut Problems) -> Option<StringTransform> {
    let pattern = node.child("match");
    if pattern.value().is_none_or(|value| value == "") {
        pattern.required(
            "regexp transform requires a match",
            "add the expression",
            problems,
        );
        return None;
    }
    let group = node.child("group");
    let number = group.integer(problems).unwrap_or_default();
    let Ok(number) = usize::try_from(number) else {
        group.invalid(
            "must not be negative",
            "0 is the whole match, 1 the first group",
            problems,
        );
        return None;
    };
    let regexp = compiled(&pattern, problems)?;
    Some(StringTransform::Regexp {
        regexp,
        pattern: pattern.text(problems)?.to_owned(),
        group: number,
    })
}

fn convert(node: &Node<'_>, problems: &mut Problems) -> Option<Convert> {
    const TYPES: [&str; 7] = ["string", "bool", "int", "int64", "float64", "object", "array"];
    let format = node.child("format");
    let format = match format.text(problems).unwrap_or("none") {
        "none" => Some(ConvertFormat::None),
        "quantity" => Some(ConvertFormat::Quantity),
        "json" => Some(ConvertFormat::Json),
        other => {
            format.unknown(other, "invalid format", &["none", "quantity", "json"], problems);
            None
        }
    };
    let to = node.child("toType");
    let to = match to.text(problems).unwrap_or_default() {
        "string" => ValueType::String,
        "bool" => ValueType::Bool,
        "int" | "int64" => ValueType::Int64,
        "float64" => ValueType::Float64,
        "object" => ValueType::Object,
        "array" => ValueType::Array,
        other => {
            to.unknown(other, "invalid type", &TYPES, problems);
            return None;
        }
    };
    Some(Convert { to, format: format? })
}
