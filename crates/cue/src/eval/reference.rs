//! Resolves and follows references.

use super::Machine;
use super::closed::{Closing, Link, Transplanted};
use super::error::{Code, Error, Reason};
use super::expression::Value;
use super::kind::Kind;
use super::node::{Conjunct, EnvId, Inner, NodeId, Scope, Source, State, Task, TaskKind, TaskState, Trail};
use super::scalar::Scalar;
use crate::program::ir::{Adds, Declaration, Expr, ExprKind, Position, Presence, VariableSlot};
use crate::program::symbols::Label;

/// Whether an expression names a node, rather than computing a value.
pub(super) fn is_reference(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Field { .. }
            | ExprKind::Let { .. }
            | ExprKind::Variable { .. }
            | ExprKind::FrameValue { .. }
            | ExprKind::Computed { .. }
            | ExprKind::Select { .. }
            | ExprKind::Index { .. }
    )
}

/// Whether it does so by names alone: nothing on the way to the node is computed.
pub(super) fn is_name(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Select { base, .. } | ExprKind::Index { base, .. } => is_name(base),
        _ => is_reference(expr),
    }
}

impl Conjunct<'_> {
    /// Whether it is only a reference.
    pub(super) fn is_reference(&self) -> bool {
        match self.source {
            Source::Node(_) => true,
            Source::Expr(expr) => {
                is_reference(expr) || matches!(expr.kind, ExprKind::And(_) | ExprKind::Or(_))
            }
            _ => false,
        }
    }
}

impl<'p> Machine<'p> {
    /// Shares the target of a node with a single reference; returns whether it did.
    pub(super) fn share(&mut self, id: NodeId) -> bool {
        let node = self.node(id);
        let [only] = node.conjuncts.as_slice() else {
            return false;
        };
        if !node.choices.is_empty() || only.frame.is_some() {
            return false;
        }
        let target = match &only.source {
            Source::Node(target) => *target,
            Source::Expr(expr) if is_reference(expr) => {
                let env = only.env;
                match self.resolve(env, expr) {
                    Ok(target) => target,
                    Err(_) => return false,
                }
            }
            _ => return false,
        };
        if self.node(id).conjuncts.len() != 1 || self.is_inside(id, target) {
            return false;
        }
        self.node_mut(id).forward = Some(target);
        true
    }

    /// Whether `inner` is `outer` or lies in it, by place or by what it forwards to.
    fn is_inside(&self, inner: NodeId, outer: NodeId) -> bool {
        let mut forwarded = outer;
        while let Some(next) = self.node(forwarded).forward {
            if next == inner {
                return true;
            }
            forwarded = next;
        }
        let mut current = Some(inner);
        while let Some(node) = current {
            if node == outer || node == forwarded {
                return true;
            }
            current = self.node(node).parent;
        }
        false
    }

    /// Brings the conjuncts of `target` into a node.
    pub(super) fn add_reference(&mut self, id: NodeId, target: NodeId, conjunct: &Conjunct<'p>) {
        let own = self.node(id).origin.unwrap_or(id);
        if target == id || target == own || Trail::turns(conjunct.trail.as_ref(), target, id) {
            return;
        }
        // Looking through a long trail is work, too.
        // What is used up is noticed when the conjuncts are added.
        let length = conjunct.trail.as_ref().map_or(0, |trail| trail.length);
        self.spend(u64::from(length / 8)).ok();
        let returns = Trail::contains(conjunct.trail.as_ref(), target) || self.is_below(id, target);
        if returns && !self.known(id).grounded {
            self.known_mut(id).returning.push((target, conjunct.clone()));
            return;
        }
        let parent_is_open = self
            .node(target)
            .parent
            .is_some_and(|parent| matches!(self.node(parent).state, State::Processing(_)));
        if parent_is_open {
            self.node_mut(target).subscribers.push((id, conjunct.clone()));
        }
        let mut reference = self.reference(id, target, conjunct);
        reference.cyclic = returns;
        let mut groups = Transplanted::from(target);
        for index in 0..self.node(target).conjuncts.len() {
            let theirs = self.node(target).conjuncts[index].clone();
            self.add_transplanted(id, &reference, theirs, &mut groups);
        }
    }

