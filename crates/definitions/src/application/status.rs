//! The status of an Application: conditions, phase, references and health of components.

use super::object::applied_object;
use super::plan::{Plan, is_orphaning, ours};
use super::references::{Progress, held_back, not_applied, progress, references, resolved, runs_what_it_got};
use super::{Draft, Object, Record, Step, Work};
use crate::Refused;
use cambium_api::names::{condition, reason};
use cambium_api::v1beta1::{ApplicationStatus, AppliedResource, Phase, ServiceStatus, TraitStatus};
use cambium_api::{GroupVersionKind, Revision};
use cambium_definitions_render::{Component, DefinitionKind, Live, Manifest, Origin, RenderedComponent};
use cambium_objects::Conditions;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The outcome of a plan that was carried out.
#[derive(Debug, Default)]
pub struct Happened {
    /// The objects as they are now.
    pub live: BTreeMap<Object, Value>,
    /// Whether the revision is recorded.
    pub recorded: bool,
    /// The manifests that were applied, by index in the plan's `wanted`.
    pub applied: BTreeSet<usize>,
    /// Fields that were left out of what was applied: by the place in the plan's `wanted`.
    pub ignored: BTreeMap<usize, Vec<String>>,
    /// The manifests that were not applied, by index in the plan's `wanted`, with the refusal.
    pub not_applied: BTreeMap<usize, Refused>,
    /// Other failures: recording a revision, pruning an object.
    pub failed: Vec<Refused>,
}

impl Happened {
    /// All failures.
    pub fn problems(&self) -> impl Iterator<Item = &Refused> {
        self.not_applied.values().chain(&self.failed)
    }
}

/// The status after all that has been found out and done.
pub fn status(
    application: &Value,
    draft: &Draft,
    plan: Option<&Plan>,
    happened: &Happened,
    now: Timestamp,
) -> ApplicationStatus {
    let before: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let mut after = before.clone();
    after.observed_generation = application["metadata"]["generation"].as_i64();
    let work = draft.outcome.as_ref().ok();
    // What has just been recorded under a publishVersion is what it is frozen at from now on.
    let recorded = work.filter(|work| happened.recorded && work.publish_version().is_some());
    let frozen = draft
        .frozen
        .clone()
        .or_else(|| recorded.map(|work| work.record.name().to_string()));
    // Without answers, nobody was asked: what is in use stays so.
    if !draft.answers.is_empty() || draft.outcome.is_ok() {
        after.references = references(draft, frozen.as_deref(), &before, plan, happened, now);
    }
    if let Some(work) = work {
        // A number that was not recorded was not issued.
        if happened.recorded || matches!(work.record, Record::Keep(_)) {
            let number = i64::try_from(work.number).unwrap_or(i64::MAX);
            after.latest_revision = Some(Revision {
                name: work.record.name().to_string(),
                revision: number,
                revision_hash: Some(work.digest.short()),
                ..Default::default()
            });
            after.publish_version = work.publish_version().map(str::to_owned);
            after.high_water_mark = Some(before.high_water_mark.unwrap_or(0).max(number));
        }
        after.services = match plan.filter(|plan| !plan.refused.is_empty()) {
            None => services(work, &happened.live),
            // Among what is there may be somebody else's, and how that is doing says nothing of this one.
            Some(_) => services(work, &ours(application, &happened.live)),
        };
        if let Some(plan) = plan {
            after.applied_resources = applied_resources(plan, happened, &before);
        }
        after.resolved = Some(match progress(plan, happened, None) {
            Progress::Refused | Progress::InPart => resolved(&after.references, |component| {
                let mut applied = after.applied_resources.iter();
                applied.any(|applied| applied.component.as_deref() == Some(component))
            }),
            Progress::Done | Progress::Waiting => resolved(&after.references, |_| true),
        });
    }
    let healthy = after.services.iter().filter(|service| service.healthy).count();
    after.healthy = work.map(|_| format!("{healthy}/{}", after.services.len()));
    let mut conditions = Conditions::after(&before.conditions, after.observed_generation, now);
    let frozen = frozen.as_deref();
    after.phase = Some(decide(&mut conditions, draft, frozen, plan, happened, &after));
    let mut not_moved = held_back(application, &draft.answers);
    not_moved.extend(not_applied(
        application,
        &after.references,
        &draft.answers,
        plan,
        happened,
    ));
    if !not_moved.is_empty() {
        conditions.set(
            condition::UPGRADED,
            false,
            reason::UPGRADE_FAILED,
            not_moved.join("\n"),
        );
    } else if before
        .conditions
        .iter()
        .any(|known| known.type_ == condition::UPGRADED)
        && after.references.iter().all(runs_what_it_got)
    {
        let message = "Every reference runs what it resolves to";
        conditions.set(condition::UPGRADED, true, reason::AVAILABLE, message);
    }
    after.conditions = conditions.done();
    match differs_in_news_only(&before, &after) {
        true => before,
        false => after,
    }
}

