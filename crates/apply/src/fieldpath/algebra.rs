//! Union, intersection and differences of field sets.

use std::cmp::Ordering;

use super::{PathElement, Set};

impl Set {
    /// The members of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        let mut out = Self {
            members: Vec::with_capacity(self.members.len().max(other.members.len())),
            children: Vec::with_capacity(self.children.len().max(other.children.len())),
        };
        for step in zip(&self.members, &other.members, |member| member) {
            match step {
                Step::Left(member) | Step::Right(member) | Step::Both(member, _) => {
                    out.members.push(member.clone())
                }
            }
        }
        for step in zip(&self.children, &other.children, |(element, _)| element) {
            match step {
                Step::Left(child) | Step::Right(child) => out.children.push(child.clone()),
                Step::Both((element, left), (_, right)) => {
                    out.children.push((element.clone(), left.union(right)))
                }
            }
        }
        out
    }

    /// The members of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::new();
        for step in zip(&self.members, &other.members, |member| member) {
            if let Step::Both(member, _) = step {
                out.members.push(member.clone());
            }
        }
        for step in zip(&self.children, &other.children, |(element, _)| element) {
            if let Step::Both((element, left), (_, right)) = step {
                push_unless_empty(&mut out, element, left.intersection(right));
            }
        }
        out
    }

    /// The members of this set that are not in the other. Removing a parent keeps its children.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut out = Self {
            members: without(&self.members, &other.members),
            children: Vec::new(),
        };
        for step in zip(&self.children, &other.children, |(element, _)| element) {
            match step {
                Step::Left(child) => out.children.push(child.clone()),
                Step::Right(_) => {}
                Step::Both((element, left), (_, right)) => {
                    push_unless_empty(&mut out, element, left.difference(right))
                }
            }
        }
        out
    }

    /// The members of this set that are neither in the other nor below one of its members.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let mut out = Self {
            members: without(&self.members, &other.members),
            children: Vec::new(),
        };
        for step in zip(&self.children, &other.children, |(element, _)| element) {
            match step {
                Step::Left((element, _)) | Step::Both((element, _), _) if other.has_member(element) => {}
                Step::Left(child) => out.children.push(child.clone()),
                Step::Right(_) => {}
                Step::Both((element, left), (_, right)) => {
                    push_unless_empty(&mut out, element, left.recursive_difference(right));
                }
            }
        }
        out
    }
}

fn without(members: &[PathElement], others: &[PathElement]) -> Vec<PathElement> {
    zip(members, others, |member| member)
        .filter_map(|step| match step {
            Step::Left(member) => Some(member.clone()),
            Step::Right(_) | Step::Both(..) => None,
        })
        .collect()
}

fn push_unless_empty(out: &mut Set, element: &PathElement, child: Set) {
    if !child.is_empty() {
        out.children.push((element.clone(), child));
    }
}

enum Step<'a, T> {
    Left(&'a T),
    Right(&'a T),
    Both(&'a T, &'a T),
}

/// Merges two sorted lists pairwise.
fn zip<'a, T>(
    left: &'a [T],
    right: &'a [T],
    name: impl Fn(&T) -> &PathElement + 'a,
) -> impl Iterator<Item = Step<'a, T>> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => name(left).cmp(name(right)),
        };
        match order {
            Ordering::Less => left.next().map(Step::Left),
            Ordering::Greater => right.next().map(Step::Right),
            Ordering::Equal => left
                .next()
                .zip(right.next())
                .map(|(left, right)| Step::Both(left, right)),
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::fieldpath::{Path, Set};

    fn set(paths: &[&str]) -> Set {
        Set::of(paths.iter().map(|path| Path::fields(path.split('.'))))
    }

    #[test]
    fn set_operations() {
        type Operation = fn(&Set, &Set) -> Set;
        type Names = &'static [&'static str];
        let cases: &[(&str, Operation, Names, Names, Names)] = &[
            (
                "union",
                Set::union,
                &["a", "b.c"],
                &["b", "b.d", "e"],
                &["a", "b", "b.c", "b.d", "e"],
            ),
            (
                "intersection",
                Set::intersection,
                &["a", "b", "b.c", "b.d"],
                &["a", "b.c", "x"],
                &["a", "b.c"],
            ),
            (
                "difference",
                Set::difference,
                &["a", "b", "b.c", "b.d"],
                &["b", "b.c"],
                &["a", "b.d"],
            ),
            (
                "difference keeps children of a removed parent",
                Set::difference,
                &["b.c"],
                &["b"],
                &["b.c"],
            ),
            (
                "recursive difference",
                Set::recursive_difference,
                &["a", "b", "b.c", "b.d.e", "f.g"],
                &["b", "f.h"],
                &["a", "f.g"],
            ),
            (
                "recursive difference below",
                Set::recursive_difference,
                &["a.b", "a.c.d"],
                &["a.c"],
                &["a.b"],
            ),
            (
                "recursive difference with both",
                Set::recursive_difference,
                &["a.b", "a.c"],
                &["a", "a.b"],
                &[],
            ),
        ];
        for (name, operation, left, right, expected) in cases {
            assert_eq!(operation(&set(left), &set(right)), set(expected), "{name}");
        }
    }
}
