//! Limits of values: sets of legal values, bounds, patterns, junctors.

use std::cmp::Ordering;

use cambium_schema::{Constraints, JsonType, Schema};
use serde_json::{Number, Value};

use super::{Found, Wanted};
use crate::path::Path;

pub(super) fn compare(old: &Constraints, new: &Constraints, schema: &Schema, at: &Path, found: &mut Found) {
    // Every field of the constraints is named here or in `rules`, so that a new one does not compile until it is compared.
    let Constraints {
        enumeration,
        pattern,
        matcher: _,
        minimum,
        maximum,
        multiple_of,
        min_length,
        max_length,
        min_items,
        max_items,
        unique_items: _, // The API server refuses `uniqueItems: true`.
        required: _,
        closed: _, // `additionalProperties: false` says what no additional properties say.
        min_properties,
        max_properties,
        all_of,
        any_of,
        one_of,
        not,
        rules: _,
    } = old;
    legal_values(enumeration.as_deref(), new.enumeration.as_deref(), at, found);
    let counts = [
        ("minLength", *min_length, new.min_length, Side::Lower),
        ("maxLength", *max_length, new.max_length, Side::Upper),
        ("minItems", *min_items, new.min_items, Side::Lower),
        ("maxItems", *max_items, new.max_items, Side::Upper),
        ("minProperties", *min_properties, new.min_properties, Side::Lower),
        ("maxProperties", *max_properties, new.max_properties, Side::Upper),
    ];
    for (name, old, new, side) in counts {
        let number = |count: u64| (Number::from(count), false);
        bound(name, old.map(number), new.map(number), side, at, found, |count| {
            counted(schema, side, count)
        });
    }
    for (name, old, new, side) in [
        ("minimum", minimum, &new.minimum, Side::Lower),
        ("maximum", maximum, &new.maximum, Side::Upper),
    ] {
        bound(name, old.clone(), new.clone(), side, at, found, |limit| {
            beyond(schema, side, limit)
        });
    }
    match (*multiple_of, new.multiple_of) {
        (Some(_), None) => found.add("R22", at, "multipleOf removed"),
        (old, Some(new)) if old != Some(new) => {
            let wider = old.is_some_and(|old| (old / new).fract() == 0.0);
            match wider {
                true => found.add("R22", at, format!("multipleOf {new}")),
                false => found.break_with(
                    "R29",
                    at,
                    format!("multipleOf {new}"),
                    [Wanted::Value(1.into()), Wanted::Any],
                ),
            }
        }
        _ => {}
    }
    match (pattern, &new.pattern) {
        (Some(_), None) => found.add("R55", at, "pattern removed"),
        (old, Some(new)) if old.as_ref() != Some(new) => {
            let tries = ["a", "A", "0", "a b", "ä", "-", ""].map(|text| Wanted::Value(text.into()));
            found.break_with(
                "R23",
                at,
                format!("pattern {new}"),
                tries.into_iter().chain([Wanted::Any]),
            );
        }
        _ => {}
    }
    junctors(("allOf", all_of, &new.all_of), at, found);
    junctors(("anyOf", any_of, &new.any_of), at, found);
    junctors(("oneOf", one_of, &new.one_of), at, found);
    match (not, &new.not) {
        (Some(_), None) => found.add("R22", at, "not removed"),
        (old, new) if old != new => found.break_with("R38", at, "not", [Wanted::Any]),
        _ => {}
    }
}

