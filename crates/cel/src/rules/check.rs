//! Validates the rules of a schema.

use cambium_schema::{Additional, ErrorKind, FieldError, FieldPath, JsonType, ListType, Rule, Schema};
use serde_json::{Value, json};

use super::compile::{CompiledRule, compile_rule, declare_self};
use crate::declare::Place;
use crate::limits::{ESTIMATED_RULE_LIMIT, ESTIMATED_TOTAL_LIMIT};

/// Checks that all rules of a schema compile, are within the cost limits, and use `oldSelf` only where old values
/// correlate. `at` is the path of the schema.
pub fn check_schema_rules(schema: &Schema, at: &FieldPath) -> Vec<FieldError> {
    let mut checker = Checker::default();
    let root = Scope {
        cardinality: Some(1),
        uncorrelatable: None,
    };
    checker.visit(schema, at, Place::Root, &root);
    checker.finish(at)
}

#[derive(Default)]
struct Checker {
    errors: Vec<FieldError>,
    total: u64,
    /// The most expensive rules, in descending order.
    expensive: Vec<(FieldPath, u64)>,
}

/// The context of a schema.
struct Scope {
    /// The maximum number of values; `None` if unbounded.
    cardinality: Option<u64>,
    /// The enclosing list whose items do not correlate.
    uncorrelatable: Option<FieldPath>,
}

impl Checker {
    fn visit(&mut self, schema: &Schema, at: &FieldPath, place: Place, scope: &Scope) {
        let inner = Scope {
            cardinality: scope
                .cardinality
                .zip(max_elements(schema))
                .map(|(outer, own)| outer.saturating_mul(own)),
            uncorrelatable: scope.uncorrelatable.clone(),
        };
        for property in schema.properties.iter() {
            let at = at.child("properties").key(&property.name);
            self.visit(&property.schema, &at, Place::of(&property.schema), &inner);
        }
        if let Additional::Schema(child) = &schema.additional {
            self.visit(child, &at.child("additionalProperties"), Place::of(child), &inner);
        }
        if let Some(items) = &schema.items {
            let keyed = matches!(schema.list, ListType::Map(_));
            let inner = Scope {
                uncorrelatable: match (inner.uncorrelatable, keyed) {
                    (None, false) => Some(at.clone()),
                    (path, _) => path,
                },
                ..inner
            };
            self.visit(items, &at.child("items"), Place::of(items), &inner);
        }
        let rules = schema
            .constraints
            .as_ref()
            .map_or(&[][..], |constraints| &constraints.rules);
        if rules.is_empty() {
            return;
        }
        let at = at.child("x-kubernetes-validations");
        let Some(declared) = declare_self(schema, place) else {
            self.errors.push(FieldError {
                kind: ErrorKind::Internal,
                path: at,
                shown: String::new(),
                detail: "internal error: failed to construct type information for x-kubernetes-validations rules: unable \
                         to convert structural schema to CEL declarations"
                    .to_owned(),
            });
            return;
        };
        let times = scope.cardinality.unwrap_or(declared.max_cardinality());
        for (index, rule) in rules.iter().enumerate() {
            let compiled = compile_rule(schema, rule, &declared);
            self.judge(&compiled, &at.index(index), times, scope);
        }
    }

    fn judge(&mut self, compiled: &CompiledRule, at: &FieldPath, times: u64, scope: &Scope) {
        let rule = &compiled.rule;
        let cost = compiled.estimated_cost().saturating_mul(times);
        self.observe(at.child("rule"), cost, "estimated rule cost");
        if let Some(Err(detail)) = &compiled.program {
            self.errors.push(invalid(at.child("rule"), rule, detail));
        }
        match &compiled.message {
            Some(Err(detail)) => self
                .errors
                .push(invalid(at.child("messageExpression"), rule, detail)),
            Some(Ok(program)) => {
                let at = at.child("messageExpression");
                self.observe(at, program.estimated_cost(), "estimated messageExpression cost");
            }
            None => {}
        }
        if compiled.uses_old() {
            if let Some(list) = &scope.uncorrelatable {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                let value = Value::String(rule.rule.clone());
                self.errors
                    .push(FieldError::invalid(at.child("rule"), &value, detail));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            let at = at.child("optionalOldSelf");
            self.errors
                .push(FieldError::invalid(at, &Value::Bool(optional), detail));
        }
    }

    fn observe(&mut self, at: FieldPath, cost: u64, what: &str) {
        if cost > ESTIMATED_RULE_LIMIT {
            let detail = too_expensive(what, cost, ESTIMATED_RULE_LIMIT);
            self.errors.push(FieldError::forbidden(at.clone(), detail));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= ESTIMATED_TOTAL_LIMIT / 100 {
            self.expensive.push((at, cost));
            self.expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.expensive.truncate(4);
        }
    }

    fn finish(mut self, at: &FieldPath) -> Vec<FieldError> {
        if self.total > ESTIMATED_TOTAL_LIMIT {
            for (path, _) in self.expensive {
                let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                self.errors.push(FieldError::forbidden(path, detail));
            }
            let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            let detail = too_expensive(what, self.total, ESTIMATED_TOTAL_LIMIT);
            self.errors.push(FieldError::forbidden(at.clone(), detail));
        }
        self.errors
    }
}

fn max_elements(schema: &Schema) -> Option<u64> {
    let constraints = schema.constraints.as_deref();
    match (schema.json_type, &schema.additional) {
        (JsonType::Object, Additional::Schema(_) | Additional::Any) => constraints?.max_properties,
        (JsonType::Array, _) => constraints?.max_items,
        _ => Some(1),
    }
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let by = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {by} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// An error that prints the rule as upstream's Go struct.
fn invalid(path: FieldPath, rule: &Rule, detail: &str) -> FieldError {
    let fields = [
        ("Rule", json!(rule.rule)),
        ("Message", json!(rule.message.as_deref().unwrap_or_default())),
        (
            "MessageExpression",
            json!(rule.message_expression.as_deref().unwrap_or_default()),
        ),
        ("Reason", json!(rule.reason)),
        ("FieldPath", json!(rule.field_path.as_deref().unwrap_or_default())),
        ("OptionalOldSelf", json!(rule.optional_old_self)),
    ];
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\":{}", cambium_go_text::json(value)))
        .collect();
    let shown = format!("{{{}}}", fields.join(","));
    FieldError {
        kind: ErrorKind::Invalid,
        path,
        shown,
        detail: detail.to_owned(),
    }
}
