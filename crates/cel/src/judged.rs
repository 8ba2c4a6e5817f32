//! Expressions with the results of a real API server (1.36): value, type, cost, estimated cost, errors.
//!
//! The first line of the file is the schema and the object, every other line an expression.

use serde_json::{Value as Json, json};

use crate::declare::{Declared, Place, declare};
use crate::program::{Declarations, compile};
use crate::types::Type;
use crate::value::Value;

const JUDGED: &str = include_str!("../tests/judged.jsonl");

fn evaluate(schema: &cambium_schema::Schema, declared: &Declared, value: &Json, case: &Json) -> Json {
    let optional = case["optional"] == true;
    let old_type = match optional {
        true => Type::optional(declared.ty.clone()),
        false => declared.ty.clone(),
    };
    let declarations = Declarations::new()
        .with("self", declared.ty.clone(), Some(declared.clone()))
        .with("oldSelf", old_type, None);
    let source = case["expression"].as_str().expect("every case has an expression");
    let program = match compile(source, &declarations) {
        Ok(program) => program,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let old = case.get("old").map(|changed| {
        let mut old = value.clone();
        for (key, value) in changed.as_object().expect("what was different is an object") {
            old[key] = value.clone();
        }
        old
    });
    let typed = |json| Value::typed(json, schema, Place::Root).expect("the value fits the schema");
    let old = match (old.as_ref().map(typed), optional) {
        (old, true) => Some(Value::Optional(old.map(std::sync::Arc::new))),
        (old, false) => old,
    };
    let variables = [Some(typed(value)), old];
    let (result, cost) = program.run(&variables);
    let result = match result {
        Ok(Value::String(text)) => json!(&*text),
        Ok(Value::Bool(value)) => json!(value),
        Ok(Value::Int(value)) => json!(value),
        Ok(Value::Double(value)) => json!(value),
        Ok(other) => json!(other.type_name()),
        Err(error) => json!(format!("ERR {error}")),
    };
    json!({
        "type": program.result_type().to_string(),
        "estimate": program.estimated_cost(),
        "result": result,
        "cost": cost,
    })
}

#[test]
fn expressions_are_judged_as_by_a_real_api_server() {
    let mut lines = JUDGED
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).expect("every line is JSON"));
    let world = lines.next().expect("the first line is the schema and the object");
    let schema = cambium_schema::parse(&world["schema"], &cambium_schema::FieldPath::root())
        .expect("the schema is valid");
    let declared = declare(&schema, Place::Root, "selfType").expect("the schema can be seen");
    let mut wrong = Vec::new();
    for case in lines {
        let judged = evaluate(&schema, &declared, &world["value"], &case);
        for (key, value) in judged.as_object().expect("a judgement is an object") {
            let expected = &case[key];
            let same = match (expected.as_f64(), value.as_f64()) {
                (Some(a), Some(b)) => a == b,
                _ => expected == value,
            };
            if !same {
                wrong.push(format!(
                    "{}: {key}\n  expected {expected}\n  found    {value}",
                    case["expression"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
