//! RBAC: roles, bindings, and privilege escalation prevention.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster, eventually};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const GROUP: &str = "rbac.authorization.k8s.io";
/// A certificate signing request for the common name `example`, base64 of PEM.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITU1IUUNBUUF3RWpFUU1BNEdBMVVFQXd3SFpYaGhiWEJzWlRC\
     Wk1CTUdCeXFHU000OUFnRUdDQ3FHU000OQpBd0VIQTBJQUJEVWxnV3h0UnJxYkYxVzVIVFR3RVZoWnlxUm1pTG4rZEt5QWU3SUQy\
     SVpyd2lYUllYbk5BKzQ4CjJpVzRDVU1LV2NYS1ZzY2RVa3BIMkZ5T1RvNkN4akdnQURBS0JnZ3Foa2pPUFFRREFnTklBREJGQWlB\
     MlV2cEkKekJEYUVrU0xqczc1WkVhODBZYytSYW9CbnFaVWRYOVN5dW55d0FJaEFKdE9WUlVIbzhFSm9Uc3A3SjcrTVBNQgozR2Vh\
     RDAzMzRQenRVSDRYMUFHZwotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

/// A cluster, a namespace, and a user without bindings.
struct Place {
    cluster: TestCluster,
    raw: Raw,
    namespace: String,
    user: String,
    theirs: Raw,
}

async fn place(prefix: &str) -> Result<Place> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace(prefix).await?;
    let user = cluster.unique("user");
    let raw = cluster.raw();
    let theirs = raw.clone().acting_as(&user);
    Ok(Place {
        cluster,
        raw,
        namespace,
        user,
        theirs,
    })
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

impl Place {
    fn in_namespace(&self, resource: &str) -> String {
        format!("{RBAC}/namespaces/{}/{resource}", self.namespace)
    }

    /// Grants the user rules in the namespace, and waits until they are in effect.
    async fn allow(&self, name: &str, rules: Value) -> Result<()> {
        let role = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": {"name": name}, "rules": rules});
        let made = self.raw.post(&self.in_namespace("roles"), &role).await?;
        assert_eq!(made.code, 201, "{made:?}");
        let binding = self.binding(name, "Role", name);
        let made = self
            .raw
            .post(&self.in_namespace("rolebindings"), &binding)
            .await?;
        assert_eq!(made.code, 201, "{made:?}");
        let first = &rules[0];
        let attributes = json!({"namespace": self.namespace, "verb": first["verbs"][0],
            "group": first["apiGroups"][0], "resource": first["resources"][0], "name": first["resourceNames"][0]});
        let question = json!({"spec": {"user": self.user, "resourceAttributes": attributes}});
        eventually("the role counts", || async {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            Ok(self.raw.post(path, &question).await?.body["status"]["allowed"] == true)
        })
        .await
    }

    /// A binding of a role to the user.
    fn binding(&self, name: &str, role_kind: &str, role: &str) -> Value {
        json!({"apiVersion": format!("{GROUP}/v1"), "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
            "subjects": [{"apiGroup": GROUP, "kind": "User", "name": self.user}]})
    }
}

