//! Explains wrong properties in terms of the application's YAML instead of CUE.

use cambium_cue::{Data, Diagnostic, Instance, Lookup, Shape};
use cambium_objects::meant;

/// How many accepted values a message lists.
const OFFERED: usize = 8;

/// Says of parameters of the wrong type what they must be, and of those that are not allowed which was probably meant. Other problems stay
/// as the evaluator tells them.
///
/// `declared` is the same template without the parameters that were `given`.
pub(crate) fn explain(problems: &mut [Diagnostic], given: &Data, declared: &mut Instance<'_>) {
    for problem in problems {
        let below = problem.path.strip_prefix("parameter");
        let Some(below) = below.filter(|below| below.starts_with(['.', '['])) else {
            continue;
        };
        let Some(steps) = steps(below) else { continue };
        if problem.message == "field not allowed" {
            if let Some(meant) = allowed_instead(declared, &steps) {
                problem.message = format!("field not allowed; did you mean {meant:?}?");
            }
            continue;
        }
        let (Some(value), Some(at)) = (given_at(given, &steps), declared_at(declared, &steps)) else {
            continue;
        };
        let name = problem.path.rsplit('.').next().unwrap_or_default();
        if let Some(wanted) = wanted(declared, at)
            && !wanted.takes(value)
        {
            problem.message = format!("{name} must be {}, not {}", wanted.told(), shown(value));
        }
    }
}

/// The name of a declared parameter that is near the last of a path.
fn allowed_instead(declared: &mut Instance<'_>, steps: &[Step<'_>]) -> Option<String> {
    let (Step::Field(written), within) = steps.split_last()? else {
        return None;
    };
    let at = declared_at(declared, within)?;
    let Shape::Struct(members) = declared.shape(at) else {
        return None;
    };
    meant(written, members.iter().map(|member| member.name.as_str())).map(str::to_owned)
}

enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

/// The steps of a path such as `.ports[0].name`; none if it has names that need quotes.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            steps.push(Step::Field(&name[..end]));
            rest = &name[end..];
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Element(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}

fn given_at<'d>(data: &'d Data, steps: &[Step<'_>]) -> Option<&'d Data> {
    steps.iter().try_fold(data, |data, step| match (data, step) {
        (Data::Struct(fields), Step::Field(name)) => fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value),
        (Data::List(items), Step::Element(index)) => items.get(*index),
        _ => None,
    })
}

fn declared_at(declared: &mut Instance<'_>, steps: &[Step<'_>]) -> Option<Lookup> {
    let mut at = declared.lookup(&["parameter"])?;
    for step in steps {
        at = match (step, declared.shape(at)) {
            (Step::Field(name), Shape::Struct(members)) => {
                members.iter().find(|member| member.name == *name)?.value
            }
            (Step::Element(index), Shape::List { elements, rest }) => {
                elements.get(*index).copied().or(rest)?
            }
            _ => return None,
        };
    }
    Some(at)
}

