//! Plans a checked tree: names become slots, functions pointers, constants are folded.
//!
//! The cost of an expression is counted on these steps, so constant folding must follow the API server.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_schema::Pattern;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use crate::charge::Charge;
use crate::check::{Checked, Reference};
use crate::error::EvaluationError;
use crate::evaluate::explain;
use crate::functions::{Implementation, compile_pattern, implementation};
use crate::macros::entry;
use crate::value::{Key, Map, Value};

/// One step of an expression.
#[derive(Debug)]
pub(crate) enum Step {
    Constant(Value<'static>),
    Variable(usize),
    Local(usize),
    Select(Box<Select>),
    /// `has(a.b)`
    Has(Box<Select>),
    /// `a.?b`
    OptionalSelect(Box<Select>),
    Index(Box<Index>),
    And(Box<(Step, Step)>),
    Or(Box<(Step, Step)>),
    If(Box<(Step, Step, Step)>),
    /// `a.or(b)`, `a.orValue(b)`
    Otherwise(Box<(Step, Step)>, Unwrap),
    NotStrictlyFalse(Box<Step>),
    Call(Box<Call>),
    /// A call whose regular expression is constant.
    Match(Box<Match>),
    /// Whether a constant list holds a value.
    InConstant(Box<(Step, Value<'static>)>),
    List(Vec<(Step, Presence)>),
    Map(Vec<(Step, Step, Presence)>),
    /// `Object.spec{replicas: 3}`
    Make(Box<Make>),
    /// Appends to the accumulator list of a comprehension.
    Append(Box<Append>),
    Fold(Box<Fold>),
}

/// The result for a present optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwrap {
    /// Itself.
    Keep,
    /// Its value.
    Value,
}

/// Whether an entry of an aggregate may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
}

#[derive(Debug)]
pub(crate) struct Select {
    pub(crate) operand: Step,
    pub(crate) field: Box<str>,
}

#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) operand: Step,
    pub(crate) index: Step,
    pub(crate) presence: Presence,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) implementation: Implementation,
    pub(crate) arguments: Vec<Step>,
    pub(crate) charge: Charge,
}

#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) name: &'static str,
    pub(crate) pattern: Pattern,
    pub(crate) arguments: Vec<Step>,
    pub(crate) charge: Charge,
}

#[derive(Debug)]
pub(crate) struct Make {
    pub(crate) message: Arc<str>,
    pub(crate) fields: Vec<(Arc<str>, Step, Presence)>,
}

#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) slot: usize,
    pub(crate) item: Step,
}

#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Step,
    pub(crate) init: Step,
    pub(crate) condition: Step,
    pub(crate) step: Step,
    pub(crate) result: Step,
    /// The slot of the accumulator; the variables follow.
    pub(crate) slot: usize,
    pub(crate) variables: usize,
}

impl Step {
    /// Whether the API server resolves it as a path, whose steps cost one each.
    pub(crate) fn is_path(&self) -> bool {
        matches!(
            self,
            Self::Variable(_)
                | Self::Local(_)
                | Self::Select(_)
                | Self::OptionalSelect(_)
                | Self::Index(_)
                | Self::If(_)
        )
    }

    fn constant(&self) -> Option<&Value<'static>> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }
}

/// Plans a checked expression.
pub(crate) fn plan(root: &IdedExpr, checked: &Checked) -> Result<Step, EvaluationError> {
    Planner {
        checked,
        locals: Vec::new(),
    }
    .step(root)
}

struct Planner<'a> {
    checked: &'a Checked,
    locals: Vec<&'a str>,
}

type Planned = Result<Step, EvaluationError>;