    /// The common properties of conjuncts added by a reference. Those of a definition are closed.
    fn reference(&mut self, id: NodeId, target: NodeId, conjunct: &Conjunct<'p>) -> Conjunct<'p> {
        let trail = Some(Trail::extend(conjunct.trail.as_ref(), target, id));
        let group = match self.definition_around(target) {
            Some(definition) if definition == target || !self.is_below(id, definition) => {
                self.new_group(conjunct.group, Link::Unified, Closing::Deep)
            }
            _ => conjunct.group,
        };
        Conjunct {
            trail,
            group,
            ..conjunct.clone()
        }
    }

    /// The innermost definition that a node is, or is part of.
    pub(super) fn definition_around(&self, node: NodeId) -> Option<NodeId> {
        let upwards = std::iter::successors(Some(node), |node| self.node(*node).parent);
        upwards
            .into_iter()
            .find(|node| self.node(*node).label.is_some_and(Label::is_definition))
    }

    /// Whether a node is strictly inside another.
    fn is_below(&self, inner: NodeId, outer: NodeId) -> bool {
        let mut upwards = std::iter::successors(self.node(inner).parent, |node| self.node(*node).parent);
        upwards.any(|node| node == outer || self.node(node).origin == Some(outer))
    }

    /// Whether a path of fields and elements leads from a node to another strictly inside it.
    fn is_field_below(&self, inner: NodeId, outer: NodeId) -> bool {
        let outer = self.node(outer).origin.unwrap_or(outer);
        let mut current = inner;
        while self.node(current).label.is_some()
            && let Some(parent) = self.node(current).parent
        {
            if self.node(parent).origin.unwrap_or(parent) == outer {
                return true;
            }
            current = parent;
        }
        false
    }

    /// Brings in one more conjunct of what a reference refers to.
    pub(super) fn add_referenced(
        &mut self,
        id: NodeId,
        target: NodeId,
        conjunct: &Conjunct<'p>,
        theirs: Conjunct<'p>,
    ) {
        let reference = self.reference(id, target, conjunct);
        let mut groups = Transplanted::from(target);
        self.add_transplanted(id, &reference, theirs, &mut groups);
    }

    fn add_transplanted(
        &mut self,
        id: NodeId,
        reference: &Conjunct<'p>,
        theirs: Conjunct<'p>,
        groups: &mut Transplanted,
    ) {
        let group = self.transplant(theirs.group, reference.group, groups);
        let trail = reference.trail.clone();
        let cyclic = reference.cyclic || theirs.cyclic;
        let comments = reference.comments.or(theirs.comments);
        let conjunct = Conjunct {
            group,
            trail,
            cyclic,
            comments,
            ..theirs
        };
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.add(id, conjunct));
    }

    /// Follows references to what the node is part of, if it is more than that.
    pub(super) fn follow_returning(&mut self, id: NodeId) {
        let returning = std::mem::take(&mut self.known_mut(id).returning);
        if returning.is_empty() {
            return;
        }
        if !self.known(id).grounded {
            let positions = returning
                .iter()
                .flat_map(|(_, conjunct)| self.positions(conjunct))
                .collect();
            let error = self.bottom(Code::Fatal, Reason::StructuralCycle, positions);
            self.fail(id, error);
            return;
        }
        for (target, conjunct) in returning {
            self.add_reference(id, target, &conjunct);
        }
        self.follow_returning(id);
    }

    /// Records a reference to a value deep inside the node, whose conjuncts may grow with the node.
    pub(super) fn record_inner(&mut self, id: NodeId, target: NodeId, conjunct: &Conjunct<'p>) {
        let is_child = self.node(target).parent == Some(id);
        if is_child || !self.is_field_below(target, id) {
            return;
        }
        let conjuncts = self.node(target).conjuncts.iter();
        let sources = conjuncts.map(|theirs| theirs.source.clone()).collect();
        self.known_mut(id).inner.push(Inner {
            conjunct: conjunct.clone(),
            sources,
        });
    }

    /// Brings in what has been added to something deep inside the node since a reference took it. Whether there was any.
    pub(super) fn follow_inner(&mut self, id: NodeId) -> bool {
        let mut grown = false;
        for index in 0..self.known(id).inner.len() {
            let conjunct = self.known(id).inner[index].conjunct.clone();
            let Source::Expr(expr) = conjunct.source else {
                continue;
            };
            if self.failed(id) {
                return false;
            }
            let Ok(target) = self.resolve(conjunct.env, expr) else {
                continue;
            };
            for theirs in self.node(target).conjuncts.clone() {
                // What is said again, in another environment, has been heard: there is an end to what a program says.
                let heard = &mut self.known_mut(id).inner[index].sources;
                if heard.iter().any(|source| source.is_same(&theirs.source)) {
                    continue;
                }
                heard.push(theirs.source.clone());
                grown = true;
                self.add_referenced(id, target, &conjunct, theirs);
            }
        }
        grown && !self.failed(id)
    }

