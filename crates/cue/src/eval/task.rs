//! Tasks that wait for other values.

use super::Machine;
use super::error::Code;
use super::kind::Kind;
use super::node::{Conjunct, NodeId, Source, Task, TaskKind, TaskState};
use crate::program::ir::{Adds, ExprKind, Position, Presence};
use crate::program::symbols::Label;

impl<'p> Machine<'p> {
    /// Runs a task at once, or defers it if it has to wait.
    pub(super) fn add_task(&mut self, id: NodeId, kind: TaskKind<'p>, conjunct: Conjunct<'p>) {
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

    /// Runs waiting tasks until none makes progress.
    pub(super) fn run_tasks(&mut self, id: NodeId) {
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

    /// Runs the waiting tasks a last time, with missing values counting as missing.
    pub(super) fn run_tasks_for_the_last_time(&mut self, id: NodeId) {
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

    /// Runs a task; returns whether it completed.
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

    /// Runs the waiting tasks that may add a requested field.
    pub(super) fn run_tasks_adding(&mut self, id: NodeId, label: Label) {
        let found = matches!(self.arc_of(id, label), Some((_, Presence::Member)));
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
}

/// Whether a task is tried at once: what brings in fields keeps its place among them, the rest is computed when more is known.
fn is_early(kind: TaskKind<'_>, conjunct: &Conjunct<'_>) -> bool {
    match (kind, &conjunct.source) {
        (TaskKind::List(_), _) => true,
        (TaskKind::Value, Source::Expr(expr)) => {
            super::reference::is_name(expr) || matches!(expr.kind, ExprKind::Call(_))
        }
        _ => false,
    }
}