/// Whether all that has changed is what a reference could move to and does not, or why it is where it is. Whoever stays is not written
/// to because somebody publishes, neither at once nor by the next manager; it is said along with whatever changes next.
fn differs_in_news_only(before: &ApplicationStatus, after: &ApplicationStatus) -> bool {
    let mut silent = after.clone();
    for (now, known) in silent.references.iter_mut().zip(&before.references) {
        if now.revision == known.revision && now.digest == known.digest {
            now.newer.clone_from(&known.newer);
            now.message.clone_from(&known.message);
        }
    }
    silent == *before
}

/// The status of an application that is being deleted.
pub fn deleting_status(application: &Value, left: usize, now: Timestamp) -> ApplicationStatus {
    let before: ApplicationStatus = serde_json::from_value(application["status"].clone()).unwrap_or_default();
    let mut conditions = Conditions::after(
        &before.conditions,
        application["metadata"]["generation"].as_i64(),
        now,
    );
    let done = match is_orphaning(application) {
        true => "let go",
        false => "removed",
    };
    let message = match left {
        1 => format!("1 object is being {done}"),
        left => format!("{left} objects are being {done}"),
    };
    conditions.set(condition::READY, false, reason::PROGRESSING, message);
    ApplicationStatus {
        phase: Some(Phase::Deleting),
        conditions: conditions.done(),
        ..before
    }
}

/// Sets the conditions, one step after the other; the phase that follows from them.
fn decide(
    conditions: &mut Conditions<'_>,
    draft: &Draft,
    frozen: Option<&str>,
    plan: Option<&Plan>,
    happened: &Happened,
    after: &ApplicationStatus,
) -> Phase {
    let steps = [
        condition::RESOLVED,
        condition::RENDERED,
        condition::APPLIED,
        condition::HEALTHY,
    ];
    let stop = |conditions: &mut Conditions<'_>, at: usize, problems: &[&Refused]| {
        let texts: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let message = texts.join("\n");
        let reason = problems.first().map_or(reason::BLOCKED, |problem| problem.reason);
        conditions.set(steps[at], false, reason, message.clone());
        for later in &steps[at + 1..] {
            conditions.unknown(
                later,
                reason::BLOCKED,
                format!("Blocked: {} is False; running objects are unchanged", steps[at]),
            );
        }
        conditions.set(condition::READY, false, reason, message);
    };
    let count = draft.answers.len();
    let resolved = match (frozen, count) {
        (Some(revision), _) => format!("Frozen at {revision} until publishVersion changes"),
        (None, 1) => "The reference is resolved".to_owned(),
        (None, count) => format!("All {count} references are resolved"),
    };
    match &draft.outcome {
        Err((Step::Resolve, problems)) => {
            stop(conditions, 0, &problems.iter().collect::<Vec<_>>());
            return Phase::Failed;
        }
        Err((Step::Render, problems)) => {
            conditions.set(condition::RESOLVED, true, reason::AVAILABLE, resolved);
            stop(conditions, 1, &problems.iter().collect::<Vec<_>>());
            return Phase::Failed;
        }
        Err((Step::Apply, problems)) => {
            conditions.set(condition::RESOLVED, true, reason::AVAILABLE, resolved);
            let rendered = "Rendered, and not applied";
            conditions.set(condition::RENDERED, true, reason::AVAILABLE, rendered);
            stop(conditions, 2, &problems.iter().collect::<Vec<_>>());
            return Phase::Failed;
        }
        Ok(_) => {
            conditions.set(condition::RESOLVED, true, reason::AVAILABLE, resolved);
        }
    }
    let objects = plan.map_or(0, |plan| plan.wanted.len());
    let mut rendered = match objects {
        1 => "1 object".to_owned(),
        objects => format!("{objects} objects"),
    };
    for overlap in plan.iter().flat_map(|plan| &plan.overlaps) {
        rendered = format!("{rendered}; {overlap}");
    }
    conditions.set(condition::RENDERED, true, reason::AVAILABLE, rendered);
    let refused = plan.into_iter().flat_map(|plan| &plan.refused);
    let problems: Vec<&Refused> = refused.chain(happened.problems()).collect();
    if !problems.is_empty() {
        stop(conditions, 2, &problems);
        return Phase::Failed;
    }
    let waiting = plan.map_or(0, |plan| plan.waiting.len());
    match waiting {
        0 => {
            let left_out = left_out(draft, after);
            let why = match (left_out.is_empty(), draft.ignored.is_empty()) {
                (true, _) => reason::AVAILABLE,
                (false, true) => reason::FIELDS_IGNORED,
                (false, false) => reason::UNSUPPORTED_IGNORED,
            };
            let message = std::iter::once("Everything is applied".to_owned()).chain(left_out);
            let message = message.collect::<Vec<_>>().join("; ");
            conditions.set(condition::APPLIED, true, why, message);
        }
        count => conditions.set(
            condition::APPLIED,
            false,
            reason::PROGRESSING,
            match count {
                1 => "1 object waits for its dependencies to be healthy".to_owned(),
                count => format!("{count} objects wait for their dependencies to be healthy"),
            },
        ),
    }
    let unhealthy = unhealthy(draft, happened, after);
    if unhealthy.is_empty() && waiting == 0 {
        conditions.set(
            condition::HEALTHY,
            true,
            reason::AVAILABLE,
            "Every component is healthy",
        );
        conditions.set(condition::READY, true, reason::AVAILABLE, "Applied and healthy");
        return Phase::Running;
    }
    let message = match unhealthy.is_empty() {
        true => "Waiting for workloads".to_owned(),
        false => format!("Not healthy: {}", unhealthy.join("; ")),
    };
    conditions.set(
        condition::HEALTHY,
        unhealthy.is_empty(),
        reason::UNHEALTHY,
        message.clone(),
    );
    conditions.set(condition::READY, false, reason::UNHEALTHY, message);
    Phase::Unhealthy
}

