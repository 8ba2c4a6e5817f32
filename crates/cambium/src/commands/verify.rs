//! `cambium verify`: whether a version is the same thing in every cluster.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

use super::world::{Reach, World};
use super::{answer, heading};
use crate::cli::{Cluster, Verify};
use crate::client;
use crate::exit::{Differences, WrongUse};
use crate::output;

/// What is compared: a version of a definition.
type Published = (DefinitionType, String, String, String);

pub(crate) async fn verify(options: &Verify) -> Result<()> {
    if options.contexts.len() < 2 {
        return Err(WrongUse("give two contexts or more: --context A --context B".to_owned()).into());
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = options.contexts.iter().find(|context| !seen.insert(*context)) {
        return Err(WrongUse(format!("--context {twice} is given twice")).into());
    }
    let mut without_version = 0;
    let mut digests: BTreeMap<Published, BTreeMap<&str, String>> = BTreeMap::new();
    let mut altered = Vec::new();
    for context in &options.contexts {
        let cluster = Cluster {
            kubeconfig: options.kubeconfig.clone(),
            context: Some(context.clone()),
        };
        let reach = options.namespace.as_deref().map_or(Reach::Everything, Reach::In);
        let client = client::connect(&cluster).await?;
        let world = World::published(&client, reach, &DefinitionType::ALL).await?;
        world.note_unseen();
        for (artifact, shelf) in world.catalogue.iter() {
            for stored in shelf.revisions() {
                let Some(version) = stored.revision.version() else {
                    without_version += 1;
                    continue;
                };
                let published = (
                    artifact.type_,
                    artifact.namespace.clone(),
                    artifact.name.clone(),
                    version.to_string(),
                );
                if let Some(found) = stored.revision.altered() {
                    altered.push(format!("{context}: {} holds {found}", stored.revision.name()));
                }
                let digest = stored.revision.altered().unwrap_or(stored.revision.digest());
                digests
                    .entry(published)
                    .or_default()
                    .insert(context, digest.to_string());
            }
        }
    }
    let mut rows = vec![heading(["KIND", "NAMESPACE", "VERSION", "VERDICT"])];
    rows[0].extend(options.contexts.iter().map(|context| context.to_uppercase()));
    let mut all = Vec::new();
    let (mut same, mut differ) = (0, 0);
    for ((type_, namespace, name, version), found) in &digests {
        let contents: BTreeSet<&String> = found.values().collect();
        let verdict = match (contents.len() > 1, found.len() < options.contexts.len()) {
            (true, _) => "differs",
            (false, true) => "missing",
            (false, false) => "same",
        };
        match verdict {
            "same" => same += 1,
            "missing" if options.allow_missing => {}
            _ => differ += 1,
        }
        let short = |digest: &String| digest.trim_start_matches("sha256:").chars().take(12).collect();
        if verdict != "same" || options.all {
            let mut row = vec![
                type_.kind().to_owned(),
                namespace.clone(),
                format!("{name}@{version}"),
                verdict.to_owned(),
            ];
            row.extend(options.contexts.iter().map(|context| {
                found
                    .get(context.as_str())
                    .map_or_else(|| "<none>".to_owned(), short)
            }));
            rows.push(row);
        }
        all.push(json!({
            "kind": type_.kind(), "namespace": namespace, "name": name, "version": version,
            "verdict": verdict, "digests": found,
        }));
    }
    if rows.len() > 1 || options.output.is_some() {
        answer(&rows, &all, options.output)?;
    }
    output::note(&format!(
        "{same} of {} versions are the same in {}",
        digests.len(),
        options.contexts.join(", ")
    ));
    if without_version > 0 {
        output::note(&format!(
            "{without_version} revisions have no version and are not compared: their numbers mean nothing in another cluster"
        ));
    }
    for line in &altered {
        tracing::warn!("{line}, which is not what was published");
    }
    if differ > 0 || !altered.is_empty() {
        return Err(Differences(differ + altered.len()).into());
    }
    Ok(())
}
