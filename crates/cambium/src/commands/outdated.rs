//! `cambium outdated`: every application, and what it could move to.

use anyhow::Result;
use cambium_api::crossplane::UpdatePolicy;
use cambium_compositions as compositions;
use cambium_compositions::{ByRevision, CompositionFetcher as _, Refusal, Wish};
use cambium_definitions::application::answers;
use cambium_definitions::{Asked, Consuming, Follow, asked, follow, resolve};
use serde_json::{Value, json};

use super::fleet::{Fleet, Kind};
use super::world::{Reach, World, is_forbidden};
use super::{answer, ask, heading};
use crate::cli::Outdated;
use crate::exit::said;
use crate::output;

pub(crate) async fn outdated(options: &Outdated) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let reach = match options.all_namespaces {
        true => Reach::Everything,
        false => Reach::From(&namespace),
    };
    let world = World::read(&client, reach).await?;
    let mut rows = vec![heading([
        "NAMESPACE",
        "CONSUMER",
        "PLACE",
        "ASKED",
        "AT",
        "NEWEST",
        "WHY NOT",
    ])];
    let mut all = Vec::new();
    for (key, application) in &world.applications {
        if !options.all_namespaces && key.namespace != namespace {
            continue;
        }
        let follow = match follow(application) {
            Ok(follow) => follow,
            Err(refused) => {
                for one in refused {
                    let none = || "<none>".to_owned();
                    all.push(json!({
                        "namespace": key.namespace, "application": key.name, "whyNot": one.message,
                    }));
                    let (namespace, name) = (key.namespace.clone(), key.name.clone());
                    let place = "annotations".to_owned();
                    rows.push(vec![namespace, name, place, none(), none(), none(), one.message]);
                }
                continue;
            }
        };
        for row in references(&world, key, application, &follow) {
            let text = |field: &str| row[field].as_str().unwrap_or("<none>").to_owned();
            rows.push(
                [
                    "namespace",
                    "application",
                    "path",
                    "asked",
                    "at",
                    "newest",
                    "whyNot",
                ]
                .map(text)
                .into(),
            );
            all.push(row);
        }
    }
    let fleet = match Fleet::read(&client).await {
        Err(error) if is_forbidden(&error) && !options.all_namespaces => {
            output::note(&format!("composite resources are not shown: {}", said(&error)));
            None
        }
        fleet => Some(fleet?),
    };
    for (fleet, kind) in fleet
        .iter()
        .flat_map(|fleet| fleet.kinds.iter().map(move |kind| (fleet, kind)))
    {
        for composite in &kind.composites {
            let found = composite["metadata"]["namespace"].as_str();
            if !options.all_namespaces && found.is_some_and(|found| found != namespace) {
                continue;
            }
            let Some(row) = behind(fleet, kind, composite) else {
                continue;
            };
            let text = |field: &str| row[field].as_str().unwrap_or("<none>").to_owned();
            let consumer = format!("{}/{}", kind.definition.names().kind, text("name"));
            rows.push(vec![
                text("namespace"),
                consumer,
                "compositionRevisionRef".to_owned(),
                text("asked"),
                text("at"),
                text("newest"),
                text("whyNot"),
            ]);
            all.push(row);
        }
    }
    if all.is_empty() && options.asking.output.is_none() {
        output::note("nothing could move to something newer");
        return Ok(());
    }
    answer(&rows, &all, options.asking.output)
}

