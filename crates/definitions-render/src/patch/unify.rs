//! Unifies two trees.
//!
//! What is plain is unified here; what is not (defaults, types, bounds) goes through the evaluator, leaf by leaf.

use super::text::{evaluate, text};
use super::tree::{Field, Tree, below};
use cambium_cue::diagnostic::Severity;
use cambium_cue::number::Number;
use cambium_cue::{Data, Diagnostic, MemberKind};

/// The unification of two trees, or all conflicts.
pub(super) fn unify(left: Tree, right: Tree) -> Result<Tree, Vec<Diagnostic>> {
    let mut conflicts = Vec::new();
    let tree = meet(left, right, &mut conflicts);
    match tree {
        Some(tree) if conflicts.is_empty() => Ok(tree),
        _ => Err(conflicts),
    }
}

fn meet(left: Tree, right: Tree, conflicts: &mut Vec<Diagnostic>) -> Option<Tree> {
    match (left, right) {
        (Tree::Struct(left), Tree::Struct(right)) => Some(Tree::Struct(meet_fields(left, right, conflicts))),
        (
            Tree::List {
                elements: left,
                rest: left_rest,
            },
            Tree::List {
                elements: right,
                rest: right_rest,
            },
        ) => {
            let (ours, theirs) = (left.len(), right.len());
            if (ours > theirs && right_rest.is_none()) || (theirs > ours && left_rest.is_none()) {
                conflicts.push(conflict(format!(
                    "incompatible list lengths ({ours} and {theirs})"
                )));
                return None;
            }
            let elements = meet_elements(
                (left, left_rest.as_deref()),
                (right, right_rest.as_deref()),
                conflicts,
            );
            let rest = match (left_rest, right_rest) {
                // Nothing may satisfy both, as long as nothing is there.
                (Some(left), Some(right)) => meet(*left, *right, &mut Vec::new()).map(Box::new),
                _ => None,
            };
            Some(Tree::List { elements, rest })
        }
        (Tree::Scalar(left), Tree::Scalar(right)) => {
            if left == right {
                return Some(Tree::Scalar(left));
            }
            conflicts.push(conflict(format!(
                "conflicting values {} and {}",
                right.to_json(),
                left.to_json()
            )));
            None
        }
        (left, right) => match quick(&left, &right).or_else(|| quick(&right, &left)) {
            Some(tree) => Some(tree),
            None => match evaluate(&left, &right) {
                Ok(tree) => Some(tree),
                Err(problem) => {
                    let shown = |tree: &Tree| matches!(tree, Tree::Scalar(_)).then(|| text(tree));
                    let message = match (shown(&left), shown(&right)) {
                        (None, None) => problem.message.clone(),
                        _ => format!("conflicting values {} and {}", text(&right), text(&left)),
                    };
                    conflicts.push(Diagnostic { message, ..problem });
                    None
                }
            },
        },
    }
}

fn meet_fields(left: Vec<Field>, right: Vec<Field>, conflicts: &mut Vec<Diagnostic>) -> Vec<Field> {
    let mut fields = left;
    for field in right {
        let Some(known) = fields.iter_mut().find(|known| known.is_same(&field)) else {
            fields.push(field);
            continue;
        };
        let mut problems = Vec::new();
        let value = std::mem::replace(&mut known.value, Tree::Struct(Vec::new()));
        let met = meet(value, field.value, &mut problems);
        if field.kind == MemberKind::Ordinary {
            known.kind = MemberKind::Ordinary;
        }
        match met {
            Some(value) if problems.is_empty() => known.value = value,
            // Nothing can be there, and nothing is.
            _ if known.kind == MemberKind::Optional => known.value = Tree::Constraint("_|_".to_owned()),
            _ => conflicts.extend(
                problems
                    .into_iter()
                    .map(|problem| below(&format!(".{}", field.name), problem)),
            ),
        }
    }
    fields
}

/// Elements one by one; where one list ends, what it says of further elements.
fn meet_elements(
    (left, left_rest): (Vec<Tree>, Option<&Tree>),
    (right, right_rest): (Vec<Tree>, Option<&Tree>),
    conflicts: &mut Vec<Diagnostic>,
) -> Vec<Tree> {
    let mut elements = Vec::with_capacity(left.len().max(right.len()));
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    loop {
        let pair = match (left.next(), right.next()) {
            (None, None) => return elements,
            (left, right) => left.or(left_rest.cloned()).zip(right.or(right_rest.cloned())),
        };
        let mut problems = Vec::new();
        let index = elements.len();
        elements.extend(pair.and_then(|(left, right)| meet(left, right, &mut problems)));
        conflicts.extend(
            problems
                .into_iter()
                .map(|problem| below(&format!("[{index}]"), problem)),
        );
    }
}

/// The result of a constraint on a value in the simple cases, without an evaluation.
fn quick(constraint: &Tree, value: &Tree) -> Option<Tree> {
    match (constraint, value) {
        (Tree::Constraint(text), value) if text == "_" => Some(value.clone()),
        (Tree::Constraint(text), Tree::Scalar(data)) => is_kind(text, data).then(|| value.clone()),
        (Tree::Alternatives { values, .. }, Tree::Scalar(_)) => {
            let admits = |alternative: &Tree| alternative == value || quick(alternative, value).is_some();
            values.iter().any(admits).then(|| value.clone())
        }
        _ => None,
    }
}

fn is_kind(text: &str, data: &Data) -> bool {
    match data {
        Data::String(_) => text == "string",
        Data::Bool(_) => text == "bool",
        Data::Number(number) => {
            text == "number"
                || text
                    == if Number::is_integer(number) {
                        "int"
                    } else {
                        "float"
                    }
        }
        _ => false,
    }
}

fn conflict(message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: String::new(),
        message,
        places: Vec::new(),
    }
}