    fn positions(&self, conjunct: &Conjunct<'p>) -> Vec<Position> {
        match conjunct.source {
            Source::Expr(expr) => vec![expr.position],
            _ => Vec::new(),
        }
    }

    /// The node that a reference names.
    pub(super) fn resolve(&mut self, env: EnvId, expr: &'p Expr) -> Result<NodeId, Error> {
        match &expr.kind {
            ExprKind::Field { up, label } => {
                let env = self.env_up(env, *up);
                let Scope::Struct { node, .. } = self.env(env).scope else {
                    return Err(self.fatal("name does not stand for a field", expr.position));
                };
                self.field(node, *label, expr.position)
            }
            ExprKind::Let { up, index, .. } => {
                let env = self.env_up(env, *up);
                Ok(self.let_node(env, *index as usize))
            }
            ExprKind::Variable { up, slot, .. } => {
                let env = self.env_up(env, *up);
                match (&self.env(env).scope, slot) {
                    (Scope::Clause { value, .. }, VariableSlot::Value) => Ok(*value),
                    (Scope::Clause { key: Some(key), .. }, VariableSlot::Key) => Ok(*key),
                    _ => Err(self.fatal("name does not stand for a variable", expr.position)),
                }
            }
            ExprKind::FrameValue { up } => {
                let env = self.env_up(env, *up);
                match self.env(env).scope {
                    Scope::Frame { node, .. } => Ok(node),
                    _ => Err(self.fatal("name does not stand for a value", expr.position)),
                }
            }
            ExprKind::Select { base, label } => {
                let base = self.base_node(env, base)?;
                self.lookup(base, *label, expr.position)
            }
            ExprKind::Computed { up, declaration } => {
                let env = self.env_up(env, *up);
                let Scope::Struct {
                    node,
                    literal: Some(literal),
                    ..
                } = self.env(env).scope
                else {
                    return Err(self.fatal("name does not stand for a field", expr.position));
                };
                let Some(Declaration::Dynamic(dynamic)) = literal.declarations.get(*declaration as usize)
                else {
                    return Err(self.fatal("name does not stand for a field", expr.position));
                };
                match self.operand(env, &dynamic.label)? {
                    Value::Scalar(Scalar::String(name)) => {
                        let label = Label::Regular(self.symbols.intern(&name));
                        self.field(node, label, expr.position)
                    }
                    _ => Err(self.fatal("a label must be a string", dynamic.label.position)),
                }
            }
            ExprKind::Index { base, index } => self.index(env, base, index),
            _ => self.value_node(env, expr),
        }
    }

    /// The base of a selector. A computed value must be free of errors as a whole.
    fn base_node(&mut self, env: EnvId, base: &'p Expr) -> Result<NodeId, Error> {
        let node = self.value_node(env, base)?;
        if !is_reference(base)
            && let Some(error) = self.check(node)
        {
            return Err(error);
        }
        Ok(node)
    }

    fn let_node(&mut self, env: EnvId, index: usize) -> NodeId {
        let Scope::Struct { node, literal, lets } = &self.env(env).scope else {
            unreachable!("a let stands in a struct");
        };
        if let Some(known) = lets[index] {
            return known;
        }
        let (parent, literal) = (*node, literal.expect("a let stands in a literal"));
        let node = self.new_node(Some(parent), None);
        let conjunct = Self::conjunct(env, &literal.lets[index].value);
        self.node_mut(node).conjuncts.push(conjunct);
        if let Scope::Struct { lets, .. } = &mut self.envs[env.0 as usize].scope {
            lets[index] = Some(node);
        }
        node
    }

    /// A field by its name in an enclosing scope.
    fn field(&mut self, node: NodeId, label: Label, position: Position) -> Result<NodeId, Error> {
        match self.node(node).state {
            State::Processing(_) => {
                self.deny_own_presence(node, label, position)?;
                self.run_tasks_adding(node, label);
            }
            _ => self.expand(node),
        }
        let node = match self.node(node).forward {
            Some(_) => self.expanded(node),
            None => node,
        };
        match self.arc_of(node, label) {
            Some((arc, Presence::Member | Presence::Required)) => Ok(self.being_chosen(arc)),
            Some((_, Presence::Optional)) => {
                Err(self.bottom(Code::Incomplete, Reason::OptionalField(label), vec![position]))
            }
            _ => Err(self.bottom(Code::Incomplete, Reason::UndefinedField(label), vec![position])),
        }
    }

    /// For the alternative that is being evaluated, its own name means itself.
    fn being_chosen(&self, node: NodeId) -> NodeId {
        let asking = self.stack.last().copied();
        asking
            .filter(|asking| self.node(*asking).origin == Some(node))
            .unwrap_or(node)
    }

