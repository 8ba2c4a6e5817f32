//! Operators on concrete operands.

use super::Machine;
use super::budget::NODE;
use super::error::Error;
use super::expression::Value;
use super::kind::Kind;
use super::node::{EnvId, NodeId, State};
use super::scalar::Scalar;
use crate::number::Number;
use crate::packages::MAXIMUM_TEXT;
use crate::program::ir::{Binary, BinaryExpr, BoundOperator, Expr, ExprKind, Position, Unary};
use std::cmp::Ordering;

/// The most elements that repetition may make.
const MAXIMUM_LIST: usize = 1024 * 1024;

impl<'p> Machine<'p> {
    pub(super) fn unary(&mut self, env: EnvId, operator: Unary, operand: &'p Expr) -> Result<Value, Error> {
        let value = self.operand(env, operand)?;
        match (operator, &value) {
            (Unary::Not, Value::Scalar(Scalar::Bool(value))) => Ok(Value::bool(!value)),
            (Unary::Minus, Value::Scalar(Scalar::Number(number))) => {
                Ok(Value::Scalar(Scalar::Number(number.negate())))
            }
            (Unary::Plus, Value::Scalar(Scalar::Number(_))) => Ok(value),
            _ => {
                let symbol = match operator {
                    Unary::Not => "!",
                    Unary::Minus => "-",
                    Unary::Plus => "+",
                };
                let (shown, kind) = (self.show_value(&value), self.kind_of(&value));
                Err(self.fatal(
                    format!("invalid operation {symbol}{shown} ({symbol} {kind})"),
                    operand.position,
                ))
            }
        }
    }

    pub(super) fn binary(
        &mut self,
        env: EnvId,
        binary: &'p BinaryExpr,
        position: Position,
    ) -> Result<Value, Error> {
        let (operator, left, right) = (binary.operator, &binary.left, &binary.right);
        match operator {
            Binary::Compare(compare @ (BoundOperator::Equal | BoundOperator::NotEqual)) => {
                let tested = match (&left.kind, &right.kind) {
                    (_, ExprKind::Bottom) => Some(left),
                    (ExprKind::Bottom, _) => Some(right),
                    _ => None,
                };
                if let Some(tested) = tested {
                    let bottom = self.is_bottom(env, tested)?;
                    return Ok(Value::bool(bottom == (compare == BoundOperator::Equal)));
                }
                self.compare(env, compare, left, right, position)
            }
            Binary::Compare(compare) => self.compare(env, compare, left, right, position),
            Binary::LogicalAnd | Binary::LogicalOr => {
                // Both sides must be known, even when one decides.
                let (first, second) = (self.truth(env, left, operator), self.truth(env, right, operator));
                let (first, second) = match (first, second) {
                    (Err(error), Err(fatal)) if !error.is_fatal() && fatal.is_fatal() => return Err(fatal),
                    (first, second) => (first?, second?),
                };
                Ok(Value::bool(if operator == Binary::LogicalOr {
                    first || second
                } else {
                    first && second
                }))
            }
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => {
                let (first, second) = if self.options.whatever_is_given {
                    // Each side is evaluated once: twice would double the cost with every operator in a chain.
                    let (first, second) = (self.evaluate(env, left), self.evaluate(env, right));
                    self.fit(operator, &first, &second, position)?;
                    (self.as_operand(left, first?)?, self.as_operand(right, second?)?)
                } else {
                    (self.operand(env, left)?, self.operand(env, right)?)
                };
                self.arithmetic(operator, &first, &second, position)
            }
        }
    }

    /// Fails if an operator is undefined for all values of its operands' types.
    fn fit(
        &mut self,
        operator: Binary,
        first: &Result<Value, Error>,
        second: &Result<Value, Error>,
        position: Position,
    ) -> Result<(), Error> {
        let [left, right] = [first, second].map(|operand| match operand {
            Ok(Value::Scalar(scalar)) => scalar.kind(),
            Ok(Value::Node(node)) => self.possible_kinds(*node),
            Err(_) => Kind::TOP,
        });
        let both = |kind: Kind| left.intersects(kind) && right.intersects(kind);
        let either = |one: Kind, other: Kind| {
            left.intersects(one) && right.intersects(other) || left.intersects(other) && right.intersects(one)
        };
        let repeatable = Kind::STRING | Kind::BYTES | Kind::LIST;
        let (symbol, fits) = match operator {
            Binary::Add => (
                "+",
                [Kind::NUMBER, Kind::STRING, Kind::BYTES, Kind::LIST]
                    .into_iter()
                    .any(both),
            ),
            Binary::Multiply => ("*", both(Kind::NUMBER) || either(Kind::INT, repeatable)),
            Binary::Subtract => ("-", both(Kind::NUMBER)),
            _ => ("/", both(Kind::NUMBER)),
        };
        if fits {
            return Ok(());
        }
        let [one, other] = [first, second].map(|operand| match operand {
            Ok(value) => self.show_value(value),
            Err(_) => "_".to_owned(),
        });
        let message = format!("invalid operands {one} and {other} to '{symbol}' (type {left} and {right})");
        Err(self.fatal(message, position))
    }

