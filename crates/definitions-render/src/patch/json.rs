//! Applies merge patches and JSON patches of traits.

use super::json_patch::apply;
use super::tree::Tree;
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostic};

/// Applies an RFC 7396 merge patch: null removes.
pub(super) fn merge_patch(target: &Tree, patch: &Tree) -> Result<Tree, Diagnostic> {
    let mut merged = target.to_data()?;
    merge(&mut merged, &patch.to_data()?);
    Ok(Tree::open(&merged))
}

/// Applies the RFC 6902 operations under `operations`.
pub(super) fn patch(target: &Tree, patch: &Tree) -> Result<Tree, Diagnostic> {
    let mut document = target.to_data()?;
    let operations = match patch.get("operations") {
        Some(operations) => operations.to_data()?,
        None => return Err(problem("a JSON patch needs operations".to_owned())),
    };
    let Data::List(operations) = operations else {
        return Err(problem("operations must be a list".to_owned()));
    };
    for (index, operation) in operations.iter().enumerate() {
        apply(&mut document, operation)
            .map_err(|message| problem(format!("operations[{index}]: {message}")))?;
    }
    Ok(Tree::open(&document))
}

fn merge(target: &mut Data, patch: &Data) {
    let (Data::Struct(fields), Data::Struct(changes)) = (&mut *target, patch) else {
        *target = if matches!(target, Data::Struct(_)) {
            patch.clone()
        } else {
            without_nulls(patch)
        };
        return;
    };
    for (name, change) in changes {
        let known = fields.iter().position(|(field, _)| field == name);
        match (known, change) {
            (Some(index), Data::Null) => {
                fields.remove(index);
            }
            (None, Data::Null) => {}
            (Some(index), change) => merge(&mut fields[index].1, change),
            (None, change) => fields.push((name.clone(), without_nulls(change))),
        }
    }
}

/// New objects come without their nulls.
fn without_nulls(data: &Data) -> Data {
    match data {
        Data::Struct(fields) => {
            let kept = fields.iter().filter(|(_, value)| *value != Data::Null);
            Data::Struct(
                kept.map(|(name, value)| (name.clone(), without_nulls(value)))
                    .collect(),
            )
        }
        Data::List(items) => Data::List(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

fn problem(message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: String::new(),
        message,
        places: Vec::new(),
    }
}
