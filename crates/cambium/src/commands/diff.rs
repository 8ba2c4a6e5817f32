//! `cambium diff`: what changed between two versions of a definition.

use anyhow::Result;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_definitions::{Asked, Catalogue, Consuming, Follow, Stored, resolve};
use cambium_lineage::{Policy, Reference, ReferenceError};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use std::sync::Arc;

use super::fleet::Fleet;
use super::world::{Reach, World};
use super::{ask, print};
use crate::cli::Diff;
use crate::exit::{NotFound, Refusals, WrongUse};
use crate::output;

pub(crate) async fn diff(options: &Diff) -> Result<()> {
    if let (Some(from), Some(to)) = (comprev(&options.from), comprev(&options.to)) {
        return of_compositions(from, to, options).await;
    }
    let parse = |text: &str| {
        let parsed: Result<Reference, ReferenceError> = text.parse();
        parsed.map_err(|error| WrongUse(error.to_string()))
    };
    let (reference, _) = (parse(&options.from)?, parse(&options.to)?);
    let (client, namespace) = ask(&options.asking).await?;
    let types = match &options.kind {
        Some(kind) => vec![kind.type_()],
        None => DefinitionType::ALL.to_vec(),
    };
    let world = World::published(&client, Reach::From(&namespace), &types).await?;
    world.note_unseen();
    let type_ = match &options.kind {
        Some(kind) => kind.type_(),
        None => guess(&world.catalogue, &namespace, &reference)?,
    };
    let from = find(&world.catalogue, &namespace, type_, &options.from)?;
    let to = find(&world.catalogue, &namespace, type_, &options.to)?;
    let parts = parts(&from.spec, &to.spec)?;
    if let Some(format) = options.asking.output {
        let all: Vec<Value> = parts
            .iter()
            .map(|(name, before, after)| json!({"part": name, "from": before, "to": after}))
            .collect();
        let all = json!({
            "from": {"revision": from.revision.name(), "digest": from.revision.digest()},
            "to": {"revision": to.revision.name(), "digest": to.revision.digest()},
            "parts": all,
        });
        return print(&all, format);
    }
    let mut text = String::new();
    for (part, before, after) in &parts {
        let name = |stored: &Stored| format!("{} {part}", stored.revision.name());
        text.push_str(&unified((&name(&from), before), (&name(&to), after)));
    }
    if text.is_empty() {
        output::note(&format!(
            "{} and {} are the same",
            from.revision.name(),
            to.revision.name()
        ));
    }
    output::write(&text)
}

/// The name of a revision of a composition, if that is what is named.
fn comprev(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    let kinds = ["comprev", "compositionrevision", "compositionrevisions"];
    kinds
        .contains(&kind.split('.').next()?.to_lowercase().as_str())
        .then_some(name)
}

async fn of_compositions(from: &str, to: &str, options: &Diff) -> Result<()> {
    let (client, _) = ask(&options.asking).await?;
    let fleet = Fleet::published(&client).await?;
    let find = |name: &str| {
        let stored = fleet.catalogue.revision(name);
        stored.ok_or_else(|| NotFound(format!("no CompositionRevision {name:?}")))
    };
    let (before, after) = (find(from)?, find(to)?);
    let yaml = |spec: &Value| serde_saphyr::to_string(spec);
    let (was, is) = (yaml(before.content.spec())?, yaml(after.content.spec())?);
    if let Some(format) = options.asking.output {
        let side = |stored: &cambium_compositions::revision::Stored, spec: &str| {
            json!({"revision": stored.revision.name(), "number": stored.revision.number(),
                "digest": stored.revision.digest(), "spec": spec})
        };
        return print(
            &json!({"from": side(before, &was), "to": side(after, &is)}),
            format,
        );
    }
    let text = unified((from, &was), (to, &is));
    if text.is_empty() {
        output::note(&format!("{from} and {to} are the same"));
    }
    output::write(&text)
}

/// The differences between two texts, each with its name, as `diff -u` shows them; nothing if there are none.
pub(super) fn unified((from, before): (&str, &str), (to, after): (&str, &str)) -> String {
    if before == after {
        return String::new();
    }
    let colours = output::in_colour();
    let mut out = format!("--- {from}\n+++ {to}\n");
    let text = TextDiff::from_lines(before, after);
    for hunk in text.unified_diff().context_radius(3).iter_hunks() {
        out.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let (sign, colour) = match change.tag() {
                ChangeTag::Delete => ("-", "\u{1b}[31m"),
                ChangeTag::Insert => ("+", "\u{1b}[32m"),
                ChangeTag::Equal => (" ", ""),
            };
            let line = change.value().trim_end_matches('\n');
            out.push_str(&match colours && !colour.is_empty() {
                true => format!("{colour}{sign}{line}\u{1b}[0m\n"),
                false => format!("{sign}{line}\n"),
            });
        }
    }
    out
}

/// The template, and the rest of the spec as YAML.
fn parts(from: &Value, to: &Value) -> Result<Vec<(&'static str, String, String)>> {
    let split = |spec: &Value| -> Result<(String, String)> {
        let mut rest = spec.clone();
        let template = rest
            .pointer_mut("/schematic/cue/template")
            .map(Value::take)
            .and_then(|template| template.as_str().map(str::to_owned))
            .unwrap_or_default();
        if let Some(cue) = rest.pointer_mut("/schematic/cue").and_then(Value::as_object_mut) {
            cue.remove("template");
        }
        Ok((serde_saphyr::to_string(&rest)?, template))
    };
    let ((rest_from, template_from), (rest_to, template_to)) = (split(from)?, split(to)?);
    Ok(vec![
        ("spec", rest_from, rest_to),
        ("template", template_from, template_to),
    ])
}

/// The kind of definition that has this name, if only one has.
fn guess(catalogue: &Catalogue, namespace: &str, reference: &Reference) -> Result<DefinitionType> {
    let known: Vec<DefinitionType> = DefinitionType::ALL
        .into_iter()
        .filter(|type_| catalogue.find(namespace, *type_, reference.artifact()).is_some())
        .collect();
    match known.as_slice() {
        [one] => Ok(*one),
        [] => Err(NotFound(format!(
            "no definition {:?} in namespace {namespace} or {SYSTEM_NAMESPACE}",
            reference.artifact()
        ))
        .into()),
        several => {
            let kinds: Vec<&str> = several.iter().map(|type_| type_.kind()).collect();
            Err(WrongUse(format!(
                "{:?} is a {}; say which with --kind",
                reference.artifact(),
                kinds.join(" and a ")
            ))
            .into())
        }
    }
}

fn find(catalogue: &Catalogue, namespace: &str, type_: DefinitionType, text: &str) -> Result<Arc<Stored>> {
    let asked = Asked {
        path: String::new(),
        type_,
        text: text.to_owned(),
    };
    let follow = Follow {
        edited: false,
        policy: Policy::ByReference,
        lock: None,
        publish_version: None,
    };
    let anybody = Consuming {
        namespace: namespace.to_owned(),
        name: String::new(),
    };
    let answer = resolve(catalogue, &anybody, &follow, &asked, None);
    let resolved = answer.outcome.map_err(|refused| Refusals::from(vec![refused]))?;
    Ok(resolved.stored)
}
