//! Evaluates expressions: operators, interpolation, indexing, calls.

use super::Machine;
use super::budget::CONJUNCT;
use super::closed::GroupId;
use super::error::{Code, Error, Reason};
use super::kind::Kind;
use super::node::{Conjunct, EnvId, List, NodeId, Scope, Source, State};
use super::reference::is_reference;
use super::scalar::Scalar;
use super::unify::literal_scalar;
use crate::eval::builtin::{Builtin, Run};
use crate::program::ir::{Expr, ExprKind, Part, Position, SliceExpr};
use crate::program::symbols::Label;

/// The result of an expression.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Scalar(Scalar),
    /// A struct, a list, or something not concrete.
    Node(NodeId),
}

impl Value {
    pub(super) fn bool(value: bool) -> Self {
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
            self.record_inner(id, target, conjunct);
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
                self.with_atom(id, |atom| atom.add_bound(bound));
                Ok(())
            }
            ExprKind::Builtin(builtin) => self.add_builtin(id, builtin, expr.position),
            ExprKind::Call(call) => {
                if let ExprKind::Builtin(builtin) = call.function.kind {
                    return self.add_call(id, builtin, &call.arguments, expr.position, conjunct);
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

    pub(super) fn add_result(
        &mut self,
        id: NodeId,
        value: Value,
        position: Position,
        conjunct: &Conjunct<'p>,
    ) {
        match value {
            Value::Scalar(scalar) => self.with_atom(id, |atom| atom.add_scalar(&scalar, position)),
            Value::Node(node) => self.add_reference(id, node, conjunct),
        }
    }

    /// The elements of a list.
    pub(crate) fn elements(&self, value: &Value) -> Option<Vec<NodeId>> {
        let Value::Node(node) = value else { return None };
        let known = self.known(*node);
        known.list.as_ref()?;
        self.meter.charge(known.arcs.len() * size_of::<NodeId>());
        let elements = known
            .arcs
            .iter()
            .filter(|arc| matches!(arc.label, Label::Index(_)));
        Some(elements.map(|arc| arc.node).collect())
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
            ExprKind::Slice(slice) => self.slice(env, slice),
            ExprKind::Interpolation(text) => self.interpolate(env, text.bytes, &text.parts),
            ExprKind::Unary { operator, operand } => self.unary(env, *operator, operand),
            ExprKind::Binary(binary) => self.binary(env, binary, expr.position),
            ExprKind::Call(call) => match &call.function.kind {
                ExprKind::Builtin(builtin) => match builtin.run {
                    Run::Close | Run::And => Ok(Value::Node(self.temporary(Self::conjunct(env, expr)))),
                    Run::Function {
                        arity,
                        validates: true,
                        ..
                    } if call.arguments.len() + 1 == usize::from(arity.1)
                        && call.arguments.len() < usize::from(arity.0) =>
                    {
                        Ok(Value::Node(self.temporary(Self::conjunct(env, expr))))
                    }
                    _ => self.call(env, builtin, &call.arguments, expr.position),
                },
                _ => {
                    let value = self.evaluate(env, &call.function)?;
                    let (shown, kind) = (self.show_expr(&call.function), self.kind_of(&value));
                    Err(self.fatal(
                        format!("cannot call non-function {shown} (type {kind})"),
                        call.function.position,
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
        let value = self.evaluate(env, expr)?;
        self.as_operand(expr, value)
    }

    /// The concrete operand of an evaluated expression, or an error.
    pub(super) fn as_operand(&mut self, expr: &'p Expr, value: Value) -> Result<Value, Error> {
        if let ExprKind::Kind(kind) = &expr.kind {
            return Err(self.fatal(
                format!("invalid operand {kind} (a concrete value is required)"),
                expr.position,
            ));
        }
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
        let fixed = |list: &List| list.length.is_some();
        let decided = !self.options.whatever_is_given || known.list.as_ref().is_some_and(fixed);
        if decided && (known.is_struct || known.list.is_some() || !known.structs.is_empty()) {
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

    fn slice(&mut self, env: EnvId, slice: &'p SliceExpr) -> Result<Value, Error> {
        let SliceExpr { base, low, high } = slice;
        let (low, high) = (low.as_ref(), high.as_ref());
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
                self.claim(high - low)?;
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
        self.meter
            .charge(elements.len() * (size_of::<NodeId>() + CONJUNCT));
        let elements = if self.is_exhausted() { &[] } else { elements };
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
            let expr = match part {
                Part::Text(literal) => {
                    text.extend_from_slice(literal);
                    continue;
                }
                Part::Expr(expr) => expr,
            };
            let (plain, lossy);
            let piece: &[u8] = match self.operand(env, expr)? {
                Value::Scalar(Scalar::String(string)) => {
                    plain = string;
                    plain.as_bytes()
                }
                Value::Scalar(Scalar::Bytes(raw)) if bytes => {
                    lossy = raw.to_vec();
                    &lossy
                }
                Value::Scalar(Scalar::Bytes(raw)) => {
                    lossy = String::from_utf8_lossy(&raw).into_owned().into_bytes();
                    &lossy
                }
                Value::Scalar(Scalar::Number(number)) => {
                    self.spend(number.weight())?;
                    lossy = number.to_string().into_bytes();
                    &lossy
                }
                Value::Scalar(Scalar::Bool(value)) => match value {
                    true => b"true",
                    false => b"false",
                },
                other => {
                    let (shown, kind) = (self.show_value(&other), self.kind_of(&other));
                    let message = format!(
                        "invalid interpolation: cannot use {shown} (type {kind}) as type (bool|string|bytes|number)"
                    );
                    return Err(self.fatal(message, expr.position));
                }
            };
            self.text(text.len() + piece.len(), expr.position)?;
            text.extend_from_slice(piece);
        }
        Ok(Value::Scalar(if bytes {
            Scalar::Bytes(text.into())
        } else {
            Scalar::String(String::from_utf8_lossy(&text).as_ref().into())
        }))
    }
}
