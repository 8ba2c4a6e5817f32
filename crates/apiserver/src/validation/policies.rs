//! Validation of the CEL expressions of admission policies.

use cambium_cel::conditions::check_condition;
use cambium_cel::policies::{Compiler, Params, Purpose};
use cambium_schema::{FieldError, FieldPath};
use serde_json::Value;

use crate::object::{items, text};

/// Maximum length of an audit annotation's expression.
const LONGEST_ANNOTATION: usize = 5 * 1024;

/// Compiles the expressions of a policy and returns the errors; bindings have none.
pub(crate) fn expressions(policy: &Value) -> Vec<FieldError> {
    let spec = match policy.get("kind").and_then(Value::as_str) {
        Some("MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy") => &policy["spec"],
        _ => return Vec::new(),
    };
    let params = match spec.get("paramKind") {
        Some(_) => Params::Declared,
        None => Params::Absent,
    };
    let composes = policy["kind"] == "MutatingAdmissionPolicy" || !items(spec, "variables").is_empty();
    let compiler = match composes {
        true => Compiler::new(params),
        false => Compiler::alone(params),
    };
    let mut checker = Checker {
        params,
        compiler,
        errors: Vec::new(),
    };
    checker.check(spec);
    checker.errors
}

struct Checker {
    params: Params,
    compiler: Compiler,
    errors: Vec<FieldError>,
}

impl Checker {
    fn check(&mut self, spec: &Value) {
        let at = FieldPath::new("spec");
        let places = |field: &str| {
            let at = at.child(field);
            let items = items(spec, field).iter().enumerate();
            items.map(move |(index, item)| (at.index(index), item))
        };
        for (at, condition) in places("matchConditions") {
            let at = at.child("expression");
            self.errors
                .extend(check_condition(text(condition, "expression"), self.params, &at));
        }
        for (at, variable) in places("variables") {
            self.variable(variable, &at.child("expression"));
        }
        for (at, validation) in places("validations") {
            self.validation(validation, &at);
        }
        for (at, annotation) in places("auditAnnotations") {
            self.annotation(text(annotation, "valueExpression"), at.child("valueExpression"));
        }
        for (at, mutation) in places("mutations") {
            self.mutation(mutation, &at);
        }
    }

    fn variable(&mut self, variable: &Value, at: &FieldPath) {
        let source = text(variable, "expression");
        if source.trim().is_empty() {
            let missing = FieldError::required(at.clone(), "expression is not specified");
            return self.errors.push(missing);
        }
        if let Err(problem) = self.compiler.add_variable(text(variable, "name"), source) {
            self.errors.push(problem.at(at.clone(), source));
        }
    }

    fn validation(&mut self, validation: &Value, at: &FieldPath) {
        let source = text(validation, "expression");
        match source.trim().is_empty() {
            true => self.errors.push(FieldError::required(
                at.child("expression"),
                "expression is not specified",
            )),
            false => self.compile(source, Purpose::Condition, at.child("expression")),
        }
        let (message, at) = (
            text(validation, "messageExpression"),
            at.child("messageExpression"),
        );
        match message.trim().is_empty() {
            false => self.compile(message, Purpose::Message, at),
            true if message.is_empty() => {}
            true => {
                let value = Value::from(message);
                self.errors
                    .push(FieldError::invalid(at, &value, "must be non-empty if specified"));
            }
        }
    }

    fn annotation(&mut self, source: &str, at: FieldPath) {
        let trimmed = source.trim();
        if trimmed.is_empty() {
            let missing = FieldError::required(at, "valueExpression is not specified");
            return self.errors.push(missing);
        }
        if trimmed.len() > LONGEST_ANNOTATION {
            let detail = format!("must not exceed {LONGEST_ANNOTATION} bytes in length");
            return self.errors.push(FieldError::required(at, detail));
        }
        if let Some(problem) = self.compiler.check(trimmed, Purpose::Annotation) {
            self.errors.push(problem.at(at, source));
        }
    }

    fn mutation(&mut self, mutation: &Value, at: &FieldPath) {
        let (field, purpose) = match text(mutation, "patchType") {
            "ApplyConfiguration" => ("applyConfiguration", Purpose::ApplyConfiguration),
            "JSONPatch" => ("jsonPatch", Purpose::JsonPatch),
            _ => return,
        };
        let Some(patch) = mutation.get(field) else {
            return;
        };
        let at = at.child(field).child("expression");
        match text(patch, "expression").trim() {
            "" => self.errors.push(FieldError::required(at, "")),
            source => self.compile(source, purpose, at),
        }
    }

    fn compile(&mut self, source: &str, purpose: Purpose, at: FieldPath) {
        if let Some(problem) = self.compiler.check(source, purpose) {
            self.errors.push(problem.at(at, source));
        }
    }
}