    /// The kinds that a value may turn out to have.
    fn possible_kinds(&mut self, node: NodeId) -> Kind {
        let node = self.expanded(node);
        let known = self.known(node);
        if known.error.is_some() || known.more || !matches!(self.node(node).state, State::Done) {
            return Kind::TOP;
        }
        if known.alternatives.is_empty() {
            return self.kind_of(&Value::Node(node));
        }
        let alternatives = known.alternatives.clone();
        let kinds = alternatives
            .into_iter()
            .map(|alternative| self.possible_kinds(alternative));
        kinds.reduce(|one, other| one | other).unwrap_or(Kind::TOP)
    }

    pub(super) fn truth(&mut self, env: EnvId, expr: &'p Expr, operator: Binary) -> Result<bool, Error> {
        match self.operand(env, expr)? {
            Value::Scalar(Scalar::Bool(value)) => Ok(value),
            other => {
                let symbol = if operator == Binary::LogicalOr { "||" } else { "&&" };
                let (shown, kind) = (self.show_value(&other), self.kind_of(&other));
                let message = format!(
                    "invalid operand {shown} ('{symbol}' requires concrete value of type bool, found {kind})"
                );
                Err(self.fatal(message, expr.position))
            }
        }
    }

    pub(super) fn compare(
        &mut self,
        env: EnvId,
        operator: BoundOperator,
        left: &'p Expr,
        right: &'p Expr,
        position: Position,
    ) -> Result<Value, Error> {
        let (first, second) = (self.operand(env, left)?, self.operand(env, right)?);
        let result = self.compare_values(operator, &first, &second, position)?;
        if let Some(result) = result {
            return Ok(Value::bool(result));
        }
        let (one, other) = (self.show_value(&first), self.show_value(&second));
        let (kind, other_kind) = (self.kind_of(&first), self.kind_of(&second));
        let message =
            format!("invalid operands {one} and {other} to '{operator}' (type {kind} and {other_kind})");
        Err(self.fatal(message, position))
    }

