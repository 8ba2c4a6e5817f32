//! `ServiceAccount`: assigns a pod its ServiceAccount, mounts a token of it, and adds its image pull secrets.

use std::sync::Arc;
use std::time::Duration;

use cambium_builtin::AdmissionPlugin;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::object;
use crate::server::Server;
use crate::status::{Result, Status};
use crate::store::{Entry, Interest};

const ACCOUNTS: &str = "/serviceaccounts";
const MIRROR: &str = "kubernetes.io/config.mirror";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
/// How long the creation of a pod waits for the ServiceAccount `default` of a new namespace.
const DEFAULT_ACCOUNT_TIMEOUT: Duration = Duration::from_secs(1);

/// Sets the ServiceAccount, the token volume and the image pull secrets of a new pod.
pub(super) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: &mut Option<Value>,
) -> Result<()> {
    let Some(pod) = object.as_mut().filter(|pod| concerns(server, attributes, pod)) else {
        return Ok(());
    };
    if account_name(pod).is_empty() {
        object::set_at(pod, "spec.serviceAccountName", json!("default"));
        object::set_at(pod, "spec.serviceAccount", json!("default"));
    }
    let name = account_name(pod);
    let Some(account) = find(server, attributes.namespace, name).await else {
        return Err(missing(attributes, name));
    };
    let volume = server.sources.generated_name(VOLUME);
    add_account_resources(pod, &account.value(), &volume);
    Ok(())
}

/// Denies a new pod without a ServiceAccount, in case another plugin or webhook removed it.
pub(super) fn check(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>) -> Result<()> {
    let Some(pod) = object.filter(|_| is_new_pod(server, attributes)) else {
        return Ok(());
    };
    let name = account_name(pod);
    if object::annotation(pod, MIRROR).is_some() {
        return match name.is_empty() {
            true => Ok(()),
            false => Err(forbidden(
                attributes,
                "a mirror pod may not reference service accounts",
            )),
        };
    }
    if name.is_empty() {
        let (namespace, name) = (attributes.namespace, object::name(pod));
        let why = format!("no service account specified for pod {namespace}/{name}");
        return Err(forbidden(attributes, &why));
    }
    let bucket = server.store.bucket(&ACCOUNTS.into());
    match bucket.get(&object::key(attributes.namespace, name)) {
        Some(_) => Ok(()),
        None => Err(missing(attributes, name)),
    }
}

fn is_new_pod(server: &Server, attributes: &Attributes<'_>) -> bool {
    // Without the controllers there is no `default` ServiceAccount, and every pod would be denied.
    server.service_accounts
        && attributes.operation == Operation::Create
        && attributes.subresource.is_empty()
        && attributes.concerns(AdmissionPlugin::ServiceAccount)
}

/// Mirror pods of static pods are not mutated.
fn concerns(server: &Server, attributes: &Attributes<'_>, pod: &Value) -> bool {
    is_new_pod(server, attributes) && object::annotation(pod, MIRROR).is_none()
}

fn account_name(pod: &Value) -> &str {
    object::at(pod, "spec.serviceAccountName")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn forbidden(attributes: &Attributes<'_>, why: &str) -> Status {
    Status::forbidden("", "pods", attributes.name, why)
}

fn missing(attributes: &Attributes<'_>, name: &str) -> Status {
    let namespace = attributes.namespace;
    let why =
        format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
    forbidden(attributes, &why)
}

/// Finds the ServiceAccount; waits for `default`, which the controller creates just after the namespace.
async fn find(server: &Server, namespace: &str, name: &str) -> Option<Arc<Entry>> {
    let bucket = server.store.bucket(&ACCOUNTS.into());
    let key = object::key(namespace, name);
    let account = bucket.get(&key);
    if account.is_some() || name != "default" {
        return account;
    }
    let mut changes = bucket.subscribe(Interest::Key(key.as_str().into()));
    let arrival = async {
        loop {
            if let Some(account) = bucket.get(&key) {
                return Some(account);
            }
            changes.changed().await.ok()?;
        }
    };
    tokio::time::timeout(DEFAULT_ACCOUNT_TIMEOUT, arrival)
        .await
        .ok()
        .flatten()
}

/// Adds the token volume and the image pull secrets of the ServiceAccount.
fn add_account_resources(pod: &mut Value, account: &Value, volume: &str) {
    let wish = |object: &Value, path: &str| object::at(object, path).and_then(Value::as_bool);
    let automount = wish(pod, "spec.automountServiceAccountToken")
        .or_else(|| wish(account, "automountServiceAccountToken"))
        .unwrap_or(true);
    if automount {
        mount(pod, volume);
    }
    let is_empty = |list: Option<&Value>| list.and_then(Value::as_array).is_none_or(Vec::is_empty);
    let secrets = account.get("imagePullSecrets");
    if is_empty(object::at(pod, "spec.imagePullSecrets")) && !is_empty(secrets) {
        let secrets = secrets.cloned().unwrap_or_default();
        object::set_at(pod, "spec.imagePullSecrets", secrets);
    }
}

/// Mounts the token into every container without a mount at that path.
fn mount(pod: &mut Value, generated: &str) {
    let volumes = object::at(pod, "spec.volumes").and_then(Value::as_array);
    let existing = volumes.into_iter().flatten().find_map(|volume| {
        let name = volume.get("name")?.as_str()?;
        name.starts_with(VOLUME).then(|| name.to_owned())
    });
    let name = existing.as_deref().unwrap_or(generated);
    let mut mounted = false;
    for field in ["initContainers", "containers"] {
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(field));
        for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
            mounted |= mount_into(container, name);
        }
    }
    if existing.is_none() && mounted {
        append(pod.get_mut("spec"), "volumes", token_volume(name));
    }
}