/// The references of an application that could move to something newer and do not, or that get nothing.
fn references(world: &World, key: &Consuming, application: &Value, follow: &Follow) -> Vec<Value> {
    let row = |asked: &Asked, at: Option<String>, newest: Option<String>, why: String| {
        json!({
            "namespace": key.namespace, "application": key.name, "path": asked.path,
            "asked": asked.text, "at": at, "newest": newest, "whyNot": why,
        })
    };
    // What it runs, whatever becomes of its references.
    let running = |asked: &Asked| {
        let known = application["status"]["references"].as_array()?;
        let known = known
            .iter()
            .find(|known| known["path"] == asked.path.as_str() && known["asked"] == asked.text.as_str())?;
        let known = match &known["running"] {
            Value::Null => known,
            running => running,
        };
        let name = known["version"].as_str().or(known["revision"].as_str())?;
        Some(name.to_owned())
    };
    let told = |asked: &Asked| {
        let known = application["status"]["references"].as_array()?;
        let mut known = known.iter();
        let known = known.find(|known| known["path"] == asked.path.as_str())?;
        Some(known["message"].as_str()?.to_owned())
    };
    let recorded = world.recorded_of(&key.namespace, application);
    let answered = match answers(application, recorded, &world.catalogue) {
        Ok(answered) => answered,
        Err(refused) => {
            let asked = asked(application);
            let rows = refused.iter().flat_map(|one| {
                asked
                    .iter()
                    .map(|asked| row(asked, running(asked), None, one.message.clone()))
            });
            return rows.collect();
        }
    };
    let mut rows = Vec::new();
    for answer in &answered.answers {
        let asked = &answer.asked;
        // Whether there is something newer in what may not be read is not known.
        if let Some(why) = world.hidden(&key.namespace, asked, answer.outcome.as_ref().err()) {
            rows.push(row(asked, running(asked), None, format!("unknown: {why}")));
            continue;
        }
        let resolved = match &answer.outcome {
            Ok(resolved) => resolved,
            Err(refused) => {
                rows.push(row(asked, running(asked), None, refused.message.clone()));
                continue;
            }
        };
        let at = resolved.stored.revision.to_string();
        let frozen = answered.frozen.and(follow.publish_version.as_ref());
        let newer = match frozen {
            None => resolved.newer.clone(),
            Some(version) => {
                let thawed = resolve(&world.catalogue, key, follow, asked, None);
                let newest = thawed.outcome.ok().map(|thawed| match thawed.newer {
                    Some((newest, _)) => newest,
                    None => thawed.stored.revision.to_string(),
                });
                let newest = newest.filter(|newest| *newest != at);
                newest.map(|newest| (newest, format!("is frozen by publishVersion={version}")))
            }
        };
        // One that follows and does not run what it got could not move.
        let runs = running(asked).filter(|runs| *runs != at && resolved.follows);
        if let Some(runs) = runs {
            let why = told(asked).unwrap_or_else(|| format!("has not moved to {at} yet"));
            let newest = newer.map_or(at, |(newest, _)| newest);
            rows.push(row(asked, Some(runs), Some(newest), why));
        } else if let Some((newest, why)) = newer {
            rows.push(row(asked, Some(at), Some(newest), why));
        }
    }
    rows
}

/// Where a composite resource is, if that is not at the current revision of its composition, and why.
fn behind(fleet: &Fleet, kind: &Kind, composite: &Value) -> Option<Value> {
    let wish = Wish::of(&kind.definition, composite);
    let composition = wish.composition(&fleet.catalogue).ok();
    let shelf = composition.as_ref().and_then(|name| fleet.catalogue.get(name));
    let newest = shelf.and_then(|shelf| shelf.current(composition.as_deref().unwrap_or_default()));
    let newest = newest.map(|stored| stored.revision.name().to_string());
    let fetched = ByRevision.fetch(
        &fleet.catalogue,
        &compositions::Consuming::of(&wish.composite_type, composite),
        &wish,
    );
    // What it is composed by, if it names something that it can be composed by.
    let is_named = fetched.as_ref().err().is_none_or(Refusal::leaves_named);
    let at = wish.revision.as_ref().filter(|_| is_named);
    let why = match &fetched {
        Err(refusal) => refusal.to_string(),
        Ok(_) if newest.is_none() || wish.revision == newest => return None,
        Ok(_) => match (wish.policy, &wish.revision_selector) {
            (UpdatePolicy::Manual, _) => "compositionUpdatePolicy is Manual".to_owned(),
            (UpdatePolicy::Automatic, Some(selector)) => format!("follows {selector}"),
            (UpdatePolicy::Automatic, None) => "has not moved yet".to_owned(),
        },
    };
    Some(json!({
        "namespace": composite["metadata"]["namespace"], "kind": kind.definition.names().kind,
        "name": composite["metadata"]["name"], "asked": composition, "at": at, "newest": newest, "whyNot": why,
    }))
}
