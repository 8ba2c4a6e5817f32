//! Finds the fields of a variable that an expression references.

use std::collections::BTreeSet;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use crate::check::{Checked, Reference};

/// The references of an expression to a variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentions {
    pub(crate) fields: BTreeSet<String>,
    /// Whether the variable is referenced as a whole, and so possibly any field.
    pub(crate) whole: bool,
}

/// The references of an expression to the variable with this index.
pub(crate) fn mentions(root: &IdedExpr, checked: &Checked, variable: usize) -> Mentions {
    let mut walk = Walk {
        checked,
        variable,
        mentions: Mentions::default(),
    };
    walk.visit(root);
    walk.mentions
}

struct Walk<'a> {
    checked: &'a Checked,
    variable: usize,
    mentions: Mentions,
}

impl Walk<'_> {
    fn is_it(&self, node: &IdedExpr) -> bool {
        self.checked.references.get(&node.id) == Some(&Reference::Variable(self.variable))
    }

    fn visit(&mut self, node: &IdedExpr) {
        if self.is_it(node) {
            self.mentions.whole = true;
            return;
        }
        match &node.expr {
            Expr::Select(select) if self.is_it(&select.operand) => {
                self.mentions.fields.insert(select.field.clone());
            }
            Expr::Select(select) => self.visit(&select.operand),
            Expr::Call(call) => {
                if let (operators::OPT_SELECT, [operand, field]) =
                    (call.func_name.as_str(), call.args.as_slice())
                    && let Expr::Literal(LiteralValue::String(name)) = &field.expr
                    && self.is_it(operand)
                {
                    self.mentions.fields.insert(name.inner().to_owned());
                    return;
                }
                call.target.iter().for_each(|target| self.visit(target));
                call.args.iter().for_each(|argument| self.visit(argument));
            }
            Expr::List(list) => list.elements.iter().for_each(|item| self.visit(item)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(&entry.expr)),
            Expr::Struct(message) => message.entries.iter().for_each(|entry| self.entry(&entry.expr)),
            Expr::Comprehension(comprehension) => {
                let parts = [
                    &comprehension.iter_range,
                    &comprehension.accu_init,
                    &comprehension.loop_cond,
                    &comprehension.loop_step,
                    &comprehension.result,
                ];
                parts.into_iter().for_each(|part| self.visit(part));
            }
            Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }

    fn entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.visit(&entry.key);
                self.visit(&entry.value);
            }
        }
    }
}
