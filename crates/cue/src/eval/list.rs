//! Lists: elements, and the constraint on further elements.

use super::Machine;
use super::node::{Arc_, Conjunct, List, NodeId};
use crate::program::ir::{Position, Presence};
use crate::program::symbols::Label;

impl<'p> Machine<'p> {
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
            if self.is_exhausted() {
                break;
            }
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
    pub(super) fn element(&mut self, id: NodeId, index: usize) -> NodeId {
        let label = Label::Index(u32::try_from(index).expect("the step budget bounds lists"));
        if let Some(at) = self.known(id).find_arc(label) {
            return self.known(id).arcs[at].node;
        }
        let node = self.new_node(Some(id), Some(label));
        let arc = Arc_ {
            label,
            node,
            presence: Presence::Member,
            position: Position::default(),
        };
        self.known_mut(id).push_arc(arc);
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
}