    pub(super) fn compare_values(
        &mut self,
        operator: BoundOperator,
        first: &Value,
        second: &Value,
        position: Position,
    ) -> Result<Option<bool>, Error> {
        use BoundOperator as Op;
        let equality = matches!(operator, Op::Equal | Op::NotEqual);
        if let (Value::Scalar(one), Value::Scalar(other)) = (first, second) {
            self.spend(one.weight().min(other.weight()))?;
        }
        match (first, second) {
            (Value::Scalar(subject), Value::Scalar(Scalar::String(pattern)))
                if matches!(operator, Op::Match | Op::NotMatch) =>
            {
                let text = match subject {
                    Scalar::String(text) => text.to_string(),
                    Scalar::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    _ => return Ok(None),
                };
                let regex = self.regex(pattern, position)?;
                self.spend(regex.weight(text.len()))?;
                let matches = regex.is_match(&text);
                Ok(Some(matches == (operator == Op::Match)))
            }
            (Value::Scalar(Scalar::Null), _) | (_, Value::Scalar(Scalar::Null)) if equality => {
                let both = matches!(
                    (first, second),
                    (Value::Scalar(Scalar::Null), Value::Scalar(Scalar::Null))
                );
                Ok(Some(both == (operator == Op::Equal)))
            }
            (Value::Scalar(one), Value::Scalar(other)) => {
                Ok(one.compare(other).and_then(|order| match operator {
                    Op::Equal => Some(order == Ordering::Equal),
                    Op::NotEqual => Some(order != Ordering::Equal),
                    _ if matches!(one, Scalar::Bool(_) | Scalar::Null) => None,
                    Op::Less => Some(order == Ordering::Less),
                    Op::LessEqual => Some(order != Ordering::Greater),
                    Op::Greater => Some(order == Ordering::Greater),
                    Op::GreaterEqual => Some(order != Ordering::Less),
                    Op::Match | Op::NotMatch => None,
                }))
            }
            (Value::Node(one), Value::Node(other))
                if equality && self.kind_of(first) == Kind::LIST && self.kind_of(second) == Kind::LIST =>
            {
                let (one, other) = (*one, *other);
                Ok(Some(self.equal(one, other)? == (operator == Op::Equal)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn arithmetic(
        &mut self,
        operator: Binary,
        first: &Value,
        second: &Value,
        position: Position,
    ) -> Result<Value, Error> {
        if let (Value::Scalar(Scalar::Number(one)), Value::Scalar(Scalar::Number(other))) = (first, second) {
            return self.number_arithmetic(operator, one, other, position);
        }
        match (operator, first, second) {
            (Binary::Add, Value::Scalar(Scalar::String(one)), Value::Scalar(Scalar::String(other))) => {
                self.text(one.len() + other.len(), position)?;
                return Ok(Value::Scalar(Scalar::String(format!("{one}{other}").into())));
            }
            (Binary::Add, Value::Scalar(Scalar::Bytes(one)), Value::Scalar(Scalar::Bytes(other))) => {
                self.text(one.len() + other.len(), position)?;
                return Ok(Value::Scalar(Scalar::Bytes(
                    [one.as_ref(), other.as_ref()].concat().into(),
                )));
            }
            (Binary::Multiply, Value::Scalar(Scalar::Number(count)), Value::Scalar(text))
            | (Binary::Multiply, Value::Scalar(text), Value::Scalar(Scalar::Number(count)))
                if count.is_integer() && matches!(text, Scalar::String(_) | Scalar::Bytes(_)) =>
            {
                return self.repeat(text, count, position);
            }
            _ => {}
        }
        if let Some(result) = self.list_arithmetic(operator, first, second, position) {
            return result;
        }
        let symbol = match operator {
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            _ => "/",
        };
        let (one, other) = (self.show_value(first), self.show_value(second));
        let (kind, other_kind) = (self.kind_of(first), self.kind_of(second));
        let message =
            format!("invalid operands {one} and {other} to '{symbol}' (type {kind} and {other_kind})");
        Err(self.fatal(message, position))
    }

    pub(super) fn number_arithmetic(
        &mut self,
        operator: Binary,
        one: &Number,
        other: &Number,
        position: Position,
    ) -> Result<Value, Error> {
        self.spend(one.weight() + other.weight())?;
        let result = match operator {
            Binary::Add => one.add(other),
            Binary::Subtract => one.subtract(other),
            Binary::Multiply => one.multiply(other),
            _ => one.divide(other),
        };
        match result {
            Ok(number) => Ok(Value::Scalar(Scalar::Number(number))),
            Err(error) => Err(self.fatal(error.to_string(), position)),
        }
    }

    pub(super) fn repeat(
        &mut self,
        text: &Scalar,
        count: &Number,
        position: Position,
    ) -> Result<Value, Error> {
        let Some(count) = count.to_i64().and_then(|count| usize::try_from(count).ok()) else {
            return Err(self.fatal(
                format!("cannot convert negative number {count} to uint64"),
                position,
            ));
        };
        let length = match text {
            Scalar::String(text) => text.len(),
            Scalar::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.text(length.saturating_mul(count), position)?;
        Ok(Value::Scalar(match text {
            Scalar::Bytes(bytes) => Scalar::Bytes(bytes.repeat(count).into()),
            Scalar::String(text) => Scalar::String(text.repeat(count).into()),
            other => other.clone(),
        }))
    }

    /// Counts a text of this length that is about to be made.
    pub(crate) fn text(&mut self, length: usize, position: Position) -> Result<(), Error> {
        if length > MAXIMUM_TEXT {
            return Err(self.text_too_long(position));
        }
        self.claim(length)
    }

    /// A text that is longer than any may be.
    pub(crate) fn text_too_long(&mut self, position: Position) -> Error {
        self.too_large(format!("text longer than {MAXIMUM_TEXT} bytes"), position)
    }

    /// Counts a list that is about to be made of `count` times as many elements.
    pub(crate) fn repeated(&mut self, length: usize, count: usize, position: Position) -> Result<(), Error> {
        let length = length.saturating_mul(count);
        if length > MAXIMUM_LIST {
            return Err(self.too_large(format!("list longer than {MAXIMUM_LIST} elements"), position));
        }
        self.claim(size_of::<NodeId>() * length)
    }

    pub(super) fn list_arithmetic(
        &mut self,
        operator: Binary,
        first: &Value,
        second: &Value,
        position: Position,
    ) -> Option<Result<Value, Error>> {
        let name = match operator {
            Binary::Add => "Addition",
            Binary::Multiply => "Multiplication",
            _ => return None,
        };
        let (one, other) = (self.elements(first), self.elements(second));
        let function = if operator == Binary::Add {
            "Concat"
        } else {
            "Repeat"
        };
        let elements = match (operator, one, other, first, second) {
            (Binary::Add, Some(one), Some(other), ..) => {
                if let Err(error) = self.claim(NODE * (one.len() + other.len())) {
                    return Some(Err(error));
                }
                [one, other].concat()
            }
            (Binary::Multiply, Some(list), None, _, Value::Scalar(Scalar::Number(count)))
            | (Binary::Multiply, None, Some(list), Value::Scalar(Scalar::Number(count)), _) => {
                let count = count
                    .to_i64()
                    .and_then(|count| usize::try_from(count).ok())
                    .unwrap_or(0);
                let claimed = self
                    .repeated(list.len(), count, position)
                    .and_then(|()| self.claim(NODE * list.len() * count));
                if let Err(error) = claimed {
                    return Some(Err(error));
                }
                list.repeat(count)
            }
            _ => return None,
        };
        if !self.options.list_arithmetic {
            let message = format!("{name} of lists is superseded by list.{function}");
            return Some(Err(self.fatal(message, position)));
        }
        Some(Ok(self.list_value(&elements)))
    }
}
