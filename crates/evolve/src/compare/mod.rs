//! Compares two contracts: the kind as a whole, then the schema of each version that both have.

mod fields;
mod kind;
mod limits;
mod rules;
mod types;
mod values;

pub(crate) use fields::added as added_field;
pub(crate) use kind::removed;

use cambium_schema::{Additional, Constraints, MapType, Schema};
use serde_json::Value;

use crate::change::Change;
use crate::contract::{Contract, ContractVersion};
use crate::path::Path;
use crate::report::Comparison;
use crate::{pairing, rules as table, witness};

/// Compares two contracts of one kind.
pub fn compare(old: &Contract, new: &Contract) -> Comparison {
    let mut changes = kind::changes(old, new);
    for (before, after) in versions_of_both(old, new) {
        changes.extend(of_version(old, before, after));
    }
    Comparison::new(changes)
}

fn versions_of_both<'c>(
    old: &'c Contract,
    new: &'c Contract,
) -> impl Iterator<Item = (&'c ContractVersion, &'c ContractVersion)> {
    let found = |before: &'c ContractVersion| Some((before, new.version(&before.name)?));
    old.versions.iter().filter_map(found)
}

fn of_version(old: &Contract, before: &ContractVersion, after: &ContractVersion) -> Vec<Change> {
    let mut found = Found::default();
    schemas(before.schema(), after.schema(), &Path::default(), &mut found);
    pairing::pair(&mut found);
    if found.differences.is_empty() && before.raw_schema != after.raw_schema {
        // Titles, examples and the like are in no schema.
        found.add("R40", &Path::default(), "text of the schema");
    }
    let changes = found.differences.into_iter().map(|difference| {
        let place = difference.path.place();
        let witness = difference.tries.iter().find_map(|wanted| {
            witness::find(
                &old.type_at(&before.name),
                before,
                after,
                &difference.path,
                wanted,
            )
        });
        Change {
            rule: difference.rule,
            version: before.name.clone(),
            path: difference.path.to_string(),
            to: difference.to.as_ref().map(ToString::to_string),
            what: difference.what,
            effects: difference.rule.effects(place),
            bump: difference.rule.bump(place),
            witness,
        }
    });
    changes.collect()
}

/// The differences of two schemas, as they are found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) differences: Vec<Difference>,
    /// Fields that only the old schema has.
    pub(crate) removed: Vec<(Path, Schema)>,
    /// Fields that only the new schema has, and whether they are required.
    pub(crate) added: Vec<Added>,
}

/// A field that only the new schema has.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) path: Path,
    pub(crate) schema: Schema,
    pub(crate) required: bool,
}

/// One difference, before it is shown to break something.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) rule: &'static table::Rule,
    pub(crate) path: Path,
    pub(crate) to: Option<Path>,
    pub(crate) what: String,
    pub(crate) tries: Vec<Wanted>,
}

/// What an object needs at the path to show a break.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    /// This value.
    Value(Value),
    /// Any value that the old schema allows.
    Any,
    /// Everything around it, and no value.
    Absent,
}

impl Found {
    pub(crate) fn add(&mut self, rule: &str, path: &Path, what: impl Into<String>) {
        self.break_with(rule, path, what, []);
    }

    pub(crate) fn break_with(
        &mut self,
        rule: &str,
        path: &Path,
        what: impl Into<String>,
        tries: impl IntoIterator<Item = Wanted>,
    ) {
        self.differences.push(Difference {
            rule: table::rule(rule).expect("every rule that is named here is in the table"),
            path: path.clone(),
            to: None,
            what: what.into(),
            tries: tries.into_iter().collect(),
        });
    }
}

/// Compares two schemas of one value. Every field of [`Schema`] is named here, so that a new one does not compile until it is compared.
pub(crate) fn schemas(old: &Schema, new: &Schema, at: &Path, found: &mut Found) {
    if old == new {
        return;
    }
    let Schema {
        name: _,
        json_type: _,
        format,
        description,
        nullable,
        properties: _,
        additional: _,
        items,
        list,
        map,
        preserve_unknown_fields: _,
        embedded_resource,
        default,
        constraints,
    } = old;
    if *description != new.description {
        found.add("R40", at, "description");
    }
    values::defaults(default.as_ref(), new.default.as_ref(), at, found);
    if types::changed(old, new, at, found) {
        // Whatever else differs follows from the type.
        return;
    }
    values::nullable(*nullable, new.nullable, at, found);
    values::format(format, &new.format, at, found);
    match (*embedded_resource, new.embedded_resource) {
        (false, true) => found.break_with("R39", at, "x-kubernetes-embedded-resource", [Wanted::Any]),
        (true, false) => found.add("R22", at, "x-kubernetes-embedded-resource removed"),
        _ => {}
    }
    if *list != new.list {
        found.add(
            "R33",
            at,
            format!("{} -> {}", types::list_text(list), types::list_text(&new.list)),
        );
    }
    if *map != new.map {
        let text = |map: MapType| {
            if map == MapType::Atomic {
                "atomic"
            } else {
                "granular"
            }
        };
        found.add("R34", at, format!("{} -> {}", text(*map), text(new.map)));
    }
    fields::compare(old, new, at, found);
    if let (Some(old), Some(new)) = (items, &new.items) {
        schemas(old, new, &at.items(), found);
    }
    if let (Additional::Schema(old), Additional::Schema(new)) = (&old.additional, &new.additional) {
        schemas(old, new, &at.values(), found);
    }
    let none = Constraints::default();
    let of = |constraints: &'_ Option<Box<Constraints>>| constraints.as_deref().cloned();
    let before = of(constraints).unwrap_or_else(|| none.clone());
    let after = of(&new.constraints).unwrap_or(none);
    limits::compare(&before, &after, old, at, found);
    rules::compare(&before, &after, at, found);
}
