//! Total requests and limits of a pod: containers, init containers and overhead.

use serde_json::Value;

use crate::Amounts;

/// Which values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The spec, without overhead.
    Wanted,
    /// The maximum of spec and allocated resources during a resize, plus overhead.
    WantedOrHeld,
}

/// The total requests of a pod.
pub fn pod_requests(pod: &Value, basis: Basis) -> Amounts {
    let mut sum = of_containers(pod, "requests", basis);
    of_pod(pod, "requests", basis, &mut sum);
    if basis == Basis::WantedOrHeld {
        sum.add(&Amounts::of(pod.pointer("/spec/overhead")));
    }
    sum
}

/// The total limits of a pod.
pub fn pod_limits(pod: &Value, basis: Basis) -> Amounts {
    let mut sum = of_containers(pod, "limits", basis);
    of_pod(pod, "limits", basis, &mut sum);
    if basis == Basis::WantedOrHeld {
        let overhead = Amounts::of(pod.pointer("/spec/overhead"));
        sum.add(&overhead.only(|name, _| sum.get(name).is_some_and(|limit| !limit.is_zero())));
    }
    sum
}

/// Whether the pod has pod-level resources.
pub fn has_pod_level_resources(pod: &Value) -> bool {
    let lists = ["requests", "limits"].map(|list| Amounts::of(of_whole(pod, list)));
    lists.iter().any(|list| list.names().any(is_pod_level))
}

fn of_whole<'v>(pod: &'v Value, list: &str) -> Option<&'v Value> {
    pod.pointer("/spec/resources")?.get(list)
}

/// Whether a resource is supported at pod level.
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Pod-level resources replace the sum over the containers.
fn of_pod(pod: &Value, list: &str, basis: Basis, sum: &mut Amounts) {
    for (name, amount) in Amounts::of(of_whole(pod, list)).iter() {
        let is_known = match basis {
            Basis::Wanted => matches!(name, "cpu" | "memory"),
            Basis::WantedOrHeld => is_pod_level(name),
        };
        if is_known {
            sum.set(name, amount.clone());
        }
    }
}

fn of_containers(pod: &Value, list: &str, basis: Basis) -> Amounts {
    let containers = |field: &str| {
        let list = pod.get("spec").and_then(|spec| spec.get(field));
        list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
    };
    let mut sum = Amounts::default();
    for container in containers("containers") {
        sum.add(&of_container(pod, container, "containerStatuses", list, basis));
    }
    // Each step of the start needs itself, and the helpers that were started before and stay.
    let (mut helpers, mut start) = (Amounts::default(), Amounts::default());
    for container in containers("initContainers") {
        let stays = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let basis = if stays { basis } else { Basis::Wanted };
        let own = of_container(pod, container, "initContainerStatuses", list, basis);
        let mut step = helpers.clone();
        step.add(&own);
        if stays {
            sum.add(&own);
            helpers = step.clone();
        }
        start.raise(&step);
    }
    sum.raise(&start);
    sum
}

fn of_container(pod: &Value, container: &Value, statuses: &str, list: &str, basis: Basis) -> Amounts {
    let wanted = Amounts::of(
        container
            .get("resources")
            .and_then(|resources| resources.get(list)),
    );
    if basis == Basis::Wanted {
        return wanted;
    }
    let statuses = pod.get("status").and_then(|status| status.get(statuses));
    let mut statuses = statuses.and_then(Value::as_array).into_iter().flatten();
    let Some(held) = statuses
        .find(|status| status.get("name") == container.get("name"))
        .filter(|status| status.get("resources").is_some())
    else {
        return wanted;
    };
    let mut most = if is_infeasible(pod) {
        Amounts::default()
    } else {
        wanted
    };
    most.raise(&Amounts::of(held["resources"].get(list)));
    if list == "requests" {
        most.raise(&Amounts::of(held.get("allocatedResources")));
    }
    most
}

/// Whether a pending resize is infeasible on the node.
fn is_infeasible(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "PodResizePending" && condition["reason"] == "Infeasible")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn container(name: &str, cpu: &str) -> Value {
        json!({"name": name, "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}})
    }

    fn helper(name: &str, cpu: &str) -> Value {
        let mut container = container(name, cpu);
        container["restartPolicy"] = json!("Always");
        container
    }

    fn requested(pod: &Value) -> String {
        pod_requests(pod, Basis::WantedOrHeld).to_string()
    }

    #[test]
    fn a_pod_needs_its_containers_or_the_most_that_its_start_takes() {
        let mut pod = json!({"spec": {"containers": [container("a", "1"), container("b", "500m")]}});
        assert_eq!(requested(&pod), "cpu=1500m");
        pod["spec"]["initContainers"] = json!([container("i", "2")]);
        assert_eq!(requested(&pod), "cpu=2");
        pod["spec"]["initContainers"] = json!([helper("h", "1"), container("i", "2")]);
        assert_eq!(requested(&pod), "cpu=3");
        pod["spec"]["overhead"] = json!({"cpu": "100m", "memory": "1Mi"});
        assert_eq!(requested(&pod), "cpu=3100m,memory=1Mi");
        assert_eq!(pod_limits(&pod, Basis::WantedOrHeld).to_string(), "cpu=3100m");
        assert_eq!(pod_requests(&pod, Basis::Wanted).to_string(), "cpu=3");
    }

    #[test]
    fn the_word_of_the_whole_pod_replaces_that_of_its_containers() {
        let pod = json!({"spec": {"containers": [container("a", "1")],
            "resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}});
        assert_eq!(requested(&pod), "cpu=4,memory=1Gi");
        assert!(has_pod_level_resources(&pod));
        assert!(!has_pod_level_resources(&json!({"spec": {}})));
    }

    #[test]
    fn a_pod_that_is_resized_holds_the_greater_of_both() {
        let mut pod = json!({"spec": {"containers": [container("a", "1")]}, "status": {"containerStatuses": [
            {"name": "a", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}]}});
        assert_eq!(requested(&pod), "cpu=3");
        assert_eq!(pod_requests(&pod, Basis::Wanted).to_string(), "cpu=1");
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("9");
        assert_eq!(requested(&pod), "cpu=9");
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        assert_eq!(requested(&pod), "cpu=3");
    }
}
