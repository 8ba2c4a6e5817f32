//! Unification: a node's conjuncts become what is known of it.

use super::Machine;
use super::atom::{Atom, Bound, Conflict};
use super::closed::{Closing, Link};
use super::error::{Code, Error, Reason};
use super::kind::Kind;
use super::node::{
    Arc_, Conjunct, Declares, EnvId, List, NodeId, Pattern, Scope, Source, State, StructInfo, Task, TaskKind,
    TaskState,
};
use super::scalar::Scalar;
use crate::program::ir::{Adds, Declaration, Expr, ExprKind, FieldExpr, Position, Presence, StructExpr};
use crate::program::symbols::Label;
use std::rc::Rc;

impl<'p> Machine<'p> {
    /// Evaluates a node to its own level; called by [`Machine::expand`] only.
    pub(super) fn unify(&mut self, id: NodeId) {
        if self.share(id) {
            return;
        }
        for index in 0..self.node(id).conjuncts.len() {
            let conjunct = self.node(id).conjuncts[index].clone();
            self.add(id, conjunct);
        }
        loop {
            self.run_tasks(id);
            self.follow_returning(id);
            let chosen = self.known(id).chosen;
            if self.failed(id) || chosen >= self.known(id).disjunctions.len() {
                break;
            }
            if chosen == self.node(id).choices.len() {
                if chosen > 0 && self.fails_already(id) {
                    return;
                }
                self.fork(id);
                return;
            }
            self.known_mut(id).chosen += 1;
            self.choose(id, chosen);
        }
        self.run_tasks_for_the_last_time(id);
        self.finish(id);
    }

    /// Whether the fields that are there rule an alternative out, whatever is chosen next.
    fn fails_already(&mut self, id: NodeId) -> bool {
        for index in 0..self.known(id).arcs.len() {
            let arc = self.known(id).arcs[index];
            if arc.presence == Presence::Member
                && let Some(error) = self.check(arc.node)
            {
                self.fail(id, error);
                return true;
            }
        }
        false
    }

    pub(super) fn failed(&self, id: NodeId) -> bool {
        self.known(id)
            .error
            .as_ref()
            .is_some_and(|error| error.is_fatal())
    }

    /// Records the first error of a node; a fatal one wins over an incomplete one.
    pub(super) fn fail(&mut self, id: NodeId, error: Error) {
        let slot = &mut self.known_mut(id).error;
        match slot {
            Some(known) if known.is_fatal() || !error.is_fatal() => {}
            _ => *slot = Some(error),
        }
    }

    fn conflict(&mut self, id: NodeId, conflict: Conflict) {
        let error = self.bottom(Code::Fatal, Reason::Text(conflict.message), conflict.positions);
        self.fail(id, error);
    }

    fn with_atom(&mut self, id: NodeId, add: impl FnOnce(&mut Atom) -> Result<(), Conflict>) {
        if let Err(conflict) = add(&mut self.known_mut(id).atom) {
            self.conflict(id, conflict);
        }
    }

    /// Unifies one more conjunct into a node that is being evaluated.
    pub(super) fn add(&mut self, id: NodeId, conjunct: Conjunct<'p>) {
        if let Err(error) = self.step() {
            self.fail(id, error);
            return;
        }
        // Aliases stand for the node that is being evaluated, and for the label that was declared.
        let conjunct = match conjunct.frame {
            Some(declared) => {
                let env = self.new_env(Some(conjunct.env), Scope::Frame { node: id, declared });
                Conjunct {
                    env,
                    frame: None,
                    ..conjunct
                }
            }
            None => conjunct,
        };
        if !conjunct.cyclic && !self.known(id).grounded && !conjunct.is_reference() {
            self.known_mut(id).grounded = true;
        }
        match conjunct.source.clone() {
            Source::Expr(expr) => self.add_expr(id, expr, conjunct),
            Source::Node(target) => self.add_reference(id, target, &conjunct),
            Source::Scalar(scalar) => {
                self.with_atom(id, |atom| atom.add_scalar(&scalar, Position::default()));
            }
            Source::List(elements) => {
                let sources = elements.iter().map(|&element| Source::Node(element));
                let conjuncts = sources
                    .map(|source| Conjunct {
                        source,
                        ..conjunct.clone()
                    })
                    .collect();
                self.add_list(id, conjuncts, None);
            }
            Source::AnyOf(_) => self.add_disjunction(id, conjunct),
            Source::Fields(fields) => {
                self.known_mut(id).is_struct = true;
                self.known_mut(id).structs.push(StructInfo {
                    group: conjunct.group,
                    open: false,
                    declares: Declares::Data(Rc::clone(&fields)),
                });
                for &(label, node) in fields.iter() {
                    let conjunct = Conjunct {
                        source: Source::Node(node),
                        ..conjunct.clone()
                    };
                    self.add_field(id, label, Presence::Member, conjunct, Position::default());
                }
            }
        }
    }

