//! Closedness: which fields a closed struct allows.
//!
//! Every conjunct belongs to a *group*. Referring to a definition makes a group that is closed; so does `close`. A struct literal
//! with embeddings makes one, and each embedding one inside it. A field is admitted at a node when every closed group there
//! mentions it, where
//!
//! - a group mentions a field that one of its conjuncts, or of the groups inside it, declares, matches with a pattern or leaves
//!   room for with `...`;
//! - a closed group that is *embedded* does not speak for itself: it closes the literal around it, whose own fields it admits.

use super::Machine;
use super::error::{Bottom, Code, Error, Reason};
use super::node::{NodeId, Pattern};
use crate::program::ir::Presence;
use crate::program::symbols::Label;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GroupId(u32);

impl GroupId {
    pub(crate) const ROOT: Self = Self(0);
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    parent: GroupId,
    link: Link,
    closing: Closing,
    /// This group or one around it is closed.
    within_closed: bool,
}

impl Group {
    pub(super) const ROOT: Self = Self {
        parent: GroupId::ROOT,
        link: Link::Unified,
        closing: Closing::Open,
        within_closed: false,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Unified,
    Embedded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    Open,
    /// Closed at every depth: a definition.
    Deep,
    /// Closed at one node only: `close`.
    At(NodeId),
}

/// The groups that a reference copies.
#[derive(Debug)]
pub(super) struct Transplanted {
    /// The target of the reference.
    target: NodeId,
    /// The copies of the groups of its conjuncts, and of the enclosing groups.
    groups: Vec<(GroupId, GroupId)>,
}

impl Transplanted {
    pub(super) fn from(target: NodeId) -> Self {
        Self {
            target,
            groups: Vec::new(),
        }
    }
}

impl<'p> Machine<'p> {
    pub(super) fn new_group(&mut self, parent: GroupId, link: Link, closing: Closing) -> GroupId {
        let within_closed = closing != Closing::Open || self.group(parent).within_closed;
        self.meter.charge(size_of::<Group>());
        let id = GroupId(u32::try_from(self.groups.len()).expect("the budget bounds groups"));
        self.groups.push(Group {
            parent,
            link,
            closing,
            within_closed,
        });
        id
    }

    fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0 as usize]
    }

    pub(super) fn is_within_closed(&self, id: GroupId) -> bool {
        self.group(id).within_closed
    }

    /// The group that a referenced conjunct of group `group` has when it is brought in by a reference of group `into`.
    /// Groups around both stay one, but for a literal that is around only part of what is referred to: its embeddings
    /// must not admit the rest. The others are made anew, once for each reference.
    pub(super) fn transplant(&mut self, group: GroupId, into: GroupId, made: &mut Transplanted) -> GroupId {
        let around_all = || {
            let mut theirs = self.node(made.target).conjuncts.iter();
            theirs.all(|conjunct| self.encloses(group, conjunct.group))
        };
        let stays = || self.group(group).closing == Closing::Deep || around_all();
        if group == GroupId::ROOT || (self.encloses(group, into) && stays()) {
            return into;
        }
        if let Some((_, new)) = made.groups.iter().find(|(old, _)| *old == group) {
            return *new;
        }
        let Group {
            parent,
            link,
            closing,
            ..
        } = *self.group(group);
        let parent = self.transplant(parent, into, made);
        let new = self.new_group(parent, link, closing);
        made.groups.push((group, new));
        new
    }

    fn encloses(&self, outer: GroupId, inner: GroupId) -> bool {
        let mut current = inner;
        loop {
            if current == outer {
                return true;
            }
            if current == GroupId::ROOT {
                return false;
            }
            current = self.group(current).parent;
        }
    }

    /// Reports fields that a closed group does not allow.
    pub(super) fn check_closed(&mut self, node: NodeId) {
        let known = self.known(node);
        if !known.structs.iter().any(|info| self.is_within_closed(info.group)) {
            return;
        }
        let tree = Tree::of(self, node);
        if !tree.is_closed(0) {
            return;
        }
        let arcs = known.arcs.clone();
        let patterns = known.patterns.clone();
        for arc in arcs {
            if arc.presence >= Presence::Optional || !arc.label.is_regular() {
                continue;
            }
            let matching = self.matching_groups(&patterns, arc.label);
            let conjuncts = &self.node(arc.node).conjuncts;
            let mut direct = vec![false; tree.groups.len()];
            for (index, branch) in tree.groups.iter().enumerate() {
                direct[index] = branch.open
                    || matching.contains(&branch.id)
                    || conjuncts.iter().any(|conjunct| conjunct.group == branch.id);
            }
            if !tree.allows(0, &direct) {
                let error = Error::new(Bottom {
                    code: Code::Fatal,
                    reason: Reason::NotAllowed,
                    node: Some(arc.node),
                    positions: vec![arc.position],
                });
                self.known_mut(node).error.get_or_insert(error);
            }
        }
    }

    fn matching_groups(&mut self, patterns: &[Pattern<'p>], label: Label) -> Vec<GroupId> {
        let mut groups = Vec::new();
        for pattern in patterns {
            if self.pattern_matches(pattern, label) {
                groups.push(pattern.group);
            }
        }
        groups
    }

    /// Whether a node is closed.
    pub(super) fn is_closed(&self, node: NodeId) -> bool {
        let known = self.known(node);
        if self
            .definition_around(node)
            .is_some_and(|definition| definition != node)
        {
            return !known.structs.iter().any(|info| info.open) && known.patterns.is_empty();
        }
        known.structs.iter().any(|info| self.is_within_closed(info.group)) && {
            let tree = Tree::of(self, node);
            tree.is_closed(0)
                && !tree.allows(
                    0,
                    &tree.groups.iter().map(|branch| branch.open).collect::<Vec<_>>(),
                )
        }
    }
}

