//! Reading patches.

use super::node::Node;
use super::{Dialect, transform};
use crate::patch::{Patch, PatchType, Source};
use crate::path::MergeOptions;
use crate::problem::Problems;

/// A patch of a template as it is written.
pub(super) enum Written<'v> {
    Patch(Box<Patch>),
    /// The patches of the set of this name.
    Set(&'v str),
}

const CORE: [&str; 5] = [
    "FromCompositeFieldPath",
    "ToCompositeFieldPath",
    "CombineFromComposite",
    "CombineToComposite",
    "PatchSet",
];

const FUNCTION: [&str; 9] = [
    "FromCompositeFieldPath",
    "ToCompositeFieldPath",
    "CombineFromComposite",
    "CombineToComposite",
    "FromEnvironmentFieldPath",
    "ToEnvironmentFieldPath",
    "CombineFromEnvironment",
    "CombineToEnvironment",
    "PatchSet",
];

const ENVIRONMENT: [&str; 6] = [
    "FromCompositeFieldPath",
    "ToCompositeFieldPath",
    "CombineFromComposite",
    "CombineToComposite",
    "FromEnvironmentFieldPath",
    "ToEnvironmentFieldPath",
];

const SECRET: [&str; 2] = ["FromCompositeFieldPath", "CombineFromComposite"];

pub(super) fn composed<'v>(
    node: &Node<'v>,
    dialect: Dialect,
    problems: &mut Problems,
) -> Option<Written<'v>> {
    let known: &[&str] = if dialect == Dialect::Core {
        &CORE
    } else {
        &FUNCTION
    };
    if type_of(node, problems)? == "PatchSet" {
        let name = node.child("patchSetName");
        return match name.text(problems) {
            Some(text) if !text.is_empty() => Some(Written::Set(text)),
            _ => {
                let reason = "patchSetName must be set for patch type PatchSet";
                name.required(reason, "name one of the patchSets", problems);
                None
            }
        };
    }
    let patch = read(node, known, "unknown patch type", dialect, problems)?;
    Some(Written::Patch(Box::new(patch)))
}

pub(super) fn in_set(node: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<Patch> {
    if type_of(node, problems)? == "PatchSet" {
        let suggestion = "write the patches of the other set out";
        node.child("type")
            .invalid("cannot use patches within patches", suggestion, problems);
        return None;
    }
    let known: &[&str] = if dialect == Dialect::Core {
        &CORE
    } else {
        &FUNCTION
    };
    read(node, known, "unknown patch type", dialect, problems)
}

pub(super) fn environment(node: &Node<'_>, problems: &mut Problems) -> Option<Patch> {
    read(
        node,
        &ENVIRONMENT,
        "invalid environment patch type",
        Dialect::Function,
        problems,
    )
}

pub(super) fn secret(node: &Node<'_>, problems: &mut Problems) -> Option<Patch> {
    read(
        node,
        &SECRET,
        "unsupported connection secret patch type",
        Dialect::Function,
        problems,
    )
}

fn type_of<'v>(node: &Node<'v>, problems: &mut Problems) -> Option<&'v str> {
    let kind = node.child("type");
    match kind.value() {
        None => Some("FromCompositeFieldPath"),
        Some(_) => Some(kind.text(problems)?).map(|text| {
            if text.is_empty() {
                "FromCompositeFieldPath"
            } else {
                text
            }
        }),
    }
}

fn read(
    node: &Node<'_>,
    known: &[&str],
    unknown: &str,
    dialect: Dialect,
    problems: &mut Problems,
) -> Option<Patch> {
    let name = type_of(node, problems)?;
    let kind = match name {
        _ if !known.contains(&name) => None,
        "FromCompositeFieldPath" => Some(PatchType::FromCompositeFieldPath),
        "ToCompositeFieldPath" => Some(PatchType::ToCompositeFieldPath),
        "CombineFromComposite" => Some(PatchType::CombineFromComposite),
        "CombineToComposite" => Some(PatchType::CombineToComposite),
        "FromEnvironmentFieldPath" => Some(PatchType::FromEnvironmentFieldPath),
        "ToEnvironmentFieldPath" => Some(PatchType::ToEnvironmentFieldPath),
        "CombineFromEnvironment" => Some(PatchType::CombineFromEnvironment),
        "CombineToEnvironment" => Some(PatchType::CombineToEnvironment),
        _ => None,
    };
    let Some(kind) = kind else {
        node.child("type").unknown(name, unknown, known, problems);
        return None;
    };
    let combines = name.starts_with("Combine");
    let to = node.child("toFieldPath");
    let written_to = to.value().is_some_and(|value| value != "");
    let (source, to) = if combines {
        let to = to.path(
            &format!("toFieldPath must be set for patch type {name}"),
            problems,
        );
        (combine(node, name, problems), to)
    } else {
        let from = node.child("fromFieldPath");
        let from = from.path(
            &format!("fromFieldPath must be set for patch type {name}"),
            problems,
        );
        let to = if written_to {
            to.parsed_path(problems)
        } else {
            from.clone()
        };
        (from.map(Source::Field), to)
    };
    let transforms = node.child("transforms").items(problems);
    let transforms = transforms
        .iter()
        .filter_map(|node| transform::read(node, dialect, problems))
        .collect();
    let policy = node.child("policy");
    let required = required(&policy.child("fromFieldPath"), problems);
    let merge = merge(&policy, dialect, problems);
    Some(Patch {
        kind,
        source: source?,
        transforms,
        to: to?,
        // Core never merges what it combined.
        merge: merge.filter(|_| !(combines && dialect == Dialect::Core)),
        merges_with_observed: written_to && dialect == Dialect::Core,
        required,
    })
}