/// The type that a parameter must have, as far as a few words can say it.
enum Wanted {
    Type(&'static str, fn(&Data) -> bool),
    OneOf(Vec<String>),
}

impl Wanted {
    /// Whether a value is of the right type; what else is wrong with it, the evaluator says better.
    fn takes(&self, value: &Data) -> bool {
        match self {
            Self::Type(_, takes) => takes(value),
            Self::OneOf(values) => values.contains(&value.to_json()),
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Type(name, _) => (*name).to_owned(),
            Self::OneOf(values) => {
                let mut told: Vec<&str> = values.iter().take(OFFERED).map(String::as_str).collect();
                if values.len() > OFFERED {
                    told.push("…");
                }
                match told.as_slice() {
                    [only] => (*only).to_owned(),
                    several => format!("one of {}", several.join(", ")),
                }
            }
        }
    }
}

fn wanted(declared: &mut Instance<'_>, at: Lookup) -> Option<Wanted> {
    match declared.shape(at) {
        Shape::Constraint(text) => type_of(&text),
        Shape::Scalar(value) => Some(Wanted::OneOf(vec![value.to_json()])),
        Shape::Struct(_) => Some(Wanted::Type("an object", |value| {
            matches!(value, Data::Struct(_))
        })),
        Shape::List { .. } => Some(Wanted::Type("a list", |value| matches!(value, Data::List(_)))),
        Shape::Alternatives { values, .. } => {
            let (mut literals, mut types) = (Vec::new(), Vec::new());
            for value in values {
                match declared.shape(value) {
                    Shape::Scalar(data) => literals.push(data.to_json()),
                    Shape::Constraint(text) => types.push(type_of(&text)?),
                    _ => return None,
                }
            }
            match types.len() {
                0 => Some(Wanted::OneOf(literals)),
                // A default of a type, such as `*1 | int`.
                1 => types.pop(),
                _ => None,
            }
        }
        Shape::Failed(_) | Shape::Bytes { .. } => None,
    }
}

/// A type, with or without bounds.
fn type_of(constraint: &str) -> Option<Wanted> {
    let integer: fn(&Data) -> bool = |value| matches!(value, Data::Number(number) if number.is_integer());
    let number: fn(&Data) -> bool = |value| matches!(value, Data::Number(_));
    Some(match constraint.split(' ').next()? {
        "int" => Wanted::Type("an integer", integer),
        "number" | "float" => Wanted::Type("a number", number),
        "string" => Wanted::Type("a string", |value| matches!(value, Data::String(_))),
        "bool" => Wanted::Type("true or false", |value| matches!(value, Data::Bool(_))),
        _ => return None,
    })
}

/// A value, briefly.
fn shown(value: &Data) -> String {
    match value {
        Data::Struct(_) => "an object".to_owned(),
        Data::List(_) => "a list".to_owned(),
        scalar => {
            let mut text = scalar.to_json();
            if text.len() > 80 {
                text.truncate(text.floor_char_boundary(80));
                text.push('…');
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambium_cue::{EvaluationOptions, Source, compile};

    #[track_caller]
    fn told(template: &str, given: &str) -> Vec<String> {
        let program = compile(&Source::new("web", template)).unwrap();
        let json: serde_json::Value = serde_json::from_str(given).unwrap();
        let given = crate::parameters::through_go(&json);
        let mut instance = program.evaluate(&[("parameter", &given)], EvaluationOptions::default());
        let mut problems = instance.errors(instance.root());
        let mut declared = program.evaluate(&[], EvaluationOptions::default());
        explain(&mut problems, &given, &mut declared);
        problems
            .iter()
            .map(|problem| format!("{}: {}", problem.path, problem.message))
            .collect()
    }

    #[test]
    fn a_wrong_type_is_told_in_plain_words() {
        for (template, given, expected) in [
            (
                "parameter: {replicas: *1 | int}",
                r#"{"replicas": "two"}"#,
                r#"parameter.replicas: replicas must be an integer, not "two""#,
            ),
            (
                "parameter: {image: string}",
                r#"{"image": 5}"#,
                "parameter.image: image must be a string, not 5",
            ),
            (
                "parameter: {on?: bool}",
                r#"{"on": "yes"}"#,
                r#"parameter.on: on must be true or false, not "yes""#,
            ),
            (
                r#"parameter: {pull: *"Always" | "Never" | "IfNotPresent"}"#,
                r#"{"pull": "never"}"#,
                r#"parameter.pull: pull must be one of "Always", "Never", "IfNotPresent", not "never""#,
            ),
            (
                "parameter: {ports?: [...{port: int}]}",
                r#"{"ports": [{"port": 1}, {"port": "http"}]}"#,
                r#"parameter.ports[1].port: port must be an integer, not "http""#,
            ),
            (
                "parameter: {env?: [...string]}",
                r#"{"env": {"a": "b"}}"#,
                "parameter.env: env must be a list, not an object",
            ),
        ] {
            assert_eq!(told(template, given), [expected]);
        }
    }

    #[test]
    fn a_property_that_is_not_allowed_is_told_with_the_nearest_name() {
        for (template, given, expected) in [
            (
                "parameter: close({replicas: *1 | int})",
                r#"{"replicsa": 2}"#,
                r#"parameter.replicsa: field not allowed; did you mean "replicas"?"#,
            ),
            (
                "parameter: #P\n#P: {ports?: [...{port: int, name?: string}]}",
                r#"{"ports": [{"port": 1, "nmae": "a"}]}"#,
                r#"parameter.ports[0].nmae: field not allowed; did you mean "name"?"#,
            ),
            (
                "parameter: close({replicas: *1 | int})",
                r#"{"zzz": 2}"#,
                "parameter.zzz: field not allowed",
            ),
        ] {
            assert_eq!(told(template, given), [expected]);
        }
    }

    #[test]
    fn what_is_not_about_types_stays_as_it_is() {
        let told = told("parameter: {port: >0 & <100}", r#"{"port": 200}"#);
        assert!(told[0].contains("out of bound <100"), "{told:?}");
    }
}
