//! `cambium outdated`: every application, and what it could move to.

use anyhow::Result;
use cambium_api::crossplane::UpdatePolicy;
use cambium_composites::{ByRevision, CompositionFetcher as _, Wish};
use cambium_oam::{asked, follow, resolve};
use serde_json::{Value, json};

use super::fleet::{Fleet, Kind};
use super::resolving::in_use;
use super::world::World;
use super::{answer, ask, heading};
use crate::cli::Outdated;
use crate::output;

pub(crate) async fn outdated(options: &Outdated) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let world = World::read(&client).await?;
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
        for asked in asked(application) {
            let in_use = in_use(application, &asked);
            let answered = resolve(&world.catalogue, &key.namespace, &follow, &asked, in_use.as_ref());
            let (at, newest, why) = match &answered.outcome {
                Ok(resolved) => match &resolved.newer {
                    Some((newest, why)) => {
                        let why = match &follow.publish_version {
                            Some(version) => format!("is frozen by publishVersion={version}"),
                            None => why.clone(),
                        };
                        (resolved.stored.revision.to_string(), newest.clone(), why)
                    }
                    None => continue,
                },
                Err(refused) => ("<none>".to_owned(), "<none>".to_owned(), refused.message.clone()),
            };
            all.push(json!({
                "namespace": key.namespace, "application": key.name, "path": asked.path,
                "asked": asked.text, "at": at, "newest": newest, "whyNot": why,
            }));
            rows.push(vec![
                key.namespace.clone(),
                key.name.clone(),
                asked.path,
                asked.text,
                at,
                newest,
                why,
            ]);
        }
    }
    let fleet = Fleet::read(&client).await?;
    for kind in &fleet.kinds {
        for composite in &kind.composites {
            let found = composite["metadata"]["namespace"].as_str();
            if !options.all_namespaces && found.is_some_and(|found| found != namespace) {
                continue;
            }
            let Some(row) = behind(&fleet, kind, composite) else {
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

/// Where a composite resource is, if that is not at the current revision of its composition, and why.
fn behind(fleet: &Fleet, kind: &Kind, composite: &Value) -> Option<Value> {
    let wish = Wish::of(&kind.definition, composite);
    let composition = wish.composition(&fleet.catalogue).ok();
    let shelf = composition.as_ref().and_then(|name| fleet.catalogue.get(name));
    let newest = shelf.and_then(|shelf| shelf.newest(composition.as_deref().unwrap_or_default(), |_| true));
    let newest = newest.map(|stored| stored.revision.name().to_string());
    let why = match ByRevision.fetch(&fleet.catalogue, &wish) {
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
        "name": composite["metadata"]["name"], "asked": composition, "at": wish.revision, "newest": newest, "whyNot": why,
    }))
}