/// The fields and objects that were left out although everything is applied, for the message.
fn left_out(draft: &Draft, after: &ApplicationStatus) -> Vec<String> {
    let unsupported = draft.ignored.iter().map(|one| {
        let what = one.message.split(';').next().unwrap_or_default();
        format!("ignored: {what}")
    });
    let fields = after.applied_resources.iter().filter_map(|applied| {
        let fields = applied.ignored_fields.join(", ");
        let object = applied_object(applied);
        (!fields.is_empty()).then(|| format!("{object}: unknown fields were left out: {fields}"))
    });
    unsupported.chain(fields).collect()
}

/// The components that are not healthy, each with what it says, and which of its traits are not.
fn unhealthy(draft: &Draft, happened: &Happened, after: &ApplicationStatus) -> Vec<String> {
    let with = |name: String, message: Option<&str>| match message {
        Some(message) => format!("{name}: {message}"),
        None => name,
    };
    let works = |component: &str| {
        let work = draft.outcome.as_ref();
        work.is_ok_and(|work| is_healthy(work, component, &happened.live))
    };
    let mut unhealthy = Vec::new();
    for service in after.services.iter().filter(|service| !service.healthy) {
        let traits = service.traits.iter().filter(|trait_| !trait_.healthy);
        let traits: Vec<String> = traits
            .map(|trait_| {
                let name = format!("{}: trait {}", service.name, trait_.type_);
                with(name, trait_.message.as_deref())
            })
            .collect();
        if traits.is_empty() || !works(&service.name) {
            unhealthy.push(with(service.name.clone(), service.message.as_deref()));
        }
        unhealthy.extend(traits);
    }
    unhealthy
}

fn applied_resources(plan: &Plan, happened: &Happened, before: &ApplicationStatus) -> Vec<AppliedResource> {
    if !plan.refused.is_empty() {
        // Nothing was touched, and what is there may be somebody else's.
        return before.applied_resources.clone();
    }
    let mut resources: Vec<AppliedResource> = plan
        .wanted
        .iter()
        .enumerate()
        .filter_map(|(index, wanted)| {
            let live = happened.live.get(&wanted.object)?;
            let object = &wanted.object;
            let as_planned = !plan.waiting.contains(&index)
                && (!plan.apply.contains(&index) || happened.applied.contains(&index));
            if !as_planned {
                return known(&before.applied_resources, object).cloned();
            }
            Some(AppliedResource {
                api_version: object.api_version.clone(),
                kind: object.kind.clone(),
                namespace: Some(object.namespace.clone()).filter(|namespace| !namespace.is_empty()),
                name: object.name.clone(),
                component: Some(wanted.component.clone()),
                applied: Some(wanted.digest.clone()),
                generation: live["metadata"]["generation"].as_i64(),
                ignored_fields: match happened.ignored.get(&index) {
                    Some(ignored) => ignored.clone(),
                    // What was not applied anew was applied so.
                    None if !happened.applied.contains(&index) => known(&before.applied_resources, object)
                        .filter(|known| known.applied.as_deref() == Some(wanted.digest.as_str()))
                        .map(|known| known.ignored_fields.clone())
                        .unwrap_or_default(),
                    None => Vec::new(),
                },
                ..Default::default()
            })
        })
        .collect();
    // What could not be removed is still there.
    for known in &before.applied_resources {
        let object = applied_object(known);
        let listed = plan.wanted.iter().any(|wanted| wanted.object.is(&object));
        if !listed && happened.live.keys().any(|live| live.is(&object)) {
            resources.push(known.clone());
        }
    }
    resources
}

