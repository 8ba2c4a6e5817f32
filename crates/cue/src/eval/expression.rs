//! Expressions that are computed: operators, interpolation, indexing, calls.

use super::Machine;
use super::closed::{Closing, GroupId, Link};
use super::error::{Code, Error, Reason};
use super::kind::Kind;
use super::node::{Conjunct, EnvId, NodeId, Scope, Source, State};
use super::reference::is_reference;
use super::scalar::Scalar;
use super::unify::literal_scalar;
use crate::eval::builtin::{Builtin, Run, Validator};
use crate::number::Number;
use crate::program::ir::{Binary, BoundOperator, Expr, ExprKind, Part, Position, Unary};
use crate::program::symbols::Label;
use std::cmp::Ordering;
use std::rc::Rc;

/// What an expression evaluates to.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Scalar(Scalar),
    /// A struct, a list, or something not concrete.
    Node(NodeId),
}

impl Value {
    fn bool(value: bool) -> Self {
        Self::Scalar(Scalar::Bool(value))
    }
}

impl<'p> Machine<'p> {
    /// Unifies a conjunct whose expression must be computed.
    pub(super) fn add_value(&mut self, id: NodeId, conjunct: &Conjunct<'p>) -> Result<(), Error> {
        let Source::Expr(expr) = conjunct.source else {
            return Ok(());
        };
        if is_reference(expr) {
            let target = self.resolve(conjunct.env, expr)?;
            self.add_reference(id, target, conjunct);
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Bound { operator, operand } => {
                let value = match self.operand(conjunct.env, operand)? {
                    Value::Scalar(scalar) => scalar,
                    other => {
                        let kind = self.kind_of(&other);
                        return Err(self.fatal(format!("cannot use {kind} for bound"), operand.position));
                    }
                };
                let bound = self.bound(*operator, value, expr.position)?;
                self.add_atom(id, |atom| atom.add_bound(bound));
                Ok(())
            }
            ExprKind::Builtin(builtin) => self.add_builtin(id, builtin, expr.position),
            ExprKind::Call { function, arguments } => {
                if let ExprKind::Builtin(builtin) = function.kind {
                    return self.add_call(id, builtin, arguments, expr.position, conjunct);
                }
                self.evaluate(conjunct.env, expr).map(drop)
            }
            _ => {
                let value = self.evaluate(conjunct.env, expr)?;
                self.add_result(id, value, expr.position, conjunct);
                Ok(())
            }
        }
    }

    fn add_atom(
        &mut self,
        id: NodeId,
        add: impl FnOnce(&mut super::atom::Atom) -> Result<(), super::atom::Conflict>,
    ) {
        if let Err(conflict) = add(&mut self.known_mut(id).atom) {
            let error = self.bottom(Code::Fatal, Reason::Text(conflict.message), conflict.positions);
            self.fail(id, error);
        }
    }

    fn add_result(&mut self, id: NodeId, value: Value, position: Position, conjunct: &Conjunct<'p>) {
        match value {
            Value::Scalar(scalar) => self.add_atom(id, |atom| atom.add_scalar(&scalar, position)),
            Value::Node(node) => self.add_reference(id, node, conjunct),
        }
    }

    /// A built-in named without a call: a constant, or a validator such as `time.Time`.
    fn add_builtin(
        &mut self,
        id: NodeId,
        builtin: &'static Builtin,
        position: Position,
    ) -> Result<(), Error> {
        match builtin.run {
            Run::Constant(constant) => {
                let scalar = constant();
                self.add_atom(id, |atom| atom.add_scalar(&scalar, position));
                Ok(())
            }
            Run::Function {
                validates: true,
                arity: (_, 1),
                ..
            } => {
                self.add_validator(
                    id,
                    Validator {
                        builtin,
                        arguments: Vec::new(),
                        shown: Vec::new(),
                        position,
                    },
                );
                Ok(())
            }
            _ => Err(self.fatal(format!("{builtin} is a function and must be called"), position)),
        }
    }

