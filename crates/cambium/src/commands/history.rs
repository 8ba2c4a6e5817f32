//! `cambium history`: the revisions of a definition or an application, and who uses each.

use anyhow::Result;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::{DefinitionType, ResolvedReference};
use cambium_definitions::Artifact;
use cambium_lineage::Users;
use serde_json::json;

use super::fleet::Fleet;
use super::world::{Reach, Sight, World};
use super::{age, answer, ask, heading};
use crate::cli::History;
use crate::exit::{NotFound, WrongUse};

pub(crate) async fn history(options: &History) -> Result<()> {
    let (client, namespace) = ask(&options.asking).await?;
    let Some((kind, name)) = options.subject.split_once('/') else {
        return Err(WrongUse(format!(
            "{:?} is not KIND/NAME, as in componentdefinition/web or application/shop",
            options.subject
        ))
        .into());
    };
    match kind_of(kind) {
        Some(Subject::Composition) => {
            let mut fleet = Fleet::published(&client).await?;
            fleet.read_users_if_allowed(&client).await?;
            of_composition(&fleet, name, options)
        }
        Some(Subject::Application) => {
            let world = World::of_applications(&client, Reach::In(&namespace)).await?;
            of_application(&world, &namespace, name, options)
        }
        Some(Subject::Definition(type_)) => {
            let mut world = World::published(&client, Reach::From(&namespace), &[type_]).await?;
            world.note_unseen();
            world.read_users(&client, &namespace).await?;
            of_definition(&world, &namespace, type_, name, options)
        }
        None => Err(WrongUse(format!(
            "{kind:?} has no revisions; kinds are application, composition, componentdefinition, traitdefinition, policydefinition and workflowstepdefinition"
        ))
        .into()),
    }
}

enum Subject {
    Application,
    Composition,
    Definition(DefinitionType),
}

fn kind_of(text: &str) -> Option<Subject> {
    // kubectl prints kinds with their group; they may be pasted.
    let kind = text.split('.').next().unwrap_or_default().to_lowercase();
    Some(match kind.trim_end_matches('s') {
        "app" | "application" | "velaapp" => Subject::Application,
        "composition" => Subject::Composition,
        "component" | "componentdefinition" | "compdef" | "comp" => {
            Subject::Definition(DefinitionType::Component)
        }
        "trait" | "traitdefinition" | "traitdef" => Subject::Definition(DefinitionType::Trait),
        "policy" | "policie" | "policydefinition" | "policydef" => {
            Subject::Definition(DefinitionType::Policy)
        }
        "workflowstep" | "workflowstepdefinition" | "workflowstepdef" => {
            Subject::Definition(DefinitionType::WorkflowStep)
        }
        _ => return None,
    })
}

fn of_definition(
    world: &World,
    namespace: &str,
    type_: DefinitionType,
    name: &str,
    options: &History,
) -> Result<()> {
    let Some((artifact, shelf)) = world.catalogue.find(namespace, type_, name) else {
        return Err(NotFound(format!(
            "no {} {name:?} in namespace {namespace} or {SYSTEM_NAMESPACE}",
            type_.kind()
        ))
        .into());
    };
    let lineage = shelf.lineage().map_err(|error| anyhow::anyhow!("{error}"))?;
    let uses = world.consumers.uses(artifact, Some(lineage), usize::MAX);
    let mut rows = vec![heading([
        "REVISION", "VERSION", "NUMBER", "DIGEST", "AGE", "RUN BY", "USED BY",
    ])];
    let mut all = Vec::new();
    for revision in lineage.revisions().iter().rev() {
        let users: Vec<&String> = uses
            .by
            .get(revision.name())
            .into_iter()
            .flat_map(Users::named)
            .collect();
        let running = running(world, artifact, revision.name().as_str());
        rows.push(vec![
            revision.name().to_string(),
            revision
                .version()
                .map_or_else(|| "<none>".to_owned(), ToString::to_string),
            revision.number().to_string(),
            revision.digest().short(),
            age(revision.created()),
            some_of(&running.iter().collect::<Vec<_>>(), world.users),
            some_of(&users, world.users),
        ]);
        all.push(json!({
            "revision": revision.name(), "version": revision.version(), "number": revision.number(),
            "digest": revision.digest(), "created": revision.created(), "altered": revision.altered(),
            "runBy": (world.users != Sight::Nothing).then_some(running),
            "usedBy": (world.users != Sight::Nothing).then_some(users),
        }));
    }
    let all = json!({"definition": artifact, "revisions": all});
    answer(&rows, &all, options.asking.output)
}

