//! Fields of objects: added, removed, required, kept though unknown.

use cambium_schema::{Additional, Constraints, Schema};

use super::{Added, Found, Wanted, schemas};
use crate::path::Path;

pub(super) fn compare(old: &Schema, new: &Schema, at: &Path, found: &mut Found) {
    unknown_fields(old, new, at, found);
    for property in old.properties.iter() {
        let path = at.field(&property.name);
        match new.property(&property.name) {
            Some(after) => {
                required(
                    is_required(old, &property.name),
                    is_required(new, &property.name),
                    &after.schema,
                    &path,
                    found,
                );
                schemas(&property.schema, &after.schema, &path, found);
            }
            // A map, or an object that keeps what it does not know, still takes the field.
            None => match &new.additional {
                Additional::Schema(values) => schemas(&property.schema, values, &path, found),
                Additional::Any => {}
                Additional::None if new.preserve_unknown_fields => {}
                Additional::None => found.removed.push((path, (*property.schema).clone())),
            },
        }
    }
    for property in new
        .properties
        .iter()
        .filter(|new| old.property(&new.name).is_none())
    {
        let path = at.field(&property.name);
        match &old.additional {
            Additional::Schema(values) => schemas(values, &property.schema, &path, found),
            _ => found.added.push(Added {
                path,
                schema: (*property.schema).clone(),
                required: is_required(new, &property.name),
            }),
        }
    }
    // Names that are required and are no properties.
    for name in required_names(new) {
        let is_new = !required_names(old).contains(name) && new.property(name).is_none();
        if is_new {
            found.break_with("R06", &at.field(name), "required", [Wanted::Absent]);
        }
    }
}

fn unknown_fields(old: &Schema, new: &Schema, at: &Path, found: &mut Found) {
    if old.preserve_unknown_fields != new.preserve_unknown_fields {
        match new.preserve_unknown_fields {
            true => found.add("R32", at, "x-kubernetes-preserve-unknown-fields: true"),
            false => found.break_with(
                "R31",
                &at.field("unknown"),
                "x-kubernetes-preserve-unknown-fields removed",
                [Wanted::Value("value".into())],
            ),
        }
    }
    let form = |schema: &Schema| match &schema.additional {
        Additional::None => "struct",
        Additional::Any => "map of anything",
        Additional::Schema(_) => "map",
    };
    if form(old) != form(new) && !old.preserve_unknown_fields && !new.preserve_unknown_fields {
        found.add("R30", at, format!("{} -> {}", form(old), form(new)));
    }
}

fn required(before: bool, after: bool, schema: &Schema, path: &Path, found: &mut Found) {
    match (before, after) {
        (false, true) if schema.default.is_some() => found.add("R04", path, "required, with a default"),
        (false, true) => found.break_with("R06", path, "optional -> required", [Wanted::Absent]),
        (true, false) => found.add("R07", path, "required -> optional"),
        _ => {}
    }
}

/// A field that only the new schema has.
pub(crate) fn added(added: &Added, found: &mut Found) {
    let path = &added.path;
    match (added.required, added.schema.default.is_some()) {
        (true, true) => found.add("R04", path, "required, with a default"),
        (true, false) => found.break_with("R03", path, "required", [Wanted::Absent]),
        (false, true) => found.add("R02", path, "optional, with a default"),
        (false, false) => {
            found.add("R01", path, "optional");
            let required = required_names(&added.schema);
            for name in required.iter().filter(|name| {
                let property = added.schema.property(name);
                property.is_none_or(|property| property.schema.default.is_none())
            }) {
                found.add("R05", &path.field(name), "required in a new optional parent");
            }
        }
    }
}

fn is_required(schema: &Schema, name: &str) -> bool {
    required_names(schema).iter().any(|required| required == name)
}

fn required_names(schema: &Schema) -> &[String] {
    let constraints: Option<&Constraints> = schema.constraints.as_deref();
    constraints.map_or(&[], |constraints| &constraints.required)
}
