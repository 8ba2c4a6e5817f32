//! CEL rules of a value (`x-kubernetes-validations`).

use cambium_schema::{Constraints, Rule};

use super::{Found, Wanted};
use crate::path::Path;

pub(super) fn compare(old: &Constraints, new: &Constraints, at: &Path, found: &mut Found) {
    let same = |one: &Rule, other: &Rule| normal(&one.rule) == normal(&other.rule);
    for rule in &new.rules {
        match old.rules.iter().find(|before| same(before, rule)) {
            Some(before) if before.optional_old_self != rule.optional_old_self => {
                found.add("R36", at, short(&rule.rule))
            }
            Some(before) if before != rule => found.add("R54", at, short(&rule.rule)),
            Some(_) => {}
            None if rule.rule.contains("oldSelf") => found.add("R36", at, short(&rule.rule)),
            None => found.break_with("R35", at, short(&rule.rule), [Wanted::Any, Wanted::Absent]),
        }
    }
    for rule in &old.rules {
        if !new.rules.iter().any(|after| same(rule, after)) {
            found.add("R37", at, short(&rule.rule));
        }
    }
}

/// A rule without the white space that says nothing.
fn normal(rule: &str) -> String {
    rule.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of a rule as a line has room for.
fn short(rule: &str) -> String {
    const LONGEST: usize = 80;
    let rule = normal(rule);
    match rule.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &rule[..end]),
        None => rule,
    }
}
