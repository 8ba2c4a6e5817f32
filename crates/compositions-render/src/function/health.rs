//! Whether an object of a kind that Kubernetes itself has is in order. Such objects have no condition `Ready` that would say so.

use serde_json::Value;

/// Whether the object is in order; nothing if its kind is not one of these.
pub(super) fn health(object: &Value) -> Option<bool> {
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    Some(match (field("apiVersion"), field("kind")) {
        ("v1", "ConfigMap" | "Secret" | "ServiceAccount" | "Namespace") => true,
        ("rbac.authorization.k8s.io/v1", "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding") => {
            true
        }
        ("v1", "Service") => {
            object.pointer("/spec/type").and_then(Value::as_str) != Some("LoadBalancer")
                || has_address(object)
        }
        ("networking.k8s.io/v1", "Ingress") => has_address(object),
        ("v1", "PersistentVolumeClaim") => text(object, "/status/phase") == Some("Bound"),
        ("v1", "Pod") => pod(object),
        ("apps/v1", "Deployment") => {
            has_replicas(object, "/status/updatedReplicas")
                && has_replicas(object, "/status/availableReplicas")
                && condition(object, "Available")
        }
        ("apps/v1", "StatefulSet") => {
            let revision = text(object, "/status/currentRevision");
            has_replicas(object, "/status/readyReplicas")
                && has_replicas(object, "/status/currentReplicas")
                && revision.is_some()
                && revision == text(object, "/status/updateRevision")
        }
        ("apps/v1", "DaemonSet") => {
            let wanted = number(object, "/status/desiredNumberScheduled");
            let counts = [
                "/status/numberReady",
                "/status/updatedNumberScheduled",
                "/status/numberAvailable",
            ];
            wanted.is_some() && counts.iter().all(|count| number(object, count) == wanted)
        }
        ("apps/v1", "ReplicaSet") => {
            let seen = number(object, "/status/observedGeneration").unwrap_or(0);
            seen >= number(object, "/metadata/generation").unwrap_or(0)
                && !condition(object, "ReplicaFailure")
                && number(object, "/status/availableReplicas").unwrap_or(0) >= replicas(object)
        }
        ("batch/v1", "Job") => first_true(object, &["Failed", "Suspended", "Complete"]) == Some("Complete"),
        ("batch/v1", "CronJob") => cron_job(object),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => {
            let telling = [
                "FailedGetScale",
                "FailedUpdateScale",
                "FailedGetResourceMetric",
                "InvalidSelector",
                "ScalingActive",
                "ScalingLimited",
            ];
            matches!(
                first_true(object, &telling),
                Some("ScalingActive" | "ScalingLimited")
            )
        }
        _ => return None,
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer)?.as_str()
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}

fn replicas(object: &Value) -> i64 {
    number(object, "/spec/replicas").unwrap_or(1)
}

fn has_replicas(object: &Value, pointer: &str) -> bool {
    number(object, pointer) == Some(replicas(object))
}

fn has_address(object: &Value) -> bool {
    let addresses = object
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array);
    addresses.is_some_and(|addresses| !addresses.is_empty())
}

fn condition(object: &Value, kind: &str) -> bool {
    first_true(object, &[kind]).is_some()
}

/// The first condition that is true and one of these.
fn first_true<'a>(object: &'a Value, kinds: &[&str]) -> Option<&'a str> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let mut names = conditions
        .iter()
        .filter(|condition| condition.get("status").and_then(Value::as_str) == Some("True"))
        .filter_map(|condition| condition.get("type").and_then(Value::as_str));
    names.find(|name| kinds.contains(name))
}

fn pod(object: &Value) -> bool {
    match text(object, "/status/phase") {
        Some("Succeeded") => true,
        Some("Running") => {
            text(object, "/spec/restartPolicy") == Some("Always") && condition(object, "Ready")
        }
        _ => false,
    }
}

fn cron_job(object: &Value) -> bool {
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return true;
    }
    // Both times are written alike, to the second and in UTC, so that their texts compare as they do.
    let Some(scheduled) = text(object, "/status/lastScheduleTime") else {
        return false;
    };
    let active = object.pointer("/status/active").and_then(Value::as_array);
    active.is_some_and(|active| !active.is_empty())
        || text(object, "/status/lastSuccessfulTime").is_some_and(|successful| successful >= scheduled)
}
