//! Evaluates the rules of a schema on an object.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use cambium_schema::{
    Additional, Child, FieldError, FieldPath, JsonType, Rule, RuleSite, Schema, visit_rules,
};
use serde_json::Value as Json;

use super::compile::{CompiledRule, compile_rule, declare_self};
use crate::declare::Place;
use crate::error::EvaluationError;
use crate::limits::{MAX_MESSAGE_BYTES, RULES_BUDGET};
use crate::program::Program;
use crate::value::Value;

/// The compiled rules of a schema.
#[derive(Debug)]
pub struct CompiledRules {
    schema: Arc<Schema>,
    /// By the address of their schema, which `schema` keeps alive.
    by_schema: HashMap<usize, Vec<CompiledRule>>,
    costly: bool,
}

/// Estimated cost above which a rule may take long even on a small object.
const COSTLY: u64 = 100_000;

/// The result of the rules.
#[derive(Debug, Default, PartialEq)]
pub struct Judgement {
    /// Failures.
    pub errors: Vec<FieldError>,
    /// Ratcheted failures of unchanged parts.
    pub warnings: Vec<FieldError>,
}

impl CompiledRules {
    /// Compiles all rules of a schema. A rule that does not compile is reported as an error of every object.
    pub fn compile(schema: &Schema) -> Self {
        Self::of(Arc::new(schema.clone()))
    }

    /// As [`CompiledRules::compile`], for a shared schema.
    pub fn of(schema: Arc<Schema>) -> Self {
        let mut by_schema = HashMap::new();
        if schema.has_rules() {
            collect(&schema, Place::Root, &mut by_schema);
        }
        let mut rules = by_schema.values().flatten();
        let costly = rules.any(|rule: &CompiledRule| rule.estimated_cost() > COSTLY);
        Self {
            schema,
            by_schema,
            costly,
        }
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.by_schema.is_empty()
    }

    /// Whether validating even a small object may take long.
    pub fn may_take_long(&self) -> bool {
        self.costly
    }

    /// Validates an object; `old` is the old object of an update.
    pub fn validate(&self, new: &Json, old: Option<&Json>) -> Vec<FieldError> {
        self.judge(new, old, &FieldPath::root()).errors
    }

    /// As [`CompiledRules::validate`], with ratcheted failures, and paths relative to `at`.
    pub fn judge(&self, new: &Json, old: Option<&Json>, at: &FieldPath) -> Judgement {
        let mut judge = Judge {
            // One budget for all rules of an object, as upstream: rules after the one that exceeds it are not run.
            budget: RULES_BUDGET,
            judgement: Judgement::default(),
        };
        if !self.is_empty() {
            let _ = visit_rules(&self.schema, new, old, at, &mut |site| match self
                .by_schema
                .get(&address(site.schema))
            {
                Some(rules) => judge.site(&site, rules),
                None => ControlFlow::Continue(()),
            });
        }
        judge.judgement
    }
}

fn address(schema: &Schema) -> usize {
    std::ptr::from_ref(schema).addr()
}

fn collect(schema: &Schema, place: Place, by_schema: &mut HashMap<usize, Vec<CompiledRule>>) {
    let rules = schema
        .constraints
        .as_ref()
        .map_or(&[][..], |constraints| &constraints.rules);
    if !rules.is_empty()
        && let Some(declared) = declare_self(schema, place)
    {
        let compiled = rules.iter().map(|rule| compile_rule(schema, rule, &declared));
        by_schema.insert(address(schema), compiled.collect());
    }
    // Built-in types have no rules, and may be cyclic.
    let mut visit = |child: &Child| {
        if let Child::Shared(child) = child {
            collect(child, Place::of(child), by_schema);
        }
    };
    schema
        .properties
        .iter()
        .for_each(|property| visit(&property.schema));
    schema.items.iter().for_each(&mut visit);
    if let Additional::Schema(child) = &schema.additional {
        visit(child);
    }
}

struct Judge {
    budget: i64,
    judgement: Judgement,
}

impl Judge {
    fn site(&mut self, site: &RuleSite<'_>, rules: &[CompiledRule]) -> ControlFlow<()> {
        if self.budget <= 0 {
            return self.out_of_budget(site);
        }
        let place = match site.resource_root {
            true => Place::Root,
            false => Place::Inside,
        };
        let value = Value::typed(site.value, site.schema, place);
        let old = site.old.map(|old| Value::typed(old, site.schema, place));
        for rule in rules {
            self.rule(site, rule, &value, old.as_ref())?;
        }
        ControlFlow::Continue(())
    }