impl<'a> Planner<'a> {
    fn step(&mut self, node: &'a IdedExpr) -> Planned {
        match &node.expr {
            Expr::Unspecified => Ok(Step::Constant(Value::Null)),
            Expr::Struct(message) => {
                let mut fields = Vec::with_capacity(message.entries.len());
                for item in &message.entries {
                    if let EntryExpr::StructField(given) = &item.expr {
                        let presence = match given.optional {
                            true => Presence::Optional,
                            false => Presence::Required,
                        };
                        fields.push((
                            Arc::from(given.field.as_str()),
                            self.step(&given.value)?,
                            presence,
                        ));
                    }
                }
                Ok(Step::Make(Box::new(Make {
                    message: Arc::from(message.type_name.trim_start_matches('.')),
                    fields,
                })))
            }
            Expr::Literal(value) => Ok(Step::Constant(literal(value))),
            Expr::Ident(name) => Ok(self.name(node, name)),
            Expr::Select(select) => {
                if self.checked.references.contains_key(&node.id) {
                    return Ok(self.name(node, ""));
                }
                let select_step = Box::new(Select {
                    operand: self.step(&select.operand)?,
                    field: select.field.as_str().into(),
                });
                Ok(match select.test {
                    true => Step::Has(select_step),
                    false => Step::Select(select_step),
                })
            }
            Expr::Call(call) => self.call(node, call),
            Expr::List(list) => {
                let mut items = Vec::with_capacity(list.elements.len());
                for (index, item) in list.elements.iter().enumerate() {
                    let presence = match list.optional_indices.contains(&index) {
                        true => Presence::Optional,
                        false => Presence::Required,
                    };
                    items.push((self.step(item)?, presence));
                }
                Ok(folded_list(items))
            }
            Expr::Map(map) => {
                let mut entries = Vec::with_capacity(map.entries.len());
                for item in &map.entries {
                    let Some((key, value, optional)) = entry(&item.expr) else {
                        continue;
                    };
                    let presence = match optional {
                        true => Presence::Optional,
                        false => Presence::Required,
                    };
                    entries.push((self.step(key)?, self.step(value)?, presence));
                }
                folded_map(entries)
            }
            Expr::Comprehension(comprehension) => self.fold(comprehension),
        }
    }

    fn name(&self, node: &IdedExpr, name: &str) -> Step {
        match self.checked.references.get(&node.id) {
            Some(Reference::Variable(index)) => Step::Variable(*index),
            Some(Reference::Type(ty)) => Step::Constant(Value::Type(ty.clone())),
            Some(Reference::Local) | None => {
                let slot = self.locals.iter().rposition(|local| *local == name);
                slot.map_or(Step::Constant(Value::Null), Step::Local)
            }
        }
    }

    fn call(&mut self, node: &'a IdedExpr, call: &'a CallExpr) -> Planned {
        let Some((name, overloads)) = self.checked.calls.get(&node.id) else {
            return Ok(Step::Constant(Value::Null));
        };
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        if let Some(target) = self.checked.target(node, call) {
            arguments.push(self.step(target)?);
        }
        for argument in &call.args {
            arguments.push(self.step(argument)?);
        }
        let overload = match overloads.as_slice() {
            [only] => *only,
            _ => "",
        };
        self.operation(name, overload, arguments)
    }

    fn operation(&mut self, name: &'static str, overload: &str, mut arguments: Vec<Step>) -> Planned {
        match (name, arguments.len()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, 2) => {
                let mut parts = arguments.drain(..);
                let (Some(left), Some(right)) = (parts.next(), parts.next()) else {
                    return Ok(Step::Constant(Value::Null));
                };
                return Ok(match name {
                    operators::LOGICAL_AND => Step::And(Box::new((left, right))),
                    _ => Step::Or(Box::new((left, right))),
                });
            }
            (operators::CONDITIONAL, 3) => {
                let mut parts = arguments.drain(..);
                let (Some(test), Some(yes), Some(no)) = (parts.next(), parts.next(), parts.next()) else {
                    return Ok(Step::Constant(Value::Null));
                };
                return Ok(Step::If(Box::new((test, yes, no))));
            }
            ("or" | "orValue", 2) => {
                let mut parts = arguments.drain(..);
                let (Some(optional), Some(other)) = (parts.next(), parts.next()) else {
                    return Ok(Step::Constant(Value::Null));
                };
                let unwrap = if name == "or" { Unwrap::Keep } else { Unwrap::Value };
                return Ok(Step::Otherwise(Box::new((optional, other)), unwrap));
            }
            (operators::NOT_STRICTLY_FALSE, 1) => {
                let inner = arguments.pop().unwrap_or(Step::Constant(Value::Null));
                return Ok(Step::NotStrictlyFalse(Box::new(inner)));
            }
            (operators::OPT_SELECT, 2) => {
                if let Some(Step::Constant(Value::String(field))) = arguments.pop()
                    && let Some(operand) = arguments.pop()
                {
                    let field = Box::from(&*field);
                    return Ok(Step::OptionalSelect(Box::new(Select { operand, field })));
                }
                return Ok(Step::Constant(Value::Null));
            }
            (operators::INDEX | operators::OPT_INDEX, 2) => {
                let presence = match name {
                    operators::INDEX => Presence::Required,
                    _ => Presence::Optional,
                };
                let mut parts = arguments.drain(..);
                let (Some(operand), Some(index)) = (parts.next(), parts.next()) else {
                    return Ok(Step::Constant(Value::Null));
                };
                return Ok(Step::Index(Box::new(Index {
                    operand,
                    index,
                    presence,
                })));
            }
            (operators::ADD, 2) if overload == "add_list" => {
                if let [Step::Local(slot), Step::List(items)] = arguments.as_mut_slice()
                    && let [(_, Presence::Required)] = items.as_slice()
                    && self.locals.get(*slot) == Some(&crate::macros::ACCUMULATOR)
                    && let Some((item, _)) = items.pop()
                {
                    return Ok(Step::Append(Box::new(Append { slot: *slot, item })));
                }
            }
            (operators::IN, 2) if overload == "in_list" => {
                if let Some(list) = arguments[1].constant().filter(|list| is_plain(list)).cloned()
                    && let Some(item) = arguments.drain(..).next()
                {
                    if list.size() == 0 {
                        return Ok(Step::Constant(Value::Bool(false)));
                    }
                    return Ok(Step::InConstant(Box::new((item, list))));
                }
            }
            _ => {}
        }
        let charge = Charge::of(name, overload);
        if let ("matches" | "find" | "findAll", Some(Value::String(pattern))) =
            (name, arguments.get(1).and_then(Step::constant))
        {
            let pattern = compile_pattern(pattern).map_err(|cause| EvaluationError::Failed(cause.into()))?;
            return Ok(Step::Match(Box::new(Match {
                name,
                pattern,
                arguments,
                charge,
            })));
        }
        let Some(implementation) = implementation(name) else {
            let message = format!("function {name} is not supported");
            return Err(EvaluationError::Failed(message.into()));
        };
        if let ([Step::Constant(argument)], true) = (arguments.as_slice(), is_conversion(name)) {
            let arguments = std::slice::from_ref(argument);
            return implementation(arguments)
                .map(Step::Constant)
                .map_err(|error| explain(error, name, arguments));
        }
        Ok(Step::Call(Box::new(Call {
            name,
            implementation,
            arguments,
            charge,
        })))
    }

    fn fold(&mut self, comprehension: &'a ComprehensionExpr) -> Planned {
        let range = self.step(&comprehension.iter_range)?;
        let init = self.step(&comprehension.accu_init)?;
        let slot = self.locals.len();
        self.locals.push(&comprehension.accu_var);
        self.locals.push(&comprehension.iter_var);
        self.locals.extend(comprehension.iter_var2.as_deref());
        let variables = self.locals.len() - slot - 1;
        let condition = self.step(&comprehension.loop_cond)?;
        let step = self.step(&comprehension.loop_step)?;
        self.locals.truncate(slot + 1);
        let result = self.step(&comprehension.result)?;
        self.locals.truncate(slot);
        Ok(Step::Fold(Box::new(Fold {
            range,
            init,
            condition,
            step,
            result,
            slot,
            variables,
        })))
    }
}

