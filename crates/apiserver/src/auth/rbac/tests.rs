//! Authorization over roles and bindings in a store.

use serde_json::json;

use super::*;
use crate::auth::ResourceAction;
use crate::object;
use crate::store::{Draft, Expect, History, Write};

/// Creates or replaces a role or binding.
async fn put(store: &Store, object: Value) {
    let plural = format!("{}s", object["kind"].as_str().unwrap_or_default().to_lowercase());
    let bucket: Arc<str> = format!("{GROUP}/{plural}").into();
    let key = object::key(object::namespace(&object), object::name(&object));
    let expect = match store.bucket(&bucket).get(&key) {
        Some(entry) => Expect::Revision(entry.revision),
        None => Expect::Absent,
    };
    let put = Some(Draft::new(&object));
    let write = Write {
        bucket,
        key: key.into(),
        expect,
        put,
    };
    store.write(write).await.expect("a write in memory");
}

fn role(kind: &str, namespace: &str, name: &str, resource: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]})
}

fn binding(kind: &str, namespace: &str, name: &str, role: (&str, &str), subjects: Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"kind": role.0, "name": role.1}, "subjects": subjects})
}

fn ask(rbac: &Rbac, user: &User, namespace: &str, resource: &str) -> Decision {
    let resource = ResourceAction {
        resource,
        namespace,
        ..ResourceAction::default()
    };
    rbac.authorize(user, &Action::on("get", resource))
}

fn allow(text: &str) -> Decision {
    Decision::Allow(text.to_owned())
}

fn no(text: &str) -> Decision {
    Decision::NoOpinion(text.to_owned())
}

#[tokio::test]
async fn a_decision_follows_every_write() {
    let store = Store::in_memory(History::default());
    let rbac = Rbac::new(&store);
    let ada = User::authenticated("ada", &["developers"]);
    assert_eq!(ask(&rbac, &ada, "", "pods"), no(""));
    let user = json!([{"kind": "User", "name": "ada"}]);
    put(
        &store,
        binding("ClusterRoleBinding", "", "b", ("ClusterRole", "r"), user),
    )
    .await;
    let missing = r#"RBAC: clusterrole.rbac.authorization.k8s.io "r" not found"#;
    assert_eq!(ask(&rbac, &ada, "", "pods"), no(missing));
    put(&store, role("ClusterRole", "", "r", "pods")).await;
    let allowed = r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "ada""#;
    assert_eq!(ask(&rbac, &ada, "", "pods"), allow(allowed));
    assert_eq!(ask(&rbac, &ada, "shop", "pods"), allow(allowed));
    put(&store, role("ClusterRole", "", "r", "secrets")).await;
    assert_eq!(ask(&rbac, &ada, "", "pods"), no(""));
}

#[tokio::test]
async fn a_binding_in_a_namespace_counts_there_only() {
    let store = Store::in_memory(History::default());
    let rbac = Rbac::new(&store);
    put(&store, role("Role", "shop", "r", "pods")).await;
    put(&store, role("ClusterRole", "", "c", "secrets")).await;
    let group = json!([{"kind": "Group", "name": "developers"}]);
    put(&store, binding("RoleBinding", "shop", "b", ("Role", "r"), group)).await;
    let account = json!([{"kind": "ServiceAccount", "name": "web"}, {"kind": "ServiceAccount", "name": "web", "namespace": "other"}]);
    put(
        &store,
        binding("RoleBinding", "shop", "d", ("ClusterRole", "c"), account),
    )
    .await;

    let ada = User::authenticated("ada", &["developers"]);
    let allowed = r#"RBAC: allowed by RoleBinding "b/shop" of Role "r" to Group "developers""#;
    assert_eq!(ask(&rbac, &ada, "shop", "pods"), allow(allowed));
    assert_eq!(ask(&rbac, &ada, "other", "pods"), no(""));
    assert_eq!(ask(&rbac, &ada, "", "pods"), no(""));
    let allowed = |namespace: &str| {
        format!(
            r#"RBAC: allowed by RoleBinding "d/shop" of ClusterRole "c" to ServiceAccount "web/{namespace}""#
        )
    };
    for namespace in ["shop", "other"] {
        let web = User::service_account(namespace, "web");
        assert_eq!(ask(&rbac, &web, "shop", "secrets"), allow(&allowed(namespace)));
    }
    assert_eq!(
        ask(&rbac, &User::service_account("third", "web"), "shop", "secrets"),
        no("")
    );
    assert_eq!(rbac.held(&ada, "shop").rules.len(), 1);
}

#[tokio::test]
async fn masters_need_no_role() {
    let store = Store::in_memory(History::default());
    assert_eq!(
        ask(&Rbac::new(&store), &User::master("root"), "x", "pods"),
        allow("")
    );
}
