//! Resolves names in expressions.

use super::ir::{
    Binary, BinaryExpr, BoundOperator, CallExpr, Disjunct, ElementExpr, Expr, ExprKind, InterpolationExpr,
    ListExpr, OrExpr, Part, SliceExpr, Unary,
};
use super::resolve::Resolver;
use super::symbols::Label;
use crate::eval::builtin::{self, Builtin, Run};
use crate::eval::kind::Kind;
use crate::source::{Source, Span};
use crate::syntax::ast;

impl Resolver<'_> {
    pub(super) fn boxed(&mut self, expr: &ast::Expr<'_>) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    pub(super) fn expr(&mut self, expr: &ast::Expr<'_>) -> Expr {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_inner(expr))
    }

    pub(super) fn expr_inner(&mut self, expr: &ast::Expr<'_>) -> Expr {
        let kind = match &expr.kind {
            ast::ExprKind::Bottom => ExprKind::Bottom,
            ast::ExprKind::Top => ExprKind::Kind(Kind::TOP),
            ast::ExprKind::Null => ExprKind::Null,
            ast::ExprKind::Bool(value) => ExprKind::Bool(*value),
            ast::ExprKind::Number(number) => ExprKind::Number(number.clone()),
            ast::ExprKind::String(text) => ExprKind::String(text.as_ref().into()),
            ast::ExprKind::Bytes(bytes) => ExprKind::Bytes(bytes.as_ref().into()),
            ast::ExprKind::Interpolation(interpolation) => {
                let part = |part: &ast::InterpolationPart<'_>| match part {
                    ast::InterpolationPart::Text(text) => Part::Text(text.to_vec()),
                    ast::InterpolationPart::Expr(expr) => Part::Expr(self.expr(expr)),
                };
                ExprKind::Interpolation(Box::new(InterpolationExpr {
                    bytes: interpolation.bytes,
                    parts: interpolation.parts.iter().map(part).collect(),
                }))
            }
            ast::ExprKind::Identifier(name) => self.identifier(name, expr.span),
            ast::ExprKind::Struct(literal) => ExprKind::Struct(Box::new(self.struct_literal(literal))),
            ast::ExprKind::List(list) => ExprKind::List(Box::new(self.list(list))),
            ast::ExprKind::Selector(selector) => return self.selector(selector, expr.span),
            ast::ExprKind::Index(index) => ExprKind::Index {
                base: self.boxed(&index.base),
                index: self.boxed(&index.index),
            },
            ast::ExprKind::Slice(slice) => ExprKind::Slice(Box::new(SliceExpr {
                base: self.expr(&slice.base),
                low: slice.low.as_ref().map(|low| self.expr(low)),
                high: slice.high.as_ref().map(|high| self.expr(high)),
            })),
            ast::ExprKind::Call(call) => ExprKind::Call(Box::new(CallExpr {
                function: self.expr(&call.function),
                arguments: call
                    .arguments
                    .iter()
                    .map(|argument| self.expr(argument))
                    .collect(),
            })),
            ast::ExprKind::Unary { operator, operand } => self.unary(*operator, operand, expr.span),
            ast::ExprKind::Binary(binary) => match binary.operator {
                ast::BinaryOperator::Or => self.disjunction(expr),
                ast::BinaryOperator::And => ExprKind::And(self.conjuncts(expr)),
                operator => ExprKind::Binary(Box::new(BinaryExpr {
                    operator: binary_operator(operator),
                    left: self.expr(&binary.left),
                    right: self.expr(&binary.right),
                })),
            },
            ast::ExprKind::Parenthesized(inner) => return self.expr(inner),
        };
        Expr {
            kind,
            position: self.position(expr.span),
        }
    }

    fn conjuncts(&mut self, expr: &ast::Expr<'_>) -> Vec<Expr> {
        operands(expr, ast::BinaryOperator::And)
            .into_iter()
            .map(|operand| self.expr(operand))
            .collect()
    }

    fn disjunction(&mut self, expr: &ast::Expr<'_>) -> ExprKind {
        let disjunct = |expr: &ast::Expr<'_>| match &expr.kind {
            ast::ExprKind::Unary {
                operator: ast::UnaryOperator::Default,
                operand,
            } => Disjunct {
                default: true,
                value: self.expr(operand),
            },
            _ => Disjunct {
                default: false,
                value: self.expr(expr),
            },
        };
        let operands = operands(expr, ast::BinaryOperator::Or);
        let disjuncts: Vec<_> = operands.into_iter().map(disjunct).collect();
        let simple = disjuncts.iter().all(|disjunct| is_simple(&disjunct.value));
        ExprKind::Or(Box::new(OrExpr { disjuncts, simple }))
    }

    pub(super) fn unary(
        &mut self,
        operator: ast::UnaryOperator,
        operand: &ast::Expr<'_>,
        span: Span,
    ) -> ExprKind {
        use ast::UnaryOperator as Op;
        let bound = |operator| move |operand| ExprKind::Bound { operator, operand };
        let value = self.boxed(operand);
        match operator {
            Op::Plus => ExprKind::Unary {
                operator: Unary::Plus,
                operand: value,
            },
            Op::Minus => match &value.kind {
                ExprKind::Number(number) => ExprKind::Number(number.negate()),
                _ => ExprKind::Unary {
                    operator: Unary::Minus,
                    operand: value,
                },
            },
            Op::Not => ExprKind::Unary {
                operator: Unary::Not,
                operand: value,
            },
            Op::Default => {
                self.problem(span, "preference mark not allowed at this position");
                value.kind
            }
            Op::Equal => bound(BoundOperator::Equal)(value),
            Op::NotEqual => bound(BoundOperator::NotEqual)(value),
            Op::Less => bound(BoundOperator::Less)(value),
            Op::LessEqual => bound(BoundOperator::LessEqual)(value),
            Op::Greater => bound(BoundOperator::Greater)(value),
            Op::GreaterEqual => bound(BoundOperator::GreaterEqual)(value),
            Op::Match => bound(BoundOperator::Match)(value),
            Op::NotMatch => bound(BoundOperator::NotMatch)(value),
        }
    }

    pub(super) fn list(&mut self, list: &ast::ListLiteral<'_>) -> ListExpr {
        let element = |element: &ast::Element<'_>| match element {
            ast::Element::Value(embedding) => {
                ElementExpr::Value(self.expr(&embedding.value), self.comments(&embedding.comments))
            }
            ast::Element::Comprehension(comprehension) => {
                ElementExpr::Comprehension(self.comprehension(comprehension))
            }
        };
        let elements = list.elements.iter().map(element).collect();
        let rest = list.ellipsis.as_ref().map(|ellipsis| match &ellipsis.value {
            Some(value) => self.expr(value),
            None => Expr {
                kind: ExprKind::Kind(Kind::TOP),
                position: self.position(ellipsis.span),
            },
        });
        ListExpr { elements, rest }
    }

    fn selector(&mut self, selector: &ast::Selector<'_>, span: Span) -> Expr {
        let position = self.position(span);
        let name = selector.name.as_ref();
        if let ast::ExprKind::Identifier(package) = &selector.base.kind
            && let package = self.symbols.intern(package)
            && !self.is_declared(package)
            && let Some(import) = self.imports.get_mut(&package)
        {
            import.used = true;
            let path = import.path.clone();
            let kind = match builtin::find(&path, name) {
                Some(builtin) => self.builtin(builtin),
                None if builtin::has_package(&path) => {
                    self.unsupported(selector.name_span, format!("{path}.{name} is not supported"));
                    ExprKind::Bottom
                }
                None => ExprKind::Bottom,
            };
            return Expr { kind, position };
        }
        let label = if selector.quoted {
            Label::Regular(self.symbols.intern(name))
        } else {
            self.symbols.identifier_label(name)
        };
        Expr {
            kind: ExprKind::Select {
                base: self.boxed(&selector.base),
                label,
            },
            position,
        }
    }

    /// A built-in; one that is written in CUE is resolved where it is used.
    pub(super) fn builtin(&mut self, builtin: &'static Builtin) -> ExprKind {
        let Run::Written(text) = builtin.run else {
            return ExprKind::Builtin(builtin);
        };
        let source = Source::new(builtin.name, text);
        let file = crate::syntax::parse(&source).expect("what we wrote parses");
        let levels = std::mem::take(&mut self.levels);
        let literal = match file.declarations.as_slice() {
            [ast::Declaration::Embedding(embedding)] => self.expr(&embedding.value).kind,
            _ => unreachable!("a built-in value is one expression"),
        };
        self.levels = levels;
        literal
    }
}

