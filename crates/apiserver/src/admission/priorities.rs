//! `Priority`: resolves a pod's PriorityClass, or the global default, to its priority and preemption policy.

use std::sync::Arc;

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::store::{Derived, Store};

const CLASSES: &str = "scheduling.k8s.io/priorityclasses";

/// The global default PriorityClass.
pub(crate) struct DefaultPriority(Derived<Option<Arc<Value>>, 1>);

impl DefaultPriority {
    pub(crate) fn new(store: &Store) -> Self {
        Self(Derived::new(store, [CLASSES], |[classes]| {
            default_of(classes.iter().map(|entry| entry.value()).collect()).map(Arc::new)
        }))
    }

    fn get(&self) -> Option<Arc<Value>> {
        Option::clone(&self.0.get())
    }
}

/// Of several global defaults, the one with the lowest value, as upstream.
fn default_of(classes: Vec<Value>) -> Option<Value> {
    classes
        .into_iter()
        .filter(|class| class["globalDefault"] == true)
        .min_by_key(value)
}

fn value(class: &Value) -> i64 {
    class["value"].as_i64().unwrap_or_default()
}

/// Sets the priority of a new pod; an update that omits it keeps the old one.
pub(super) fn fill_in(server: &Server, attributes: &Attributes<'_>, pod: &mut Value) -> Result<()> {
    if !attributes.concerns(AdmissionPlugin::Priority) || !attributes.subresource.is_empty() {
        return Ok(());
    }
    // Priority is immutable; clients that update a pod from an old manifest omit it.
    if let Some(old) = attributes.old {
        keep(old, pod);
        return Ok(());
    }
    let refuse = |why: String| Status::forbidden("", "pods", attributes.name, &why);
    let named = object::at(pod, "spec.priorityClassName").and_then(Value::as_str);
    let class = match named.filter(|name| !name.is_empty()) {
        Some(name) => {
            let entry = server.store.bucket(&CLASSES.into()).get(name);
            let entry =
                entry.ok_or_else(|| refuse(format!("no PriorityClass with name {name} was found")))?;
            Some(Arc::new(entry.value()))
        }
        None => server.priorities.get(),
    };
    give(class.as_deref(), pod).map_err(refuse)
}

/// Denies a second global default PriorityClass.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, class: Option<&Value>) -> Result<()> {
    let concerned = attributes.concerns(AdmissionPlugin::PriorityDefault)
        && matches!(attributes.operation, Operation::Create | Operation::Update)
        && class.is_some_and(|class| class["globalDefault"] == true);
    let Some(other) = server.priorities.get().filter(|_| concerned) else {
        return Ok(());
    };
    if attributes.operation == Operation::Update && object::name(&other) == attributes.name {
        return Ok(());
    }
    let why = format!(
        "PriorityClass {} is already marked as default. Only one default can exist",
        object::name(&other)
    );
    Err(Status::forbidden(
        "scheduling.k8s.io",
        "priorityclasses",
        attributes.name,
        &why,
    ))
}

fn keep(old: &Value, pod: &mut Value) {
    for field in ["priority", "preemptionPolicy"] {
        let (before, now) = (&old["spec"][field], &pod["spec"][field]);
        if now.is_null() && !before.is_null() {
            pod["spec"][field] = before.clone();
        }
    }
}

/// Writes the values of a class into a pod; denies a pod that sets different ones.
fn give(class: Option<&Value>, pod: &mut Value) -> Result<(), String> {
    let priority = class.map_or(0, value);
    let policy = match class {
        Some(class) => class["preemptionPolicy"].as_str(),
        None => Some("PreemptLowerPriority"),
    };
    let said = &pod["spec"]["priority"];
    if let Some(said) = said.as_i64().filter(|said| *said != priority) {
        return Err(format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        ));
    }
    pod["spec"]["priority"] = json!(priority);
    if let Some(class) = class {
        pod["spec"]["priorityClassName"] = json!(object::name(class));
    }
    let Some(policy) = policy else {
        return Ok(());
    };
    let said = pod["spec"]["preemptionPolicy"].as_str();
    if let Some(said) = said.filter(|said| *said != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    pod["spec"]["preemptionPolicy"] = json!(policy);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str, value: i64, default: bool) -> Value {
        json!({"metadata": {"name": name}, "value": value, "globalDefault": default, "preemptionPolicy": "Never"})
    }

    #[test]
    fn a_pod_has_the_priority_of_its_class_and_no_other() {
        let mut pod = json!({"spec": {}});
        assert_eq!(give(Some(&class("high", 7, false)), &mut pod), Ok(()));
        assert_eq!(
            pod["spec"],
            json!({"priority": 7, "priorityClassName": "high", "preemptionPolicy": "Never"})
        );
        let mut plain = json!({"spec": {}});
        assert_eq!(give(None, &mut plain), Ok(()));
        assert_eq!(
            plain["spec"],
            json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"})
        );
        let mut bold = json!({"spec": {"priority": 9}});
        assert!(
            give(None, &mut bold)
                .unwrap_err()
                .starts_with("the integer value of priority (9)")
        );
        let mut pushy = json!({"spec": {"preemptionPolicy": "Never"}});
        assert!(
            give(None, &mut pushy)
                .unwrap_err()
                .starts_with("the string value of PreemptionPolicy (Never)")
        );
    }

    #[test]
    fn of_several_defaults_the_least_important_counts() {
        let classes = vec![class("a", 9, true), class("b", 5, true), class("c", 1, false)];
        assert_eq!(
            default_of(classes)
                .map(|class| object::name(&class).to_owned())
                .as_deref(),
            Some("b")
        );
        assert_eq!(default_of(vec![]), None);
    }
}
