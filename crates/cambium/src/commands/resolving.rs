//! `cambium resolve`: what the references of an application get, and why.

use anyhow::Result;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::{ApplicationStatus, ResolvedReference};
use cambium_definitions::application::answers;
use cambium_definitions::moves::explain;
use cambium_definitions::{Asked, Consuming, Using, follow};
use cambium_lineage::InUse;
use serde_json::{Value, json};

use super::locking::application_in;
use super::world::{Reach, World};
use super::{ask, heading, print};
use crate::cli::Resolve;
use crate::exit::Refusals;
use crate::{cue, output, table};

pub(crate) async fn resolve(options: &Resolve) -> Result<()> {
    let from_file = match &options.file {
        Some(file) => Some(application_in(&cue::read(file)?)?),
        None => None,
    };
    let (client, mut namespace) = ask(&options.asking).await?;
    if let Some(own) = from_file
        .as_ref()
        .and_then(|application| application["metadata"]["namespace"].as_str())
    {
        own.clone_into(&mut namespace);
    }
    let world = World::read(&client, Reach::From(&namespace)).await?;
    let application = match (&from_file, &options.application) {
        (Some(application), _) => application,
        (None, Some(name)) => world.application(&namespace, name)?.1,
        (None, None) => &Value::Null,
    };
    let follow = follow(application).map_err(Refusals::from)?;
    let application = &world.as_if_live(&namespace, application);
    let recorded = world.recorded_of(&namespace, application);
    let answered = answers(application, recorded, &world.catalogue).map_err(Refusals::from)?;
    let mut rows = vec![heading(["PLACE", "ASKED", "GOT", "RUNNING", "FROM", "WHY"])];
    let mut all = Vec::new();
    let status: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let mut problems = Vec::new();
    let mut text = String::new();
    for answer in &answered.answers {
        let asked = &answer.asked;
        let known = known(&status.references, asked);
        let using = known.and_then(using);
        let explained = explain(
            &world.catalogue,
            &Consuming::of(application),
            &follow,
            asked,
            using.as_ref(),
        );
        let hidden = world.hidden(&namespace, asked, answer.outcome.as_ref().err());
        let (got, from, why) = match (&answer.outcome, hidden) {
            // What may not be read is told as the manager has found it.
            (_, Some(hidden)) => {
                let said = known.filter(|known| known.revision.is_some());
                let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "<none>".to_owned());
                let got = said.and_then(|known| known.version.as_ref().or(known.revision.as_ref()));
                (
                    text(got),
                    text(said.and_then(|known| known.namespace.as_ref())),
                    format!("as the status says: {hidden}"),
                )
            }
            (Ok(resolved), None) => (
                resolved.stored.revision.to_string(),
                resolved.stored.artifact.namespace.clone(),
                match answered.frozen {
                    Some(frozen) => format!("frozen at {}", frozen.revision.name()),
                    None => resolved.reason.to_string(),
                },
            ),
            (Err(refused), None) => {
                problems.push(refused.clone());
                ("<none>".to_owned(), "<none>".to_owned(), refused.message.clone())
            }
        };
        let running = known.and_then(|known| known.running.as_ref());
        // What the status says of a reference that could not move is why it does not run what it got.
        let held_back = known.filter(|known| {
            running.is_some_and(|running| known.revision.as_ref() != Some(&running.revision))
        });
        let why = held_back
            .and_then(|known| known.message.clone())
            .filter(|_| answer.outcome.is_ok())
            .unwrap_or(why);
        rows.push(vec![
            asked.path.clone(),
            asked.text.clone(),
            got.clone(),
            running.map_or_else(|| "<none>".to_owned(), |running| running.called().to_owned()),
            from,
            why.clone(),
        ]);
        if options.explain {
            text.push_str(&format!("\n{} {}\n", asked.path, asked.text));
            if let Err(refused) = &answer.outcome {
                text.push_str(&format!("  refused: {}\n", refused.message));
            }
            if answered.frozen.is_some() {
                text.push_str(&format!("  {why}; without publishVersion:\n"));
            }
            if let Ok(resolved) = &answer.outcome
                && world.catalogue.hides_shared(&resolved.stored.artifact)
            {
                let artifact = &resolved.stored.artifact;
                text.push_str(&format!(
                    "  {}'s own definition hides the shared {} in {SYSTEM_NAMESPACE}\n",
                    artifact.namespace, artifact.name
                ));
            }
            for line in explained.iter().flatten() {
                let mark = if line.chosen { "*" } else { " " };
                text.push_str(&format!("  {mark} {:<16} {}\n", line.version, line.why));
            }
        }
        let resolved = answer.outcome.as_ref().ok();
        all.push(json!({
            "path": asked.path, "type": asked.type_, "asked": asked.text,
            "version": resolved.map(|resolved| resolved.stored.revision.to_string()),
            "revision": resolved.map(|resolved| resolved.stored.revision.name()),
            "digest": resolved.map(|resolved| resolved.stored.revision.digest()),
            "namespace": resolved.map(|resolved| &resolved.stored.artifact.namespace),
            "running": running,
            "why": why,
            "newer": resolved
                .and_then(|resolved| resolved.newer.as_ref())
                .map(|(version, reason)| json!({"version": version, "reason": reason})),
            "hidesShared": options.explain.then(|| {
                resolved.is_some_and(|resolved| world.catalogue.hides_shared(&resolved.stored.artifact))
            }),
            "revisions": options.explain.then(|| explained.ok()).flatten(),
        }));
    }
    match options.asking.output {
        Some(format) => print(&all, format)?,
        None => output::write(&(table::print(&rows) + &text))?,
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Refusals::from(problems).into()),
    }
}

/// What the status says of a reference.
fn known<'s>(references: &'s [ResolvedReference], asked: &Asked) -> Option<&'s ResolvedReference> {
    references
        .iter()
        .find(|known| known.asked == asked.text && known.definition_type == asked.type_)
}

/// What a reference uses now, as the status says.
fn using(known: &ResolvedReference) -> Option<Using> {
    Some(Using {
        namespace: known.namespace.clone().unwrap_or_default(),
        revision: InUse {
            name: known.revision.as_ref()?.parse().ok()?,
            digest: known.digest.as_deref().and_then(|digest| digest.parse().ok()),
        },
    })
}
