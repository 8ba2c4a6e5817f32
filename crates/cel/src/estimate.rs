//! Estimates the maximum cost of an expression. A schema is accepted or refused by it, so it must equal upstream's.
//!
//! Sizes come from literals, from the schema (`maxLength`, `maxItems`, `maxProperties`), and from the results of
//! functions. An unbounded value is assumed to fill a whole request.

mod calls;
mod range;

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use crate::check::{Checked, Variable};
use crate::limits::{MESSAGE, REGEX_FACTOR, TEXT_FACTOR};
use crate::macros::{ACCUMULATOR, entry};
use crate::types::Type;
use calls::CallEstimate;
use range::Range;

/// The maximum cost of an expression.
pub(crate) fn estimate(root: &IdedExpr, checked: &Checked, variables: &[Variable]) -> u64 {
    let mut estimator = Estimator {
        checked,
        variables,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    estimator.cost(root).max
}

type Path = Vec<Arc<str>>;

struct Estimator<'a> {
    checked: &'a Checked,
    variables: &'a [Variable],
    /// The origin of values: a variable, and the path from there.
    paths: HashMap<u64, Path>,
    sizes: HashMap<u64, Range>,
    entries: HashMap<u64, Entries>,
    locals: Vec<Local<'a>>,
}

/// The sizes of keys and values of an aggregate.
#[derive(Debug, Clone, Copy)]
struct Entries {
    container: Container,
    key: Range,
    value: Range,
}

