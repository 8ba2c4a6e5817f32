//! `cambium gc` for ApplicationRevisions, by the manager's own `definitions::application::revisions_to_delete`.

use super::{Action, Fate, Limits, Revision};
use crate::Definitions;
use cambium_api::names::{condition, reason};
use cambium_definitions::Consuming;
use cambium_definitions::application::{Recorded, revisions_to_delete};
use cambium_lineage::RevisionName;
use serde_json::Value;

/// The fate of the ApplicationRevisions of a namespace, or of all namespaces.
pub(super) fn fates(definitions: &Definitions, namespace: Option<&str>, limits: &Limits) -> Vec<Revision> {
    let applications = definitions.all_recorded();
    applications
        .filter(|(key, _)| namespace.is_none_or(|only| only == key.namespace))
        .flat_map(|(key, recorded)| of_application(definitions, key, recorded, limits))
        .collect()
}

fn of_application(
    definitions: &Definitions,
    key: &Consuming,
    recorded: &[Recorded],
    limits: &Limits,
) -> Vec<Revision> {
    let application = definitions.application(&key.namespace, &key.name).ok();
    let application = application.map(|(_, application)| application);
    let uid = application.and_then(|application| application["metadata"]["uid"].as_str());
    let (own, others): (Vec<Recorded>, Vec<Recorded>) =
        recorded.iter().cloned().partition(|one| one.is_of(uid));
    let current = application
        .and_then(|application| application["status"]["latestRevision"]["name"].as_str())
        .and_then(|name| name.parse::<RevisionName>().ok());
    let going = match &current {
        Some(current) => revisions_to_delete(&own, current, limits.applications),
        None => Vec::new(),
    };
    let fate = |one: &Recorded| -> Fate {
        let name = one.revision.name();
        let keep = |why: String| (Action::Keep, vec![why]);
        let (Some(application), Some(current)) = (application, &current) else {
            return keep(match application {
                None => "its Application is gone; Kubernetes garbage collects it".to_owned(),
                Some(_) => "its Application has no current revision yet".to_owned(),
            });
        };
        if others.iter().any(|other| other.revision.name() == name) {
            return keep(
                "belongs to an earlier Application of this name; Kubernetes garbage collects it".into(),
            );
        }
        if name == current {
            return keep("current revision".to_owned());
        }
        if !going.iter().any(|(gone, _)| gone == name) {
            return keep("within the revision limit, to roll back to".to_owned());
        }
        match unfinished(application) {
            Some(step) => keep(format!(
                "older revisions are deleted once the Application is applied, and {step} is not True"
            )),
            None => (
                Action::Delete,
                vec!["not current, and newer ones are kept to roll back to".to_owned()],
            ),
        }
    };
    let revisions = recorded.iter().map(|one| {
        let (action, why) = fate(one);
        Revision {
            namespace: Some(key.namespace.clone()),
            definition: None,
            application: Some(key.name.clone()),
            composition: None,
            revision: one.revision.name().clone(),
            number: one.revision.number(),
            version: None,
            users: 0,
            action,
            why,
        }
    });
    revisions.collect()
}

/// The condition that says that an application could not be applied: until then the manager deletes none of its revisions, since what could
/// not be pruned is found by the revision that made it.
fn unfinished(application: &Value) -> Option<&'static str> {
    let conditions = application["status"]["conditions"].as_array();
    let is_unfinished = |type_: &&str| {
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| {
            one["type"] == **type_ && one["status"] != "True" && one["reason"] != reason::PROGRESSING
        })
    };
    [condition::RESOLVED, condition::RENDERED, condition::APPLIED]
        .iter()
        .find(|type_| is_unfinished(type_))
        .copied()
}
