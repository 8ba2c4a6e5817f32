//! `cambium verify`: compares published versions across clusters.

use anyhow::Result;
use cambium_api::v1beta1::DefinitionType;
use cambium_reports::verify::{Compared, Verdict, Verification};
use std::collections::BTreeSet;

use super::answer;
use super::listing::{Reach, Reading, note_not_listed};
use crate::cli::{Cluster, Verify};
use crate::client;
use crate::exit::{Differences, WrongUse};
use crate::output;
use crate::table::Table;

pub(crate) async fn verify(options: &Verify) -> Result<()> {
    if options.contexts.len() < 2 {
        return Err(WrongUse("give two contexts or more: --context A --context B".to_owned()).into());
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = options.contexts.iter().find(|context| !seen.insert(*context)) {
        return Err(WrongUse(format!("--context {twice} is given twice")).into());
    }
    let reach = options.namespace.as_deref().map_or(Reach::Everything, Reach::In);
    let mut verification = Verification::default();
    for context in &options.contexts {
        let cluster = Cluster {
            kubeconfig: options.kubeconfig.clone(),
            context: Some(context.clone()),
        };
        let client = client::connect(&cluster).await?;
        let mut reading = Reading::of(&client);
        reading.definitions(reach, &DefinitionType::ALL).await?;
        note_not_listed(&reading.inventory);
        verification.add(context, &reading.inventory.definitions);
    }
    let versions = verification.versions();
    let is_shown = |one: &&Compared| one.verdict != Verdict::Same || options.all;
    let shown: Vec<&Compared> = versions.iter().filter(is_shown).collect();
    if !shown.is_empty() || options.printed.format().is_some() {
        answer(&[table(&shown, &options.contexts)], &versions, options.printed)?;
    }
    let same = versions.iter().filter(|one| one.verdict == Verdict::Same).count();
    output::note(&format!(
        "{same} of {} versions are the same in {}",
        versions.len(),
        options.contexts.join(", ")
    ));
    if verification.without_version > 0 {
        output::note(&format!(
            "{} revisions have no version and are not compared: their numbers mean nothing in another cluster",
            verification.without_version
        ));
    }
    for line in &verification.altered {
        tracing::warn!("{line}, not what was published: it was edited");
    }
    let differs = |one: &&Compared| match one.verdict {
        Verdict::Same => false,
        Verdict::Missing => !options.allow_missing,
        Verdict::Differs => true,
    };
    match versions.iter().filter(differs).count() + verification.altered.len() {
        0 => Ok(()),
        differences => Err(Differences(differences).into()),
    }
}

fn table(versions: &[&Compared], contexts: &[String]) -> Table {
    let mut headings: Vec<String> = ["KIND", "NAMESPACE", "VERSION", "VERDICT"]
        .map(str::to_owned)
        .into();
    headings.extend(contexts.iter().map(|context| context.to_uppercase()));
    let mut table = Table::new(&headings);
    let short = |digest: &String| digest.trim_start_matches("sha256:").chars().take(12).collect();
    for one in versions {
        let mut row = vec![
            one.kind.clone(),
            one.namespace.clone(),
            format!("{}@{}", one.name, one.version),
            one.verdict.text().to_owned(),
        ];
        row.extend(contexts.iter().map(|context| {
            let digest = one.digests.get(context);
            digest.map_or_else(|| "<none>".to_owned(), short)
        }));
        table.add(row);
    }
    table
}