/// The Applications whose objects are made from this revision. Others may use it: they resolve to it, or could be rolled back to it.
fn running(world: &World, artifact: &Artifact, revision: &str) -> Vec<String> {
    let runs = |reference: &ResolvedReference| {
        let running = reference.running.as_ref();
        running.is_some_and(|running| {
            running.revision == revision && running.namespace.as_ref() == Some(&artifact.namespace)
        })
    };
    let running = world.applications.iter().filter(|(_, application)| {
        let references = application["status"]["references"].clone();
        let references: Vec<ResolvedReference> = serde_json::from_value(references).unwrap_or_default();
        references.iter().any(runs)
    });
    running.map(|(key, _)| format!("Application {key}")).collect()
}

/// The first of several, and how many more there are.
fn some_of(users: &[&String], sight: Sight) -> String {
    match users {
        [] if sight == Sight::Nothing => "<unknown>".to_owned(),
        [] => "<none>".to_owned(),
        [one] => (*one).clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn of_application(world: &World, namespace: &str, name: &str, options: &History) -> Result<()> {
    let (key, application) = world.application(namespace, name)?;
    let current = application["status"]["latestRevision"]["name"].as_str();
    let mut rows = vec![heading([
        "REVISION",
        "NUMBER",
        "DIGEST",
        "AGE",
        "CURRENT",
        "DEFINITIONS",
    ])];
    let mut all = Vec::new();
    for recorded in world.recorded.get(&key).into_iter().flatten().rev() {
        let revision = &recorded.revision;
        let is_current = Some(revision.name().as_str()) == current;
        let mut definitions: Vec<&str> = Vec::new();
        for used in &recorded.definitions {
            // Two references may lead to one revision.
            if !definitions.contains(&used.revision.as_str()) {
                definitions.push(&used.revision);
            }
        }
        rows.push(vec![
            revision.name().to_string(),
            revision.number().to_string(),
            revision.digest().short(),
            age(revision.created()),
            if is_current { "yes" } else { "" }.to_owned(),
            definitions.join(","),
        ]);
        all.push(json!({
            "revision": revision.name(), "number": revision.number(), "digest": revision.digest(),
            "created": revision.created(), "current": is_current, "definitions": recorded.definitions,
        }));
    }
    let all = json!({"application": {"namespace": key.namespace, "name": key.name}, "revisions": all});
    answer(&rows, &all, options.asking.output)
}

fn of_composition(fleet: &Fleet, name: &str, options: &History) -> Result<()> {
    let Some(shelf) = fleet.catalogue.get(name) else {
        return Err(NotFound(format!("no Composition {name:?}, and no revision of one")).into());
    };
    let uses = fleet.consumers.uses(&fleet.catalogue, name, usize::MAX);
    let lineage = shelf.lineage(name);
    let mut rows = vec![heading([
        "REVISION", "NUMBER", "DIGEST", "AGE", "CURRENT", "LABELS", "USED BY",
    ])];
    let mut all = Vec::new();
    for revision in lineage.revisions().iter().rev() {
        let Some(stored) = shelf.stored(revision.name()) else {
            continue;
        };
        let is_current = lineage.current() == Some(revision);
        // Those that people gave; ours are in the other columns.
        let own = |name: &&String| !name.starts_with("crossplane.io/composition-");
        let labels: Vec<String> = stored
            .labels
            .keys()
            .filter(own)
            .map(|name| format!("{name}={}", stored.labels[name]))
            .collect();
        let users = uses.by.get(revision.name());
        let none = || "<none>".to_owned();
        rows.push(vec![
            revision.name().to_string(),
            revision.number().to_string(),
            revision.digest().short(),
            age(revision.created()),
            if is_current { "yes" } else { "" }.to_owned(),
            if labels.is_empty() {
                none()
            } else {
                labels.join(",")
            },
            users.map_or_else(none, Users::to_string),
        ]);
        all.push(json!({
            "revision": revision.name(), "number": revision.number(), "digest": revision.digest(),
            "created": revision.created(), "current": is_current, "altered": revision.altered(),
            "labels": stored.labels, "usedBy": users.map(Users::named),
        }));
    }
    let all = json!({"composition": name, "revisions": all});
    answer(&rows, &all, options.asking.output)
}
