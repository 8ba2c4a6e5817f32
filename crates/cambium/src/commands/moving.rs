//! `cambium upgrade` and `cambium rollback`: print the plan, then apply it.

use anyhow::{Context as _, Result};
use cambium_api::names::annotation;
use cambium_definitions::application::Recorded;
use cambium_definitions::moves::{MovePlan, rollback as plan_rollback, upgrade as plan_upgrade};
use kube::api::PostParams;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::diff::unified;
use super::listing::{Reach, Reading, applications};
use super::{ask, or_none, print, text};
use crate::cli::{Printed, Rollback, Upgrade};
use crate::exit::{NotFound, Refusals, WrongUse};
use crate::output;
use crate::table::Table;

pub(crate) async fn upgrade(options: &Upgrade) -> Result<()> {
    let mut wishes = BTreeMap::new();
    for wish in &options.wishes {
        let Some((component, version)) = wish.split_once('=').filter(|(_, version)| !version.is_empty())
        else {
            return Err(WrongUse(format!("{wish:?} is not COMPONENT=VERSION, as in web=1.2.5")).into());
        };
        wishes.insert(component.to_owned(), version.to_owned());
    }
    let (client, namespace) = ask(&options.asking).await?;
    let inventory = Reading::all_of_applications(&client, Reach::From(&namespace)).await?;
    let definitions = &inventory.definitions;
    let (_, application) = definitions.application(&namespace, &options.application)?;
    inventory.sees_all_of(&namespace, application)?;
    for component in wishes.keys() {
        let components = components(application);
        if !components.contains(&component.as_str()) {
            let there = components.join(", ");
            return Err(NotFound(format!("no component {component:?}; components are {there}")).into());
        }
    }
    let plan = plan_upgrade(application, definitions.catalogue(), &wishes).map_err(Refusals::from)?;
    carry_out(
        &client,
        application,
        &plan,
        options.dry_run,
        options.asking.printed,
    )
    .await
}

fn components(application: &Value) -> Vec<&str> {
    let components = application["spec"]["components"].as_array();
    let names = components.into_iter().flatten();
    names.filter_map(|component| component["name"].as_str()).collect()
}

pub(crate) async fn rollback(options: &Rollback) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let inventory = Reading::all_of_applications(&client, Reach::From(&namespace)).await?;
    let definitions = &inventory.definitions;
    let (key, application) = definitions.application(&namespace, &options.application)?;
    let revisions = definitions.recorded(key);
    let current = application["status"]["latestRevision"]["name"].as_str();
    let is_current = |name: &str| Some(name) == current;
    let to = match &options.to {
        Some(wanted) => {
            // A revision that is current again keeps its name and has another number; no number is given twice.
            let named = |one: &&Recorded| {
                let name = one.revision.name().as_str();
                name == wanted || name == format!("{}-v{}", key.name, wanted.trim_start_matches('v'))
            };
            let number = |one: &Recorded| one.revision.number().to_string();
            let numbered = |one: &&Recorded| number(one) == *wanted;
            let as_shown = |one: &&Recorded| wanted.strip_prefix('v') == Some(number(one).as_str());
            let mut found = revisions.iter().find(numbered);
            found = found.or_else(|| revisions.iter().find(named));
            found.or_else(|| revisions.iter().find(as_shown))
        }
        None => revisions
            .iter()
            .rev()
            .find(|one| !is_current(one.revision.name().as_str())),
    };
    let Some(to) = to else {
        let names: Vec<String> = revisions
            .iter()
            .map(|one| format!("{} ({})", one.revision.name(), one.revision.number()))
            .collect();
        let there = match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!("there are {}", names.join(", ")),
        };
        let wanted = options.to.as_deref().unwrap_or("before the current one");
        return Err(NotFound(format!("{key} has no revision {wanted}; {there}")).into());
    };
    inventory.sees_all_of(&namespace, &to.application)?;
    let plan = plan_rollback(application, to, definitions.catalogue()).map_err(Refusals::from)?;
    carry_out(
        &client,
        application,
        &plan,
        options.dry_run,
        options.asking.printed,
    )
    .await
}

/// Shows a plan, and carries it out unless it is only to be shown.
async fn carry_out(
    client: &Client,
    application: &Value,
    plan: &MovePlan,
    dry_run: bool,
    printed: Printed,
) -> Result<()> {
    let name = application["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = application["metadata"]["namespace"].as_str().unwrap_or_default();
    let frozen = application["metadata"]["annotations"][annotation::PUBLISH_VERSION].as_str();
    if let Some(version) = frozen {
        return Err(WrongUse(format!(
            "application/{name} is frozen by {}={version}; change or remove that annotation first",
            annotation::PUBLISH_VERSION
        ))
        .into());
    }
    show(application, plan, printed)?;
    let lock = application["metadata"]["annotations"][annotation::LOCK].as_str();
    if plan.spec == application["spec"] && plan.lock.as_deref() == lock {
        output::note(&format!("application/{name}: nothing to change"));
        return Ok(());
    }
    let api = applications(client, namespace);
    // As it is now, with all its fields; if somebody was faster since, the server says so.
    let mut object = api.get(name).await?;
    let version = &application["metadata"]["resourceVersion"];
    if json!(object.metadata.resource_version) != *version && object.data["spec"] != application["spec"] {
        return Err(WrongUse(format!(
            "application/{name} was modified by another client; try again"
        ))
        .into());
    }
    object.data["spec"] = plan.spec.clone();
    if let Some(lock) = &plan.lock {
        object
            .annotations_mut()
            .insert(annotation::LOCK.to_owned(), lock.clone());
    }
    // A dry run goes to the server as well: it may refuse.
    let params = PostParams {
        dry_run,
        field_manager: Some("cambium-cli".to_owned()),
    };
    api.replace(name, &params, &object)
        .await
        .with_context(|| format!("failed to update application/{name}"))?;
    output::note(&match dry_run {
        true => format!("application/{name}: not changed (dry run)"),
        false => format!("application/{name} changed"),
    });
    Ok(())
}

/// The references that move, and all else that changes.
fn show(application: &Value, plan: &MovePlan, printed: Printed) -> Result<()> {
    if let Some(format) = printed.format() {
        return print(plan, format);
    }
    let mut table = Table::new(&["PLACE", "REFERENCE", "NEW REFERENCE", "VERSION", "NEW VERSION"]);
    for one in &plan.moves {
        let [from, to, version, new_version] =
            [&one.from, &one.to, &one.version, &one.new_version].map(|text| or_none(text.as_deref()));
        table.add([one.path.clone(), from, to, version, new_version]);
    }
    if !plan.moves.is_empty() {
        output::write(&text(&table, printed))?;
    }
    if plan.beyond_references {
        let yaml = |spec: &Value| serde_saphyr::to_string(spec);
        let (before, after) = (yaml(&application["spec"])?, yaml(&plan.spec)?);
        output::write(&unified(("spec", &before), ("new spec", &after)))?;
    }
    Ok(())
}