/// Whether a disjunct can be known without looking at anything else.
fn is_simple(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Number(_)
        | ExprKind::String(_)
        | ExprKind::Bytes(_) => true,
        ExprKind::Kind(kind) => !kind.intersects(Kind::LIST | Kind::STRUCT),
        ExprKind::Bound { operand, .. } => is_simple(operand) && !matches!(operand.kind, ExprKind::Kind(_)),
        ExprKind::And(conjuncts) => conjuncts.iter().all(is_simple),
        _ => false,
    }
}

/// The operands of a chain of one operator. It associates to the left: the chain is a spine, walked without recursion.
fn operands<'tree, 'text>(
    expr: &'tree ast::Expr<'text>,
    operator: ast::BinaryOperator,
) -> Vec<&'tree ast::Expr<'text>> {
    let mut operands = Vec::new();
    let mut current = expr;
    while let ast::ExprKind::Binary(binary) = &current.kind
        && binary.operator == operator
    {
        operands.push(&binary.right);
        current = &binary.left;
    }
    operands.push(current);
    operands.reverse();
    operands
}

fn binary_operator(operator: ast::BinaryOperator) -> Binary {
    use ast::BinaryOperator as Op;
    match operator {
        Op::LogicalOr => Binary::LogicalOr,
        Op::LogicalAnd => Binary::LogicalAnd,
        Op::Equal => Binary::Compare(BoundOperator::Equal),
        Op::NotEqual => Binary::Compare(BoundOperator::NotEqual),
        Op::Less => Binary::Compare(BoundOperator::Less),
        Op::LessEqual => Binary::Compare(BoundOperator::LessEqual),
        Op::Greater => Binary::Compare(BoundOperator::Greater),
        Op::GreaterEqual => Binary::Compare(BoundOperator::GreaterEqual),
        Op::Match => Binary::Compare(BoundOperator::Match),
        Op::NotMatch => Binary::Compare(BoundOperator::NotMatch),
        Op::Add => Binary::Add,
        Op::Subtract => Binary::Subtract,
        Op::Multiply => Binary::Multiply,
        Op::Divide => Binary::Divide,
        Op::Or | Op::And => unreachable!("handled by the caller"),
    }
}
