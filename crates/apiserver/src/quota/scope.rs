//! Quota scopes: which objects a quota counts, beyond their kind.

use std::collections::BTreeSet;

use serde_json::Value;

/// The facts of an object that scopes match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Facts {
    Pod {
        /// It has `activeDeadlineSeconds`.
        terminating: bool,
        best_effort: bool,
        priority_class: String,
        /// Its pod affinity names other namespaces (`CrossNamespacePodAffinity`).
        looks_across: bool,
    },
    Claim {
        attributes_classes: BTreeSet<String>,
    },
    /// No scope matches.
    Other,
}

impl Facts {
    /// The facts of an object of a bucket.
    pub(super) fn of(bucket: &str, object: &Value) -> Self {
        match bucket {
            "/pods" => Self::of_pod(object),
            "/persistentvolumeclaims" => Self::of_claim(object),
            _ => Self::Other,
        }
    }

    fn of_pod(pod: &Value) -> Self {
        let spec = &pod["spec"];
        Self::Pod {
            terminating: is_terminating(pod),
            best_effort: cambium_builtin::quality_of_service(spec) == "BestEffort",
            priority_class: spec["priorityClassName"].as_str().unwrap_or_default().to_owned(),
            looks_across: looks_across(&spec["affinity"]),
        }
    }

    fn of_claim(claim: &Value) -> Self {
        let names = [
            "/spec/volumeAttributesClassName",
            "/status/currentVolumeAttributesClassName",
            "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
        ];
        let names = names.iter().filter_map(|path| claim.pointer(path)?.as_str());
        Self::Claim {
            attributes_classes: names.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        }
    }
}

/// Whether a pod has `activeDeadlineSeconds` (scope `Terminating`).
pub(super) fn is_terminating(pod: &Value) -> bool {
    let deadline = pod.pointer("/spec/activeDeadlineSeconds").and_then(Value::as_i64);
    deadline.is_some_and(|seconds| seconds >= 0)
}

fn looks_across(affinity: &Value) -> bool {
    let term = |term: &Value| {
        term["namespaces"].as_array().is_some_and(|list| !list.is_empty())
            || !term["namespaceSelector"].is_null()
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let terms = &affinity[kind];
        list(&terms["requiredDuringSchedulingIgnoredDuringExecution"])
            .iter()
            .any(term)
            || list(&terms["preferredDuringSchedulingIgnoredDuringExecution"])
                .iter()
                .any(|weighted| term(&weighted["podAffinityTerm"]))
    })
}

/// A scope or scope selector expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scope {
    name: String,
    operator: String,
    values: Vec<String>,
}

impl Scope {
    /// All scopes of a quota; each must match.
    pub(super) fn all(quota: &Value) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |path: &str| {
            quota
                .pointer(path)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let plain = list("/spec/scopes").map(|name| Self {
            name: text(name),
            operator: "Exists".to_owned(),
            values: vec![],
        });
        let selected = list("/spec/scopeSelector/matchExpressions").map(|one| Self {
            name: text(&one["scopeName"]),
            operator: text(&one["operator"]),
            values: one["values"].as_array().into_iter().flatten().map(text).collect(),
        });
        plain.chain(selected).collect()
    }

    /// Whether an object matches.
    pub(super) fn holds(&self, facts: &Facts) -> bool {
        match (facts, self.name.as_str()) {
            (Facts::Pod { terminating, .. }, "Terminating") => *terminating,
            (Facts::Pod { terminating, .. }, "NotTerminating") => !terminating,
            (Facts::Pod { best_effort, .. }, "BestEffort") => *best_effort,
            (Facts::Pod { best_effort, .. }, "NotBestEffort") => !best_effort,
            (Facts::Pod { looks_across, .. }, "CrossNamespacePodAffinity") => *looks_across,
            (Facts::Pod { priority_class, .. }, "PriorityClass") => {
                self.selects(Some(priority_class.as_str()).filter(|name| !name.is_empty()))
            }
            (Facts::Claim { attributes_classes }, "VolumeAttributesClass") => {
                match attributes_classes.is_empty() {
                    true => self.selects(None),
                    false => attributes_classes.iter().any(|name| self.selects(Some(name))),
                }
            }
            _ => false,
        }
    }

    fn selects(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.iter().any(|one| one == value));
        match self.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(scope: Value, bucket: &str, object: Value) -> bool {
        let quota = json!({"spec": {"scopeSelector": {"matchExpressions": [scope]}}});
        Scope::all(&quota)[0].holds(&Facts::of(bucket, &object))
    }

    #[test]
    fn pods_are_told_apart() {
        let exists = |name: &str| json!({"scopeName": name, "operator": "Exists"});
        let plain = json!({"spec": {"containers": [{"name": "a"}]}});
        let short = json!({"spec": {"activeDeadlineSeconds": 0}});
        let greedy = json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}});
        let term = json!({"namespaces": ["other"], "topologyKey": "x"});
        let nosy = json!({"spec": {"affinity": {"podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}}});
        for (scope, pod, expected) in [
            ("Terminating", &plain, false),
            ("Terminating", &short, true),
            ("NotTerminating", &short, false),
            ("BestEffort", &plain, true),
            ("BestEffort", &greedy, false),
            ("NotBestEffort", &greedy, true),
            ("CrossNamespacePodAffinity", &plain, false),
            ("CrossNamespacePodAffinity", &nosy, true),
            ("PriorityClass", &plain, false),
            ("VolumeAttributesClass", &plain, false),
        ] {
            assert_eq!(
                holds(exists(scope), "/pods", pod.clone()),
                expected,
                "{scope} {pod}"
            );
        }
    }

    #[test]
    fn classes_are_selected_like_labels() {
        let pod = |class: &str| json!({"spec": {"priorityClassName": class}});
        let scope = |operator: &str| json!({"scopeName": "PriorityClass", "operator": operator, "values": ["gold", "silver"]});
        for (operator, class, expected) in [
            ("In", "gold", true),
            ("In", "bronze", false),
            ("In", "", false),
            ("NotIn", "gold", false),
            ("NotIn", "bronze", true),
            ("NotIn", "", true),
            ("Exists", "bronze", true),
            ("DoesNotExist", "", true),
        ] {
            assert_eq!(
                holds(scope(operator), "/pods", pod(class)),
                expected,
                "{operator} {class}"
            );
        }
    }

    #[test]
    fn a_claim_on_its_way_is_in_both_classes() {
        let claim = json!({"spec": {"volumeAttributesClassName": "silver"}, "status": {"currentVolumeAttributesClassName": "gold"}});
        for class in ["gold", "silver"] {
            let scope = json!({"scopeName": "VolumeAttributesClass", "operator": "In", "values": [class]});
            assert!(holds(scope, "/persistentvolumeclaims", claim.clone()), "{class}");
        }
        assert!(!holds(
            json!({"scopeName": "Terminating", "operator": "Exists"}),
            "/secrets",
            json!({})
        ));
    }
}