impl Entries {
    fn or(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let (a, b) = (a?, b?);
        Some(Self {
            container: a.container,
            key: a.key.or(b.key),
            value: a.value.or(b.value),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Container {
    List,
    Map,
}

struct Local<'a> {
    name: &'a str,
    path: Path,
    size: Option<Range>,
    entries: Option<Entries>,
}

/// An argument of a call.
struct Node<'a> {
    expression: &'a IdedExpr,
    ty: &'a Type,
    path: Path,
    size: Option<Range>,
}

const ONE: Range = Range::exactly(1);

impl<'a> Estimator<'a> {
    fn cost(&mut self, node: &'a IdedExpr) -> Range {
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => Range::default(),
            Expr::Struct(message) => {
                let mut total = Range::exactly(MESSAGE);
                for item in &message.entries {
                    if let EntryExpr::StructField(given) = &item.expr {
                        total = total.plus(self.cost(&given.value));
                    }
                }
                total
            }
            Expr::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => vec![Arc::from(name.as_str())],
                };
                self.paths.insert(node.id, path);
                ONE
            }
            Expr::Select(select) => {
                if self.checked.references.contains_key(&node.id) {
                    self.paths.insert(node.id, vec![Arc::from("")]);
                    return ONE;
                }
                let operand = self.cost(&select.operand);
                if select.test {
                    return operand;
                }
                let mut path = self.path(&select.operand);
                path.push(Arc::from(select.field.as_str()));
                self.paths.insert(node.id, path);
                match self.checked.ty(&select.operand) {
                    Type::Map(_) | Type::Object(_) | Type::Param(_) => operand.plus(ONE),
                    Type::Named(name) if !name.starts_with("net.") => operand.plus(ONE),
                    _ => operand,
                }
            }
            Expr::Call(call) => self.call(node, call),
            Expr::List(list) => {
                let mut total = Range::default();
                let mut value = if list.elements.is_empty() {
                    Range::default()
                } else {
                    Range::NONE
                };
                for item in &list.elements {
                    total = total.plus(self.cost(item));
                    value = value.or(self.size_or_unknown(item));
                }
                self.entries.insert(
                    node.id,
                    Entries {
                        container: Container::List,
                        key: ONE,
                        value,
                    },
                );
                total.plus(Range::exactly(10))
            }
            Expr::Map(map) => {
                let mut total = Range::default();
                let empty = if map.entries.is_empty() {
                    Range::default()
                } else {
                    Range::NONE
                };
                let (mut keys, mut values) = (empty, empty);
                for item in &map.entries {
                    let Some((key, value, _)) = entry(&item.expr) else {
                        continue;
                    };
                    total = total.plus(self.cost(key)).plus(self.cost(value));
                    keys = keys.or(self.size_or_unknown(key));
                    values = values.or(self.size_or_unknown(value));
                }
                self.entries.insert(
                    node.id,
                    Entries {
                        container: Container::Map,
                        key: keys,
                        value: values,
                    },
                );
                total.plus(Range::exactly(30))
            }
            Expr::Comprehension(comprehension) => match is_bind(comprehension) {
                true => self.bind(node, comprehension),
                false => self.comprehension(node, comprehension),
            },
        }
    }

    fn local(&self, name: &str) -> Option<&Local<'a>> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn path(&self, node: &IdedExpr) -> Path {
        if let Expr::Ident(name) = &node.expr
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&node.id).cloned().unwrap_or_default()
    }

    fn bind(&mut self, node: &'a IdedExpr, comprehension: &'a ComprehensionExpr) -> Range {
        let range = self.cost(&comprehension.iter_range);
        let init = self.cost(&comprehension.accu_init);
        let local = self.local_for(&comprehension.accu_var, &comprehension.accu_init);
        self.locals.push(local);
        let result = self.cost(&comprehension.result);
        // The result may be the variable itself, so its size is looked up while it is there.
        let (size, entries) = (
            self.size(&comprehension.result),
            self.entry_sizes(&comprehension.result),
        );
        self.locals.pop();
        self.remember(node, size, entries);
        range.plus(init).plus(result)
    }

    fn remember(&mut self, node: &IdedExpr, size: Option<Range>, entries: Option<Entries>) {
        if let Some(size) = size {
            self.sizes.insert(node.id, size);
        }
        if let Some(entries) = entries {
            self.entries.insert(node.id, entries);
        }
    }

    fn local_for(&self, name: &'a str, node: &IdedExpr) -> Local<'a> {
        Local {
            name,
            path: self.path(node),
            size: self.size(node),
            entries: self.entry_sizes(node),
        }
    }

    fn comprehension(&mut self, node: &'a IdedExpr, comprehension: &'a ComprehensionExpr) -> Range {
        let range = &comprehension.iter_range;
        let mut total = self.cost(range).plus(self.cost(&comprehension.accu_init));
        let accumulator = self.local_for(&comprehension.accu_var, &comprehension.accu_init);
        self.locals.push(accumulator);
        let depth = self.locals.len();
        self.push_variables(comprehension);
        let condition = self.cost(&comprehension.loop_cond);
        let step = self.cost(&comprehension.loop_step);
        self.locals.truncate(depth);
        total = total.plus(self.cost(&comprehension.result));
        self.locals.truncate(depth - 1);
        let count = self.size_or_unknown(range);
        total = total.plus(count.times(step.plus(condition)));
        match &comprehension.accu_init.expr {
            Expr::Literal(_) => {
                let size = self.size(&comprehension.accu_init);
                self.remember(node, size, None);
            }
            Expr::List(_) | Expr::Map(_) => {
                let entries = self.entry_sizes(&comprehension.loop_step);
                self.remember(node, Some(count), entries);
            }
            _ => {}
        }
        total
    }

    fn push_variables(&mut self, comprehension: &'a ComprehensionExpr) {
        let range = &comprehension.iter_range;
        let entries = self.entry_sizes(range);
        let is_list = match entries {
            Some(entries) => entries.container == Container::List,
            None => matches!(self.checked.ty(range), Type::List(_)),
        };
        let path = |step: &str| {
            let mut path = self.path(range);
            path.push(Arc::from(step));
            path
        };
        let (key, value) = (
            entries.map(|entries| entries.key),
            entries.map(|entries| entries.value),
        );
        let local = |name: &'a str, path: Path, size: Option<Range>| Local {
            name,
            path,
            size,
            entries: None,
        };
        let items = if is_list { "@items" } else { "@values" };
        let new = match &comprehension.iter_var2 {
            Some(second) => {
                let keys = if is_list { "@indices" } else { "@keys" };
                vec![
                    local(&comprehension.iter_var, path(keys), key),
                    local(second, path(items), value),
                ]
            }
            None if is_list => vec![local(&comprehension.iter_var, path("@items"), value)],
            None => vec![local(&comprehension.iter_var, path("@keys"), key)],
        };
        self.locals.extend(new);
    }

    fn call(&mut self, node: &'a IdedExpr, call: &'a CallExpr) -> Range {
        let Some((function, overloads)) = self.checked.calls.get(&node.id) else {
            return Range::default();
        };
        if let ("dyn", [argument]) = (*function, call.args.as_slice()) {
            let cost = self.cost(argument);
            let (size, entries) = (self.size(argument), self.entry_sizes(argument));
            self.remember(node, size, entries);
            return cost.plus(ONE);
        }
        let mut costs = Vec::with_capacity(call.args.len());
        let mut arguments = Vec::with_capacity(call.args.len());
        for argument in &call.args {
            costs.push(self.cost(argument));
            arguments.push(self.node(argument));
        }
        let mut total = Range::default();
        let target = match self.checked.target(node, call) {
            Some(target) => {
                total = self.cost(target);
                Some(self.node(target))
            }
            None => None,
        };
        let mut cost = Range::NONE;
        let mut size: Option<Range> = None;
        for overload in overloads {
            let estimate = self.function(node, function, overload, target.as_ref(), &arguments, &costs);
            cost = cost.or(estimate.cost);
            size = match (size, estimate.size) {
                (Some(size), Some(other)) => Some(size.or(other)),
                (size, other) => size.or(other),
            };
            let step = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(operand)) = (step, call.args.first()) {
                size = self.entry_sizes(operand).map(|entries| entries.value);
                let mut path = self.path(operand);
                path.push(Arc::from(step));
                self.paths.insert(node.id, path);
            }
            if size.is_none() {
                size = self.size(node);
            }
        }
        self.remember(node, size, None);
        total.plus(cost)
    }

    fn function(
        &mut self,
        node: &IdedExpr,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        arguments: &[Node<'_>],
        costs: &[Range],
    ) -> CallEstimate {
        let sum = costs.iter().copied().fold(Range::default(), Range::plus);
        if let Some(estimate) = self.library(function, overload, target, arguments) {
            return CallEstimate {
                cost: estimate.cost.plus(sum),
                size: estimate.size,
            };
        }
        let size = |index: usize| {
            arguments
                .get(index)
                .and_then(|node| node.size)
                .unwrap_or(Range::UNKNOWN)
        };
        let own = || target.and_then(|node| node.size).unwrap_or(Range::UNKNOWN);
        let plain = |cost: Range| CallEstimate {
            cost: cost.plus(sum),
            size: None,
        };
        match overload {
            "string_format" => plain(own().scaled(TEXT_FACTOR)),
            "string_to_bytes" => CallEstimate {
                cost: size(0).scaled(TEXT_FACTOR).plus(sum),
                size: Some(Range::new(size(0).min, size(0).max.wrapping_mul(4))),
            },
            "bytes_to_string" => CallEstimate {
                cost: size(0).scaled(TEXT_FACTOR).plus(sum),
                size: Some(Range::new(size(0).min / 4, size(0).max)),
            },
            "strings_quote" => CallEstimate {
                cost: size(0).scaled(TEXT_FACTOR).plus(sum),
                size: Some(Range::new(
                    size(0).min.wrapping_add(2),
                    size(0).max.wrapping_mul(2).wrapping_add(2),
                )),
            },
            "starts_with_string" | "ends_with_string" => plain(size(0).scaled(TEXT_FACTOR)),
            "in_list" => plain(size(1).scaled(1.0)),
            "matches_string" => {
                let text = own().plus(ONE).scaled(TEXT_FACTOR);
                plain(text.times(size(0).scaled(REGEX_FACTOR)))
            }
            "contains_string" => plain(own().scaled(TEXT_FACTOR).times(size(0).scaled(TEXT_FACTOR))),
            "logical_or" | "logical_and" => CallEstimate {
                cost: Range::new(costs[0].min, costs[0].plus(costs[1]).max),
                size: None,
            },
            "conditional" => {
                let entries = Entries::or(
                    self.entry_sizes(arguments[1].expression),
                    self.entry_sizes(arguments[2].expression),
                );
                self.remember(node, None, entries);
                CallEstimate {
                    cost: costs[0].plus(costs[1].or(costs[2])),
                    size: Some(size(1).or(size(2))),
                }
            }
            "add_string" | "add_bytes" | "add_list" => {
                let result = size(0).plus(size(1));
                let entries = Entries::or(
                    self.entry_sizes(arguments[0].expression),
                    self.entry_sizes(arguments[1].expression),
                );
                self.remember(node, None, entries);
                let cost = match overload {
                    "add_list" => ONE,
                    _ => result.scaled(TEXT_FACTOR),
                };
                CallEstimate {
                    cost: cost.plus(sum),
                    size: Some(result),
                }
            }
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals" => {
                let most = size(0).max.min(size(1).max);
                plain(Range::new(u64::from(most > 0), most).scaled(TEXT_FACTOR))
            }
            _ => plain(ONE),
        }
    }

    fn node<'b>(&self, expression: &'b IdedExpr) -> Node<'b>
    where
        'a: 'b,
    {
        let mut path = self.path(expression);
        if path.first().is_some_and(|first| **first == *ACCUMULATOR) {
            path.clear();
        }
        Node {
            expression,
            ty: self.checked.ty(expression),
            path,
            size: self.size(expression),
        }
    }

    fn size_or_unknown(&self, node: &IdedExpr) -> Range {
        self.size(node).unwrap_or(Range::UNKNOWN)
    }

    fn size(&self, node: &IdedExpr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&node.id) {
            return Some(*size);
        }
        let literal = match &node.expr {
            Expr::Literal(LiteralValue::String(text)) => Some(text.inner().chars().count()),
            Expr::Literal(LiteralValue::Bytes(bytes)) => Some(bytes.inner().len()),
            Expr::Literal(_) => Some(1),
            Expr::List(list) => Some(list.elements.len()),
            Expr::Map(map) => Some(map.entries.len()),
            _ => None,
        };
        if let Some(size) = literal {
            return Some(Range::exactly(size as u64));
        }
        if let Some(size) = self.declared_size(&self.path(node)) {
            return Some(size);
        }
        if self.checked.ty(node).is_scalar() {
            return Some(ONE);
        }
        match &node.expr {
            Expr::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    /// The declared size at a path.
    fn declared_size(&self, path: &[Arc<str>]) -> Option<Range> {
        let (_, rest) = path.split_first()?;
        let root = self
            .variables
            .iter()
            .find_map(|variable| variable.declared.as_ref())?;
        let found = root.find(rest)?;
        Some(Range::new(0, found.max_elements))
    }

    fn entry_sizes(&self, node: &IdedExpr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&node.id) {
            return Some(*entries);
        }
        match &node.expr {
            Expr::Ident(name) => self.local(name).and_then(|local| local.entries),
            _ => None,
        }
    }

    /// The size of an argument, as upstream's libraries compute it.
    fn size_of(&self, node: &Node<'_>) -> Range {
        node.size
            .or_else(|| self.declared_size(&node.path))
            .unwrap_or(Range::UNKNOWN)
    }

    /// For lists and similar: the size of strings in it, if any.
    fn item_size(&self, node: &Node<'_>) -> Option<Option<Range>> {
        let parameters = node.ty.parameters();
        let item = parameters.first()?;
        Some(match item {
            Type::String | Type::Bytes => Some(self.item_declared_size(node)),
            _ => None,
        })
    }

    fn item_full_size(&self, node: &Node<'_>) -> Option<Range> {
        let parameters = node.ty.parameters();
        parameters.first()?;
        Some(self.item_declared_size(node))
    }

    fn item_declared_size(&self, node: &Node<'_>) -> Range {
        if node.path.is_empty() {
            return Range::UNKNOWN;
        }
        let mut path = node.path.clone();
        path.push(Arc::from("@items"));
        self.declared_size(&path).unwrap_or(Range::UNKNOWN)
    }
}

fn is_bind(comprehension: &ComprehensionExpr) -> bool {
    let is_empty = matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty());
    let never = matches!(&comprehension.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(value)) if !*value.inner());
    is_empty && never && comprehension.accu_var != "__result__"
}