fn known<'s>(applied: &'s [AppliedResource], object: &Object) -> Option<&'s AppliedResource> {
    applied.iter().find(|known| applied_object(known).is(object))
}

/// The health of each component.
fn services(work: &Work, live: &BTreeMap<Object, Value>) -> Vec<ServiceStatus> {
    work.rendered
        .components
        .iter()
        .map(|component| service(work, component, live))
        .collect()
}

/// Whether the workload of a component is healthy, which PostDispatch traits and other components wait for.
pub(super) fn is_healthy(work: &Work, component: &str, live: &BTreeMap<Object, Value>) -> bool {
    let component = work
        .rendered
        .components
        .iter()
        .find(|other| other.name == component);
    component.is_some_and(|component| workload(work, component, live).healthy)
}

fn find<'a>(live: &'a BTreeMap<Object, Value>, manifest: &Manifest) -> Option<&'a Value> {
    let object = Object::of(&manifest.object);
    live.get(&object).or_else(|| {
        let unscoped = Object {
            namespace: String::new(),
            ..object
        };
        live.get(&unscoped)
    })
}

fn service(work: &Work, component: &RenderedComponent, live: &BTreeMap<Object, Value>) -> ServiceStatus {
    let mut service = workload(work, component, live);
    for trait_ in written(work, component)
        .iter()
        .flat_map(|written| &written.traits)
    {
        let Some(template) = work.definitions.get(DefinitionKind::Trait, &trait_.definition) else {
            continue;
        };
        let status = template.status(&Live {
            outputs: outputs(component, Some(&trait_.definition), live),
            properties: trait_.properties.clone(),
            ..seen(work, component)
        });
        service.traits.push(TraitStatus {
            type_: trait_.definition.clone(),
            healthy: status.healthy,
            message: status.told(),
            ..Default::default()
        });
    }
    service.healthy &= service.traits.iter().all(|trait_| trait_.healthy);
    service
}

/// The health of a component without its traits.
fn workload(work: &Work, component: &RenderedComponent, live: &BTreeMap<Object, Value>) -> ServiceStatus {
    let object = Object::of(&component.workload.object);
    let mut service = ServiceStatus {
        name: component.name.clone(),
        namespace: Some(object.namespace.clone()),
        workload_definition: Some(GroupVersionKind {
            api_version: object.api_version.clone(),
            kind: object.kind.clone(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let Some(output) = find(live, &component.workload) else {
        service.message = Some(format!("{object} does not exist yet"));
        return service;
    };
    let template = written(work, component).and_then(|written| {
        let template = work
            .definitions
            .get(DefinitionKind::Component, &written.definition)?;
        template.has_status().then_some((template, written))
    });
    let Some((template, written)) = template else {
        service.healthy = true;
        return service;
    };
    let status = template.status(&Live {
        output: Some(output.clone()),
        outputs: outputs(component, None, live),
        properties: written.properties.clone(),
        ..seen(work, component)
    });
    service.healthy = status.healthy;
    service.message = status.told();
    service.details = status.details;
    service
}

fn written<'w>(work: &'w Work, component: &RenderedComponent) -> Option<&'w Component> {
    work.application
        .components
        .iter()
        .find(|other| other.name == component.name)
}

fn seen(work: &Work, component: &RenderedComponent) -> Live {
    Live {
        name: component.name.clone(),
        app_name: work.application.name.clone(),
        app_revision: work.record.name().to_string(),
        ..Default::default()
    }
}

/// The live objects that a component's template, or one of its traits, made beside the workload.
fn outputs(
    component: &RenderedComponent,
    made_by: Option<&str>,
    live: &BTreeMap<Object, Value>,
) -> BTreeMap<String, Value> {
    let outputs = component.auxiliaries.iter().filter_map(|manifest| {
        let name = match (&manifest.origin, made_by) {
            (Origin::Auxiliary { name }, None) => name,
            (Origin::Trait { definition, name }, Some(maker)) if definition == maker => name,
            _ => return None,
        };
        Some((name.clone(), find(live, manifest)?.clone()))
    });
    outputs.collect()
}