    fn add_expr(&mut self, id: NodeId, expr: &'p Expr, conjunct: Conjunct<'p>) {
        match &expr.kind {
            ExprKind::Bottom => {
                let error = self.bottom(Code::Fatal, Reason::Explicit, vec![expr.position]);
                self.fail(id, error);
            }
            ExprKind::Kind(kind) => self.with_atom(id, |atom| atom.add_kind(*kind, expr.position)),
            ExprKind::Struct(literal) => self.add_struct(id, literal, &conjunct),
            ExprKind::List(list) => self.add_task(id, TaskKind::List(list), conjunct),
            ExprKind::And(conjuncts) => {
                for expr in conjuncts {
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Expr(expr),
                            ..conjunct.clone()
                        },
                    );
                }
            }
            ExprKind::Or(_) => self.add_disjunction(id, conjunct),
            ExprKind::Bound { operator, operand } => match literal_scalar(operand) {
                Some(value) => match self.bound(*operator, value, expr.position) {
                    Ok(bound) => self.with_atom(id, |atom| atom.add_bound(bound)),
                    Err(error) => self.fail(id, error),
                },
                None => self.add_task(id, TaskKind::Value, conjunct),
            },
            _ => match literal_scalar(expr) {
                Some(scalar) => self.with_atom(id, |atom| atom.add_scalar(&scalar, expr.position)),
                None => self.add_task(id, TaskKind::Value, conjunct),
            },
        }
    }

    /// Tries to do a piece of work at once, and keeps it when it has to wait.
    fn add_task(&mut self, id: NodeId, kind: TaskKind<'p>, conjunct: Conjunct<'p>) {
        let index = self.known(id).tasks.len();
        self.known_mut(id).tasks.push(Task {
            kind,
            conjunct,
            state: TaskState::Waiting(None),
        });
        // Comprehensions wait until the plain fields around them are there.
        if is_early(kind, &self.known(id).tasks[index].conjunct) {
            self.run_task(id, index);
        }
    }

    fn add_struct(&mut self, id: NodeId, literal: &'p StructExpr, conjunct: &Conjunct<'p>) {
        let lets = vec![None; literal.lets.len()];
        let scope = Scope::Struct {
            node: id,
            literal: Some(literal),
            lets,
        };
        let env = self.new_env(Some(conjunct.env), scope);
        self.add_declarations(id, literal, env, conjunct);
    }

    fn add_declarations(&mut self, id: NodeId, literal: &'p StructExpr, env: EnvId, conjunct: &Conjunct<'p>) {
        let group = if literal.embeds {
            self.new_group(conjunct.group, Link::Unified, Closing::Open)
        } else {
            conjunct.group
        };
        let known = self.known_mut(id);
        known.structs.push(StructInfo {
            group,
            open: literal.open,
            declares: Declares::Literal(literal),
        });
        let only_plain = !literal.declarations.iter().any(|declaration| {
            matches!(
                declaration,
                Declaration::Embedding(_) | Declaration::Comprehension(_)
            )
        });
        known.is_struct |= only_plain;
        let inner = Conjunct {
            env,
            group,
            comments: None,
            ..conjunct.clone()
        };
        for declaration in &literal.declarations {
            match declaration {
                Declaration::Field(field) => {
                    let conjunct = Conjunct {
                        source: Source::Expr(&field.value),
                        comments: Some(&field.comments),
                        ..inner.clone()
                    };
                    self.add_framed_field(id, field.label, field, conjunct);
                }
                Declaration::Dynamic { label, field } => {
                    self.known_mut(id).is_struct = true;
                    self.add_task(id, TaskKind::Dynamic { label, field }, inner.clone());
                }
                Declaration::Pattern { pattern, value } => {
                    self.known_mut(id).is_struct = true;
                    self.add_pattern(id, pattern, value, &inner);
                }
                Declaration::Embedding(value) => {
                    let group = self.new_group(group, Link::Embedded, Closing::Open);
                    self.add(
                        id,
                        Conjunct {
                            source: Source::Expr(value),
                            group,
                            ..inner.clone()
                        },
                    );
                }
                Declaration::Comprehension(comprehension) => {
                    if let Adds::Only(labels) = &comprehension.adds {
                        for &label in labels {
                            self.arc(id, label, Presence::Pending, comprehension.position);
                        }
                    }
                    self.add_task(id, TaskKind::Comprehension(comprehension), inner.clone());
                }
            }
        }
    }

    /// Unifies what a comprehension yields: its body is part of the literal around it.
    pub(super) fn add_yield(&mut self, id: NodeId, body: &'p Expr, env: EnvId, conjunct: &Conjunct<'p>) {
        let mut yielded = Conjunct {
            env,
            source: Source::Expr(body),
            ..conjunct.clone()
        };
        match &body.kind {
            ExprKind::Struct(literal) => {
                if literal.embeds {
                    yielded.group = self.new_group(conjunct.group, Link::Embedded, Closing::Open);
                }
                self.add_struct(id, literal, &yielded);
            }
            _ => self.add(id, yielded),
        }
    }

    /// Adds a field whose value may see a scope level of its own.
    pub(super) fn add_framed_field(
        &mut self,
        id: NodeId,
        label: Label,
        field: &'p FieldExpr,
        mut conjunct: Conjunct<'p>,
    ) {
        if field.frame {
            let node = self.arc(id, label, field.presence, field.position);
            conjunct.frame = Some(node);
        }
        self.add_field(id, label, field.presence, conjunct, field.position);
    }

    pub(super) fn add_field(
        &mut self,
        id: NodeId,
        label: Label,
        presence: Presence,
        conjunct: Conjunct<'p>,
        position: Position,
    ) {
        if label.is_regular() {
            self.known_mut(id).is_struct = true;
        }
        let node = self.arc(id, label, presence, position);
        self.add_late(node, conjunct);
    }

    /// Gives a conjunct to a node that may have been evaluated without it.
    fn add_late(&mut self, node: NodeId, conjunct: Conjunct<'p>) {
        self.node_mut(node).conjuncts.push(conjunct.clone());
        match self.node(node).state {
            State::Fresh => {}
            State::Processing(_) => self.add(node, conjunct.clone()),
            State::Done | State::Provisional => self.reset(node),
        }
        for index in 0..self.node(node).subscribers.len() {
            let (subscriber, reference) = self.node(node).subscribers[index].clone();
            match self.node(subscriber).state {
                State::Processing(_) => self.add_referenced(subscriber, node, &reference, conjunct.clone()),
                State::Done | State::Provisional => self.reset(subscriber),
                State::Fresh => {}
            }
        }
    }

    /// The node of a field, made if need be.
    fn arc(&mut self, id: NodeId, label: Label, presence: Presence, position: Position) -> NodeId {
        if let Some(arc) = self.known_mut(id).arcs.iter_mut().find(|arc| arc.label == label) {
            if presence < arc.presence {
                arc.presence = presence;
                arc.position = position;
            }
            return arc.node;
        }
        let node = self.new_node(Some(id), Some(label));
        self.known_mut(id).arcs.push(Arc_ {
            label,
            node,
            presence,
            position,
        });
        for index in 0..self.known(id).patterns.len() {
            let pattern = self.known(id).patterns[index].clone();
            self.apply_pattern(&pattern, label, node);
        }
        node
    }

    fn add_pattern(&mut self, id: NodeId, pattern: &'p Expr, value: &'p FieldExpr, conjunct: &Conjunct<'p>) {
        let node = self.temporary(Self::conjunct(conjunct.env, pattern));
        let (env, group, trail) = (conjunct.env, conjunct.group, conjunct.trail.clone());
        let cyclic = conjunct.cyclic;
        let pattern = Pattern {
            env,
            pattern,
            value,
            group,
            trail,
            cyclic,
            node,
        };
        self.known_mut(id).patterns.push(pattern.clone());
        for index in 0..self.known(id).arcs.len() {
            let arc = self.known(id).arcs[index];
            self.apply_pattern(&pattern, arc.label, arc.node);
        }
    }

    fn apply_pattern(&mut self, pattern: &Pattern<'p>, label: Label, node: NodeId) {
        if !self.pattern_matches(pattern, label) {
            return;
        }
        let conjunct = Conjunct {
            env: pattern.env,
            source: Source::Expr(&pattern.value.value),
            group: pattern.group,
            trail: pattern.trail.clone(),
            cyclic: pattern.cyclic,
            frame: pattern.value.frame.then_some(node),
            comments: Some(&pattern.value.comments),
        };
        self.add_late(node, conjunct);
    }

    /// Whether a field's name satisfies a pattern.
    pub(super) fn pattern_matches(&mut self, pattern: &Pattern<'p>, label: Label) -> bool {
        let Label::Regular(symbol) = label else {
            return false;
        };
        match &pattern.pattern.kind {
            ExprKind::Kind(kind) => kind.contains(Kind::STRING),
            _ => {
                let name = Scalar::String(self.symbols.name(symbol).clone());
                self.admits(pattern.node, &name)
            }
        }
    }

    /// Whether a scalar unifies with what is known of a node.
    fn admits(&mut self, node: NodeId, scalar: &Scalar) -> bool {
        let node = self.expanded(node);
        let known = self.known(node);
        if known.error.is_some() {
            return false;
        }
        if !known.alternatives.is_empty() {
            let alternatives = known.alternatives.clone();
            return alternatives
                .into_iter()
                .any(|alternative| self.admits(alternative, scalar));
        }
        let mut atom = known.atom.clone();
        if known.is_struct || known.list.is_some() || atom.add_scalar(scalar, Position::default()).is_err() {
            return false;
        }
        let validators = atom.validators.clone();
        validators
            .iter()
            .all(|validator| self.validate_scalar(validator, scalar).is_ok())
    }

    /// Unifies a list of known elements, and what further elements must satisfy.
    pub(super) fn add_list(&mut self, id: NodeId, elements: Vec<Conjunct<'p>>, rest: Option<Conjunct<'p>>) {
        let count = elements.len();
        let list = self.known_mut(id).list.get_or_insert_with(List::default);
        if rest.is_none() {
            match list.length {
                Some(length) if length != count => {
                    let message = format!(
                        "incompatible list lengths ({} and {})",
                        length.min(count),
                        length.max(count)
                    );
                    let error = self.fatal(message, Position::default());
                    return self.fail(id, error);
                }
                _ => list.length = Some(count),
            }
        }
        for (index, conjunct) in elements.into_iter().enumerate() {
            let node = self.element(id, index);
            self.add_late(node, conjunct);
        }
        if let Some(rest) = rest {
            for index in 0..self.known(id).arcs.len() {
                let arc = self.known(id).arcs[index];
                if matches!(arc.label, Label::Index(at) if at as usize >= count) {
                    self.add_late(arc.node, rest.clone());
                }
            }
            if let Some(list) = &mut self.known_mut(id).list {
                list.rests.push((count, rest));
            }
        }
        let elements = self
            .known(id)
            .arcs
            .iter()
            .filter(|arc| matches!(arc.label, Label::Index(_)))
            .count();
        let length = self.known(id).list.as_ref().and_then(|list| list.length);
        if let Some(length) = length.filter(|&length| elements > length) {
            let message = format!("incompatible list lengths ({length} and {elements})");
            let error = self.fatal(message, Position::default());
            self.fail(id, error);
        }
    }

    /// The node of a list's element. Elements are the first arcs of a list, in order.
    fn element(&mut self, id: NodeId, index: usize) -> NodeId {
        let label = Label::Index(u32::try_from(index).expect("the step budget bounds lists"));
        if let Some(arc) = self.known(id).arcs.iter().find(|arc| arc.label == label) {
            return arc.node;
        }
        let node = self.new_node(Some(id), Some(label));
        let arc = Arc_ {
            label,
            node,
            presence: Presence::Member,
            position: Position::default(),
        };
        self.known_mut(id).arcs.push(arc);
        let rests: Vec<_> = match &self.known(id).list {
            Some(list) => list
                .rests
                .iter()
                .filter(|(from, _)| index >= *from)
                .map(|(_, rest)| rest.clone())
                .collect(),
            None => Vec::new(),
        };
        for rest in rests {
            self.add_late(node, rest);
        }
        node
    }

    /// Runs waiting tasks until none makes progress.
    fn run_tasks(&mut self, id: NodeId) {
        loop {
            let mut progress = false;
            let mut index = 0;
            while index < self.known(id).tasks.len() {
                if self.failed(id) {
                    return;
                }
                if matches!(self.known(id).tasks[index].state, TaskState::Waiting(_)) {
                    progress |= self.run_task(id, index);
                }
                index += 1;
            }
            if !progress {
                return;
            }
        }
    }

    /// What still waits gets one more try, in which what is missing counts as missing.
    fn run_tasks_for_the_last_time(&mut self, id: NodeId) {
        let waits = |task: &Task<'_>| matches!(task.state, TaskState::Waiting(_));
        if self.failed(id) || !self.known(id).tasks.iter().any(waits) {
            return;
        }
        let before = std::mem::replace(&mut self.last_try, true);
        self.run_tasks(id);
        self.last_try = before;
        let left = self.known(id).tasks.iter().find_map(|task| match &task.state {
            TaskState::Waiting(error) => error.clone(),
            _ => None,
        });
        match left {
            // A value that is known already stands, and is checked again when what it depends on is known too.
            Some(error) if error.code == Code::Cycle && self.known(id).atom.scalar.is_some() => {}
            Some(error) => self.fail(id, error),
            None => {}
        }
    }

    /// Tries one task. Whether it got done.
    pub(super) fn run_task(&mut self, id: NodeId, index: usize) -> bool {
        let task = &mut self.known_mut(id).tasks[index];
        let (kind, conjunct) = (task.kind, task.conjunct.clone());
        task.state = TaskState::Running;
        let result = match kind {
            TaskKind::Value => self.add_value(id, &conjunct),
            TaskKind::List(list) => self.list_elements(list, &conjunct).map(|(elements, rest)| {
                self.with_atom(id, |atom| atom.add_kind(Kind::LIST, Position::default()));
                self.add_list(id, elements, rest);
            }),
            TaskKind::Dynamic { label, field } => self.add_dynamic(id, label, field, &conjunct),
            TaskKind::Comprehension(comprehension) => {
                self.yields(comprehension, conjunct.env).map(|environments| {
                    self.known_mut(id).tasks[index].state = TaskState::Done;
                    for env in environments {
                        self.add_yield(id, &comprehension.body, env, &conjunct);
                    }
                })
            }
        };
        let (state, done) = match result {
            Ok(()) => (TaskState::Done, true),
            Err(error) if error.is_fatal() => {
                self.fail(id, error);
                (TaskState::Done, true)
            }
            Err(error) => (TaskState::Waiting(Some(error)), false),
        };
        self.known_mut(id).tasks[index].state = state;
        done
    }

    fn add_dynamic(
        &mut self,
        id: NodeId,
        label: &'p Expr,
        field: &'p FieldExpr,
        conjunct: &Conjunct<'p>,
    ) -> Result<(), Error> {
        let name = match self.operand(conjunct.env, label)? {
            super::expression::Value::Scalar(Scalar::String(name)) => name,
            other => {
                let kind = self.kind_of(&other);
                return Err(self.fatal(format!("invalid index (invalid type {kind})"), label.position));
            }
        };
        let label = Label::Regular(self.symbols.intern(&name));
        let conjunct = Conjunct {
            source: Source::Expr(&field.value),
            comments: Some(&field.comments),
            ..conjunct.clone()
        };
        self.add_framed_field(id, label, field, conjunct);
        Ok(())
    }

    /// Runs the waiting tasks that may add this field, because somebody asks for it.
    pub(super) fn run_tasks_adding(&mut self, id: NodeId, label: Label) {
        let found = self
            .known(id)
            .arcs
            .iter()
            .any(|arc| arc.label == label && arc.presence == Presence::Member);
        let mut index = 0;
        while index < self.known(id).tasks.len() {
            let task = &self.known(id).tasks[index];
            let wanted = match &task.kind {
                TaskKind::Comprehension(comprehension) => match &comprehension.adds {
                    Adds::Only(labels) => labels.contains(&label),
                    Adds::Anything => !found,
                },
                TaskKind::Value | TaskKind::Dynamic { .. } => !found,
                TaskKind::List(_) => matches!(label, Label::Index(_)),
            };
            if wanted && matches!(task.state, TaskState::Waiting(_)) {
                self.run_task(id, index);
            }
            index += 1;
        }
    }

    /// Checks what can only be checked when everything is there.
    fn finish(&mut self, id: NodeId) {
        if self.failed(id) {
            return;
        }
        let known = self.known(id);
        let is_list = known.list.is_some();
        let is_struct = known.is_struct || (!known.structs.is_empty() && known.atom.is_top() && !is_list);
        self.known_mut(id).is_struct = is_struct;
        let kinds = [(is_list, Kind::LIST), (is_struct, Kind::STRUCT)];
        for (is, kind) in kinds {
            if is {
                self.with_atom(id, |atom| atom.add_kind(kind, Position::default()));
            }
        }
        if self.failed(id) {
            return;
        }
        self.check_patterns(id);
        self.check_closed(id);
        self.validate(id);
    }

    /// A pattern must not be wrong, even if no field is there to match it.
    fn check_patterns(&mut self, id: NodeId) {
        for index in 0..self.known(id).patterns.len() {
            let pattern = self.known(id).patterns[index].clone();
            if matches!(pattern.pattern.kind, ExprKind::Kind(_)) {
                continue;
            }
            let node = self.expanded(pattern.node);
            if let Some(error) = self.known(node).error.clone().filter(|error| error.is_fatal()) {
                self.fail(id, error);
            }
        }
    }
}

