//! One directory for each row of the table of changes: two CRDs, and what is said of the change between them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cambium_evolve::{Change, Comparison, Contract, Outcome, compare_all};
use serde_json::{Value, json};

/// The rows of the table.
const ROWS: std::ops::RangeInclusive<u32> = 1..=51;

/// Breaks that no new object shows: they concern updates, other versions or what merges, or no sample was found.
const WITHOUT_WITNESS: [&str; 14] = [
    "12-integer-to-number",
    "14-integer-to-int-or-string",
    "18-enum-value-added",
    "07-status-required-field-optional",
    "30-struct-to-map",
    "33-list-type-set",
    "36-transition-rule-added",
    "43-version-not-served",
    "44-version-removed",
    "46-scope",
    "47-status-subresource",
    "48-short-name-removed",
    "50-crd-removed",
    "51-v1beta1-to-v1",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rows")
}

pub(crate) fn names() -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory()).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// The document of a file; null if it has none.
pub(crate) fn read(name: &str, file: &str) -> Value {
    let path = directory().join(name).join(file);
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&std::fs::read_to_string(&path).unwrap()).unwrap();
    documents.into_iter().next().unwrap_or_default()
}

fn contracts(name: &str, file: &str) -> Vec<Contract> {
    let crd = read(name, file);
    if crd.is_null() {
        return Vec::new();
    }
    vec![Contract::of_crd(&crd).unwrap_or_else(|errors| panic!("{name}/{file}: {errors:?}"))]
}

fn compared(name: &str, old: &str, new: &str) -> Comparison {
    let mut all = compare_all(&contracts(name, old), &contracts(name, new));
    all.pop().map_or_else(Comparison::default, |one| one.comparison)
}

fn told(change: &Change) -> Value {
    json!({
        "rule": change.rule.id, "path": change.path, "writers": change.effects.writers, "stored": change.effects.stored,
        "readers": change.effects.readers, "bump": change.bump,
    })
}

#[test]
fn every_row_has_a_directory() {
    let there: BTreeSet<u32> = names().iter().map(|name| name[..2].parse().unwrap()).collect();
    let missing: Vec<u32> = ROWS.filter(|row| !there.contains(row)).collect();
    assert_eq!(missing, [] as [u32; 0], "rows without a directory");
}

#[test]
fn every_row_is_judged_as_expected() {
    let mut wrong = Vec::new();
    for name in names() {
        let comparison = compared(&name, "old.yaml", "new.yaml");
        let told: Vec<Value> = comparison.changes.iter().map(told).collect();
        let expected = read(&name, "expected.yaml");
        if json!(told) != expected {
            wrong.push(format!(
                "{name}\n  expected {expected}\n  told     {}",
                json!(told)
            ));
        }
    }
    assert_eq!(wrong, [] as [&str; 0], "{}", wrong.join("\n"));
}

#[test]
fn every_break_has_a_witness() {
    let mut wrong = Vec::new();
    for name in names() {
        let comparison = compared(&name, "old.yaml", "new.yaml");
        let without = comparison.breaks().any(|change| change.witness.is_none());
        if without != WITHOUT_WITNESS.contains(&name.as_str()) {
            wrong.push(name);
        }
    }
    assert_eq!(wrong, [] as [&str; 0]);
}

#[test]
fn a_contract_is_equal_to_itself() {
    for name in names() {
        for file in ["old.yaml", "new.yaml"] {
            let comparison = compared(&name, file, file);
            assert!(comparison.is_empty(), "{name}/{file}: {comparison:?}");
        }
    }
}

/// What is legal less is legal more the other way round: no change of a schema demands nothing in both directions, but for documentation.
#[test]
fn a_break_one_way_is_no_patch_the_other_way() {
    for name in names() {
        let there = compared(&name, "old.yaml", "new.yaml");
        let back = compared(&name, "new.yaml", "old.yaml");
        // A kind that is new changes nothing that was there.
        assert_eq!(
            there.is_empty(),
            back.is_empty() && name != "50-crd-removed",
            "{name}"
        );
        if there.breaks().any(|change| change.witness.is_some()) {
            assert_ne!(back.bump, Some(cambium_lineage::Bump::Patch), "{name}");
        }
    }
}

#[test]
fn a_witness_says_what_happens_to_it() {
    let outcome = |name: &str| {
        let comparison = compared(name, "old.yaml", "new.yaml");
        let witness = comparison.changes[0].witness.clone().unwrap();
        (witness.object["spec"].clone(), witness.outcome)
    };
    assert_eq!(
        outcome("03-required-field-added"),
        (
            json!({}),
            Outcome::Refused(vec!["spec.a: Required value".to_owned()])
        )
    );
    assert_eq!(
        outcome("09-field-renamed"),
        (
            json!({"persistent": true}),
            Outcome::Pruned(vec!["spec.persistent".to_owned()])
        )
    );
    assert_eq!(outcome("27-default-changed"), (json!({}), Outcome::Different));
    assert_eq!(
        outcome("17-enum-value-removed"),
        (
            json!({"a": "z"}),
            Outcome::Refused(vec![
                "spec.a: Unsupported value: \"z\": supported values: \"x\"".to_owned()
            ])
        )
    );
}
