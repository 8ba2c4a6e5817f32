//! Shrinks failing programs.

use crate::generate::{Part, Sort, Tree};

/// Removes pieces of a program while `shows` holds for the rest.
pub fn shrink(tree: &Tree, mut shows: impl FnMut(&str) -> bool) -> Tree {
    let mut smallest = tree.clone();
    'again: loop {
        for candidate in candidates(&smallest) {
            if size(&candidate) < size(&smallest) && shows(&candidate.to_string()) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

fn size(tree: &Tree) -> usize {
    tree.to_string().len()
}

/// All trees one step smaller, the largest steps first.
fn candidates(tree: &Tree) -> Vec<Tree> {
    let mut found = Vec::new();
    for (index, part) in tree.parts.iter().enumerate() {
        let Part::Tree(child) = part else { continue };
        let with = |replacement: Option<Tree>| {
            let mut changed = tree.clone();
            match replacement {
                Some(replacement) => changed.parts[index] = Part::Tree(replacement),
                None => drop(changed.parts.remove(index)),
            }
            changed
        };
        if matches!(child.sort, Sort::Declaration | Sort::Element | Sort::Clause) {
            found.push(with(None));
        }
        if child.sort == Sort::Expression {
            found.extend(["1", "{}", "_"].map(|text| with(Some(Tree::leaf(text)))));
        }
        let mut inside = Vec::new();
        descendants(child, child.sort, &mut inside);
        found.extend(inside.into_iter().map(|replacement| with(Some(replacement))));
        found.extend(
            candidates(child)
                .into_iter()
                .map(|replacement| with(Some(replacement))),
        );
    }
    found.sort_by_key(size);
    found
}

/// The nearest pieces of a sort below a piece.
fn descendants(tree: &Tree, sort: Sort, found: &mut Vec<Tree>) {
    for part in &tree.parts {
        if let Part::Tree(child) = part {
            if child.sort == sort {
                found.push(child.clone());
            } else {
                descendants(child, sort, found);
            }
        }
    }
}
