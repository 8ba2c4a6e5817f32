//! Decides the binding of claims and volumes, one write at a time: the event of each write leads to the next.

use cambium_builtin::Quantity;
use serde_json::{Value, json};

use crate::object;
use crate::selector::LabelSelector;

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// A write to a claim or a volume.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    Object(Value),
    Status(Value),
}

/// The next write that binds a claim.
pub(super) fn for_claim(claim: &Value, volumes: &[Value], waits: bool) -> Option<Write> {
    if object::is_deleting(claim) {
        return None;
    }
    let named = text(claim, "spec.volumeName");
    let volume = match named {
        "" => find(claim, volumes, waits),
        name => volumes.iter().find(|volume| object::name(volume) == name),
    };
    let Some(volume) = volume else {
        let lost = !named.is_empty() && object::annotation(claim, BIND_COMPLETED).is_some();
        return phase(claim, if lost { "Lost" } else { "Pending" });
    };
    let is_ours = is_for(volume, claim) == Some(true);
    if !is_ours && (is_for(volume, claim) == Some(false) || !satisfies(volume, claim)) {
        return phase(claim, "Pending");
    }
    claimed(volume, claim)
        .or_else(|| phase(volume, "Bound"))
        .or_else(|| named_in(claim, volume))
        .or_else(|| bound(claim, volume))
}

/// The next write for a volume that is not being bound: release or phase.
pub(super) fn for_volume(volume: &Value, claim: Option<&Value>) -> Option<Write> {
    let uid = text(volume, "spec.claimRef.uid");
    if uid.is_empty() {
        return phase(volume, "Available");
    }
    let claim = claim.filter(|claim| object::meta_text(claim, "uid") == uid);
    match claim {
        Some(claim) if text(claim, "spec.volumeName") == object::name(volume) => phase(volume, "Bound"),
        Some(_) => None,
        None => phase(volume, "Released"),
    }
}

fn text<'v>(object: &'v Value, path: &str) -> &'v str {
    object::at(object, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whether the volume's `claimRef` names this claim; `None` without a `claimRef`.
fn is_for(volume: &Value, claim: &Value) -> Option<bool> {
    let reference = object::at(volume, "spec.claimRef").filter(|reference| reference.is_object())?;
    let uid = text(reference, "uid");
    Some(
        text(reference, "namespace") == object::namespace(claim)
            && text(reference, "name") == object::name(claim)
            && (uid.is_empty() || uid == object::meta_text(claim, "uid")),
    )
}

/// The volume pre-bound to a claim, or else the smallest that satisfies it.
fn find<'v>(claim: &Value, volumes: &'v [Value], waits: bool) -> Option<&'v Value> {
    let fitting = || volumes.iter().filter(|volume| satisfies(volume, claim));
    if let Some(kept) = fitting().find(|volume| is_for(volume, claim) == Some(true)) {
        return Some(kept);
    }
    let selector = object::at(claim, "spec.selector").and_then(LabelSelector::from_json);
    let selected = |volume: &&Value| {
        let labels = object::metadata(volume).get("labels");
        selector.as_ref().is_none_or(|selector| {
            selector.matches(|label| labels.and_then(|labels| labels.get(label)?.as_str()))
        })
    };
    let free = fitting()
        .filter(|volume| is_for(volume, claim).is_none() && text(volume, "status.phase") == "Available");
    free.filter(|_| !waits)
        .filter(selected)
        .min_by_key(|volume| (capacity(volume), object::name(volume).to_owned()))
}

fn capacity(volume: &Value) -> i128 {
    Quantity::parse(text(volume, "spec.capacity.storage")).map_or(0, |size| size.rounded_up())
}

fn class(object: &Value) -> &str {
    object::annotation(object, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| text(object, "spec.storageClassName"))
}

fn satisfies(volume: &Value, claim: &Value) -> bool {
    let wanted =
        Quantity::parse(text(claim, "spec.resources.requests.storage")).map_or(0, |size| size.rounded_up());
    let mode = |object: &Value| match text(object, "spec.volumeMode") {
        "" => "Filesystem".to_owned(),
        mode => mode.to_owned(),
    };
    let modes = |object: &Value| {
        let modes = object::at(object, "spec.accessModes").and_then(Value::as_array);
        modes.cloned().unwrap_or_default()
    };
    let offered = modes(volume);
    let attributes = "spec.volumeAttributesClassName";
    !object::is_deleting(volume)
        && capacity(volume) >= wanted
        && class(volume) == class(claim)
        && text(volume, attributes) == text(claim, attributes)
        && mode(volume) == mode(claim)
        && modes(claim).iter().all(|mode| offered.contains(mode))
}

/// The volume with a `claimRef` to the claim.
fn claimed(volume: &Value, claim: &Value) -> Option<Write> {
    if !text(volume, "spec.claimRef.uid").is_empty() {
        return None;
    }
    let mut next = volume.clone();
    if is_for(volume, claim).is_none() {
        annotate(&mut next, BOUND_BY_CONTROLLER);
    }
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": object::namespace(claim),
        "name": object::name(claim), "uid": object::meta_text(claim, "uid"),
        "resourceVersion": object::meta_text(claim, "resourceVersion")});
    object::set_at(&mut next, "spec.claimRef", reference);
    Some(Write::Object(next))
}

