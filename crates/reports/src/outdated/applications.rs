//! `cambium outdated` for Applications: references that could move to something newer, or that resolve to nothing.

use super::Outdated;
use crate::Inventory;
use cambium_definitions::application::answers;
use cambium_definitions::{Answer, Asked, Consuming, Follow, Resolved, asked, follow, resolve};
use serde_json::Value;

/// The references of the applications of a namespace, or of all, that could move to something newer and do not, or that get nothing.
pub fn applications(inventory: &Inventory, namespace: Option<&str>) -> Vec<Outdated> {
    let applications = inventory.definitions.applications();
    applications
        .filter(|(key, _)| namespace.is_none_or(|only| only == key.namespace))
        .flat_map(|(key, application)| of_application(inventory, key, application))
        .collect()
}

fn of_application(inventory: &Inventory, key: &Consuming, application: &Value) -> Vec<Outdated> {
    let of = |why_not: String| Outdated {
        namespace: Some(key.namespace.clone()),
        application: Some(key.name.clone()),
        why_not,
        ..Outdated::default()
    };
    let references = References {
        inventory,
        key,
        application,
    };
    let follow = match follow(application) {
        Ok(follow) => follow,
        Err(refused) => return refused.into_iter().map(|one| of(one.message)).collect(),
    };
    let recorded = inventory.definitions.recorded(key);
    let answered = match answers(application, recorded, inventory.definitions.catalogue()) {
        Ok(answered) => answered,
        Err(refused) => {
            let asked = asked(application);
            let each = refused.iter().flat_map(|one| {
                asked
                    .iter()
                    .map(|asked| references.at_what_runs(asked, one.message.clone()))
            });
            return each.collect();
        }
    };
    let frozen = answered.frozen.and(follow.publish_version.as_deref());
    let outdated = |answer: &Answer| references.outdated(answer, &follow, frozen);
    answered.answers.iter().filter_map(outdated).collect()
}

/// The references of one application.
struct References<'i> {
    inventory: &'i Inventory,
    key: &'i Consuming,
    application: &'i Value,
}

impl References<'_> {
    fn outdated(&self, answer: &Answer, follow: &Follow, frozen: Option<&str>) -> Option<Outdated> {
        let asked = &answer.asked;
        let namespace = &self.key.namespace;
        // Whether there is something newer in what may not be read is not known.
        if let Some(why) = self
            .inventory
            .hidden(namespace, asked, answer.outcome.as_ref().err())
        {
            return Some(self.at_what_runs(asked, format!("unknown: {why}")));
        }
        let resolved = match &answer.outcome {
            Ok(resolved) => resolved,
            Err(refused) => return Some(self.at_what_runs(asked, refused.message.clone())),
        };
        let at = resolved.stored.revision.to_string();
        let newer = match frozen {
            None => resolved.newer.clone(),
            Some(version) => self
                .if_not_frozen(asked, follow, &at)
                .map(|newest| (newest, format!("frozen by publishVersion={version}"))),
        };
        // One that follows and does not run what it got could not move.
        match self.runs_another(asked, resolved, &at) {
            Some(runs) => {
                let known = self.known(asked, |_| true);
                let told = known.and_then(|known| known["message"].as_str().map(str::to_owned));
                let why = told.unwrap_or_else(|| format!("has not moved to {at} yet"));
                let newest = newer.map_or(at, |(newest, _)| newest);
                Some(self.reference(asked, Some(runs), Some(newest), why))
            }
            None => newer.map(|(newest, why)| self.reference(asked, Some(at), Some(newest), why)),
        }
    }

    /// What a reference of a frozen application would get, or what is newer than that, unless that is where it is.
    fn if_not_frozen(&self, asked: &Asked, follow: &Follow, at: &str) -> Option<String> {
        let catalogue = self.inventory.definitions.catalogue();
        let free = resolve(catalogue, self.key, follow, asked, None).outcome.ok()?;
        let newest = match free.newer {
            Some((newest, _)) => newest,
            None => free.stored.revision.to_string(),
        };
        (newest != at).then_some(newest)
    }

    fn runs_another(&self, asked: &Asked, resolved: &Resolved, at: &str) -> Option<String> {
        self.running(asked).filter(|runs| runs != at && resolved.follows)
    }

    /// The revision that the component of a reference runs.
    fn running(&self, asked: &Asked) -> Option<String> {
        let known = self.known(asked, |known| known["asked"] == asked.text.as_str())?;
        let known = match &known["running"] {
            Value::Null => known,
            running => running,
        };
        let name = known["version"].as_str().or(known["revision"].as_str())?;
        Some(name.to_owned())
    }

    /// The status of the reference at this path.
    fn known(&self, asked: &Asked, is_it: impl Fn(&Value) -> bool) -> Option<&Value> {
        let known = self.application["status"]["references"].as_array()?;
        let mut known = known.iter();
        known.find(|known| known["path"] == asked.path.as_str() && is_it(known))
    }

    fn at_what_runs(&self, asked: &Asked, why_not: String) -> Outdated {
        self.reference(asked, self.running(asked), None, why_not)
    }

    fn reference(
        &self,
        asked: &Asked,
        at: Option<String>,
        newest: Option<String>,
        why_not: String,
    ) -> Outdated {
        Outdated {
            namespace: Some(self.key.namespace.clone()),
            application: Some(self.key.name.clone()),
            path: Some(asked.path.clone()),
            asked: Some(asked.text.clone()),
            at,
            newest,
            why_not,
            ..Outdated::default()
        }
    }
}
