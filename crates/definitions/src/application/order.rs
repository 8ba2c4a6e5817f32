//! The order of components: `dependsOn`.

use crate::Refused;
use cambium_api::names::reason;
use serde_json::Value;
use std::collections::BTreeSet;

/// The components that must be healthy before this one is applied.
pub(super) fn needs<'a>(application: &'a Value, component: &str) -> Vec<&'a str> {
    let named = |one: &&Value| one["name"] == component;
    let needs = components(application).find(named).map(|one| &one["dependsOn"]);
    let needs = needs.and_then(Value::as_array).into_iter().flatten();
    needs.filter_map(Value::as_str).collect()
}

/// The problems of `dependsOn`: unknown components and cycles.
pub(super) fn problems(application: &Value) -> Vec<Refused> {
    let names: BTreeSet<&str> = components(application).filter_map(name).collect();
    let mut problems = Vec::new();
    for component in components(application) {
        let of = name(component).unwrap_or_default();
        for unknown in needs(application, of)
            .iter()
            .filter(|needed| !names.contains(*needed))
        {
            problems.push(Refused {
                reason: reason::RENDER_FAILED,
                message: format!(
                    "component {of:?}: dependsOn names {unknown:?}, and there is no such component"
                ),
            });
        }
    }
    let circle = in_circles(application, &names);
    if !circle.is_empty() {
        problems.push(Refused {
            reason: reason::RENDER_FAILED,
            message: format!(
                "components {} wait for each other; take one dependsOn away",
                circle.into_iter().collect::<Vec<_>>().join(", ")
            ),
        });
    }
    problems
}

/// The components of cycles: those that remain when components without dependencies, or without dependents, are removed repeatedly.
fn in_circles<'a>(application: &'a Value, names: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut left = names.clone();
    loop {
        let waits = |one: &str| needs(application, one).iter().any(|needed| left.contains(needed));
        let needed = |one: &str| left.iter().any(|other| needs(application, other).contains(&one));
        let both = |one: &&str| waits(one) && needed(one);
        let still: BTreeSet<&str> = left.iter().copied().filter(both).collect();
        if still.len() == left.len() {
            return left;
        }
        left = still;
    }
}

fn components(application: &Value) -> impl Iterator<Item = &Value> {
    application["spec"]["components"].as_array().into_iter().flatten()
}

fn name(component: &Value) -> Option<&str> {
    component["name"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn application(components: Value) -> Value {
        json!({"spec": {"components": components}})
    }

    fn messages(components: Value) -> Vec<String> {
        let problems = problems(&application(components)).into_iter();
        problems.map(|problem| problem.message).collect()
    }

    #[test]
    fn an_order_that_can_be_kept_is_no_problem() {
        let components =
            json!([{"name": "a", "dependsOn": ["b", "c"]}, {"name": "b"}, {"name": "c", "dependsOn": ["b"]}]);
        assert_eq!(messages(components.clone()), Vec::<String>::new());
        assert_eq!(needs(&application(components), "a"), ["b", "c"]);
    }

    #[test]
    fn somebody_who_is_not_there_is_not_waited_for() {
        let problems = messages(json!([{"name": "a", "dependsOn": ["nobody"]}]));
        assert_eq!(
            problems,
            ["component \"a\": dependsOn names \"nobody\", and there is no such component"]
        );
    }

    #[test]
    fn nobody_waits_for_ever() {
        let circle = json!([{"name": "a", "dependsOn": ["b"]}, {"name": "b", "dependsOn": ["a"]}, {"name": "c", "dependsOn": ["a"]}]);
        assert_eq!(
            messages(circle),
            ["components a, b wait for each other; take one dependsOn away"]
        );
        let alone = messages(json!([{"name": "a", "dependsOn": ["a"]}]));
        assert_eq!(
            alone,
            ["components a wait for each other; take one dependsOn away"]
        );
    }
}