/// The claim with `volumeName`.
fn named_in(claim: &Value, volume: &Value) -> Option<Write> {
    let mut next = claim.clone();
    if text(claim, "spec.volumeName").is_empty() {
        object::set_at(&mut next, "spec.volumeName", json!(object::name(volume)));
        annotate(&mut next, BOUND_BY_CONTROLLER);
    }
    if object::annotation(claim, BIND_COMPLETED).is_none() {
        annotate(&mut next, BIND_COMPLETED);
    }
    (next != *claim).then_some(Write::Object(next))
}

fn annotate(object: &mut Value, name: &str) {
    let metadata = object::metadata_mut(object);
    metadata.entry("annotations").or_insert_with(|| json!({}))[name] = json!("yes");
}

/// The claim with the status `Bound`.
fn bound(claim: &Value, volume: &Value) -> Option<Write> {
    if text(claim, "status.phase") == "Bound" {
        return None;
    }
    let mut next = claim.clone();
    next["status"]["phase"] = json!("Bound");
    next["status"]["accessModes"] = volume["spec"]["accessModes"].clone();
    next["status"]["capacity"] = volume["spec"]["capacity"].clone();
    let attributes = text(volume, "spec.volumeAttributesClassName");
    if !attributes.is_empty() {
        next["status"]["currentVolumeAttributesClassName"] = json!(attributes);
    }
    Some(Write::Status(next))
}

fn phase(object: &Value, phase: &str) -> Option<Write> {
    if text(object, "status.phase") == phase {
        return None;
    }
    let mut next = object.clone();
    object::set_at(&mut next, "status.phase", json!(phase));
    Some(Write::Status(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Value {
        json!({"metadata": {"name": "c", "namespace": "n", "uid": "u"}, "status": {"phase": "Pending"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    }

    fn volume(name: &str, size: &str) -> Value {
        json!({"metadata": {"name": name}, "status": {"phase": "Available"},
            "spec": {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": size}}})
    }

    /// Applies writes until there are none.
    fn settle(mut claim: Value, mut volumes: Vec<Value>) -> (Value, Vec<Value>) {
        for _ in 0..10 {
            let Some(Write::Object(next) | Write::Status(next)) = for_claim(&claim, &volumes, false) else {
                return (claim, volumes);
            };
            match object::namespace(&next) {
                "" => {
                    let name = object::name(&next).to_owned();
                    volumes.retain(|one| object::name(one) != name);
                    volumes.push(next);
                }
                _ => claim = next,
            }
        }
        panic!("it does not come to rest");
    }

    #[test]
    fn a_claim_gets_the_smallest_volume_that_will_do() {
        let volumes = vec![
            volume("large", "9Gi"),
            volume("small", "1Mi"),
            volume("fits", "2Gi"),
        ];
        let (claim, volumes) = settle(claim(), volumes);
        assert_eq!(claim["spec"]["volumeName"], "fits");
        assert_eq!(
            claim["status"],
            json!({"phase": "Bound", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": "2Gi"}})
        );
        assert_eq!(object::annotation(&claim, BIND_COMPLETED), Some("yes"));
        let taken = volumes.last().unwrap();
        assert_eq!(taken["spec"]["claimRef"]["uid"], "u");
        assert_eq!(taken["status"]["phase"], "Bound");
        assert_eq!(for_volume(taken, Some(&claim)), None);
        let Some(Write::Status(released)) = for_volume(taken, None) else {
            panic!("it is released")
        };
        assert_eq!(released["status"]["phase"], "Released");
    }

    #[test]
    fn a_volume_that_is_kept_for_a_claim_goes_to_it() {
        let mut kept = volume("kept", "5Gi");
        kept["spec"]["claimRef"] = json!({"namespace": "n", "name": "c"});
        kept["spec"]["volumeAttributesClassName"] = json!("gold");
        let mut wanting = claim();
        wanting["spec"]["volumeName"] = json!("kept");
        wanting["spec"]["volumeAttributesClassName"] = json!("gold");
        let (bound, _) = settle(wanting, vec![volume("other", "1Gi"), kept.clone()]);
        assert_eq!(bound["status"]["currentVolumeAttributesClassName"], "gold");
        assert_eq!(object::annotation(&bound, BOUND_BY_CONTROLLER), None);
        kept["spec"]["claimRef"]["name"] = json!("somebody-else");
        assert_eq!(for_claim(&claim(), &[kept], false), None);
    }

    #[test]
    fn what_does_not_fit_is_left() {
        let mut other_class = volume("v", "1Gi");
        other_class["spec"]["storageClassName"] = json!("fast");
        let mut read_only = volume("v", "1Gi");
        read_only["spec"]["accessModes"] = json!(["ReadOnlyMany"]);
        let mut block = volume("v", "1Gi");
        block["spec"]["volumeMode"] = json!("Block");
        for volume in [other_class, read_only, block] {
            assert_eq!(
                for_claim(&claim(), std::slice::from_ref(&volume), false),
                None,
                "{volume}"
            );
        }
        assert_eq!(
            for_claim(&claim(), &[volume("v", "1Gi")], true),
            None,
            "it waits for a pod"
        );
    }
}
