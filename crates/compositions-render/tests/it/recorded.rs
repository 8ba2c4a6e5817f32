//! Crossplane's own answers to our questions, and ours beside them. `recorded/README.md` says how they were recorded.
use std::collections::BTreeMap;

use cambium_compositions_render::path::{FieldPath, MergeOptions, Repeats, Segment};
use cambium_compositions_render::{
    Composition, ObservedResource, Readiness, desired, gofmt, observe, validate,
};
use serde_json::{Map, Value, json};

/// What we answer differently, and why.
fn differs_on_purpose(question: &Value, answer: &Value) -> Option<&'static str> {
    let text = |field: &str| question.get(field).and_then(Value::as_str).unwrap_or_default();
    let refusal = answer.get("error").and_then(Value::as_str).unwrap_or_default();
    match text("op") {
        "parse" if text("path").is_empty() => Some("an empty path is refused: it names nothing"),
        // Crossplane names each step of the expansion; the last one says what is wrong.
        "expand" if refusal.matches("cannot expand wildcards").count() > 1 => {
            Some("one error, not one for each step")
        }
        "transform" if question["transform"]["match"]["patterns"] == json!([]) => {
            Some("no patterns: refused at admission by both")
        }
        "observe" if answer.get("detailsError").is_some() => {
            Some("a detail that can never work is refused when read")
        }
        "transform"
            if question["transform"]["type"] == "convert"
                && (refusal.contains("invalid character")
                    || refusal.ends_with(": unexpected end of JSON input")) =>
        {
            Some("what is wrong with JSON is said in our words")
        }
        "transform"
            if refusal.is_empty()
                && flags_before_operator(&question["transform"]["string"]["regexp"]["match"]) =>
        {
            Some("an operator repeats what is right before it, not what is before a group of flags")
        }
        "merge"
            if question["value"] == json!([]) && answer["object"].get(text("path")) == Some(&Value::Null) =>
        {
            Some("nothing appended to an empty array leaves an empty array, not a null")
        }
        "from" if question["xr"]["metadata"].get("labels").is_none() => {
            Some("the name serves where the label is missing")
        }
        _ => None,
    }
}

fn flags_before_operator(pattern: &Value) -> bool {
    let pattern = pattern.as_str().unwrap_or_default();
    ["(?s)", "(?U)"].iter().any(|flags| {
        pattern
            .split(flags)
            .skip(1)
            .any(|rest| rest.starts_with(['*', '+', '?', '{']))
    })
}

