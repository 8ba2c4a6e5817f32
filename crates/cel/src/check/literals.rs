//! Checks of literals after type checking.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::Checked;
use crate::functions::{check_template, is_duration, is_timestamp};
use crate::macros::entry;
use crate::parse::Parsed;
use crate::source::Problem;
use crate::types::Type;

/// Checks literals of durations, timestamps and regular expressions, and that aggregate literals are homogeneous.
pub(super) fn check(parsed: &Parsed<'_>, checked: &Checked, problems: &mut Vec<Problem>) {
    let mut visitor = Visitor {
        parsed,
        checked,
        problems,
    };
    visitor.visit(&parsed.root, Inside::Anything);
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Anything,
    /// The arguments of `format` may have any types.
    Format,
}

struct Visitor<'a> {
    parsed: &'a Parsed<'a>,
    checked: &'a Checked,
    problems: &'a mut Vec<Problem>,
}

impl Visitor<'_> {
    fn report(&mut self, node: &IdedExpr, message: String) {
        self.problems.push(self.parsed.problem(node.id, message));
    }

    fn visit(&mut self, node: &IdedExpr, inside: Inside) {
        match &node.expr {
            Expr::Call(call) => {
                if let Some(Expr::Literal(literal)) = call.args.first().map(|argument| &argument.expr) {
                    self.argument(&call.func_name, &call.args[0], literal);
                }
                if let ("format", Some(target), [values]) =
                    (&*call.func_name, &call.target, call.args.as_slice())
                    && let (Expr::Literal(LiteralValue::String(template)), Expr::List(values)) =
                        (&target.expr, &values.expr)
                {
                    self.template(node, template.inner(), &values.elements);
                }
                let inside = match call.func_name == "format" {
                    true => Inside::Format,
                    false => inside,
                };
                call.target.iter().for_each(|target| self.visit(target, inside));
                call.args.iter().for_each(|argument| self.visit(argument, inside));
            }
            Expr::List(list) => {
                let mut common: Option<Type> = None;
                for (index, item) in list.elements.iter().enumerate() {
                    self.visit(item, inside);
                    let ty = self.entry_type(item, list.optional_indices.contains(&index));
                    match &common {
                        None => common = Some(ty),
                        Some(wanted) if *wanted != ty && inside == Inside::Anything => {
                            let message = format!("expected type '{wanted}' but found '{ty}'");
                            self.report(item, message);
                            break;
                        }
                        Some(_) => {}
                    }
                }
            }
            Expr::Map(map) => {
                let (mut keys, mut values): (Option<Type>, Option<Type>) = (None, None);
                for item in &map.entries {
                    let Some((key, value, optional)) = entry(&item.expr) else {
                        continue;
                    };
                    for (common, node, optional) in [(&mut keys, key, false), (&mut values, value, optional)]
                    {
                        self.visit(node, inside);
                        let ty = self.entry_type(node, optional);
                        match common {
                            None => *common = Some(ty),
                            Some(wanted) if *wanted != ty && inside == Inside::Anything => {
                                let message = format!("expected type '{wanted}' but found '{ty}'");
                                self.report(node, message);
                            }
                            Some(_) => {}
                        }
                    }
                }
            }
            Expr::Select(select) => self.visit(&select.operand, inside),
            Expr::Comprehension(comprehension) => {
                let parts = [
                    &comprehension.iter_range,
                    &comprehension.accu_init,
                    &comprehension.loop_cond,
                    &comprehension.loop_step,
                    &comprehension.result,
                ];
                parts.into_iter().for_each(|part| self.visit(part, inside));
            }
            Expr::Struct(message) => {
                for item in &message.entries {
                    if let EntryExpr::StructField(given) = &item.expr {
                        self.visit(&given.value, inside);
                    }
                }
            }
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }

    fn template(&mut self, node: &IdedExpr, template: &str, values: &[IdedExpr]) {
        let types: Vec<&Type> = values.iter().map(|value| self.checked.ty(value)).collect();
        if let Some((message, value)) = check_template(template, &types) {
            let node = value.map_or(node, |index| &values[index]);
            self.report(node, message);
        }
    }

    fn entry_type(&self, node: &IdedExpr, optional: bool) -> Type {
        match self.checked.ty(node) {
            Type::Optional(inner) if optional => (**inner).clone(),
            ty => ty.clone(),
        }
    }

    fn argument(&mut self, function: &str, node: &IdedExpr, literal: &LiteralValue) {
        let is_valid = match (function, literal) {
            ("duration", LiteralValue::Int(_)) => false,
            ("duration", LiteralValue::String(text)) => is_duration(text.inner()),
            ("timestamp", LiteralValue::Int(seconds)) => {
                crate::value::Instant::new(i128::from(*seconds.inner()) * 1_000_000_000, 0).is_some()
            }
            ("timestamp", LiteralValue::String(text)) => is_timestamp(text.inner()),
            ("matches", LiteralValue::String(text)) => {
                crate::functions::compile_pattern(text.inner()).is_ok()
            }
            _ => true,
        };
        if !is_valid {
            self.report(node, format!("invalid {function} argument"));
        }
    }
}