#[tokio::test]
async fn a_role_allows_what_it_names_and_nothing_else() -> Result<()> {
    let place = place("rbac").await?;
    let named = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"]});
    let rules = json!([
        rule(&["list"], "", &["pods"]),
        named,
        rule(&["get"], "*", &["*/scale"])
    ]);
    place.allow("reader", rules).await?;
    let (namespace, user, theirs) = (&place.namespace, &place.user, &place.theirs);
    let core = format!("/api/v1/namespaces/{namespace}");
    assert_eq!(theirs.get(&format!("{core}/pods")).await?.code, 200);
    let refused = theirs.get(&format!("{core}/pods/a")).await?;
    assert_eq!((refused.code, refused.reason()), (403, "Forbidden"));
    assert_eq!(
        refused.message(),
        format!(
            "pods \"a\" is forbidden: User \"{user}\" cannot get resource \"pods\" in API group \"\" in the namespace \"{namespace}\""
        )
    );
    assert_eq!(refused.body["details"], json!({"name": "a", "kind": "pods"}));
    assert_eq!(
        theirs
            .get(&format!("{core}/pods?watch=true&timeoutSeconds=1"))
            .await?
            .code,
        403
    );
    assert_eq!(theirs.get(&format!("{core}/configmaps/mine")).await?.code, 404);
    assert_eq!(theirs.get(&format!("{core}/configmaps/yours")).await?.code, 403);
    assert_eq!(theirs.get(&format!("{core}/configmaps")).await?.code, 403);
    let one = format!("{core}/configmaps?fieldSelector=metadata.name%3D");
    assert_eq!(theirs.get(&format!("{one}mine")).await?.code, 200);
    let refused = theirs.get(&format!("{one}yours")).await?;
    assert_eq!(
        refused.message(),
        format!(
            "configmaps \"yours\" is forbidden: User \"{user}\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"{namespace}\""
        )
    );
    let apps = format!("/apis/apps/v1/namespaces/{namespace}/deployments/d");
    assert_eq!(theirs.get(&format!("{apps}/scale")).await?.code, 404);
    let refused = theirs.get(&format!("{apps}/status")).await?;
    assert_eq!(
        refused.message(),
        format!(
            "deployments.apps \"d\" is forbidden: User \"{user}\" cannot get resource \"deployments/status\" in API group \"apps\" in the namespace \"{namespace}\""
        )
    );
    let elsewhere = theirs.get("/api/v1/pods").await?;
    assert_eq!(
        elsewhere.message(),
        format!(
            "pods is forbidden: User \"{user}\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
        )
    );
    let path = theirs.get("/metrics/%3Cscript%3E").await?;
    assert_eq!(
        (path.code, path.message().to_owned()),
        (
            403,
            format!("forbidden: User \"{user}\" cannot get path \"/metrics/&lt;script&gt;\"")
        )
    );
    Ok(())
}

#[tokio::test]
async fn a_role_that_is_taken_away_allows_nothing_more() -> Result<()> {
    let place = place("taken").await?;
    place
        .allow("reader", json!([rule(&["list"], "", &["pods"])]))
        .await?;
    let pods = format!("/api/v1/namespaces/{}/pods", place.namespace);
    assert_eq!(place.theirs.get(&pods).await?.code, 200);
    let role = format!("{}/reader", place.in_namespace("roles"));
    place.raw.delete(&role, &Value::Null).await?;
    eventually("the role is missed", || async {
        let refused = place.theirs.get(&pods).await?;
        Ok(refused
            .message()
            .ends_with(": RBAC: role.rbac.authorization.k8s.io \"reader\" not found"))
    })
    .await
}

#[tokio::test]
async fn nobody_gives_what_they_do_not_have() -> Result<()> {
    let place = place("escalate").await?;
    let write = rule(&["create", "get", "patch"], GROUP, &["roles", "rolebindings"]);
    place
        .allow("writer", json!([write, rule(&["get"], "", &["pods"])]))
        .await?;
    let (user, theirs) = (&place.user, &place.theirs);
    let (roles, bindings) = (place.in_namespace("roles"), place.in_namespace("rolebindings"));

    let own = json!({"metadata": {"name": "own"}, "rules": [rule(&["get"], "", &["pods"])]});
    assert_eq!(theirs.post(&roles, &own).await?.code, 201);
    let more =
        json!({"metadata": {"name": "more"}, "rules": [rule(&["list", "get"], "", &["pods", "secrets"])]});
    let expected = format!(
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"{user}\" (groups=[\"system:authenticated\"]) is attempting \
         to grant RBAC permissions not currently held:\n{{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}}\n\
         {{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"list\" \"get\"]}}"
    );
    let refused = theirs.post(&roles, &more).await?;
    assert_eq!((refused.code, refused.message()), (403, expected.as_str()));

    let patch = json!({"rules": [rule(&["delete"], "", &["pods"])]});
    let refused = theirs.patch("merge", &format!("{roles}/own"), &patch).await?;
    assert_eq!((refused.code, refused.reason()), (403, "Forbidden"));
    let harmless = json!({"metadata": {"finalizers": []}});
    assert_eq!(
        theirs
            .patch("merge", &format!("{roles}/own"), &harmless)
            .await?
            .code,
        200
    );

    let refused = theirs
        .post(&bindings, &place.binding("b", "ClusterRole", "cluster-admin"))
        .await?;
    assert_eq!(refused.code, 403);
    assert!(
        refused.message().ends_with(
            "not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}"
        ),
        "{refused:?}"
    );
    assert_eq!(
        theirs
            .post(&bindings, &place.binding("b", "Role", "own"))
            .await?
            .code,
        201
    );
    let missing = theirs
        .post(&bindings, &place.binding("c", "Role", "nowhere"))
        .await?;
    assert_eq!(
        (missing.code, missing.message()),
        (
            404,
            "rolebindings.rbac.authorization.k8s.io \"nowhere\" not found"
        )
    );
    Ok(())
}

