//! Validation of volumes, claims and storage classes.

use cambium_schema::FieldError;
use serde_json::{Value, json};

use super::at::At;
use super::rule::{self, Errors};
use super::{pod, selector};
use crate::quantity::Quantity;

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn claim(new: &At, old: Option<&At>, errors: &mut Errors) {
    let spec = new.field("spec");
    claim_spec(&spec, errors);
    let Some(old) = old else { return };
    let before = old.field("spec");
    let mut munged = spec.value.clone();
    if let Value::Object(fields) = &mut munged {
        // What a claim gets later, and what a bound one may ask for.
        let mut restored = Vec::new();
        if before.field("volumeName").is_empty() {
            restored.push("volumeName");
        }
        if !before.field("storageClassName").is_set() {
            restored.push("storageClassName");
        }
        if new.field("status").field("phase").text() == "Bound" {
            restored.extend(["resources", "volumeAttributesClassName"]);
        }
        for name in restored {
            match before.value.get(name) {
                Some(value) => fields.insert(name.to_owned(), value.clone()),
                None => fields.remove(name),
            };
        }
    }
    if munged != *before.value {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                      bound claims";
        rule::forbidden(&spec, detail, errors);
    }
    let size =
        |spec: &At| Quantity::parse(spec.field("resources").field("requests").field("storage").text()).ok();
    let capacity = Quantity::parse(old.field("status").field("capacity").field("storage").text()).ok();
    if let (Some(size), Some(before)) = (size(&spec), size(&before))
        && size < before
        && capacity.is_some_and(|capacity| size <= capacity)
    {
        let at = spec.field("resources").field("requests").field("storage");
        rule::forbidden(&at, "field can not be less than status.capacity", errors);
    }
    mode_stays(&spec, &before, errors);
}

/// `volumeMode` is immutable. Upstream reports a field path that does not exist.
fn mode_stays(spec: &At, before: &At, errors: &mut Errors) {
    let mode = At {
        value: spec.field("volumeMode").value,
        path: cambium_schema::FieldPath::new("volumeMode"),
    };
    rule::immutable(&mode, &before.field("volumeMode"), errors);
}

/// Validates the spec of a claim.
pub(super) fn claim_spec(spec: &At, errors: &mut Errors) {
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        rule::required_because(&modes, "at least 1 access mode is required", errors);
    }
    selector::check(&spec.field("selector"), errors);
    access_modes(&modes, errors);
    let resources = spec.field("resources");
    let storage = At {
        value: resources.field("requests").field("storage").value,
        path: resources.path.key("storage"),
    };
    match storage.is_set() {
        true => positive(&storage, errors),
        false => rule::required_because(&storage, "", errors),
    }
    rule::subdomain_if_set(&spec.field("storageClassName"), errors);
    rule::one_of_if_set(&spec.field("volumeMode"), &["Block", "Filesystem"], errors);
}

fn access_modes(modes: &At, errors: &mut Errors) {
    let mut has_single = false;
    for mode in modes.items() {
        let at = At {
            value: mode.value,
            path: modes.path.clone(),
        };
        rule::one_of(&at, &ACCESS_MODES, errors);
        has_single |= mode.text() == "ReadWriteOncePod";
    }
    if has_single && modes.items().count() > 1 {
        rule::forbidden(
            modes,
            "may not use ReadWriteOncePod with other access modes",
            errors,
        );
    }
}

fn positive(at: &At, errors: &mut Errors) {
    if Quantity::parse(at.text()).is_ok_and(|amount| amount.is_negative() || amount.is_zero()) {
        rule::invalid(at, "must be greater than zero", errors);
    }
}