fn legal_values(old: Option<&[Value]>, new: Option<&[Value]>, at: &Path, found: &mut Found) {
    let listed = |values: &[&Value]| {
        values
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (old, new) {
        (None, Some(new)) => {
            let all: Vec<&Value> = new.iter().collect();
            let other = Wanted::Value("other-value".into());
            found.break_with("R16", at, format!("only {}", listed(&all)), [other, Wanted::Any]);
        }
        (Some(_), None) => found.add("R19", at, "any value"),
        (Some(old), Some(new)) => {
            let gone: Vec<&Value> = old.iter().filter(|value| !new.contains(value)).collect();
            let come: Vec<&Value> = new.iter().filter(|value| !old.contains(value)).collect();
            if !gone.is_empty() {
                let tries = gone.iter().map(|value| Wanted::Value((*value).clone()));
                found.break_with("R17", at, listed(&gone), tries);
            }
            if !come.is_empty() {
                found.add("R18", at, listed(&come));
            }
        }
        (None, None) => {}
    }
}

/// Which side of a value a bound is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// A bound, and whether it excludes itself.
type Bound = (Number, bool);

fn bound(
    name: &str,
    old: Option<Bound>,
    new: Option<Bound>,
    side: Side,
    at: &Path,
    found: &mut Found,
    outside: impl Fn(&Bound) -> Vec<Wanted>,
) {
    match (old, new) {
        (None, Some(new)) => found.break_with("R20", at, format!("{name}: {}", shown(&new)), outside(&new)),
        (Some(old), None) => found.add("R22", at, format!("{name}: {} removed", shown(&old))),
        (Some(old), Some(new)) if old != new => {
            let what = format!("{name}: {} -> {}", shown(&old), shown(&new));
            match is_tighter(&old, &new, side) {
                true => found.break_with("R21", at, what, outside(&new)),
                false => found.add("R22", at, what),
            }
        }
        _ => {}
    }
}

fn is_tighter(old: &Bound, new: &Bound, side: Side) -> bool {
    let number = |bound: &Bound| bound.0.as_f64().unwrap_or(f64::NAN);
    let order = number(new).partial_cmp(&number(old));
    match (order, side) {
        (Some(Ordering::Greater), Side::Lower) | (Some(Ordering::Less), Side::Upper) => true,
        (Some(Ordering::Equal), _) => new.1 && !old.1,
        (Some(_), _) => false,
        // Numbers that cannot be compared may be anything.
        (None, _) => true,
    }
}

fn shown((limit, excluded): &Bound) -> String {
    match excluded {
        true => format!("{limit} (exclusive)"),
        false => limit.to_string(),
    }
}

/// Values with a count that is just outside of the limit.
fn counted(schema: &Schema, side: Side, (limit, _): &Bound) -> Vec<Wanted> {
    let Some(limit) = limit.as_u64().and_then(|limit| usize::try_from(limit).ok()) else {
        return vec![Wanted::Any];
    };
    let count = match side {
        Side::Lower => limit.saturating_sub(1),
        Side::Upper => limit.saturating_add(1),
    };
    // Larger objects than a test can be made of show nothing.
    if count > 4096 {
        return vec![];
    }
    let value = match schema.json_type {
        JsonType::String => Value::from("a".repeat(count)),
        JsonType::Array => {
            let item = |index: usize| match schema.items.as_ref().map(|items| items.json_type) {
                Some(JsonType::String) => Value::from(format!("item-{index}")),
                Some(JsonType::Integer | JsonType::Number) => Value::from(index),
                _ => Value::Object(serde_json::Map::new()),
            };
            (0..count).map(item).collect()
        }
        JsonType::Object => {
            let fields = (0..count).map(|index| (format!("key-{index}"), Value::from("value")));
            fields.collect()
        }
        _ => return vec![Wanted::Any],
    };
    vec![Wanted::Value(value), Wanted::Any]
}

/// Numbers that are just outside of the limit.
fn beyond(schema: &Schema, side: Side, (limit, excluded): &Bound) -> Vec<Wanted> {
    let step = match (excluded, side) {
        (true, _) => 0,
        (false, Side::Lower) => -1,
        (false, Side::Upper) => 1,
    };
    let outside = match (limit.as_i64(), limit.as_f64()) {
        (Some(limit), _) => Value::from(limit.saturating_add(step)),
        (None, Some(limit)) if schema.json_type == JsonType::Integer => {
            let text = format!("{:.0}", limit + step as f64);
            text.parse::<i64>().map_or(Value::Null, Value::from)
        }
        (None, Some(limit)) => Value::from(limit + step as f64),
        (None, None) => Value::Null,
    };
    vec![Wanted::Value(outside), Wanted::Any]
}

/// Compares the alternatives of a junctor as sets: their order says nothing.
fn junctors((name, old, new): (&str, &[Schema], &[Schema]), at: &Path, found: &mut Found) {
    let within = |some: &[Schema], all: &[Schema]| some.iter().all(|one| all.contains(one));
    if within(old, new) && within(new, old) {
        return;
    }
    // Fewer conditions of allOf, and more alternatives of anyOf, allow more.
    let wider = match name {
        "allOf" => within(new, old),
        "anyOf" => new.is_empty() || (!old.is_empty() && within(old, new)),
        _ => new.is_empty(),
    };
    match wider {
        true => found.add("R22", at, format!("{name} relaxed")),
        false => found.break_with("R38", at, name, [Wanted::Any]),
    }
}
