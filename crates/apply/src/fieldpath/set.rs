//! Field sets.

use std::fmt;

use super::{Path, PathElement};

/// A set of fields of one object, as a tree.
///
/// Both lists are sorted, and no child is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    pub(super) members: Vec<PathElement>,
    pub(super) children: Vec<(PathElement, Set)>,
}

impl Set {
    /// The empty set.
    pub const fn new() -> Self {
        Self {
            members: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A set of these paths.
    pub fn of(paths: impl IntoIterator<Item = Path>) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.elements());
        }
        set
    }

    /// Adds a path without its parents. The empty path is ignored.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.insert_member(last.clone()),
            [first, rest @ ..] => self.child_mut(first).insert(rest),
        }
    }

    /// Whether the path is a member.
    pub fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.child(first).is_some_and(|child| child.contains(rest)),
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.iter().all(|(_, child)| child.is_empty())
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.len() + self.children.iter().map(|(_, child)| child.len()).sum::<usize>()
    }

    /// The elements that are members.
    pub fn members(&self) -> &[PathElement] {
        &self.members
    }

    /// The elements with members below them.
    pub fn children(&self) -> impl Iterator<Item = (&PathElement, &Set)> {
        self.children.iter().map(|(element, child)| (element, child))
    }

    /// Whether the element is a member.
    pub fn has_member(&self, element: &PathElement) -> bool {
        self.members.binary_search(element).is_ok()
    }

    /// The set below an element, relative to it.
    pub fn child(&self, element: &PathElement) -> Option<&Set> {
        let index = self
            .children
            .binary_search_by(|(name, _)| name.cmp(element))
            .ok()?;
        Some(&self.children[index].1)
    }

    /// All paths: the members of a node first, then those below it.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::with_capacity(self.len());
        self.visit(&mut Vec::new(), &mut |path| paths.push(Path::from(path.to_vec())));
        paths
    }

    /// The members without members below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        Self {
            members: self
                .members
                .iter()
                .filter(|member| self.child(member).is_none())
                .cloned()
                .collect(),
            children: self
                .children
                .iter()
                .map(|(element, child)| (element.clone(), child.leaves()))
                .collect(),
        }
    }

    pub(crate) fn insert_member(&mut self, element: PathElement) {
        // Most sets are built in order.
        if self.members.last().is_none_or(|last| *last < element) {
            self.members.push(element);
        } else if let Err(index) = self.members.binary_search(&element) {
            self.members.insert(index, element);
        }
    }

    /// Inserts a subtree, as a union with an existing one.
    pub(crate) fn insert_child(&mut self, element: PathElement, child: Set) {
        if child.is_empty() {
            return;
        }
        if self.children.last().is_none_or(|(last, _)| *last < element) {
            self.children.push((element, child));
            return;
        }
        match self.children.binary_search_by(|(name, _)| name.cmp(&element)) {
            Ok(index) => self.children[index].1 = self.children[index].1.union(&child),
            Err(index) => self.children.insert(index, (element, child)),
        }
    }

    fn child_mut(&mut self, element: &PathElement) -> &mut Set {
        let index = match self.children.binary_search_by(|(name, _)| name.cmp(element)) {
            Ok(index) => index,
            Err(index) => {
                self.children.insert(index, (element.clone(), Set::new()));
                index
            }
        };
        &mut self.children[index].1
    }

    fn visit(&self, prefix: &mut Vec<PathElement>, found: &mut impl FnMut(&[PathElement])) {
        for member in &self.members {
            prefix.push(member.clone());
            found(prefix);
            prefix.pop();
        }
        for (element, child) in &self.children {
            prefix.push(element.clone());
            child.visit(prefix, found);
            prefix.pop();
        }
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.paths().iter().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(f, "{newline}{path}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> Set {
        Set::of(paths.iter().map(|path| Path::fields(path.split('.'))))
    }

    #[test]
    fn a_parent_and_its_child_are_separate_members() {
        let set = set(&["b.c", "a", "b", "a"]);
        assert_eq!(set.to_string(), ".a\n.b\n.b.c");
        assert_eq!(set.len(), 3);
        assert!(set.contains(Path::fields(["b", "c"]).elements()));
        assert!(!set.contains(Path::fields(["b", "d"]).elements()));
        assert!(!set.contains(&[]));
        assert_eq!(set.leaves().to_string(), ".a\n.b.c");
    }

    #[test]
    fn nobody_owns_the_whole_object() {
        let mut set = Set::new();
        set.insert(&[]);
        assert!(set.is_empty());
    }
}
