//! Evaluates the steps of an expression, and counts their cost.

use std::sync::Arc;

use cambium_schema::Pattern;

use crate::charge::Charge;
use crate::compose::Composed;
use crate::error::{EvaluationError, Result, failed, failure, no_such_overload};
use crate::functions::{
    apply_compiled, apply_regex, compilation, compile_pattern, contains, insert, matching,
};
use crate::limits::{FREE_VISITS, MESSAGE, VISITS};
use crate::meter;
use crate::plan::{Append, Call, Fold, Index, Make, Match, Presence, Select, Step, Unwrap};
use crate::value::{Key, Made, Map, Value};

/// An evaluation of an expression.
pub(crate) struct Evaluation<'a, 'v> {
    /// The values of the declared variables; using one without a value is an error.
    variables: &'v [Option<Value<'a>>],
    names: &'v [&'static str],
    /// The composited variables of a policy.
    composed: Option<&'v Composed<'a>>,
    /// The variables of active comprehensions. An accumulator can hold an error.
    locals: Vec<Result<Value<'a>>>,
    cost: u64,
    limit: u64,
}

impl<'a, 'v> Evaluation<'a, 'v> {
    pub(crate) fn new(
        variables: &'v [Option<Value<'a>>],
        names: &'v [&'static str],
        composed: Option<&'v Composed<'a>>,
        limit: u64,
    ) -> Self {
        Self {
            variables,
            names,
            composed,
            locals: Vec::new(),
            cost: 0,
            limit,
        }
    }

    /// The cost so far.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    fn charge(&mut self, amount: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(amount);
        match self.cost > self.limit {
            true => Err(EvaluationError::CostExceeded),
            false => Ok(()),
        }
    }

    pub(crate) fn run(&mut self, step: &'a Step) -> Result<Value<'a>> {
        match step {
            Step::Constant(value) => Ok(value.clone()),
            Step::Variable(index) => {
                self.charge(1)?;
                match self.variables.get(*index) {
                    Some(Some(value)) => Ok(value.clone()),
                    _ => {
                        let name = self.names.get(*index).copied().unwrap_or_default();
                        failure(format!("no such attribute(s): {name}"))
                    }
                }
            }
            Step::Local(slot) => {
                self.charge(1)?;
                self.local(*slot)
            }
            Step::Select(select) => self.select(select),
            Step::Has(select) => self.has(select),
            Step::OptionalSelect(select) => self.optional_select(select),
            Step::Index(index) => self.index(index),
            Step::And(parts) => self.logic(&parts.0, &parts.1, false),
            Step::Or(parts) => self.logic(&parts.0, &parts.1, true),
            Step::If(parts) => match self.run(&parts.0)? {
                Value::Bool(true) => self.run_inside_path(&parts.1),
                Value::Bool(false) => self.run_inside_path(&parts.2),
                _ => no_such_overload(),
            },
            Step::Otherwise(parts, unwrap) => match self.run(&parts.0)? {
                Value::Optional(None) => self.run(&parts.1),
                Value::Optional(Some(inner)) if *unwrap == Unwrap::Value => Ok(unshare(inner)),
                present => Ok(present),
            },
            Step::NotStrictlyFalse(inner) => self.not_strictly_false(inner),
            Step::Call(call) => self.call(call),
            Step::Match(call) => self.matches(call),
            Step::InConstant(parts) => {
                let item = self.run(&parts.0)?;
                let before = (self.cost, meter::visits());
                let found = contains(&parts.1, &item);
                self.charge_visits(before)?;
                found.map(Value::Bool)
            }
            Step::List(items) => self.list(items),
            Step::Map(entries) => self.map(entries),
            Step::Make(make) => self.make(make),
            Step::Append(append) => self.append(append),
            Step::Fold(fold) => self.fold(fold),
        }
    }

    /// Evaluates a path inside another: it is charged by steps only.
    fn run_inside_path(&mut self, step: &'a Step) -> Result<Value<'a>> {
        let value = self.run(step);
        if step.is_path() && !matches!(step, Step::If(_)) {
            self.cost = self.cost.saturating_sub(1);
        }
        value
    }

    fn local(&self, slot: usize) -> Result<Value<'a>> {
        match self.locals.get(slot) {
            Some(value) => value.clone(),
            None => failed("no such attribute(s)"),
        }
    }

    /// Evaluates the operand of a path. An operand that is not a path costs one more.
    fn operand(&mut self, operand: &'a Step) -> Result<Value<'a>> {
        let value = self.run(operand);
        if !operand.is_path() {
            self.charge(1)?;
        }
        value
    }

    fn select(&mut self, select: &'a Select) -> Result<Value<'a>> {
        let operand = self.operand(&select.operand)?;
        self.charge(1)?;
        match operand {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => Ok(wrap(self.field(&inner, &select.field)?)),
            // Unset fields of a constructed message are null.
            Value::Made(made) => Ok(made.fields.get(&*select.field).cloned().unwrap_or(Value::Null)),
            operand => match self.field(&operand, &select.field)? {
                Some(value) => Ok(value),
                None => failure(format!("no such key: {}", select.field)),
            },
        }
    }

    fn field(&self, operand: &Value<'a>, name: &str) -> Result<Option<Value<'a>>> {
        match (operand, self.composed) {
            (Value::Map(map), _) => map.field(name),
            (Value::Made(made), _) => Ok(made.fields.get(name).cloned()),
            (Value::Variables, Some(composed)) => composed.find(name, self.variables),
            _ => Ok(None),
        }
    }

    fn has(&mut self, select: &'a Select) -> Result<Value<'a>> {
        let operand = self.operand(&select.operand)?;
        let found = match &operand {
            Value::Optional(None) => None,
            Value::Optional(Some(inner)) => self.field(inner, &select.field)?,
            operand => self.field(operand, &select.field)?,
        };
        Ok(Value::Bool(found.is_some()))
    }

    fn optional_select(&mut self, select: &'a Select) -> Result<Value<'a>> {
        let found = match self.operand(&select.operand)? {
            Value::Optional(None) => None,
            Value::Optional(Some(inner)) => self.field(&inner, &select.field)?,
            operand => self.field(&operand, &select.field)?,
        };
        if found.is_some() {
            self.charge(1)?;
        }
        Ok(wrap(found))
    }

    fn index(&mut self, index: &'a Index) -> Result<Value<'a>> {
        let operand = self.operand(&index.operand);
        let key = self.run_inside_path(&index.index);
        let (operand, key) = (operand?, key?);
        if index.presence == Presence::Required {
            self.charge(1)?;
        }
        let (operand, optional) = match operand {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => ((*inner).clone(), true),
            operand => (operand, index.presence == Presence::Optional),
        };
        let found = match &operand {
            Value::Map(map) => map.find(&key)?,
            Value::List(list) => match position(&key)? {
                Some(position) => list.get(position).transpose()?,
                None => None,
            },
            _ => None,
        };
        if index.presence == Presence::Optional && found.is_some() {
            self.charge(1)?;
        }
        match (found, optional) {
            (found, true) => Ok(wrap(found)),
            (Some(found), false) => Ok(found),
            (None, false) => match operand {
                Value::List(_) => failure(format!("index out of bounds: {}", key.shown())),
                _ => failure(format!("no such key: {}", key.shown())),
            },
        }
    }

    /// `&&` and `||`: a decisive operand takes precedence over an error of the other.
    fn logic(&mut self, left: &'a Step, right: &'a Step, decisive: bool) -> Result<Value<'a>> {
        let mut problem = None;
        for side in [left, right] {
            match self.run(side) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => {
                    problem.get_or_insert(EvaluationError::Failed("no such overload".into()));
                }
                Err(EvaluationError::CostExceeded) => return Err(EvaluationError::CostExceeded),
                Err(error) => {
                    problem.get_or_insert(error);
                }
            }
        }
        match problem {
            Some(problem) => Err(problem),
            None => Ok(Value::Bool(!decisive)),
        }
    }

    fn not_strictly_false(&mut self, inner: &'a Step) -> Result<Value<'a>> {
        let holds = match self.run(inner) {
            Ok(Value::Bool(value)) => value,
            Err(EvaluationError::CostExceeded) => return Err(EvaluationError::CostExceeded),
            Ok(_) | Err(_) => true,
        };
        self.charge(1)?;
        Ok(Value::Bool(holds))
    }

    /// Evaluates the arguments of a call. With one or two arguments, a failed one is charged like a number; with more,
    /// evaluation stops at the first error and the call is not charged.
    fn arguments(&mut self, steps: &'a [Step], charge: Charge) -> Result<Vec<Value<'a>>> {
        let mut arguments = Vec::with_capacity(steps.len());
        let mut problem = None;
        for step in steps {
            match self.run(step) {
                Ok(value) => arguments.push(value),
                Err(EvaluationError::CostExceeded) => return Err(EvaluationError::CostExceeded),
                Err(error) if steps.len() > 2 => return Err(error),
                Err(error) => {
                    problem.get_or_insert(error);
                    arguments.push(Value::Null);
                }
            }
        }
        match problem {
            Some(problem) => {
                self.charge(charge.amount(&arguments, None))?;
                Err(problem)
            }
            None => Ok(arguments),
        }
    }

    fn call(&mut self, call: &'a Call) -> Result<Value<'a>> {
        let arguments = self.arguments(&call.arguments, call.charge)?;
        let before = (self.cost, meter::visits());
        // What is too expensive is not done first.
        let known = !call.charge.follows_result();
        if known {
            self.charge(call.charge.amount(&arguments, None))?;
        }
        let result = match (call.name, call.arguments.first(), arguments.get(1)) {
            ("matches" | "find" | "findAll", _, Some(Value::String(pattern))) => {
                self.charge(compilation(pattern))?;
                let pattern = compile_pattern(pattern);
                if let Ok(pattern) = &pattern {
                    self.charge_matching(pattern, &arguments, call.charge)?;
                }
                apply_compiled(call.name, &pattern, &arguments)
            }
            // The accumulator is not shared, so it can be changed in place.
            ("cel.@mapInsert", Some(Step::Local(slot)), _) => {
                if let Some(slot) = self.locals.get_mut(*slot) {
                    *slot = Ok(Value::Null);
                }
                meter::claim(2 * size_of::<Value<'_>>())?;
                return insert(arguments);
            }
            _ => (call.implementation)(&arguments),
        };
        if !known {
            self.charge(call.charge.amount(&arguments, result.as_ref().ok()))?;
        }
        if let Ok(result) = &result
            && !matches!(call.name, "dyn" | "first" | "last" | "min" | "max" | "value")
        {
            meter::claim(result.made())?;
        }
        self.charge_visits(before)?;
        result.map_err(|error| explain(error, call.name, &arguments))
    }

    fn matches(&mut self, call: &'a Match) -> Result<Value<'a>> {
        let arguments = self.arguments(&call.arguments, call.charge)?;
        let before = (self.cost, meter::visits());
        self.charge(call.charge.amount(&arguments, None))?;
        self.charge_matching(&call.pattern, &arguments, call.charge)?;
        let result = apply_regex(call.name, &call.pattern, &arguments);
        if let Ok(result) = &result {
            meter::claim(result.made())?;
        }
        self.charge_visits(before)?;
        result
    }

    fn charge_matching(&mut self, pattern: &Pattern, arguments: &[Value<'a>], charge: Charge) -> Result<()> {
        match arguments.first() {
            Some(Value::String(text)) => {
                let counted = charge.amount(arguments, None);
                self.charge(matching(pattern, text, counted))
            }
            _ => Ok(()),
        }
    }

    /// Charges for values visited inside arguments beyond what Kubernetes counts; a few are free.
    fn charge_visits(&mut self, (cost, visits): (u64, u64)) -> Result<()> {
        let counted = self.cost.saturating_sub(cost).saturating_mul(VISITS);
        let visits = meter::visits().saturating_sub(visits);
        self.charge(visits.saturating_sub(FREE_VISITS).saturating_sub(counted) / VISITS)
    }

    fn list(&mut self, items: &'a [(Step, Presence)]) -> Result<Value<'a>> {
        meter::claim(items.len() * size_of::<Value<'_>>())?;
        let mut values = Vec::with_capacity(items.len());
        for (item, presence) in items {
            let item = match self.run(item) {
                Ok(item) => item,
                Err(error) => {
                    self.charge(10)?;
                    return Err(error);
                }
            };
            match (item, presence) {
                (Value::Optional(inner), Presence::Optional) => values.extend(inner.map(unshare)),
                (value, Presence::Optional) => {
                    return failure(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        value.shown()
                    ));
                }
                (value, Presence::Required) => values.push(value),
            }
        }
        self.charge(10)?;
        Ok(Value::list(values))
    }

    fn map(&mut self, entries: &'a [(Step, Step, Presence)]) -> Result<Value<'a>> {
        meter::claim(entries.len() * 2 * size_of::<Value<'_>>())?;
        let mut map = std::collections::BTreeMap::new();
        for (key, value, presence) in entries {
            let key = self.run(key)?;
            let value = match (self.run(value)?, presence) {
                (Value::Optional(None), Presence::Optional) => continue,
                (Value::Optional(Some(inner)), Presence::Optional) => unshare(inner),
                (value, Presence::Optional) => {
                    return failure(format!(
                        "cannot initialize optional entry '{}' from non-optional value {}",
                        key.shown(),
                        value.shown()
                    ));
                }
                (value, Presence::Required) => value,
            };
            let Some(key) = Key::of(&key) else {
                return failure(format!("unsupported key type: {}", key.type_name()));
            };
            map.insert(key, value);
        }
        self.charge(30)?;
        Ok(Value::Map(Map::owned(map)))
    }

    fn make(&mut self, make: &'a Make) -> Result<Value<'a>> {
        let mut fields = std::collections::BTreeMap::new();
        for (name, value, presence) in &make.fields {
            let value = match (self.run(value)?, presence) {
                (Value::Optional(None), Presence::Optional) => continue,
                (Value::Optional(Some(inner)), Presence::Optional) => unshare(inner),
                (value, Presence::Optional) => {
                    return failure(format!(
                        "cannot initialize optional entry '{name}' from non-optional value {}",
                        value.shown()
                    ));
                }
                (value, Presence::Required) => value,
            };
            fields.insert(name.clone(), value);
        }
        self.charge(MESSAGE)?;
        Ok(Value::Made(Arc::new(Made {
            message: make.message.clone(),
            fields,
        })))
    }

    fn append(&mut self, append: &'a Append) -> Result<Value<'a>> {
        self.charge(1)?;
        let item = self.run(&append.item);
        self.charge(11)?;
        let item = item?;
        let taken = match self.locals.get_mut(append.slot) {
            Some(slot) => std::mem::replace(slot, Ok(Value::Null)),
            None => return failed("no such attribute(s)"),
        };
        match taken? {
            Value::List(mut list) => {
                meter::claim(size_of::<Value<'_>>())?;
                list.push(item)?;
                Ok(Value::List(list))
            }
            _ => no_such_overload(),
        }
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Value<'a>> {
        let range = self.run(&fold.range)?;
        let init = self.run(&fold.init);
        if let Err(EvaluationError::CostExceeded) = init {
            return init;
        }
        self.locals.truncate(fold.slot);
        self.locals.push(init);
        let finished = self.iterate(fold, &range);
        self.locals.truncate(fold.slot + 1);
        let result = match finished {
            Ok(()) => self.run(&fold.result),
            Err(error) => Err(error),
        };
        self.locals.truncate(fold.slot);
        result
    }

    fn iterate(&mut self, fold: &'a Fold, range: &Value<'a>) -> Result<()> {
        match range {
            Value::List(list) => {
                for index in 0..list.len() {
                    let Some(item) = list.get(index) else { break };
                    let first = match fold.variables {
                        1 => item,
                        _ => {
                            self.locals.truncate(fold.slot + 1);
                            self.locals.push(Ok(Value::Int(index as i64)));
                            item
                        }
                    };
                    if !self.iteration(fold, first)? {
                        break;
                    }
                }
                Ok(())
            }
            Value::Map(map) => {
                for key in map.keys() {
                    let last = match fold.variables {
                        1 => Ok(key),
                        _ => {
                            let value = map.find(&key)?;
                            self.locals.truncate(fold.slot + 1);
                            self.locals.push(Ok(key));
                            match value {
                                Some(value) => Ok(value),
                                None => failed("no such key"),
                            }
                        }
                    };
                    if !self.iteration(fold, last)? {
                        break;
                    }
                }
                Ok(())
            }
            range => failure(format!("got '{}', expected iterable type", go_type(range))),
        }
    }

    /// Runs the loop body with the last variable set; returns whether to continue.
    fn iteration(&mut self, fold: &'a Fold, last: Result<Value<'a>>) -> Result<bool> {
        let slot = fold.slot + fold.variables;
        self.locals.truncate(slot);
        self.locals.push(last);
        match self.run(&fold.condition)? {
            Value::Bool(false) => return Ok(false),
            Value::Bool(true) => {}
            _ => return no_such_overload(),
        }
        let step = self.run(&fold.step);
        if let Err(EvaluationError::CostExceeded) = step {
            return Err(EvaluationError::CostExceeded);
        }
        self.locals.truncate(slot + 1);
        if let Some(accumulator) = self.locals.get_mut(fold.slot) {
            *accumulator = step;
        }
        Ok(true)
    }
}

/// The Go type of a value in upstream's errors.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Optional(_) => "*types.Optional",
        other => other.type_name(),
    }
}

fn wrap(found: Option<Value<'_>>) -> Value<'_> {
    Value::Optional(found.map(Arc::new))
}

fn unshare(value: Arc<Value<'_>>) -> Value<'_> {
    Arc::try_unwrap(value).unwrap_or_else(|shared| (*shared).clone())
}

fn position(key: &Value<'_>) -> Result<Option<usize>> {
    let position = match key {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::Uint(index) => usize::try_from(*index).ok(),
        Value::Double(index) if index.fract() == 0.0 && *index >= 0.0 && *index < 9e15 => {
            Some(*index as usize)
        }
        Value::Double(_) => None,
        _ => {
            return failure(format!("unsupported index type '{}' in list", key.type_name()));
        }
    };
    Ok(position)
}

/// Adds the function and argument types to a `no such overload` error.
pub(crate) fn explain(error: EvaluationError, name: &str, arguments: &[Value<'_>]) -> EvaluationError {
    let is_operator = name.contains('_') || name.starts_with('@');
    let is_built_in = is_operator || matches!(name, "startsWith" | "endsWith" | "contains");
    match &error {
        EvaluationError::Failed(message) if message == "no such overload" => {
            if is_built_in || (name == "matches" && matches!(arguments, [Value::String(_), _])) {
                return error;
            }
            if name == "size" {
                return EvaluationError::Failed("no such overload: size".into());
            }
            let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
            EvaluationError::Failed(format!("no such overload: {name}({})", types.join(", ")).into())
        }
        _ => error,
    }
}
