//! `cambium outdated`: every application, and what it could move to.

use anyhow::Result;
use cambium_oam::{asked, follow, resolve};
use serde_json::json;

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
        "APPLICATION",
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
    if all.is_empty() && options.asking.output.is_none() {
        output::note("no application could move to something newer");
        return Ok(());
    }
    answer(&rows, &all, options.asking.output)
}