#[tokio::test]
async fn escalate_and_bind_are_rights_of_their_own() -> Result<()> {
    let place = place("bind").await?;
    let bind = json!({"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"], "resourceNames": ["view"]});
    let write = rule(&["create", "escalate"], GROUP, &["roles", "rolebindings"]);
    place.allow("writer", json!([write, bind])).await?;
    let role = json!({"metadata": {"name": "more"}, "rules": [rule(&["*"], "*", &["*"])]});
    assert_eq!(
        place.theirs.post(&place.in_namespace("roles"), &role).await?.code,
        201
    );
    let bindings = place.in_namespace("rolebindings");
    let view = place.binding("view", "ClusterRole", "view");
    assert_eq!(place.theirs.post(&bindings, &view).await?.code, 201);
    let admin = place.binding("admin", "ClusterRole", "cluster-admin");
    assert_eq!(place.theirs.post(&bindings, &admin).await?.code, 403);
    Ok(())
}

#[tokio::test]
async fn cluster_roles_add_up() -> Result<()> {
    let place = place("sum").await?;
    let (raw, roles) = (&place.raw, format!("{RBAC}/clusterroles"));
    let label = place.cluster.unique("part");
    let (sum, part) = (place.cluster.unique("sum"), place.cluster.unique("some part"));
    let role = json!({"metadata": {"name": sum}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label.as_str(): "true"}}]}});
    assert_eq!(raw.post(&roles, &role).await?.code, 201);
    let role = json!({"metadata": {"name": part, "labels": {label.as_str(): "true"}}, "rules": [rule(&["get"], "", &["pods"])]});
    assert_eq!(raw.post(&roles, &role).await?.code, 201);
    let rules =
        async || -> Result<Value> { Ok(raw.get(&format!("{roles}/{sum}")).await?.body["rules"].clone()) };
    let wanted = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    eventually("the sum has the rule of its part", || async {
        Ok(rules().await? == wanted)
    })
    .await?;
    let path = format!("{roles}/{}", part.replace(' ', "%20"));
    raw.delete(&path, &Value::Null).await?;
    eventually("the sum has no rule left", || async {
        Ok(rules().await?.as_array().is_none_or(Vec::is_empty))
    })
    .await?;
    raw.delete(&format!("{roles}/{sum}"), &Value::Null).await?;
    Ok(())
}

/// On a real cluster this compares its bootstrap policy with ours.
#[tokio::test]
async fn every_cluster_has_the_standard_roles_and_bindings() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let embedded = TestCluster::embedded(cambium_apiserver::ApiServer::builder()).await?;
    for resource in ["clusterroles", "clusterrolebindings", "roles", "rolebindings"] {
        let path = format!("{RBAC}/{resource}?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults");
        let described = async |raw: Raw| -> Result<Vec<Value>> {
            let list = raw.get(&path).await?.body;
            let items = list["items"].as_array().cloned().unwrap_or_default();
            Ok(items.into_iter().map(without_identity).collect())
        };
        eventually(&format!("{resource} are the same"), || async {
            let (one, other) = (described(cluster.raw()).await?, described(embedded.raw()).await?);
            Ok(one == other && one.len() > 6)
        })
        .await?;
    }
    Ok(())
}