/// The groups that are present at one node, the root first.
struct Tree {
    groups: Vec<Branch>,
}

struct Branch {
    id: GroupId,
    closes: bool,
    open: bool,
    unified: Vec<usize>,
    embedded: Vec<usize>,
}

impl Tree {
    fn of(machine: &Machine<'_>, node: NodeId) -> Self {
        let root = Branch {
            id: GroupId::ROOT,
            closes: false,
            open: false,
            unified: vec![],
            embedded: vec![],
        };
        let mut tree = Self { groups: vec![root] };
        for info in &machine.known(node).structs {
            let index = tree.insert(machine, node, info.group);
            tree.groups[index].open |= info.open;
        }
        tree
    }

    fn insert(&mut self, machine: &Machine<'_>, node: NodeId, id: GroupId) -> usize {
        if let Some(index) = self.groups.iter().position(|branch| branch.id == id) {
            return index;
        }
        let group = *machine.group(id);
        let parent = self.insert(machine, node, group.parent);
        let closes = group.closing == Closing::Deep || group.closing == Closing::At(node);
        let index = self.groups.len();
        self.groups.push(Branch {
            id,
            closes,
            open: false,
            unified: vec![],
            embedded: vec![],
        });
        match group.link {
            Link::Unified => self.groups[parent].unified.push(index),
            Link::Embedded => self.groups[parent].embedded.push(index),
        }
        index
    }

    fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        let branch = &self.groups[index];
        branch.unified.iter().chain(&branch.embedded).copied()
    }

    fn is_closed(&self, index: usize) -> bool {
        self.groups[index].closes || self.children(index).any(|child| self.is_closed(child))
    }

    fn mentions(&self, index: usize, direct: &[bool]) -> bool {
        direct[index] || self.children(index).any(|child| self.mentions(child, direct))
    }

    fn allows(&self, index: usize, direct: &[bool]) -> bool {
        let branch = &self.groups[index];
        if branch.closes && !self.mentions(index, direct) {
            return false;
        }
        if !branch
            .unified
            .iter()
            .all(|&child| !self.is_closed(child) || self.allows(child, direct))
        {
            return false;
        }
        if !branch.embedded.iter().any(|&child| self.is_closed(child)) {
            return true;
        }
        direct[index]
            || branch.unified.iter().any(|&child| self.mentions(child, direct))
            || branch
                .embedded
                .iter()
                .any(|&child| self.mentions(child, direct) && self.allows(child, direct))
    }
}
