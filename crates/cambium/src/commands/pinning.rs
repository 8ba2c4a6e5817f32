//! `cambium pin` and `cambium follow`: whether a composite resource stays where it is.

use anyhow::{Context as _, Result};
use cambium_api::crossplane::UpdatePolicy;
use cambium_compositions::{ByRevision, CompositionFetcher as _, Consuming, Field, Refusal, Wish};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::fleet::{Fleet, Kind, Subject};
use super::{ask, print};
use crate::cli::{Follow, Format, Pin};
use crate::exit::{NotFound, WrongUse};
use crate::output;

pub(crate) async fn pin(options: &Pin) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let fleet = Fleet::read(&client).await?;
    let Subject {
        kind,
        composite,
        steered,
    } = fleet.composite(&options.subject, &namespace)?;
    refuse_if_enforced(kind, UpdatePolicy::Manual)?;
    let layout = kind.definition.layout();
    let revision = match &options.to {
        Some(wanted) => {
            let composition = Wish::of(&kind.definition, composite).composition(&fleet.catalogue);
            let composition = composition.map_err(unfit)?;
            let lineage = fleet
                .catalogue
                .get(&composition)
                .map(|shelf| shelf.lineage(&composition));
            let revisions = lineage.map(|lineage| lineage.revisions()).unwrap_or_default();
            let named = revisions.iter().find(|revision| {
                revision.name().as_str() == wanted || revision.number().to_string() == *wanted
            });
            match named {
                Some(revision) => revision.name().to_string(),
                // One that is there and is not the composition's own is refused below, with the reason.
                None if fleet.catalogue.revision(wanted).is_some() => wanted.clone(),
                None => {
                    let names: Vec<&str> = revisions.iter().map(|one| one.name().as_str()).collect();
                    let there = match names.is_empty() {
                        true => "it has none".to_owned(),
                        false => format!("there are {}", names.join(", ")),
                    };
                    let message = format!("composition/{composition} has no revision {wanted}; {there}");
                    return Err(NotFound(message).into());
                }
            }
        }
        None => layout.revision_ref(composite).map(str::to_owned).ok_or_else(|| {
            NotFound(format!(
                "{} uses no revision yet; say which with --to",
                options.subject
            ))
        })?,
    };
    let mut pinned = Wish::of(&kind.definition, composite);
    pinned.policy = UpdatePolicy::Manual;
    pinned.revision = Some(revision.clone());
    let fetched = ByRevision.fetch(
        &fleet.catalogue,
        &Consuming::of(&pinned.composite_type, composite),
        &pinned,
    );
    fetched.map_err(unfit)?;
    let patch = layout.patch([
        (Field::UpdatePolicy, json!("Manual")),
        (Field::RevisionRef, json!({"name": revision})),
    ]);
    change(&client, steered, patch, options.dry_run).await?;
    let about = json!({"subject": options.subject, "policy": "Manual", "revision": revision});
    tell(
        about,
        &format!("stays at {revision}"),
        options.dry_run,
        options.asking.output,
    )
}

pub(crate) async fn follow(options: &Follow) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let fleet = Fleet::read(&client).await?;
    let Subject {
        kind,
        composite,
        steered,
    } = fleet.composite(&options.subject, &namespace)?;
    refuse_if_enforced(kind, UpdatePolicy::Automatic)?;
    let mut wish = Wish::of(&kind.definition, composite);
    wish.policy = UpdatePolicy::Automatic;
    let fetched = ByRevision.fetch(
        &fleet.catalogue,
        &Consuming::of(&wish.composite_type, composite),
        &wish,
    );
    let fetched = fetched.map_err(unfit)?;
    let patch = kind
        .definition
        .layout()
        .patch([(Field::UpdatePolicy, json!("Automatic"))]);
    change(&client, steered, patch, options.dry_run).await?;
    let to = fetched.revision.map(|stored| stored.revision.name().to_string());
    let to = to.unwrap_or_default();
    let about = json!({
        "subject": options.subject, "policy": "Automatic", "composition": fetched.composition, "revision": to,
    });
    let what = format!("follows {}, and gets {to}", fetched.composition);
    tell(about, &what, options.dry_run, options.asking.output)
}

/// What is not there, or what cannot be used.
fn unfit(refusal: Refusal) -> anyhow::Error {
    let text = refusal.to_string();
    match refusal {
        Refusal::NoComposition(_)
        | Refusal::MissingComposition(_)
        | Refusal::NoRevision(_)
        | Refusal::NoMatch { .. }
        | Refusal::MissingRevision(_)
        | Refusal::Closed(_) => NotFound(text).into(),
        Refusal::ForeignRevision { .. } | Refusal::Altered(_) | Refusal::Incompatible { .. } => {
            WrongUse(text).into()
        }
    }
}

/// What was done, or would be: for a person, or for a program.
fn tell(mut about: Value, what: &str, dry_run: bool, output: Option<Format>) -> Result<()> {
    if let Some(format) = output {
        about["dryRun"] = json!(dry_run);
        return print(&about, format);
    }
    let subject = about["subject"].as_str().unwrap_or_default();
    output::note(&match dry_run {
        true => format!("{subject} {what} (dry run: not changed)"),
        false => format!("{subject} {what}"),
    });
    Ok(())
}

fn refuse_if_enforced(kind: &Kind, wanted: UpdatePolicy) -> Result<()> {
    match kind.definition.enforced_policy() {
        Some(enforced) if enforced != wanted => Err(WrongUse(format!(
            "{} enforces compositionUpdatePolicy {}",
            kind.definition.name(),
            enforced.as_str()
        ))
        .into()),
        _ => Ok(()),
    }
}

/// Changes exactly what was read, or says that somebody was faster.
async fn change(
    client: &Client,
    (resource, object): (&ApiResource, &Value),
    mut patch: Value,
    dry_run: bool,
) -> Result<()> {
    let metadata = &object["metadata"];
    patch["metadata"] = json!({"resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"]});
    let name = metadata["name"].as_str().unwrap_or_default();
    let api: Api<DynamicObject> = match metadata["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let params = PatchParams {
        dry_run,
        field_manager: Some("cambium-cli".to_owned()),
        ..Default::default()
    };
    let patched = api.patch(name, &params, &Patch::Merge(patch)).await;
    patched
        .map(drop)
        .with_context(|| format!("{name} was not changed"))
}