    fn add_validator(&mut self, id: NodeId, validator: Validator) {
        let kind = validator.builtin.operand;
        let position = validator.position;
        if self.validating.contains(&position) {
            return;
        }
        self.add_atom(id, |atom| atom.add_kind(kind, position));
        let validators = &mut self.known_mut(id).atom.validators;
        if !validators.iter().any(|known| known.same(&validator)) {
            validators.push(Rc::new(validator));
        }
    }

    fn add_call(
        &mut self,
        id: NodeId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
        position: Position,
        conjunct: &Conjunct<'p>,
    ) -> Result<(), Error> {
        match builtin.run {
            Run::Close => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                self.add_atom(id, |atom| atom.add_kind(Kind::STRUCT, position));
                let group = self.new_group(conjunct.group, Link::Unified, Closing::At(id));
                self.add(
                    id,
                    Conjunct {
                        source: Source::Expr(argument),
                        group,
                        ..conjunct.clone()
                    },
                );
                Ok(())
            }
            Run::And => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                for element in self.list_argument(conjunct.env, argument)? {
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Node(element),
                            ..conjunct.clone()
                        },
                    );
                }
                Ok(())
            }
            Run::Function {
                arity,
                validates: true,
                ..
            } if arguments.len() + 1 == usize::from(arity.1) => {
                let values = self.arguments(conjunct.env, builtin, arguments)?;
                let shown = values.iter().map(|value| self.show_value(value)).collect();
                self.add_validator(
                    id,
                    Validator {
                        builtin,
                        arguments: values,
                        shown,
                        position,
                    },
                );
                Ok(())
            }
            _ => {
                let value = self.call(conjunct.env, builtin, arguments, position)?;
                self.add_result(id, value, position, conjunct);
                Ok(())
            }
        }
    }

    /// The elements of an argument that must be a list.
    pub(super) fn list_argument(&mut self, env: EnvId, argument: &'p Expr) -> Result<Vec<NodeId>, Error> {
        let value = self.operand(env, argument)?;
        match self.elements(&value) {
            Some(elements) => Ok(elements),
            None => {
                let (shown, kind) = (self.show_value(&value), self.kind_of(&value));
                Err(self.fatal(
                    format!("cannot use {shown} (type {kind}) as list"),
                    argument.position,
                ))
            }
        }
    }

    /// The elements of a list.
    pub(crate) fn elements(&self, value: &Value) -> Option<Vec<NodeId>> {
        let Value::Node(node) = value else { return None };
        let known = self.known(*node);
        known.list.as_ref()?;
        let elements = known
            .arcs
            .iter()
            .filter(|arc| matches!(arc.label, Label::Index(_)));
        Some(elements.map(|arc| arc.node).collect())
    }

    fn wrong_arity(&self, builtin: &Builtin, found: usize, position: Position) -> Error {
        let message = format!("wrong number of arguments in call to {builtin} (found {found})");
        self.fatal(message, position)
    }

    fn arguments(
        &mut self,
        env: EnvId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
    ) -> Result<Vec<Value>, Error> {
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(if builtin.takes_any() {
                self.evaluate(env, argument)?
            } else {
                self.operand(env, argument)?
            });
        }
        Ok(values)
    }

    fn call(
        &mut self,
        env: EnvId,
        builtin: &'static Builtin,
        arguments: &'p [Expr],
        position: Position,
    ) -> Result<Value, Error> {
        match builtin.run {
            Run::Function {
                arity: (least, most),
                call,
                ..
            } => {
                if arguments.len() < usize::from(least) || arguments.len() > usize::from(most) {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                }
                let values = self.arguments(env, builtin, arguments)?;
                call(self, &values, position).map_err(|error| match &error.reason {
                    Reason::Call(text) => {
                        let message = format!("error in call to {builtin}: {text}");
                        self.bottom(error.code, Reason::Text(message), error.positions.clone())
                    }
                    _ => error,
                })
            }
            Run::Or => {
                let [argument] = arguments else {
                    return Err(self.wrong_arity(builtin, arguments.len(), position));
                };
                let elements = self.list_argument(env, argument)?;
                self.or_node(&elements, position)
            }
            Run::Close | Run::And => {
                unreachable!("evaluated as a conjunct")
            }
            Run::Constant(_) | Run::Written(_) => {
                Err(self.fatal(format!("cannot call non-function {builtin}"), position))
            }
        }
    }

    /// The disjunction of a list's elements.
    fn or_node(&mut self, elements: &[NodeId], position: Position) -> Result<Value, Error> {
        if elements.is_empty() {
            return Err(self.incomplete("empty list in call to or", position));
        }
        Ok(Value::Node(self.disjunction_of(elements)))
    }

    /// The node that an expression names or computes.
    pub(super) fn value_node(&mut self, env: EnvId, expr: &'p Expr) -> Result<NodeId, Error> {
        if is_reference(expr) {
            return self.resolve(env, expr);
        }
        match self.evaluate(env, expr)? {
            Value::Node(node) => Ok(node),
            Value::Scalar(scalar) => Ok(self.scalar_node(scalar)),
        }
    }

    /// Evaluates an expression; the result need not be concrete.
    pub(super) fn evaluate(&mut self, env: EnvId, expr: &'p Expr) -> Result<Value, Error> {
        self.step()?;
        if is_reference(expr) {
            return self.resolve(env, expr).map(Value::Node);
        }
        if let Some(scalar) = literal_scalar(expr) {
            return Ok(Value::Scalar(scalar));
        }
        match &expr.kind {
            ExprKind::Bottom => Err(self.bottom(Code::Fatal, Reason::Explicit, vec![expr.position])),
            ExprKind::FrameLabel { up } => {
                let env = self.env_up(env, *up);
                let Scope::Frame { declared: node, .. } = self.env(env).scope else {
                    return Err(self.fatal("name does not stand for a label", expr.position));
                };
                match self.node(node).label {
                    Some(Label::Regular(symbol)) => {
                        Ok(Value::Scalar(Scalar::String(self.symbols.name(symbol).clone())))
                    }
                    _ => Err(self.incomplete("label is not known", expr.position)),
                }
            }
            ExprKind::Slice { base, low, high } => self.slice(env, base, low.as_deref(), high.as_deref()),
            ExprKind::Interpolation { bytes, parts } => self.interpolate(env, *bytes, parts),
            ExprKind::Unary { operator, operand } => self.unary(env, *operator, operand),
            ExprKind::Binary {
                operator,
                left,
                right,
            } => self.binary(env, *operator, left, right, expr.position),
            ExprKind::Call { function, arguments } => match &function.kind {
                ExprKind::Builtin(builtin) => match builtin.run {
                    Run::Close | Run::And => Ok(Value::Node(self.temporary(Self::conjunct(env, expr)))),
                    Run::Function {
                        arity,
                        validates: true,
                        ..
                    } if arguments.len() + 1 == usize::from(arity.1)
                        && arguments.len() < usize::from(arity.0) =>
                    {
                        Ok(Value::Node(self.temporary(Self::conjunct(env, expr))))
                    }
                    _ => self.call(env, builtin, arguments, expr.position),
                },
                _ => {
                    let value = self.evaluate(env, function)?;
                    let (shown, kind) = (self.show_expr(function), self.kind_of(&value));
                    Err(self.fatal(
                        format!("cannot call non-function {shown} (type {kind})"),
                        function.position,
                    ))
                }
            },
            ExprKind::Builtin(Builtin {
                run: Run::Constant(constant),
                ..
            }) => Ok(Value::Scalar(constant())),
            _ => Ok(Value::Node(self.temporary(Self::conjunct(env, expr)))),
        }
    }

    /// Evaluates an expression that must be concrete: a scalar, or a node that is a struct or a list.
    pub(super) fn operand(&mut self, env: EnvId, expr: &'p Expr) -> Result<Value, Error> {
        if let ExprKind::Kind(kind) = &expr.kind {
            return Err(self.fatal(
                format!("invalid operand {kind} (a concrete value is required)"),
                expr.position,
            ));
        }
        let value = self.evaluate(env, expr)?;
        self.concrete(value)
            .map_err(|error| self.placed(error, expr.position))
    }

    /// The same error with a place, when it has none.
    fn placed(&self, error: Error, position: Position) -> Error {
        if !error.positions.is_empty() {
            return error;
        }
        match &error.reason {
            Reason::Text(text) => self.bottom(error.code, Reason::Text(text.clone()), vec![position]),
            _ => error,
        }
    }

    pub(crate) fn concrete(&mut self, value: Value) -> Result<Value, Error> {
        let Value::Node(node) = value else {
            return Ok(value);
        };
        let node = self.concrete_node(node)?;
        match &self.known(node).atom.scalar {
            Some((scalar, _)) => Ok(Value::Scalar(scalar.clone())),
            None => Ok(Value::Node(node)),
        }
    }

    /// The node that holds a value's default, when that is concrete.
    pub(super) fn concrete_node(&mut self, node: NodeId) -> Result<NodeId, Error> {
        let node = self.settled(node);
        let processing = matches!(self.node(node).state, State::Processing(_));
        let known = self.known(node);
        if let Some(error) = &known.error {
            return Err(error.clone());
        }
        if known.atom.scalar.is_some() {
            return Ok(node);
        }
        if !known.alternatives.is_empty() {
            let shown = self.show(node);
            return Err(self.bottom(
                Code::Incomplete,
                Reason::Text(format!("unresolved disjunction {shown}")),
                Vec::new(),
            ));
        }
        if known.is_struct || known.list.is_some() || !known.structs.is_empty() {
            return Ok(node);
        }
        if processing {
            return Err(self.bottom(Code::Cycle, Reason::Cycle, Vec::new()));
        }
        let shown = self.show(node);
        Err(self.bottom(
            Code::Incomplete,
            Reason::Text(format!("non-concrete value {shown}")),
            Vec::new(),
        ))
    }

    pub(crate) fn kind_of(&self, value: &Value) -> Kind {
        match value {
            Value::Scalar(scalar) => scalar.kind(),
            Value::Node(node) => {
                let known = self.known(*node);
                if known.list.is_some() {
                    Kind::LIST
                } else if known.is_struct {
                    Kind::STRUCT
                } else {
                    known.atom.kind
                }
            }
        }
    }

    fn slice(
        &mut self,
        env: EnvId,
        base: &'p Expr,
        low: Option<&'p Expr>,
        high: Option<&'p Expr>,
    ) -> Result<Value, Error> {
        let value = self.operand(env, base)?;
        let length = match (&value, self.elements(&value)) {
            (_, Some(elements)) => elements.len(),
            (Value::Scalar(Scalar::Bytes(bytes)), _) => bytes.len(),
            _ => {
                let (shown, kind) = (self.show_value(&value), self.kind_of(&value));
                return Err(self.fatal(format!("cannot slice {shown} (type {kind})"), base.position));
            }
        };
        let low = self.slice_bound(env, low, 0, length)?;
        let high = self.slice_bound(env, high, length, length)?;
        if low > high {
            return Err(self.fatal(format!("invalid slice index: {low} > {high}"), base.position));
        }
        match (&value, self.elements(&value)) {
            (Value::Scalar(Scalar::Bytes(bytes)), _) => {
                Ok(Value::Scalar(Scalar::Bytes(bytes[low..high].into())))
            }
            (_, elements) => Ok(self.list_value(&elements.unwrap_or_default()[low..high])),
        }
    }

    fn slice_bound(
        &mut self,
        env: EnvId,
        bound: Option<&'p Expr>,
        absent: usize,
        length: usize,
    ) -> Result<usize, Error> {
        let Some(expr) = bound else { return Ok(absent) };
        match self.operand(env, expr)? {
            Value::Scalar(Scalar::Number(number)) if number.is_integer() => {
                match number.to_i64().and_then(|at| usize::try_from(at).ok()) {
                    Some(at) if at <= length => Ok(at),
                    _ => Err(self.fatal(
                        format!("slice index {number} out of range [0, {length}]"),
                        expr.position,
                    )),
                }
            }
            other => {
                let kind = self.kind_of(&other);
                Err(self.fatal(format!("cannot use {kind} as slice index"), expr.position))
            }
        }
    }

    /// A list of existing nodes, as a value.
    pub(crate) fn list_value(&mut self, elements: &[NodeId]) -> Value {
        let conjunct = self.data_conjunct(Source::List(elements.into()));
        Value::Node(self.temporary(conjunct))
    }

    /// A conjunct that needs no scope.
    pub(crate) fn data_conjunct(&self, source: Source<'p>) -> Conjunct<'p> {
        Conjunct {
            env: EnvId(0),
            source,
            group: GroupId::ROOT,
            trail: None,
            cyclic: false,
            frame: None,
            comments: None,
        }
    }

    fn interpolate(&mut self, env: EnvId, bytes: bool, parts: &'p [Part]) -> Result<Value, Error> {
        let mut text: Vec<u8> = Vec::new();
        for part in parts {
            match part {
                Part::Text(literal) => text.extend_from_slice(literal),
                Part::Expr(expr) => match self.operand(env, expr)? {
                    Value::Scalar(Scalar::String(string)) => text.extend_from_slice(string.as_bytes()),
                    Value::Scalar(Scalar::Bytes(raw)) if bytes => text.extend_from_slice(&raw),
                    Value::Scalar(Scalar::Bytes(raw)) => {
                        text.extend_from_slice(String::from_utf8_lossy(&raw).as_bytes());
                    }
                    Value::Scalar(Scalar::Number(number)) => {
                        text.extend_from_slice(number.to_string().as_bytes())
                    }
                    Value::Scalar(Scalar::Bool(value)) => {
                        text.extend_from_slice(value.to_string().as_bytes())
                    }
                    other => {
                        let (shown, kind) = (self.show_value(&other), self.kind_of(&other));
                        let message = format!(
                            "invalid interpolation: cannot use {shown} (type {kind}) as type (bool|string|bytes|number)"
                        );
                        return Err(self.fatal(message, expr.position));
                    }
                },
            }
        }
        Ok(Value::Scalar(if bytes {
            Scalar::Bytes(text.into())
        } else {
            Scalar::String(String::from_utf8_lossy(&text).as_ref().into())
        }))
    }

    fn unary(&mut self, env: EnvId, operator: Unary, operand: &'p Expr) -> Result<Value, Error> {
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

    fn binary(
        &mut self,
        env: EnvId,
        operator: Binary,
        left: &'p Expr,
        right: &'p Expr,
        position: Position,
    ) -> Result<Value, Error> {
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
                let (first, second) = (self.operand(env, left)?, self.operand(env, right)?);
                self.arithmetic(operator, &first, &second, position)
            }
        }
    }

    fn truth(&mut self, env: EnvId, expr: &'p Expr, operator: Binary) -> Result<bool, Error> {
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

    /// Whether an expression has no value: what `== _|_` asks.
    fn is_bottom(&mut self, env: EnvId, expr: &'p Expr) -> Result<bool, Error> {
        match self.evaluate(env, expr) {
            Err(error) if error.code == Code::Exhausted || matches!(error.reason, Reason::OwnPresence(_)) => {
                Err(error)
            }
            Err(error) if error.code == Code::Cycle && !self.last_try => Err(error),
            Err(_) => Ok(true),
            Ok(Value::Scalar(_)) => Ok(false),
            Ok(Value::Node(node)) => {
                let node = self.expanded(node);
                if let Some(error) = self.known(node).error.clone() {
                    let waits = error.code == Code::Cycle && !self.last_try;
                    return if error.code == Code::Exhausted || waits {
                        Err(error)
                    } else {
                        Ok(true)
                    };
                }
                if self.check(node).is_some() {
                    return Ok(true);
                }
                self.is_unknown(node, expr)
            }
        }
    }

    /// Whether nothing but a type or a bound is known of a value: then it counts as absent. Of `_`, not even that is known.
    fn is_unknown(&mut self, node: NodeId, expr: &'p Expr) -> Result<bool, Error> {
        let node = self.settled(node);
        let known = self.known(node);
        let has_value = known.atom.scalar.is_some()
            || known.is_struct
            || known.list.is_some()
            || !known.alternatives.is_empty()
            || !known.structs.is_empty();
        if has_value {
            return Ok(false);
        }
        if matches!(self.node(node).state, State::Processing(_)) {
            return if self.last_try {
                Ok(false)
            } else {
                Err(self.bottom(Code::Cycle, Reason::Cycle, Vec::new()))
            };
        }
        if self.known(node).atom.is_top() {
            if self.options.anything_is_present {
                return Ok(false);
            }
            return Err(self.incomplete("invalid operand _ ('==' requires concrete value)", expr.position));
        }
        Ok(true)
    }

    fn compare(
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

    fn compare_values(
        &mut self,
        operator: BoundOperator,
        first: &Value,
        second: &Value,
        position: Position,
    ) -> Result<Option<bool>, Error> {
        use BoundOperator as Op;
        let equality = matches!(operator, Op::Equal | Op::NotEqual);
        match (first, second) {
            (Value::Scalar(subject), Value::Scalar(Scalar::String(pattern)))
                if matches!(operator, Op::Match | Op::NotMatch) =>
            {
                let text = match subject {
                    Scalar::String(text) => text.to_string(),
                    Scalar::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    _ => return Ok(None),
                };
                let matches = self.regex(pattern, position)?.is_match(&text);
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

    fn arithmetic(
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
                return Ok(Value::Scalar(Scalar::String(format!("{one}{other}").into())));
            }
            (Binary::Add, Value::Scalar(Scalar::Bytes(one)), Value::Scalar(Scalar::Bytes(other))) => {
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

    fn number_arithmetic(
        &mut self,
        operator: Binary,
        one: &Number,
        other: &Number,
        position: Position,
    ) -> Result<Value, Error> {
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

    fn repeat(&mut self, text: &Scalar, count: &Number, position: Position) -> Result<Value, Error> {
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
        if length.saturating_mul(count) > MAXIMUM_TEXT {
            return Err(self.fatal(format!("text longer than {MAXIMUM_TEXT} bytes"), position));
        }
        Ok(Value::Scalar(match text {
            Scalar::Bytes(bytes) => Scalar::Bytes(bytes.repeat(count).into()),
            Scalar::String(text) => Scalar::String(text.repeat(count).into()),
            other => other.clone(),
        }))
    }

    fn list_arithmetic(
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
            (Binary::Add, Some(one), Some(other), ..) => [one, other].concat(),
            (Binary::Multiply, Some(list), None, _, Value::Scalar(Scalar::Number(count)))
            | (Binary::Multiply, None, Some(list), Value::Scalar(Scalar::Number(count)), _) => {
                let count = count
                    .to_i64()
                    .and_then(|count| usize::try_from(count).ok())
                    .unwrap_or(0);
                if list.len().saturating_mul(count) > MAXIMUM_TEXT {
                    return Some(Err(self.fatal("list is too long", position)));
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

/// The longest string that repetition may make.
pub(crate) const MAXIMUM_TEXT: usize = 16 * 1024 * 1024;