    fn rule<'a>(
        &mut self,
        site: &RuleSite<'_>,
        rule: &'a CompiledRule,
        value: &Result<Value<'a>, EvaluationError>,
        old: Option<&Result<Value<'a>, EvaluationError>>,
    ) -> ControlFlow<()> {
        let program = match &rule.program {
            None => return ControlFlow::Continue(()),
            Some(Err(detail)) => {
                let detail = format!("rule compile error: {detail}");
                self.judgement.errors.push(of_type(site, detail));
                return ControlFlow::Continue(());
            }
            Some(Ok(program)) => program,
        };
        // A transition rule does not apply where no old value correlates: on create, and for new list items.
        if rule.uses_old() && old.is_none() && !rule.old_is_optional() {
            return ControlFlow::Continue(());
        }
        let variables = match variables(value, old, rule) {
            Ok(variables) => variables,
            Err(error) => {
                self.failed(site, rule, &error);
                return ControlFlow::Continue(());
            }
        };
        let (result, cost) = program.run(&variables);
        if !self.spend(cost) {
            return self.out_of_budget(site);
        }
        match result {
            Ok(Value::Bool(true)) => ControlFlow::Continue(()),
            Ok(_) => self.refused(site, rule, &variables),
            Err(EvaluationError::CostExceeded) => {
                let detail = format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    EvaluationError::CostExceeded,
                    shown(&rule.rule)
                );
                self.judgement.errors.push(of_type(site, detail));
                ControlFlow::Break(())
            }
            Err(error) => {
                self.failed(site, rule, &error);
                ControlFlow::Continue(())
            }
        }
    }

    fn spend(&mut self, cost: u64) -> bool {
        match i64::try_from(cost) {
            Ok(cost) if cost <= self.budget => {
                self.budget -= cost;
                true
            }
            _ => false,
        }
    }

    fn out_of_budget(&mut self, site: &RuleSite<'_>) -> ControlFlow<()> {
        let detail =
            "validation failed due to running out of cost budget, no further validation rules will be run"
                .to_owned();
        self.judgement.errors.push(of_type(site, detail));
        ControlFlow::Break(())
    }

    fn failed(&mut self, site: &RuleSite<'_>, rule: &CompiledRule, error: &EvaluationError) {
        let text = error.to_string();
        let rule = shown(&rule.rule);
        let detail = match text.starts_with("no such overload") {
            true => format!(
                "'{text}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
            ),
            false => format!("{text} evaluating rule: {rule}"),
        };
        self.judgement.errors.push(of_type(site, detail));
    }

    fn refused(
        &mut self,
        site: &RuleSite<'_>,
        rule: &CompiledRule,
        variables: &[Option<Value<'_>>],
    ) -> ControlFlow<()> {
        let path = match &rule.field_path {
            Some(relative) => site.path.child(relative.as_str()),
            None => site.path.clone(),
        };
        let mut detail = None;
        if let Some(Ok(program)) = &rule.message {
            match self.message(program, rule, variables) {
                Ok(message) => detail = message,
                Err(fatal) => {
                    self.add(
                        site,
                        rule,
                        FieldError {
                            path,
                            detail: fatal,
                            ..of_type(site, String::new())
                        },
                    );
                    return ControlFlow::Break(());
                }
            }
        }
        let detail = detail.unwrap_or_else(|| default_message(&rule.rule));
        let error = for_reason(site, path, detail, rule.rule.reason.as_deref());
        self.add(site, rule, error);
        ControlFlow::Continue(())
    }

    fn add(&mut self, site: &RuleSite<'_>, rule: &CompiledRule, error: FieldError) {
        match !rule.uses_old() && site.ratcheted() {
            true => self.judgement.warnings.push(error),
            false => self.judgement.errors.push(error),
        }
    }

    /// Evaluates the message expression; `None` if the message is unusable. An error aborts validation.
    fn message(
        &mut self,
        program: &Program,
        rule: &CompiledRule,
        variables: &[Option<Value<'_>>],
    ) -> Result<Option<String>, String> {
        let source = rule.rule.message_expression.as_deref().unwrap_or_default();
        let (result, cost) = program.run(variables);
        if !self.spend(cost) {
            return Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules \
                 will be run"
                    .to_owned(),
            );
        }
        match result {
            Ok(Value::String(text)) => {
                let text = text.trim();
                let useful = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
                Ok(useful.then(|| text.to_owned()))
            }
            Err(EvaluationError::CostExceeded) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {source:?}"
            )),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

fn variables<'a>(
    value: &Result<Value<'a>, EvaluationError>,
    old: Option<&Result<Value<'a>, EvaluationError>>,
    rule: &CompiledRule,
) -> Result<[Option<Value<'a>>; 2], EvaluationError> {
    let value = value.clone()?;
    let old = match (old.cloned().transpose()?, rule.old_is_optional()) {
        (old, true) => Some(Value::Optional(old.map(Arc::new))),
        (old, false) => old,
    };
    Ok([Some(value), old])
}

fn type_name(schema: &Schema) -> &'static str {
    match schema.json_type {
        JsonType::Any | JsonType::IntOrString => "",
        JsonType::Object => "object",
        JsonType::Array => "array",
        JsonType::String => "string",
        JsonType::Integer => "integer",
        JsonType::Number => "number",
        JsonType::Boolean => "boolean",
    }
}

/// An error that prints the value's type instead of the value.
fn of_type(site: &RuleSite<'_>, detail: String) -> FieldError {
    let value = Json::String(type_name(site.schema).to_owned());
    FieldError::invalid(site.path.clone(), &value, detail)
}

fn for_reason(site: &RuleSite<'_>, path: FieldPath, detail: String, reason: Option<&str>) -> FieldError {
    let shows_value = !matches!(site.schema.json_type, JsonType::Object | JsonType::Array);
    let error = match reason {
        Some("FieldValueForbidden") => return FieldError::forbidden(path, detail),
        Some("FieldValueRequired") => return FieldError::required(path, detail),
        Some("FieldValueDuplicate") => FieldError::duplicate(path, site.value),
        _ => FieldError::invalid(path, site.value, detail),
    };
    match shows_value {
        true => error,
        false => FieldError {
            shown: String::new(),
            ..error
        },
    }
}

fn shown(rule: &Rule) -> &str {
    match rule.message.as_deref() {
        Some(message) if !message.is_empty() => message.trim(),
        _ => rule.rule.trim(),
    }
}

fn default_message(rule: &Rule) -> String {
    match rule.message.as_deref() {
        Some(message) if !message.is_empty() => message.trim().to_owned(),
        _ => format!("failed rule: {}", shown(rule)),
    }
}
