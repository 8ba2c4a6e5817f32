//! `cambium diff`: what changed between two versions of a definition.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Policy, Reference};
use cambium_oam::{Asked, Catalogue, Follow, Stored, resolve};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use super::world::World;
use super::{ask, print};
use crate::cli::Diff;
use crate::exit::{NotFound, WrongUse};

pub(crate) async fn diff(options: &Diff) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let world = World::read(&client).await?;
    let type_ = match &options.kind {
        Some(kind) => kind.type_(),
        None => guess(&world.catalogue, &namespace, &options.from)?,
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
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut output = std::io::stdout();
    for (part, before, after) in &parts {
        if before == after {
            continue;
        }
        writeln!(output, "--- {} {part}", from.revision.name())?;
        writeln!(output, "+++ {} {part}", to.revision.name())?;
        let text = TextDiff::from_lines(before.as_str(), after.as_str());
        for hunk in text.unified_diff().context_radius(3).iter_hunks() {
            writeln!(output, "{}", hunk.header())?;
            for change in hunk.iter_changes() {
                let (sign, colour) = match change.tag() {
                    ChangeTag::Delete => ("-", "\u{1b}[31m"),
                    ChangeTag::Insert => ("+", "\u{1b}[32m"),
                    ChangeTag::Equal => (" ", ""),
                };
                let line = change.value().trim_end_matches('\n');
                match colours && !colour.is_empty() {
                    true => writeln!(output, "{colour}{sign}{line}\u{1b}[0m")?,
                    false => writeln!(output, "{sign}{line}")?,
                }
            }
        }
    }
    Ok(())
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
fn guess(catalogue: &Catalogue, namespace: &str, text: &str) -> Result<DefinitionType> {
    let reference: Reference = text
        .parse()
        .map_err(|error: cambium_lineage::ReferenceError| WrongUse(error.to_string()))?;
    let known: Vec<DefinitionType> = DefinitionType::ALL
        .into_iter()
        .filter(|type_| catalogue.find(namespace, *type_, reference.artifact()).is_some())
        .collect();
    match known.as_slice() {
        [one] => Ok(*one),
        [] => Err(NotFound(format!("no definition {:?}", reference.artifact())).into()),
        _ => Err(WrongUse(format!(
            "there are definitions {:?} of several kinds; say which with --kind",
            reference.artifact()
        ))
        .into()),
    }
}

fn find(catalogue: &Catalogue, namespace: &str, type_: DefinitionType, text: &str) -> Result<Arc<Stored>> {
    let asked = Asked {
        path: String::new(),
        type_,
        text: text.to_owned(),
    };
    let follow = Follow {
        policy: Policy::ByReference,
        lock: None,
        publish_version: None,
    };
    match resolve(catalogue, namespace, &follow, &asked, None).outcome {
        Ok(resolved) => Ok(resolved.stored),
        Err(refused) => Err(NotFound(refused.message).into()),
    }
}
