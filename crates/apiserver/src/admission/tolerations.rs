//! `DefaultTolerationSeconds`: a pod tolerates a not-ready or unreachable node for five minutes.

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::object;

const SECONDS: i64 = 300;

/// The taints of an unhealthy node.
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Adds the default tolerations to a new pod.
pub(super) fn fill_in(attributes: &Attributes<'_>, pod: &mut Value) {
    let concerned = attributes.concerns(AdmissionPlugin::DefaultTolerationSeconds)
        && attributes.subresource.is_empty()
        && attributes.operation == Operation::Create;
    if concerned && pod["spec"].is_object() {
        complete(pod);
    }
}

fn complete(pod: &mut Value) {
    let given = object::items(&pod["spec"], "tolerations").to_vec();
    let tolerates = |taint: &str| {
        given.iter().any(|one| {
            let (key, effect) = (object::text(one, "key"), object::text(one, "effect"));
            (key.is_empty() || key == taint) && matches!(effect, "" | "NoExecute")
        })
    };
    let added: Vec<Value> = TAINTS
        .into_iter()
        .filter(|taint| !tolerates(taint))
        .map(|taint| json!({"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}))
        .collect();
    if !added.is_empty() {
        pod["spec"]["tolerations"] = json!([given, added].concat());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tolerated_already_is_left_alone() {
        let keys = |tolerations: Value| {
            let mut pod = json!({"spec": {"tolerations": tolerations}});
            complete(&mut pod);
            let all = object::items(&pod["spec"], "tolerations");
            let keys = all.iter().map(|one| object::text(one, "key").to_owned());
            keys.collect::<Vec<_>>()
        };
        assert_eq!(keys(json!([])), TAINTS);
        assert_eq!(keys(json!([{"operator": "Exists"}])), [""]);
        assert_eq!(
            keys(json!([{"key": TAINTS[1], "operator": "Exists", "effect": "NoExecute"}])),
            [TAINTS[1], TAINTS[0]]
        );
        let other = json!([{"key": TAINTS[0], "operator": "Exists", "effect": "NoSchedule"}]);
        assert_eq!(keys(other), [TAINTS[0], TAINTS[0], TAINTS[1]]);
    }
}