pub(super) fn volume(new: &At, old: Option<&At>, errors: &mut Errors) {
    const NOT_SOURCES: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let spec = new.field("spec");
    let modes = spec.field("accessModes");
    rule::required(&modes, errors);
    access_modes(&modes, errors);
    let capacity = spec.field("capacity");
    if capacity.is_empty() {
        rule::required_because(&capacity, "", errors);
    }
    let is_storage_only = capacity.entries().count() == 1 && capacity.field("storage").is_set();
    if !is_storage_only {
        errors.push(FieldError::not_supported(
            capacity.path.clone(),
            capacity.value,
            &["storage"],
        ));
    }
    for (_, amount) in capacity.entries() {
        positive(&amount, errors);
    }
    let reclaim = spec.field("persistentVolumeReclaimPolicy");
    if !reclaim.is_empty() {
        rule::one_of(&reclaim, &["Delete", "Recycle", "Retain"], errors);
    }
    let affinity = spec.field("nodeAffinity");
    let needed = affinity.field("required");
    if needed.is_set() {
        pod::node_selector(&needed, errors);
    }
    let mut sources: Vec<&str> = spec
        .value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .filter(|name| !NOT_SOURCES.contains(name))
        .collect();
    sources.sort_by_key(|name| *name != "hostPath");
    for (index, name) in sources.iter().enumerate() {
        let at = spec.field(name);
        if index > 0 {
            rule::forbidden(&at, "may not specify more than 1 volume type", errors);
            continue;
        }
        match *name {
            "hostPath" => pod::host_path(&at, errors),
            "local" => {
                rule::required(&at.field("path"), errors);
                if !affinity.is_set() {
                    rule::required_because(&affinity, "Local volume requires node affinity", errors);
                }
            }
            "csi" => {
                rule::required(&at.field("driver"), errors);
                rule::required(&at.field("volumeHandle"), errors);
            }
            _ => {}
        }
    }
    if sources.is_empty() {
        rule::required_because(&spec, "must specify a volume type", errors);
    }
    if spec.field("hostPath").field("path").text() == "/" && reclaim.text() == "Recycle" {
        rule::forbidden(
            &reclaim,
            "may not be 'recycle' for a hostPath mount of '/'",
            errors,
        );
    }
    rule::subdomain_if_set(&spec.field("storageClassName"), errors);
    rule::one_of_if_set(&spec.field("volumeMode"), &["Block", "Filesystem"], errors);
    if let Some(old) = old {
        let before = old.field("spec");
        let is_source = |name: &&String| !NOT_SOURCES.contains(&name.as_str());
        let of = |spec: &At| -> Vec<(String, Value)> {
            let fields = spec.value.as_object().into_iter().flatten();
            let sources = fields.filter(|(name, _)| is_source(name));
            sources
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        if of(&spec) != of(&before) {
            let at = At {
                value: spec.value,
                path: spec.path.child("persistentvolumesource"),
            };
            rule::forbidden(
                &at,
                "spec.persistentvolumesource is immutable after creation",
                errors,
            );
        }
        mode_stays(&spec, &before, errors);
    }
}

pub(super) fn storage_class(new: &At, old: Option<&At>, errors: &mut Errors) {
    let provisioner = new.field("provisioner");
    if rule::required(&provisioner, errors) {
        let lower = provisioner.text().to_lowercase();
        rule::complain(
            &provisioner,
            cambium_schema::names::qualified_name(&lower),
            errors,
        );
    }
    let parameters = new.field("parameters");
    if parameters.entries().any(|(key, _)| key.is_empty()) {
        rule::invalid_as(&parameters, &json!(""), "field can not be empty.", errors);
    }
    rule::one_of_if_set(&new.field("reclaimPolicy"), &["Delete", "Retain"], errors);
    let binding = new.field("volumeBindingMode");
    rule::one_of(&binding, &["Immediate", "WaitForFirstConsumer"], errors);
    let Some(old) = old else { return };
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        rule::immutable(&new.field(name), &old.field(name), errors);
    }
}

pub(super) fn csi_driver(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let modes = spec.field("volumeLifecycleModes");
    for mode in modes.items() {
        let at = At {
            value: mode.value,
            path: modes.path.clone(),
        };
        rule::one_of(&at, &["Persistent", "Ephemeral"], errors);
    }
    let group = spec.field("fsGroupPolicy");
    rule::one_of_if_set(&group, &["File", "None", "ReadWriteOnceWithFSType"], errors);
}