#[test]
fn answers_as_crossplane_does() {
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut set_aside = 0;
    for line in include_str!("../recorded/answers.jsonl").lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let (question, answer) = (&recorded["question"], &recorded["answer"]);
        let op = question["op"].as_str().unwrap();
        *asked.entry(op.to_owned()).or_default() += 1;
        if differs_on_purpose(question, answer).is_some() {
            set_aside += 1;
            continue;
        }
        if let Err(ours) = compare(op, question, answer) {
            wrong.push(format!("{question}\n  theirs {answer}\n  ours   {ours}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {asked:?} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    assert!(asked.values().sum::<usize>() > 3000, "{asked:?}");
    assert!(set_aside < 30, "{set_aside} questions are set aside");
}

type Compared = Result<(), String>;

fn compare(op: &str, question: &Value, answer: &Value) -> Compared {
    match op {
        "parse" => parse(question, answer),
        "get" | "set" | "delete" | "expand" | "merge" => access(op, question, answer),
        "sprintf" => {
            let arguments: Vec<&Value> = question["args"].as_array().unwrap().iter().collect();
            let ours = gofmt::sprintf(question["format"].as_str().unwrap(), &arguments);
            same(&json!({"text": ours.unwrap_or_default()}), answer)
        }
        "transform" => transform(question, answer),
        "validate" => validation(question, answer),
        "from" | "to" => render(op, question, answer),
        "observe" => observation(question, answer),
        other => Err(format!("unknown question {other}")),
    }
}

fn same(ours: &Value, theirs: &Value) -> Compared {
    if equal(ours, theirs) {
        Ok(())
    } else {
        Err(ours.to_string())
    }
}

/// Equal, where a number is its value: `5.0` and `5` are written alike in Go.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            // An integer that does not fit is a float in Go.
            left == right
                || (left.as_f64() == right.as_f64() && (left.as_i64().is_none() || right.as_i64().is_none()))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

fn error(text: impl ToString, not_found: bool) -> Value {
    json!({"error": text.to_string(), "notFound": not_found})
}

fn parse(question: &Value, answer: &Value) -> Compared {
    let ours = match question["path"].as_str().unwrap().parse::<FieldPath>() {
        Ok(path) => {
            let segments = path.segments().iter().map(|segment| match segment {
                Segment::Field(name) => json!(name),
                Segment::Index(index) => json!(index),
            });
            json!({"segments": segments.collect::<Vec<_>>()})
        }
        Err(problem) => error(problem, false),
    };
    same(&ours, answer)
}

fn access(op: &str, question: &Value, answer: &Value) -> Compared {
    let text = question["path"].as_str().unwrap();
    let path: FieldPath = match text.parse() {
        Ok(path) => path,
        Err(problem) => {
            return same(
                &error(format!("cannot parse path {text:?}: {problem}"), false),
                answer,
            );
        }
    };
    let mut object = question["object"].clone();
    let done = match op {
        "get" => {
            let ours = match path.get(&object) {
                Ok(value) => json!({"value": value}),
                Err(problem) => error(&problem, problem.is_not_found()),
            };
            return same(&ours, answer);
        }
        "expand" => {
            let ours = match path.expand(&object) {
                Ok(paths) => {
                    let mut paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                    paths.sort();
                    json!({"paths": paths})
                }
                Err(problem) => {
                    let text = format!("cannot expand wildcards for segments: \"{path}\": {problem}");
                    error(text, problem.is_not_found())
                }
            };
            return same(&ours, answer);
        }
        "set" => path
            .set(&mut object, question["value"].clone())
            .map_err(|problem| error(problem, false)),
        "delete" => path.delete(&mut object).map_err(|problem| error(problem, false)),
        _ => {
            let flag = |options: &Value, name: &str| options.get(name) == Some(&Value::Bool(true));
            let options = question.get("options").map(|options| MergeOptions {
                keep_map_values: flag(options, "keepMapValues"),
                append_slice: flag(options, "appendSlice"),
            });
            let value = question["value"].clone();
            path.merge(&mut object, value, options, Repeats::Append)
                .map_err(|problem| error(problem, false))
        }
    };
    same(
        &done.map_or_else(|error| error, |()| json!({"object": object})),
        answer,
    )
}

fn spec_with(template: Value) -> Value {
    json!({"resources": [template]})
}

fn transform(question: &Value, answer: &Value) -> Compared {
    let base = json!({"apiVersion": "v1", "kind": "A"});
    let patch = json!({"fromFieldPath": "a", "transforms": [question["transform"]]});
    let refused = answer.get("error").and_then(Value::as_str);
    let composition =
        match Composition::read(&spec_with(json!({"name": "a", "base": base, "patches": [patch]}))) {
            Ok(composition) => composition,
            // What can only fail is refused before it is tried.
            Err(problems) => {
                return if refused.is_some() {
                    Ok(())
                } else {
                    Err(problems.to_string())
                };
            }
        };
    let transform = &composition.templates()[0].patches[0].transforms[0];
    let applied = transform.apply(question["input"].clone().into());
    match applied.map(|passed| passed.into_json().unwrap()) {
        Ok(value) => {
            // A nil map has a type in Go.
            let kind = if value.is_null() {
                answer["type"].clone()
            } else {
                json!(gofmt::type_name(&value))
            };
            same(&json!({"type": kind, "value": value}), answer)
        }
        Err(problem) => {
            let ours = format!("{} transform could not resolve: {problem}", transform.name());
            if Some(ours.as_str()) == refused {
                Ok(())
            } else {
                Err(ours)
            }
        }
    }
}

/// Everything that Crossplane refuses, we refuse in the same place with the same words; and nothing else, but for what fails later there.
fn validation(question: &Value, answer: &Value) -> Compared {
    let problems = validate(&question["spec"]);
    let ours: Vec<String> = problems
        .iter()
        .map(|problem| format!("{}: {}", problem.field, problem.fault))
        .collect();
    let theirs = answer["errors"].as_array().unwrap();
    // Crossplane writes a pointer where the value should stand, and says some things twice.
    let plain = |text: &str| {
        text.replace("patchSetName must be set for patch type PatchSet", "X")
            .replace("must be specified when type is patchSet", "X")
    };
    for theirs in theirs {
        let text = theirs["text"].as_str().unwrap();
        let found = ours.iter().any(|ours| plain(ours) == plain(text));
        let pointer = text.contains("Invalid value: ")
            && problems.iter().any(|problem| {
                theirs["field"] == problem.field.as_str()
                    && text.rsplit(": ").next() == problem.fault.to_string().rsplit(": ").next()
            });
        if !found && !pointer {
            return Err(format!("{ours:?} without {text}"));
        }
    }
    // Crossplane stops at the first problem of a patch or check. Beside it, or below a combine, there may be more.
    let surplus = |ours: &&String| {
        let field = ours.split(": ").next().unwrap_or_default();
        let (parent, _) = field.rsplit_once('.').unwrap_or((field, ""));
        let known = |theirs: &Value| {
            theirs["field"]
                .as_str()
                .is_some_and(|field| field.starts_with(parent))
        };
        !theirs.iter().any(known)
    };
    match ours.iter().find(surplus) {
        Some(surplus) => Err(format!("also {surplus}")),
        None => Ok(()),
    }
}

fn render(op: &str, question: &Value, answer: &Value) -> Compared {
    let composition = match Composition::read(&spec_with(question["template"].clone())) {
        Ok(composition) => composition,
        Err(problems) => {
            return if answer.get("error").is_some() {
                Ok(())
            } else {
                Err(problems.to_string())
            };
        }
    };
    let label = composition.templates()[0].label.clone();
    let refused = answer.get("error").and_then(Value::as_str);
    let against = |problem: String| {
        if Some(problem.as_str()) == refused {
            Ok(())
        } else {
            Err(problem)
        }
    };
    if op == "from" {
        let observed = question
            .get("observed")
            .map(|observed| (label, observed.clone()))
            .into_iter()
            .collect();
        let made = desired(&composition, &question["xr"], &observed).remove(0);
        return match made.outcome {
            Ok(object) => same(&json!({"object": object}), answer),
            Err(problem) => against(problem.to_string()),
        };
    }
    let resource = ObservedResource {
        object: question["observed"].clone(),
        ..Default::default()
    };
    let seen = observe(
        &composition,
        &question["xr"],
        &BTreeMap::from([(label, resource)]),
    );
    match &seen.resources[0].problem {
        None => same(&json!({"object": seen.composite}), answer),
        Some(problem) => against(problem.to_string()),
    }
}

fn observation(question: &Value, answer: &Value) -> Compared {
    let composition =
        Composition::read(&spec_with(question["template"].clone())).map_err(|error| error.to_string())?;
    let label = composition.templates()[0].label.clone();
    let secret = question["secret"].as_object().unwrap().iter();
    let secret = secret.map(|(key, value)| (key.clone(), value.as_str().unwrap().as_bytes().to_vec()));
    let resource = ObservedResource {
        object: question["observed"].clone(),
        secret: secret.collect(),
    };
    let seen = observe(&composition, &json!({}), &BTreeMap::from([(label, resource)]));
    let mut ours = Map::new();
    match seen.resources[0].readiness.as_ref().unwrap() {
        Readiness::Failed(error) => ours.insert("readyError".to_owned(), error.to_string().into()),
        readiness => ours.insert("ready".to_owned(), readiness.is_ready().into()),
    };
    let details = seen.connection_details.iter();
    let details: Map<String, Value> = details
        .map(|(key, value)| (key.clone(), String::from_utf8_lossy(value).into()))
        .collect();
    ours.insert("details".to_owned(), details.into());
    same(&Value::Object(ours), answer)
}

/// Patches of nulls, of numbers that JSON cannot say, and of integers that a float cannot hold: what the core of Crossplane v1.20.11 makes of them.
#[test]
fn nulls_and_numbers_are_patched_as_crossplane_patches_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../recorded/nulls-and-numbers.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let base = json!({"apiVersion": "v1", "kind": "T", "data": case["data"]});
        let spec = json!({"resources": [{"name": "a", "base": base, "patches": [case["patch"]]}]});
        let composite =
            json!({"apiVersion": "e/v1", "kind": "X", "metadata": {"name": "x"}, "spec": case["spec"]});
        let to = case["patch"]["type"] == "ToCompositeFieldPath";
        let made = Composition::read(&spec)
            .map_err(|problems| problems.to_string())
            .and_then(|composition| {
                if to {
                    let there = ObservedResource {
                        object: base.clone(),
                        ..ObservedResource::default()
                    };
                    let seen = observe(
                        &composition,
                        &composite,
                        &BTreeMap::from([("a".to_owned(), there)]),
                    );
                    match &seen.resources[0].problem {
                        Some(problem) => Err(problem.to_string()),
                        None => Ok(seen.composite["spec"].clone()),
                    }
                } else {
                    let made = desired(&composition, &composite, &BTreeMap::new())
                        .remove(0)
                        .outcome;
                    made.map(|made| made["data"].clone())
                        .map_err(|error| error.to_string())
                }
            });
        // Both refuse a match without patterns at admission.
        let mut transforms = case["patch"]["transforms"].as_array().into_iter().flatten();
        let on_purpose = transforms.any(|transform| transform["match"]["patterns"] == json!([]));
        let same = match (&made, &case["expect"]) {
            (Ok(made), expect) => expect.get("made").is_some_and(|expected| is_same(made, expected)),
            (Err(_), expect) => on_purpose || expect.get("made").is_none(),
        };
        if !same {
            wrong.push(format!(
                "{}\n  of {}\n  gives {made:?}\n  and not {}",
                case["patch"], case["spec"], case["expect"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// Whether two values are the same to Go: what is no `int64` is a `float64`, however it is written.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (None, None) => one.as_f64() == other.as_f64(),
            (one, other) => one == other,
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| is_same(value, other)))
        }
        _ => one == other,
    }
}