fn mount_into(container: &mut Value, volume: &str) -> bool {
    let mounts = container.get("volumeMounts").and_then(Value::as_array);
    let taken = mounts
        .into_iter()
        .flatten()
        .any(|mount| mount["mountPath"] == MOUNT_PATH);
    if !taken {
        let mount = json!({"mountPath": MOUNT_PATH, "name": volume, "readOnly": true});
        append(Some(container), "volumeMounts", mount);
    }
    !taken
}

fn append(object: Option<&mut Value>, field: &str, item: Value) {
    let Some(object) = object.and_then(Value::as_object_mut) else {
        return;
    };
    let list = object.entry(field).or_insert_with(|| json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}

/// The projected volume: a rotated token, the CA bundle, and the namespace.
fn token_volume(name: &str) -> Value {
    let namespace = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "volumeMounts": [{"name": "own", "mountPath": MOUNT_PATH}]}],
            "initContainers": [{"name": "i"}]}})
    }

    fn mounts(pod: &Value, list: &str, index: usize) -> Vec<String> {
        let mounts = pod["spec"][list][index]["volumeMounts"].as_array();
        let names = mounts.into_iter().flatten().map(|mount| mount["name"].as_str());
        names.map(|name| name.unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn containers_get_a_token_unless_something_is_in_its_place() {
        let mut pod = pod();
        add_account_resources(
            &mut pod,
            &json!({"imagePullSecrets": [{"name": "s"}]}),
            "kube-api-access-x",
        );
        assert_eq!(mounts(&pod, "containers", 0), ["kube-api-access-x"]);
        assert_eq!(mounts(&pod, "containers", 1), ["own"]);
        assert_eq!(mounts(&pod, "initContainers", 0), ["kube-api-access-x"]);
        assert_eq!(pod["spec"]["volumes"][0]["name"], "kube-api-access-x");
        assert_eq!(pod["spec"]["imagePullSecrets"], json!([{"name": "s"}]));
    }

    #[test]
    fn the_pods_wish_goes_before_the_accounts() {
        for (of_pod, of_account, mounted) in [
            (None, None, true),
            (None, Some(false), false),
            (Some(true), Some(false), true),
            (Some(false), Some(true), false),
        ] {
            let (mut pod, mut account) = (pod(), json!({}));
            pod["spec"]["automountServiceAccountToken"] = json!(of_pod);
            account["automountServiceAccountToken"] = json!(of_account);
            add_account_resources(&mut pod, &account, "kube-api-access-x");
            assert_eq!(
                pod["spec"].get("volumes").is_some(),
                mounted,
                "{of_pod:?} {of_account:?}"
            );
        }
    }

    #[test]
    fn a_volume_that_is_there_already_is_mounted() {
        let mut pod = pod();
        pod["spec"]["volumes"] = json!([{"name": "kube-api-access-old"}]);
        add_account_resources(&mut pod, &json!({}), "kube-api-access-x");
        assert_eq!(mounts(&pod, "containers", 0), ["kube-api-access-old"]);
        assert_eq!(pod["spec"]["volumes"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn secrets_of_its_own_are_kept() {
        let mut pod = pod();
        pod["spec"]["imagePullSecrets"] = json!([{"name": "own"}]);
        add_account_resources(
            &mut pod,
            &json!({"imagePullSecrets": [{"name": "s"}]}),
            "kube-api-access-x",
        );
        assert_eq!(pod["spec"]["imagePullSecrets"], json!([{"name": "own"}]));
    }
}
