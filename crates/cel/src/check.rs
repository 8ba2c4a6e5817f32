//! The type checker.

mod literals;
mod messages;
mod unify;

use std::collections::HashMap;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, operators,
};

use crate::declare::Declared;
use crate::functions::{Overload, Style};
use crate::macros::entry;
use crate::parse::Parsed;
use crate::source::{CompileError, Problem};
use crate::types::{Param, Type};
pub(crate) use messages::Vocabulary;
use unify::{Inferred, most_general};

/// The results of the type checker, by node ID.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) types: HashMap<u64, Type>,
    /// The references of identifiers and qualified names.
    pub(crate) references: HashMap<u64, Reference>,
    /// The functions of calls, with candidate overloads.
    pub(crate) calls: HashMap<u64, (&'static str, Vec<&'static str>)>,
}

/// The referent of a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reference {
    /// A declared variable, by its index.
    Variable(usize),
    /// A variable of a comprehension.
    Local,
    /// A type.
    Type(Type),
}

impl Checked {
    pub(crate) fn ty(&self, node: &IdedExpr) -> &Type {
        self.types.get(&node.id).unwrap_or(&Type::Dyn)
    }

    /// Whether a function is called as a namespaced one (`sets.contains`), so that its target is no value.
    pub(crate) fn target<'a>(&self, node: &IdedExpr, call: &'a CallExpr) -> Option<&'a IdedExpr> {
        let named = self.calls.get(&node.id).map(|(name, _)| *name);
        match named {
            Some(name) if name != call.func_name => None,
            _ => call.target.as_deref(),
        }
    }
}

/// A variable that an expression may use.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) ty: Type,
    /// The maximum size of its value, if known.
    pub(crate) declared: Option<Declared>,
}

/// Checks an expression.
pub(crate) fn check(
    parsed: &Parsed<'_>,
    variables: &[Variable],
    vocabulary: Vocabulary,
) -> Result<Checked, CompileError> {
    let mut checker = Checker {
        parsed,
        variables,
        vocabulary,
        locals: Vec::new(),
        inferred: Inferred::default(),
        next_variable: 0,
        checked: Checked::default(),
        problems: Vec::new(),
    };
    checker.check(&parsed.root);
    let Checker {
        mut checked,
        mut problems,
        inferred,
        ..
    } = checker;
    for ty in checked.types.values_mut() {
        *ty = inferred.finish(ty);
    }
    if problems.is_empty() {
        literals::check(parsed, &checked, &mut problems);
    }
    match problems.is_empty() {
        true => Ok(checked),
        false => Err(CompileError::of(parsed.source, problems)),
    }
}

