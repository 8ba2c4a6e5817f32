//! `cambium pin` and `cambium follow`: pin a composite resource to a revision, or let it follow new ones.

use anyhow::{Context as _, Result};
use cambium_api::crossplane::UpdatePolicy;
use cambium_compositions::{ByRevision, CompositionFetcher as _, Consuming, Fetched, Field, Refusal, Wish};
use cambium_reports::{Asked, CompositeKind, Compositions, Followed, Subject};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::listing::{Reading, resource_of};
use super::{ask, print};
use crate::cli::{Follow, Format, Pin};
use crate::exit::{NotFound, WrongUse};
use crate::output;

pub(crate) async fn pin(options: &Pin) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let compositions = read(&client).await?;
    let asked = Asked::of(&options.subject, options.name.as_deref());
    let subject = compositions.subject(&asked, &namespace)?;
    refuse_if_enforced(subject.kind, UpdatePolicy::Manual)?;
    let layout = subject.kind.definition.layout();
    let revision = match &options.to {
        Some(wanted) => named(&compositions, &subject, wanted)?,
        None => {
            let none = || NotFound(format!("{asked} uses no revision yet; choose one with --to"));
            let used = layout.revision_ref(subject.composite);
            used.map(str::to_owned).ok_or_else(none)?
        }
    };
    let mut pinned = Wish::of(&subject.kind.definition, subject.composite);
    pinned.policy = UpdatePolicy::Manual;
    pinned.revision = Some(revision.clone());
    fetch(&compositions, &subject, &pinned)?;
    let patch = layout.patch([
        (Field::UpdatePolicy, json!("Manual")),
        (Field::RevisionRef, json!({"name": revision})),
    ]);
    change(&client, &subject, patch, options.dry_run).await?;
    let what = format!("pinned to {revision}");
    let followed = Followed {
        subject: asked.to_string(),
        policy: "Manual".to_owned(),
        composition: None,
        revision,
        dry_run: options.dry_run,
    };
    tell(&followed, &what, options.asking.printed.format())
}

pub(crate) async fn follow(options: &Follow) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let compositions = read(&client).await?;
    let asked = Asked::of(&options.subject, options.name.as_deref());
    let subject = compositions.subject(&asked, &namespace)?;
    refuse_if_enforced(subject.kind, UpdatePolicy::Automatic)?;
    let mut wish = Wish::of(&subject.kind.definition, subject.composite);
    wish.policy = UpdatePolicy::Automatic;
    let fetched = fetch(&compositions, &subject, &wish)?;
    let layout = subject.kind.definition.layout();
    let patch = layout.patch([(Field::UpdatePolicy, json!("Automatic"))]);
    change(&client, &subject, patch, options.dry_run).await?;
    let revision = fetched.revision.map(|stored| stored.revision.name().to_string());
    let revision = revision.unwrap_or_default();
    let what = format!("follows composition/{}, now at {revision}", fetched.composition);
    let followed = Followed {
        subject: asked.to_string(),
        policy: "Automatic".to_owned(),
        composition: Some(fetched.composition),
        revision,
        dry_run: options.dry_run,
    };
    tell(&followed, &what, options.asking.printed.format())
}

async fn read(client: &Client) -> Result<Compositions> {
    let mut reading = Reading::of(client);
    reading.compositions().await?;
    reading.composites().await?;
    Ok(reading.inventory.compositions)
}

/// The revision that a name or a number means.
fn named(compositions: &Compositions, subject: &Subject<'_>, wanted: &str) -> Result<String> {
    let catalogue = compositions.catalogue();
    let wish = Wish::of(&subject.kind.definition, subject.composite);
    let composition = wish.composition(catalogue).map_err(unfit)?;
    let lineage = catalogue
        .get(&composition)
        .map(|shelf| shelf.lineage(&composition));
    let revisions = lineage.map(|lineage| lineage.revisions()).unwrap_or_default();
    let mut all = revisions.iter();
    let found = all.find(|one| one.name().as_str() == wanted || one.number().to_string() == wanted);
    if let Some(revision) = found {
        return Ok(revision.name().to_string());
    }
    // One that is there and is not the composition's own is refused by whoever fetches it, with the reason.
    if catalogue.revision(wanted).is_some() {
        return Ok(wanted.to_owned());
    }
    let names: Vec<&str> = revisions.iter().map(|one| one.name().as_str()).collect();
    let there = match names.is_empty() {
        true => "it has none".to_owned(),
        false => format!("there are {}", names.join(", ")),
    };
    Err(NotFound(format!(
        "composition/{composition} has no revision {wanted}; {there}"
    ))
    .into())
}

fn fetch(compositions: &Compositions, subject: &Subject<'_>, wish: &Wish) -> Result<Fetched> {
    let consumer = Consuming::of(&wish.composite_type, subject.composite);
    ByRevision
        .fetch(compositions.catalogue(), &consumer, wish)
        .map_err(unfit)
}

/// The error for a refused revision.
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

/// Prints the result of a change, or of its dry run.
fn tell(followed: &Followed, what: &str, format: Option<Format>) -> Result<()> {
    if let Some(format) = format {
        return print(followed, format);
    }
    let subject = &followed.subject;
    output::note(&match followed.dry_run {
        true => format!("{subject} {what} (dry run: not changed)"),
        false => format!("{subject} {what}"),
    });
    Ok(())
}

fn refuse_if_enforced(kind: &CompositeKind, wanted: UpdatePolicy) -> Result<()> {
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

/// Patches the object with its resource version as a precondition: a conflict, if another client changed it meanwhile.
async fn change(client: &Client, subject: &Subject<'_>, mut patch: Value, dry_run: bool) -> Result<()> {
    let metadata = &subject.steered["metadata"];
    patch["metadata"] = json!({"resourceVersion": metadata["resourceVersion"], "uid": metadata["uid"]});
    let name = metadata["name"].as_str().unwrap_or_default();
    let resource = resource_of(&subject.kind.definition, subject.names);
    let api: Api<DynamicObject> = match metadata["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams {
        dry_run,
        field_manager: Some("cambium-cli".to_owned()),
        ..Default::default()
    };
    let patched = api.patch(name, &params, &Patch::Merge(patch)).await;
    patched
        .map(drop)
        .with_context(|| format!("failed to update {name}"))
}
