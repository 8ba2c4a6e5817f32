//! `cambium verify`: whether a version is the same thing in every cluster.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use serde_json::json;
use std::collections::BTreeMap;

use super::world::World;
use super::{answer, heading};
use crate::cli::{Cluster, Verify};
use crate::client;
use crate::exit::{Differences, WrongUse};

/// What is compared: a version of a definition.
type Published = (DefinitionType, String, String, String);

pub(crate) async fn verify(options: &Verify) -> Result<()> {
    if options.contexts.len() < 2 {
        return Err(WrongUse("give two contexts or more: --context A --context B".to_owned()).into());
    }
    let mut digests: BTreeMap<Published, BTreeMap<&str, String>> = BTreeMap::new();
    let mut altered = Vec::new();
    for context in &options.contexts {
        let cluster = Cluster {
            kubeconfig: options.kubeconfig.clone(),
            context: Some(context.clone()),
        };
        let world = World::read(&client::connect(&cluster).await?).await?;
        for (artifact, shelf) in world.catalogue.iter() {
            for stored in shelf.revisions() {
                let Some(version) = stored.revision.version() else {
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
    let mut differ = 0;
    for ((type_, namespace, name, version), found) in &digests {
        let mut values: Vec<&String> = found.values().collect();
        values.dedup();
        values.sort();
        values.dedup();
        let verdict = match (values.len() > 1, found.len() < options.contexts.len()) {
            (true, _) => "differs",
            (false, true) => "missing",
            (false, false) => "same",
        };
        differ += usize::from(verdict == "differs");
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
    answer(&rows, &all, options.output)?;
    for line in &altered {
        tracing::warn!("{line}, which is not what was published");
    }
    if differ > 0 || !altered.is_empty() {
        return Err(Differences(differ + altered.len()).into());
    }
    Ok(())
}
