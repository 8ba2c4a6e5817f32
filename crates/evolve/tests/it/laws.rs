//! Laws, on generated schemas and objects.

use std::cell::Cell;

use cambium_evolve::{Comparison, Contract, Effect, compare};
use cambium_lineage::Bump;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

/// A value that a number makes: the same number, the same value.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        // Numbers of the SplitMix64 sequence.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

const NAMES: [&str; 5] = ["alpha", "beta", "gamma", "delta", "port"];

/// A structural schema, at most so deep.
fn schema(dice: &mut Dice, depth: u64) -> Value {
    let mut made = match dice.below(if depth == 0 { 4 } else { 7 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "integer"}),
        2 => json!({"type": "boolean"}),
        3 => json!({"type": "number"}),
        4 => json!({"type": "array", "items": schema(dice, depth - 1)}),
        5 => json!({"type": "object", "additionalProperties": schema(dice, depth - 1)}),
        _ => object(dice, depth - 1),
    };
    match made["type"].as_str().unwrap() {
        "string" if dice.once_in(3) => {
            made["enum"] = json!(["a", "b", "c"][..=usize::try_from(dice.below(3)).unwrap()])
        }
        "string" if dice.once_in(3) => made["maxLength"] = (dice.below(5) + 1).into(),
        "integer" if dice.once_in(3) => made["maximum"] = dice.below(9).into(),
        "integer" if dice.once_in(3) => made["minimum"] = dice.below(3).into(),
        "array" if dice.once_in(3) => made["maxItems"] = (dice.below(3) + 1).into(),
        _ => {}
    }
    if dice.once_in(6) {
        made["nullable"] = true.into();
    }
    made
}

fn object(dice: &mut Dice, depth: u64) -> Value {
    let mut properties = Map::new();
    for name in NAMES {
        if dice.once_in(2) {
            properties.insert(name.to_owned(), schema(dice, depth));
        }
    }
    let required: Vec<&String> = properties.keys().filter(|_| dice.once_in(3)).collect();
    let mut made = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        made["required"] = json!(required);
    }
    made
}

/// The schema with one or two places changed.
fn changed(schema_before: &Value, dice: &mut Dice) -> Value {
    let mut after = schema_before.clone();
    for _ in 0..=dice.below(2) {
        change(&mut after, dice);
    }
    after
}

fn change(at: &mut Value, dice: &mut Dice) {
    let inner = match at["type"].as_str().unwrap_or_default() {
        "object" if at["properties"].is_object() && !at["properties"].as_object().unwrap().is_empty() => {
            let fields = at["properties"].as_object().unwrap();
            let name = fields
                .keys()
                .nth(usize::try_from(dice.below(fields.len() as u64)).unwrap());
            Some(format!("/properties/{}", name.unwrap()))
        }
        "object" if at["additionalProperties"].is_object() => Some("/additionalProperties".to_owned()),
        "array" => Some("/items".to_owned()),
        _ => None,
    };
    if let (Some(inner), false) = (inner, dice.once_in(3)) {
        return change(at.pointer_mut(&inner).unwrap(), dice);
    }
    let type_ = at["type"].as_str().unwrap_or_default().to_owned();
    match (type_.as_str(), dice.below(4)) {
        (_, 0) => at["description"] = "Another text.".into(),
        ("object", 1) if at["properties"].is_object() => {
            let name = dice.pick(&NAMES);
            at["properties"][name] = schema(dice, 1);
        }
        ("object", 2) if at["properties"].is_object() => {
            let name = dice.pick(&NAMES);
            at["properties"].as_object_mut().unwrap().remove(name);
            if let Some(required) = at["required"].as_array_mut() {
                required.retain(|known| known != name);
            }
        }
        ("object", _) if at["properties"].is_object() => {
            let names: Vec<String> = at["properties"].as_object().unwrap().keys().cloned().collect();
            at["required"] = names.into_iter().filter(|_| dice.once_in(2)).collect();
        }
        ("string", 1) => at["maxLength"] = (dice.below(5) + 1).into(),
        ("string", 2) => at["enum"] = json!(["a", "b", "c"][..=usize::try_from(dice.below(3)).unwrap()]),
        ("integer", 1) => at["maximum"] = dice.below(9).into(),
        ("integer", 2) => *at = json!({"type": "number"}),
        ("array", 1) => at["maxItems"] = (dice.below(3) + 1).into(),
        _ => *at = schema(dice, 1),
    }
}