fn combine(node: &Node<'_>, name: &str, problems: &mut Problems) -> Option<Source> {
    let combine = node.child("combine");
    if combine.value().is_none() {
        let reason = format!("combine must be set for patch type {name}");
        combine.required(&reason, "add variables, a strategy and a format", problems);
        return None;
    }
    let variables = combine.child("variables");
    let written = variables.items(problems);
    if written.is_empty() {
        variables.required(
            "at least one variable must be provided",
            "add a fromFieldPath",
            problems,
        );
    }
    let missing = "fromFieldPath must be set for each combine variable";
    let paths: Vec<_> = written
        .iter()
        .map(|variable| variable.child("fromFieldPath").path(missing, problems))
        .collect();
    let strategy = combine.child("strategy");
    match strategy.text(problems) {
        Some("string") => {}
        None | Some("") => {
            strategy.required(
                "a combine strategy must be provided",
                "write strategy: string",
                problems,
            );
        }
        Some(other) => strategy.unknown(other, "unknown strategy type", &["string"], problems),
    }
    let format = combine.child("string").child("fmt");
    let Some(text) = format.text(problems) else {
        if format.value().is_none() {
            let reason = "string must be set for combine strategy string";
            combine
                .child("string")
                .required(reason, "add string.fmt, as in \"%s-%s\"", problems);
        }
        return None;
    };
    let variables: Option<Vec<_>> = paths.into_iter().collect();
    Some(Source::Combine {
        variables: variables?,
        format: text.to_owned(),
    })
}

fn required(node: &Node<'_>, problems: &mut Problems) -> bool {
    match node.text(problems) {
        None | Some("" | "Optional") => false,
        Some("Required") => true,
        Some(other) => {
            node.unknown(
                other,
                "unknown fromFieldPathPolicy",
                &["Optional", "Required"],
                problems,
            );
            false
        }
    }
}

fn merge(policy: &Node<'_>, dialect: Dialect, problems: &mut Problems) -> Option<MergeOptions> {
    let (options, mode) = (policy.child("mergeOptions"), policy.child("toFieldPath"));
    match dialect {
        Dialect::Core => {
            if mode.value().is_some() {
                let reason = "policy.toFieldPath is known to the patch-and-transform function only";
                mode.invalid(reason, "use policy.mergeOptions, or mode: Pipeline", problems);
            }
            options.value().map(|_| MergeOptions {
                keep_map_values: options.child("keepMapValues").flag(problems),
                append_slice: options.child("appendSlice").flag(problems),
            })
        }
        Dialect::Function => {
            if options.value().is_some() {
                let reason = "policy.mergeOptions is known to mode: Resources only";
                options.invalid(reason, "use policy.toFieldPath", problems);
            }
            merge_mode(&mode, problems)
        }
    }
}

fn merge_mode(mode: &Node<'_>, problems: &mut Problems) -> Option<MergeOptions> {
    const MODES: [&str; 5] = [
        "Replace",
        "MergeObjects",
        "MergeObjectsAppendArrays",
        "ForceMergeObjects",
        "ForceMergeObjectsAppendArrays",
    ];
    let (keep_map_values, append_slice) = match mode.text(problems)? {
        "" | "Replace" => return None,
        "MergeObjects" | "MergeObject" => (true, false),
        "MergeObjectsAppendArrays" => (true, true),
        "ForceMergeObjects" => (false, false),
        "ForceMergeObjectsAppendArrays" | "AppendArray" => (false, true),
        other => {
            mode.unknown(other, "unknown toFieldPathPolicy", &MODES, problems);
            return None;
        }
    };
    Some(MergeOptions {
        keep_map_values,
        append_slice,
    })
}