    /// A comprehension must not ask for the field that it may add.
    fn deny_own_presence(&self, node: NodeId, label: Label, position: Position) -> Result<(), Error> {
        if matches!(self.arc_of(node, label), Some((_, Presence::Member))) {
            return Ok(());
        }
        let asks = |task: &Task<'p>| match (&task.kind, &task.state) {
            (TaskKind::Comprehension(comprehension), TaskState::Running) => {
                matches!(&comprehension.adds, Adds::Only(labels) if labels.contains(&label))
            }
            _ => false,
        };
        if self.known(node).tasks.iter().any(asks) {
            return Err(self.bottom(Code::Fatal, Reason::OwnPresence(label), vec![position]));
        }
        Ok(())
    }

    pub(super) fn arc_of(&self, node: NodeId, label: Label) -> Option<(NodeId, Presence)> {
        let known = self.known(node);
        known
            .find_arc(label)
            .map(|at| (known.arcs[at].node, known.arcs[at].presence))
    }

    fn index(&mut self, env: EnvId, base: &'p Expr, index: &'p Expr) -> Result<NodeId, Error> {
        let base_node = self.value_node(env, base)?;
        match self.operand(env, index)? {
            Value::Scalar(Scalar::String(name)) => {
                let label = Label::Regular(self.symbols.intern(&name));
                self.lookup(base_node, label, index.position)
            }
            Value::Scalar(Scalar::Number(number)) if number.is_integer() => match number.to_i64() {
                Some(at) if at >= 0 => {
                    let at = u32::try_from(at).unwrap_or(u32::MAX);
                    self.lookup(base_node, Label::Index(at), index.position)
                }
                _ => Err(self.fatal(
                    format!("invalid index {number} (index must be non-negative)"),
                    index.position,
                )),
            },
            other => {
                let kind = self.kind_of(&other);
                let shown = self.show_value(&other);
                Err(self.fatal(
                    format!("invalid index {shown} (invalid type {kind})"),
                    index.position,
                ))
            }
        }
    }

    /// The field or element of a value.
    pub(super) fn lookup(&mut self, base: NodeId, label: Label, position: Position) -> Result<NodeId, Error> {
        let node = self.settled(base);
        if let State::Processing(height) = self.node(node).state {
            self.lowest_touched = self.lowest_touched.min(height);
            self.deny_own_presence(node, label, position)?;
            self.run_tasks_adding(node, label);
        }
        let known = self.known(node);
        if let Some(error) = known.error.as_ref().filter(|error| error.is_fatal()) {
            return Err(error.clone());
        }
        if !known.alternatives.is_empty() {
            let shown = self.show(node);
            return Err(self.incomplete(format!("unresolved disjunction {shown}"), position));
        }
        match self.arc_of(node, label) {
            Some((arc, Presence::Member | Presence::Required)) => return Ok(arc),
            Some((_, Presence::Optional)) => {
                return Err(self.bottom(Code::Incomplete, Reason::OptionalField(label), vec![position]));
            }
            _ => {}
        }
        let known = self.known(node);
        if let Some(error) = &known.error {
            return Err(error.clone());
        }
        if matches!(self.node(node).state, State::Processing(_)) {
            return Err(self.bottom(Code::Cycle, Reason::UndefinedField(label), vec![position]));
        }
        let wanted = if matches!(label, Label::Index(_)) {
            Kind::LIST
        } else {
            Kind::STRUCT
        };
        if known.is_struct && wanted == Kind::STRUCT {
            let code = if self.is_closed(node) {
                Code::Fatal
            } else {
                Code::Incomplete
            };
            return Err(self.bottom(code, Reason::UndefinedField(label), vec![position]));
        }
        if let (Some(list), Label::Index(index)) = (&known.list, label) {
            let code = if list.length.is_some() {
                Code::Fatal
            } else {
                Code::Incomplete
            };
            let message = format!("index out of range [{index}] with length {}", known.arcs.len());
            return Err(self.bottom(code, Reason::Text(message), vec![position]));
        }
        if known.atom.scalar.is_none() && known.atom.kind.intersects(wanted) {
            return Err(self.bottom(Code::Incomplete, Reason::UndefinedField(label), vec![position]));
        }
        let shown = self.show(node);
        let kind = known.atom.kind;
        let wants = if wanted == Kind::LIST {
            "list"
        } else {
            "list or struct"
        };
        Err(self.fatal(
            format!("invalid operand {shown} (found {kind}, want {wants})"),
            position,
        ))
    }
}