struct Checker<'a> {
    parsed: &'a Parsed<'a>,
    variables: &'a [Variable],
    vocabulary: Vocabulary,
    locals: Vec<(&'a str, Type)>,
    inferred: Inferred,
    next_variable: u32,
    checked: Checked,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn check(&mut self, node: &'a IdedExpr) -> Type {
        let ty = match &node.expr {
            Expr::Unspecified => Type::Error,
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.ident(node, name),
            Expr::Select(select) => {
                if let Some(ty) = self.qualified(node) {
                    ty
                } else {
                    let ty = self.field(node, &select.operand, &select.field, Selection::Plain);
                    match select.test {
                        true => Type::Bool,
                        false => self.inferred.substitute(&ty),
                    }
                }
            }
            Expr::Call(call) => self.call(node, call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Struct(message) => self.message(node, message),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        };
        self.checked.types.insert(node.id, ty.clone());
        ty
    }

    fn report(&mut self, node: &IdedExpr, message: String) {
        self.problems.push(self.parsed.problem(node.id, message));
    }

    fn undeclared(&mut self, node: &IdedExpr, name: &str) {
        let name = name.trim_start_matches('.');
        self.report(
            node,
            format!("undeclared reference to '{name}' (in container '')"),
        );
    }

    fn lookup(&self, name: &str) -> Option<(Type, Reference)> {
        let local = self.locals.iter().rev().find(|(local, _)| *local == name);
        if let Some((_, ty)) = local {
            return Some((ty.clone(), Reference::Local));
        }
        let name = name.trim_start_matches('.');
        let variable = self.variables.iter().position(|variable| variable.name == name);
        if let Some(index) = variable {
            return Some((self.variables[index].ty.clone(), Reference::Variable(index)));
        }
        let ty = named_type(name).or_else(|| self.vocabulary.message(name))?;
        Some((Type::Type(Some(ty.clone().into())), Reference::Type(ty)))
    }

    fn refer(&mut self, node: &IdedExpr, name: &str) -> Option<Type> {
        let (ty, reference) = self.lookup(name)?;
        self.checked.references.insert(node.id, reference);
        Some(ty)
    }

    fn ident(&mut self, node: &IdedExpr, name: &str) -> Type {
        if let Some(ty) = self.refer(node, name) {
            return ty;
        }
        self.undeclared(node, name);
        Type::Error
    }

    /// A name with dots can be one name (`net.IP`).
    fn qualified(&mut self, node: &IdedExpr) -> Option<Type> {
        let name = qualified_name(node)?;
        self.refer(node, &name)
    }

    fn field(&mut self, node: &IdedExpr, operand: &'a IdedExpr, field: &str, selection: Selection) -> Type {
        let operand = self.check(operand);
        let operand = self.inferred.substitute(&operand);
        let (target, is_optional) = match &operand {
            Type::Optional(inner) => ((**inner).clone(), true),
            _ => (operand, false),
        };
        let ty = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(object) => match object.field(field) {
                Some(declared) => declared.ty.clone(),
                None => {
                    self.report(node, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Message(name) => match messages::field(name, field) {
                Some(ty) => ty,
                None => {
                    self.report(node, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            // Types of Kubernetes' libraries are undeclared object types, except those of the network library.
            Type::Named(name) if !name.starts_with("net.") => {
                self.report(node, format!("unexpected failed resolution of '{name}'"));
                Type::Error
            }
            Type::Param(_) => {
                self.inferred.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            _ => {
                if !target.is_dyn_or_error() {
                    self.report(node, format!("type '{target}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        match is_optional || selection == Selection::Optional {
            true => Type::optional(ty),
            false => ty,
        }
    }

    fn call(&mut self, node: &'a IdedExpr, call: &'a CallExpr) -> Type {
        if let (operators::OPT_SELECT, [operand, field]) = (call.func_name.as_str(), call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(name)) = &field.expr
        {
            let ty = self.field(node, operand, name.inner(), Selection::Optional);
            let call = (operators::OPT_SELECT, vec!["select_optional_field"]);
            self.checked.calls.insert(node.id, call);
            return self.inferred.substitute(&ty);
        }
        let arguments: Vec<Type> = call.args.iter().map(|argument| self.check(argument)).collect();
        let Some(target) = &call.target else {
            let name = call.func_name.trim_start_matches('.');
            return match self.vocabulary.overloads(name) {
                Some(function) => self.resolve(node, function, None, &call.args, arguments),
                None => {
                    self.undeclared(node, name);
                    Type::Error
                }
            };
        };
        if let Some(prefix) = qualified_name(target)
            && let Some(function) = self
                .vocabulary
                .overloads(format!("{prefix}.{}", call.func_name).trim_start_matches('.'))
        {
            return self.resolve(node, function, None, &call.args, arguments);
        }
        let target = self.check(target);
        match self.vocabulary.overloads(&call.func_name) {
            Some(function) => self.resolve(node, function, Some(target), &call.args, arguments),
            None => {
                self.undeclared(node, &call.func_name);
                Type::Error
            }
        }
    }

    fn resolve(
        &mut self,
        node: &IdedExpr,
        (name, overloads): (&'static str, &'static [Overload]),
        target: Option<Type>,
        nodes: &[IdedExpr],
        arguments: Vec<Type>,
    ) -> Type {
        let style = match target {
            Some(_) => Style::Member,
            None => Style::Global,
        };
        let types: Vec<Type> = target.into_iter().chain(arguments).collect();
        if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
            return self.logic(node, name, nodes, &types);
        }
        let (mut ids, mut result) = (Vec::new(), None::<Type>);
        for overload in overloads.iter().filter(|overload| overload.style == style) {
            let mut fresh = Inferred::default();
            for parameter in &overload.parameters {
                fresh.add(*parameter, self.variable());
            }
            let wanted: Vec<Type> = overload.arguments.iter().map(|ty| fresh.substitute(ty)).collect();
            if !self.inferred.all_assignable(&types, &wanted) {
                continue;
            }
            ids.push(overload.id);
            let given = self.inferred.substitute(&fresh.substitute(&overload.result));
            result = Some(match result {
                None => given,
                Some(result) if result.is_dyn() || result == given => result,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(result) => {
                self.checked.calls.insert(node.id, (name, ids));
                result
            }
            None => {
                let mut types = types.iter().map(|ty| self.inferred.finish(ty).to_string());
                let target = match style {
                    Style::Member => types.next().map(|target| format!("{target}.")),
                    Style::Global => None,
                };
                let types: Vec<String> = types.collect();
                let message = format!(
                    "found no matching overload for '{name}' applied to '{}({})'",
                    target.unwrap_or_default(),
                    types.join(", ")
                );
                self.report(node, message);
                Type::Error
            }
        }
    }

    fn logic(&mut self, node: &IdedExpr, name: &'static str, nodes: &[IdedExpr], types: &[Type]) -> Type {
        let mut result = Type::Bool;
        for (argument, ty) in nodes.iter().zip(types) {
            if !self.inferred.assignable(ty, &Type::Bool) {
                self.report(argument, format!("expected type 'bool' but found '{ty}'"));
                result = Type::Error;
            }
        }
        let id = if name == operators::LOGICAL_AND {
            "logical_and"
        } else {
            "logical_or"
        };
        self.checked.calls.insert(node.id, (name, vec![id]));
        result
    }

    fn list(&mut self, list: &'a ListExpr) -> Type {
        let mut common = None;
        for (index, item) in list.elements.iter().enumerate() {
            let mut ty = self.check(item);
            if list.optional_indices.contains(&index) {
                ty = self.unwrapped(item, ty);
            }
            common = Some(self.join(common, ty));
        }
        Type::list(common.unwrap_or_else(|| self.variable()))
    }

    fn map(&mut self, map: &'a MapExpr) -> Type {
        let (mut keys, mut values) = (None, None);
        for item in &map.entries {
            let Some((key, value, optional)) = entry(&item.expr) else {
                continue;
            };
            let key_type = self.check(key);
            keys = Some(self.join(keys, key_type));
            let mut ty = self.check(value);
            if optional {
                ty = self.unwrapped(value, ty);
            }
            values = Some(self.join(values, ty));
        }
        let key = keys.unwrap_or_else(|| self.variable());
        let value = values.unwrap_or_else(|| self.variable());
        Type::map(key, value)
    }

    /// The type of an entry that may be absent.
    fn unwrapped(&mut self, node: &IdedExpr, ty: Type) -> Type {
        match ty {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => ty,
            ty => {
                let wanted = Type::optional(ty.clone());
                self.report(node, format!("expected type '{wanted}' but found '{ty}'"));
                ty
            }
        }
    }

    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.inferred.assignable(&previous, &current) {
            return most_general(&previous, &current).clone();
        }
        Type::Dyn
    }

    fn comprehension(&mut self, comprehension: &'a ComprehensionExpr) -> Type {
        let range = self.check(&comprehension.iter_range);
        let accumulator = self.check(&comprehension.accu_init);
        let range = self.inferred.substitute(&range);
        let two = comprehension.iter_var2.is_some();
        let (first, second) = match &range {
            Type::List(item) if two => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(entry) => entry.as_ref().clone(),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.inferred.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            _ => {
                let message = format!(
                    "expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.report(&comprehension.iter_range, message);
                (Type::Error, Type::Error)
            }
        };
        let outer = self.locals.len();
        self.locals.push((&comprehension.accu_var, accumulator.clone()));
        self.locals.push((&comprehension.iter_var, first));
        if let Some(name) = &comprehension.iter_var2 {
            self.locals.push((name, second));
        }
        let condition = self.check(&comprehension.loop_cond);
        self.expect(&comprehension.loop_cond, &Type::Bool, &condition);
        let step = self.check(&comprehension.loop_step);
        self.expect(&comprehension.loop_step, &accumulator, &step);
        self.locals.truncate(outer + 1);
        let result = self.check(&comprehension.result);
        self.locals.truncate(outer);
        self.inferred.substitute(&result)
    }

    fn expect(&mut self, node: &IdedExpr, wanted: &Type, given: &Type) {
        if !self.inferred.assignable(wanted, given) {
            self.report(node, format!("expected type '{wanted}' but found '{given}'"));
        }
    }

    fn variable(&mut self) -> Type {
        let id = self.next_variable;
        self.next_variable += 1;
        Type::Param(Param::Variable(id))
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Selection {
    Plain,
    Optional,
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// The types that have names in expressions.
fn named_type(name: &str) -> Option<Type> {
    let (a, b) = (Type::Param(Param::Named('A')), Type::Param(Param::Named('B')));
    let ty = match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "int" => Type::Int,
        "list" => Type::list(a),
        "map" => Type::map(a, b),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::Type(None),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::Param(Param::Named('V'))),
        "net.IP" => Type::Named("net.IP"),
        "net.CIDR" => Type::Named("net.CIDR"),
        _ => return None,
    };
    Some(ty)
}

/// The qualified name of an expression that is only identifiers and dots.
fn qualified_name(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            let prefix = qualified_name(&select.operand)?;
            Some(format!("{prefix}.{}", select.field))
        }
        _ => None,
    }
}