fn without_identity(mut object: Value) -> Value {
    let metadata = object["metadata"]
        .as_object_mut()
        .expect("every object has metadata");
    metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels" | "annotations"));
    let map = object.as_object_mut().expect("an object is one");
    map.retain(|field, _| !matches!(field.as_str(), "apiVersion" | "kind"));
    object
}

#[tokio::test]
async fn a_binding_keeps_its_role() -> Result<()> {
    let place = place("immutable").await?;
    let bindings = place.in_namespace("rolebindings");
    let made = place
        .raw
        .post(&bindings, &place.binding("b", "ClusterRole", "view"))
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let patch = json!({"roleRef": {"name": "edit"}});
    let refused = place.raw.patch("merge", &format!("{bindings}/b"), &patch).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            422,
            "RoleBinding.rbac.authorization.k8s.io \"b\" is invalid: roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: cannot change roleRef"
        )
    );
    let bad = json!({"metadata": {"name": "c"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "Robot", "name": "x"}]});
    let refused = place.raw.post(&bindings, &bad).await?;
    assert_eq!(
        (refused.code, refused.message()),
        (
            422,
            "RoleBinding.rbac.authorization.k8s.io \"c\" is invalid: subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\""
        )
    );
    Ok(())
}

#[tokio::test]
async fn an_apply_that_creates_needs_leave_to_create() -> Result<()> {
    let place = place("apply").await?;
    place
        .allow("patcher", json!([rule(&["patch", "get"], "", &["configmaps"])]))
        .await?;
    let (namespace, user) = (&place.namespace, &place.user);
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let apply = format!("{path}/a?fieldManager=test");
    let config_map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let refused = place.theirs.patch("apply", &apply, &config_map).await?;
    assert_eq!(
        (refused.code, refused.message().to_owned()),
        (
            403,
            format!(
                "configmaps \"a\" is forbidden: User \"{user}\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"{namespace}\""
            )
        )
    );
    assert_eq!(
        place
            .raw
            .post(&path, &json!({"metadata": {"name": "a"}}))
            .await?
            .code,
        201
    );
    assert_eq!(place.theirs.patch("apply", &apply, &config_map).await?.code, 200);
    Ok(())
}

#[tokio::test]
async fn a_certificate_is_approved_by_those_who_may() -> Result<()> {
    let place = place("certificate").await?;
    let (raw, user) = (&place.raw, &place.user);
    let name = place.cluster.unique("request");
    let rules = json!([rule(
        &["get", "create", "update"],
        "certificates.k8s.io",
        &[
            "certificatesigningrequests",
            "certificatesigningrequests/approval"
        ]
    )]);
    let role = json!({"metadata": {"name": name}, "rules": rules});
    assert_eq!(raw.post(&format!("{RBAC}/clusterroles"), &role).await?.code, 201);
    let binding = place.binding(&name, "ClusterRole", &name);
    assert_eq!(
        raw.post(&format!("{RBAC}/clusterrolebindings"), &binding)
            .await?
            .code,
        201
    );
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({"metadata": {"name": name}, "spec": {"request": REQUEST, "signerName": "example.com/signer",
        "usages": ["client auth"], "username": "somebody-else"}});
    let made = cambium_testing::eventually_some("the role counts", || async {
        let made = place.theirs.post(requests, &request).await?;
        Ok((made.code != 403).then_some(made))
    })
    .await?;
    assert_eq!(
        (made.code, &made.body["spec"]["username"]),
        (201, &json!(user)),
        "{made:?}"
    );
    assert_eq!(made.body["spec"]["groups"], json!(["system:authenticated"]));
    let mut approved = made.body.clone();
    approved["status"]["conditions"] = json!([{"type": "Approved", "status": "True", "reason": "Test"}]);
    let approval = format!("{requests}/{name}/approval");
    let refused = place.theirs.put(&approval, &approved).await?;
    assert_eq!(
        (refused.code, refused.message().to_owned()),
        (
            403,
            format!(
                "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: user not permitted to approve requests with signerName \"example.com/signer\""
            )
        )
    );
    assert_eq!(raw.put(&approval, &approved).await?.code, 200);
    Ok(())
}