fn literal(literal: &LiteralValue) -> Value<'static> {
    match literal {
        LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
        LiteralValue::Bytes(value) => Value::Bytes(value.inner().into()),
        LiteralValue::Double(value) => Value::Double(*value.inner()),
        LiteralValue::Int(value) => Value::Int(*value.inner()),
        LiteralValue::Null => Value::Null,
        LiteralValue::String(value) => Value::text(value.inner()),
        LiteralValue::UInt(value) => Value::Uint(*value.inner()),
    }
}

/// Folds a list literal of constants.
fn folded_list(items: Vec<(Step, Presence)>) -> Step {
    let constants: Option<Vec<Value<'static>>> = items
        .iter()
        .map(|(item, presence)| {
            item.constant()
                .filter(|_| *presence == Presence::Required)
                .cloned()
        })
        .collect();
    match constants {
        Some(constants) => Step::Constant(Value::list(constants)),
        None => Step::List(items),
    }
}

fn folded_map(entries: Vec<(Step, Step, Presence)>) -> Planned {
    let is_constant = |(key, value, presence): &(Step, Step, Presence)| {
        key.constant().is_some() && value.constant().is_some() && *presence == Presence::Required
    };
    if !entries.iter().all(is_constant) {
        return Ok(Step::Map(entries));
    }
    let constants: Option<BTreeMap<Key<'static>, Value<'static>>> = entries
        .iter()
        .map(|(key, value, _)| Some((Key::of(key.constant()?)?, value.constant()?.clone())))
        .collect();
    Ok(match constants {
        Some(constants) => Step::Constant(Value::Map(Map::owned(constants))),
        None => Step::Map(entries),
    })
}

/// Whether all items of a list are hashable, so that `in` is a lookup.
fn is_plain(list: &Value<'_>) -> bool {
    let Value::List(list) = list else { return false };
    list.iter().all(|item| {
        matches!(
            item,
            Ok(Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Uint(_)
                | Value::Double(_)
                | Value::String(_))
        )
    })
}

fn is_conversion(name: &str) -> bool {
    matches!(
        name,
        "bool" | "bytes" | "double" | "duration" | "dyn" | "int" | "string" | "timestamp" | "type" | "uint"
    )
}