/// The value of an expression that is a plain literal.
pub(super) fn literal_scalar(expr: &Expr) -> Option<Scalar> {
    Some(match &expr.kind {
        ExprKind::Null => Scalar::Null,
        ExprKind::Bool(value) => Scalar::Bool(*value),
        ExprKind::Number(number) => Scalar::Number(number.clone()),
        ExprKind::String(text) => Scalar::String(text.clone()),
        ExprKind::Bytes(bytes) => Scalar::Bytes(bytes.clone()),
        _ => return None,
    })
}

impl<'p> Machine<'p> {
    /// A bound with its regular expression compiled.
    pub(super) fn bound(
        &mut self,
        operator: crate::program::ir::BoundOperator,
        value: Scalar,
        position: Position,
    ) -> Result<Bound, Error> {
        use crate::program::ir::BoundOperator as Op;
        let regex = match (operator, &value) {
            (Op::Match | Op::NotMatch, Scalar::String(pattern)) => {
                Some(Rc::new(self.regex(pattern, position)?))
            }
            (Op::Match | Op::NotMatch, other) => {
                let message = format!(
                    "invalid value {other} for regular expression (type {})",
                    other.kind()
                );
                return Err(self.fatal(message, position));
            }
            (Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual, Scalar::Null | Scalar::Bool(_)) => {
                let message = format!("invalid bound of type {}", value.kind());
                return Err(self.fatal(message, position));
            }
            _ => None,
        };
        Ok(Bound {
            operator,
            value,
            position,
            regex,
        })
    }

    /// A compiled regular expression; each is compiled once per program.
    pub(super) fn regex(
        &mut self,
        pattern: &str,
        position: Position,
    ) -> Result<crate::packages::regexp::Pattern, Error> {
        match self.program.regex(pattern) {
            Ok(regex) => Ok(regex),
            Err(message) => Err(self.fatal(message, position)),
        }
    }
}

/// Whether a task is tried at once: what brings in fields keeps its place among them, the rest is computed when more is known.
fn is_early(kind: TaskKind<'_>, conjunct: &Conjunct<'_>) -> bool {
    match (kind, &conjunct.source) {
        (TaskKind::List(_), _) => true,
        (TaskKind::Value, Source::Expr(expr)) => {
            super::reference::is_reference(expr) || matches!(expr.kind, ExprKind::Call { .. })
        }
        _ => false,
    }
}
