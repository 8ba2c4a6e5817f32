//! Where a template refers to what it is given.

use super::name_of;
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{
    BinaryOperator, Clause, Comprehension, Declaration, Element, Expr, ExprKind, File, InterpolationPart,
    Label,
};
use std::collections::BTreeSet;

/// Where a template refers to something that it is given.
pub(super) struct References {
    /// What it is given: `parameter` or `context`.
    of: &'static str,
    /// The path below it, and where it stands.
    pub(super) found: Vec<(Vec<String>, Span)>,
    /// Those of which it asks whether they are there.
    pub(super) asked: BTreeSet<Vec<String>>,
    /// Something else has its name, somewhere.
    pub(super) shadowed: bool,
}

impl References {
    /// Those of a whole template.
    pub(super) fn to(of: &'static str, file: &File<'_>) -> Self {
        let mut references = Self {
            of,
            found: Vec::new(),
            asked: BTreeSet::new(),
            shadowed: false,
        };
        references.declarations(&file.declarations, 0);
        references
    }

    /// Whether it asks if the field at a path, or one below it, is there.
    pub(super) fn asks_for(&self, path: &[String]) -> bool {
        self.asked.iter().any(|asked| asked.starts_with(path))
    }

    fn declarations(&mut self, declarations: &[Declaration<'_>], depth: usize) {
        for declaration in declarations {
            match declaration {
                Declaration::Field(field) => {
                    let named = name_of(&field.label).is_some_and(|(name, _)| name == self.of);
                    let aliases = [&field.alias, &field.value_alias];
                    let aliased = aliases.into_iter().flatten().any(|alias| alias.name == self.of);
                    self.shadowed |= aliased || (named && depth > 0);
                    match &field.label {
                        Label::Interpolated(expr) | Label::Dynamic(expr) | Label::Pattern(_, expr) => {
                            self.expression(expr, depth);
                        }
                        Label::Identifier(_) | Label::String(..) => {}
                    }
                    self.expression(&field.value, depth);
                }
                Declaration::Let(clause) => {
                    self.shadowed |= clause.name.name == self.of;
                    self.expression(&clause.value, depth);
                }
                Declaration::Embedding(embedding) => self.expression(&embedding.value, depth),
                Declaration::Comprehension(comprehension) => self.comprehension(comprehension, depth),
                Declaration::Ellipsis(ellipsis) => {
                    if let Some(value) = &ellipsis.value {
                        self.expression(value, depth);
                    }
                }
                Declaration::Attribute(_) => {}
            }
        }
    }

    fn comprehension(&mut self, comprehension: &Comprehension<'_>, depth: usize) {
        for clause in &comprehension.clauses {
            match clause {
                Clause::For { key, value, source } => {
                    self.shadowed |= value.name == self.of || key.is_some_and(|key| key.name == self.of);
                    self.expression(source, depth);
                }
                Clause::If(condition) => self.expression(condition, depth),
                Clause::Let { name, value } => {
                    self.shadowed |= name.name == self.of;
                    self.expression(value, depth);
                }
            }
        }
        self.declarations(&comprehension.body.declarations, depth + 1);
    }

    fn expression(&mut self, expr: &Expr<'_>, depth: usize) {
        if let Some(path) = path(expr, self.of) {
            if !path.is_empty() {
                self.found.push((path, expr.span));
            }
            return;
        }
        match &expr.kind {
            ExprKind::Interpolation(text) => {
                for part in &text.parts {
                    if let InterpolationPart::Expr(expr) = part {
                        self.expression(expr, depth);
                    }
                }
            }
            ExprKind::Struct(literal) => self.declarations(&literal.declarations, depth + 1),
            ExprKind::List(list) => {
                for element in &list.elements {
                    match element {
                        Element::Value(embedding) => self.expression(&embedding.value, depth),
                        Element::Comprehension(comprehension) => self.comprehension(comprehension, depth),
                    }
                }
                if let Some(value) = list
                    .ellipsis
                    .as_ref()
                    .and_then(|ellipsis| ellipsis.value.as_ref())
                {
                    self.expression(value, depth);
                }
            }
            ExprKind::Selector(selector) => self.expression(&selector.base, depth),
            ExprKind::Index(index) => {
                self.expression(&index.base, depth);
                self.expression(&index.index, depth);
            }
            ExprKind::Slice(slice) => {
                self.expression(&slice.base, depth);
                for bound in [&slice.low, &slice.high].into_iter().flatten() {
                    self.expression(bound, depth);
                }
            }
            ExprKind::Call(call) => {
                self.expression(&call.function, depth);
                for argument in &call.arguments {
                    self.expression(argument, depth);
                }
            }
            ExprKind::Unary { operand, .. } => self.expression(operand, depth),
            ExprKind::Binary(binary) => {
                let asks = matches!(binary.operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
                for (one, other) in [(&binary.left, &binary.right), (&binary.right, &binary.left)] {
                    if asks
                        && other.kind == ExprKind::Bottom
                        && let Some(path) = path(one, self.of)
                    {
                        self.asked.insert(path);
                    }
                }
                self.expression(&binary.left, depth);
                self.expression(&binary.right, depth);
            }
            ExprKind::Parenthesized(inner) => self.expression(inner, depth),
            _ => {}
        }
    }
}

/// The steps below a name, as far as they are written down.
fn path(expr: &Expr<'_>, of: &str) -> Option<Vec<String>> {
    match &expr.kind {
        ExprKind::Identifier(name) if *name == of => Some(Vec::new()),
        ExprKind::Selector(selector) => {
            let mut path = path(&selector.base, of)?;
            path.push(selector.name.as_ref().to_owned());
            Some(path)
        }
        ExprKind::Index(index) => match &index.index.kind {
            ExprKind::String(name) => {
                let mut path = path(&index.base, of)?;
                path.push(name.as_ref().to_owned());
                Some(path)
            }
            _ => None,
        },
        _ => None,
    }
}