/// A value of a schema, or nearly one.
fn instance(schema: &Value, dice: &mut Dice) -> Value {
    if schema["nullable"] == true && dice.once_in(4) {
        return Value::Null;
    }
    match schema["type"].as_str().unwrap_or_default() {
        "string" => dice.pick(&["a", "b", "c", "abcd", ""]).into(),
        "integer" => dice.below(10).into(),
        "number" if dice.once_in(2) => 1.5.into(),
        "number" => dice.below(10).into(),
        "boolean" => dice.once_in(2).into(),
        "array" => (0..dice.below(4))
            .map(|_| instance(&schema["items"], dice))
            .collect(),
        _ => match schema["properties"].as_object() {
            Some(properties) => {
                let fields = properties.iter().filter(|_| !dice.once_in(4)).collect::<Vec<_>>();
                fields
                    .into_iter()
                    .map(|(name, schema)| (name.clone(), instance(schema, dice)))
                    .collect()
            }
            None => (0..dice.below(3))
                .map(|index| {
                    (
                        format!("key-{index}"),
                        instance(&schema["additionalProperties"], dice),
                    )
                })
                .collect(),
        },
    }
}

fn contract(spec: &Value) -> Contract {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.org"},
        "spec": {"group": "example.org", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced", "versions": [{
            "name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }]},
    });
    Contract::of_crd(&crd).unwrap_or_else(|errors| panic!("{spec}: {errors:?}"))
}

fn law(cases: u32, holds: impl Fn(u64) -> Result<(), TestCaseError>) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config).run(&any::<u64>(), holds).unwrap();
}

/// A schema, and what somebody made of it.
fn pair(seed: u64) -> (Value, Value, Dice) {
    let mut dice = Dice(seed);
    let before = object(&mut dice, 2);
    let after = match dice.once_in(4) {
        true => object(&mut dice, 2),
        false => changed(&before, &mut dice),
    };
    (before, after, dice)
}

fn writers(comparison: &Comparison) -> Vec<(&str, Effect)> {
    let changes = comparison.changes.iter();
    changes
        .map(|change| (change.rule.id, change.effects.writers))
        .collect()
}

/// What is declared safe for writers is: every object that was accepted still is, and keeps all of its fields.
#[test]
fn what_is_safe_for_writers_refuses_no_object_that_was_accepted() {
    let (safe, broken) = (Cell::new(0), Cell::new(0));
    law(800, |seed| {
        let (before, after, mut dice) = pair(seed);
        let (old, new) = (contract(&before), contract(&after));
        let comparison = compare(&old, &new);
        let is_safe = writers(&comparison)
            .iter()
            .all(|(_, effect)| *effect < Effect::Changes);
        let counter = if is_safe { &safe } else { &broken };
        counter.set(counter.get() + 1);
        for _ in 0..20 {
            let object = json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": instance(&before, &mut dice)});
            let written = old.versions[0].pipeline().create(object.clone()).unwrap();
            if !is_safe || !written.is_accepted() || !written.unknown_fields.is_empty() {
                continue;
            }
            let again = new.versions[0].pipeline().create(object.clone()).unwrap();
            prop_assert!(
                again.is_accepted() && again.unknown_fields.is_empty(),
                "{before}\n{after}\n{object}\n{:?} {:?}\n{:?}",
                again.errors,
                again.unknown_fields,
                comparison.changes
            );
        }
        Ok(())
    });
    assert!(safe.get() > 80 && broken.get() > 80, "{safe:?} {broken:?}");
}

#[test]
fn a_schema_is_equal_to_itself_and_different_from_others() {
    law(300, |seed| {
        let (before, after, _) = pair(seed);
        prop_assert!(compare(&contract(&before), &contract(&before)).is_empty());
        let comparison = compare(&contract(&before), &contract(&after));
        prop_assert_eq!(comparison.is_empty(), before == after, "{}\n{}", before, after);
        Ok(())
    });
}

/// Somebody gains where somebody loses: no change is nothing one way and a break the other way.
#[test]
fn what_narrows_one_way_widens_the_other_way() {
    law(300, |seed| {
        let (before, after, _) = pair(seed);
        let there = compare(&contract(&before), &contract(&after));
        let back = compare(&contract(&after), &contract(&before));
        prop_assert!(
            there.bump != Some(Bump::Major) || back.bump > Some(Bump::Patch),
            "{}\n{}\n{:?}\n{:?}",
            before,
            after,
            writers(&there),
            writers(&back)
        );
        Ok(())
    });
}

/// Most breaks for writers have an object that shows them.
#[test]
fn breaks_for_writers_have_witnesses() {
    let (with, without) = (Cell::new(0), Cell::new(0));
    law(300, |seed| {
        let (before, after, _) = pair(seed);
        for change in compare(&contract(&before), &contract(&after)).changes {
            if change.effects.writers == Effect::Breaks {
                let counter = if change.witness.is_some() { &with } else { &without };
                counter.set(counter.get() + 1);
            }
        }
        Ok(())
    });
    let share = f64::from(with.get()) / f64::from(with.get() + without.get());
    assert!(share > 0.9, "{with:?} with, {without:?} without");
}
