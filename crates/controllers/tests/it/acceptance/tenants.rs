//! Whose rights are used: what a tenant with few of them cannot get through an Application.

use crate::platform;

use crate::platform::{Platform, application, condition, definition, settings};
use anyhow::Result;
use cambium_api::rbac;
use cambium_controllers::{Authors, Identities, Otherwise, Settings};
use cambium_testing::{Answer, Raw, eventually, eventually_some};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A platform, a tenant with rights in one namespace, and somebody else's namespace.
struct Tenancy {
    platform: Platform,
    /// The tenant, who may write applications, component definitions and ConfigMaps in team-a.
    bob: Raw,
    bob_name: String,
    team_a: String,
    team_b: String,
    /// A cluster role binding that must never be there.
    binding: String,
}

impl Tenancy {
    async fn start() -> Result<Self> {
        let platform = Platform::with_admission().await?;
        let bob_name = platform.cluster.unique("bob");
        let (team_a, team_b) = (
            platform.namespace.clone(),
            platform.cluster.namespace("victim").await?,
        );
        let tenancy = Self {
            bob: platform.cluster.raw().acting_as(&bob_name),
            binding: platform.cluster.unique("evil"),
            bob_name,
            team_a,
            team_b,
            platform,
        };
        let user = json!({"kind": "User", "name": tenancy.bob_name, "apiGroup": "rbac.authorization.k8s.io"});
        tenancy
            .grant(
                "tenant",
                user,
                json!([
                    {"apiGroups": ["core.oam.dev"], "resources": ["applications", "applications/status", "componentdefinitions"], "verbs": ["*"]},
                    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
                ]),
            )
            .await?;
        // A server hears of a role a little later than it is told.
        let applications = tenancy.platform.path("applications");
        eventually("bob has his rights", || async {
            Ok(tenancy.bob.get(&applications).await?.code == 200)
        })
        .await?;
        Ok(tenancy)
    }

    /// A role in team-a, given to somebody.
    async fn grant(&self, name: &str, subject: Value, rules: Value) -> Result<()> {
        let namespace = format!("{RBAC}/namespaces/{}", self.team_a);
        let raw = &self.platform.raw;
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let made = raw.post(&format!("{namespace}/roles"), &role).await?;
        assert_eq!(made.code, 201, "{made:?}");
        let binding = json!({"metadata": {"name": name}, "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}});
        let made = raw.post(&format!("{namespace}/rolebindings"), &binding).await?;
        assert_eq!(made.code, 201, "{made:?}");
        Ok(())
    }

    /// A component that makes a ConfigMap in team-a, one in team-b, and the binding.
    fn evil(&self, name: &str, version: &str) -> Value {
        let template = format!(
            r#"
output: {{
	apiVersion: "v1", kind: "ConfigMap"
	data: evil: parameter.text
}}
outputs: stolen: {{
	apiVersion: "v1", kind: "ConfigMap"
	metadata: {{name: context.name + "-stolen", namespace: "{}"}}
	data: evil: parameter.text
}}
outputs: binding: {{
	apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding"
	metadata: name: "{}"
	subjects: [{{kind: "User", name: "{}", apiGroup: "rbac.authorization.k8s.io"}}]
	roleRef: {{apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin"}}
}}
parameter: text: *"hello" | string
"#,
            self.team_b, self.binding, self.bob_name
        );
        definition("ComponentDefinition", name, Some(version), &template)
    }

    /// A component that makes one ConfigMap in team-b.
    fn reaching(&self, kind: &str, name: &str) -> Value {
        let what = match kind {
            "TraitDefinition" => "outputs: far:",
            _ => "output:",
        };
        let template = format!(
            "{what} {{\n\tapiVersion: \"v1\", kind: \"ConfigMap\"\n\
             \tmetadata: {{name: context.name + \"-far\", namespace: \"{}\"}}\n\tdata: text: parameter.text\n}}\n\
             parameter: text: *\"hello\" | string\n",
            self.team_b
        );
        definition(kind, name, Some("1.0.0"), &template)
    }

    /// Somebody applies an object in team-a.
    async fn apply_as(&self, who: &Raw, object: &Value) -> Result<Answer> {
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!(
            "{}/{name}?fieldManager=kubectl&force=true",
            self.platform.path(&plural)
        );
        who.patch("apply", &path, object).await
    }

    async fn bob_applies(&self, object: &Value) -> Result<Answer> {
        let answer = self.apply_as(&self.bob, object).await?;
        assert!(answer.code < 300, "{answer:?}");
        Ok(answer)
    }

    async fn publish_as_bob(&self, definition: &Value) -> Result<()> {
        let generation = self.bob_applies(definition).await?.body["metadata"]["generation"].clone();
        let name = definition["metadata"]["name"].as_str().unwrap();
        eventually("it is published", || async {
            let found = self.platform.get("componentdefinitions", name).await?;
            Ok(found["status"]["observedGeneration"] == generation)
        })
        .await
    }

    /// The application's condition `Applied`, once it says this.
    async fn applied(&self, name: &str, reason: &str) -> Result<String> {
        let found = eventually_some(&format!("{name}: Applied: {reason}"), || async {
            let found = self.platform.application(name).await?;
            let seen = found["status"]["observedGeneration"] == found["metadata"]["generation"];
            Ok(condition(&found, "Applied").filter(|one| seen && one["reason"] == reason))
        })
        .await;
        let found = match found {
            Ok(found) => found,
            Err(error) => anyhow::bail!("{error}: {:#}", self.platform.application(name).await?),
        };
        Ok(found["message"].as_str().unwrap_or_default().to_owned())
    }

    async fn author(&self, name: &str) -> Result<String> {
        let found = self.platform.application(name).await?;
        let author = &found["metadata"]["annotations"]["app.oam.dev/username"];
        Ok(author.as_str().unwrap_or_default().to_owned())
    }

    async fn far(&self, name: &str) -> Result<Value> {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.team_b);
        Ok(self.platform.raw.get(&path).await?.body)
    }

    /// Nothing of what the tenant wants is there, though the manager has done all that it does.
    async fn holds(&self) -> Result<()> {
        let path = format!("{RBAC}/clusterrolebindings/{}", self.binding);
        assert_eq!(self.platform.raw.get(&path).await?.code, 404);
        let path = format!("/api/v1/namespaces/{}/configmaps", self.team_b);
        let all = self.platform.raw.get(&path).await?.body;
        for one in all["items"].as_array().unwrap() {
            assert!(one["data"]["evil"].is_null(), "{one}");
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_tenant_gets_what_they_may_make_and_is_told_of_the_rest() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    tenancy.publish_as_bob(&tenancy.evil("evil", "1.0.0")).await?;
    tenancy
        .bob_applies(&application("own", json!({}), &[("main", "evil")]))
        .await?;
    let message = tenancy.applied("own", "Forbidden").await?;
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    let user = format!("user {:?} is not allowed to write it", tenancy.bob_name);
    assert!(lines.iter().all(|line| line.contains(&user)), "{message}");
    let names = |what: &str| lines.iter().any(|line| line.contains(what));
    assert!(names("ClusterRoleBinding") && names(&tenancy.team_b), "{message}");
    // The rest proceeds.
    let own = tenancy.platform.config_map("own-main").await?;
    assert_eq!(own["data"]["evil"], "hello", "{own}");
    // Whose rights are used is nobody else's business.
    assert!(
        own["metadata"]["annotations"]["app.oam.dev/username"].is_null(),
        "{own}"
    );
    tenancy.holds().await?;
    // A trait is no way around.
    let raw = &tenancy.platform.raw;
    tenancy
        .apply_as(raw, &tenancy.reaching("TraitDefinition", "far"))
        .await?;
    tenancy
        .publish_as_bob(&platform::component("plain", Some("1.0.0"), "1.0.0"))
        .await?;
    let mut traited = application("traited", json!({}), &[("main", "plain")]);
    traited["spec"]["components"][0]["traits"] = json!([{"type": "far", "properties": {"text": "x"}}]);
    eventually("the trait is published", || async {
        Ok(tenancy.apply_as(&tenancy.bob, &traited).await?.code < 300)
    })
    .await?;
    let message = tenancy.applied("traited", "Forbidden").await?;
    assert!(message.contains(&tenancy.team_b), "{message}");
    assert_eq!(tenancy.far("traited-main-far").await?["code"], 404);
    // Rights that are given are used.
    let path = format!("{RBAC}/namespaces/{}/rolebindings", tenancy.team_b);
    let binding = json!({"metadata": {"name": "bob"},
        "subjects": [{"kind": "User", "name": tenancy.bob_name, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}});
    assert_eq!(raw.post(&path, &binding).await?.code, 201);
    tenancy.platform.condition("traited", "Applied", "True").await?;
    tenancy.platform.rests().await
}

#[tokio::test]
async fn an_author_cannot_be_forged() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    tenancy.publish_as_bob(&tenancy.evil("evil", "1.0.0")).await?;
    let forged = json!({"app.oam.dev/username": "admin", "app.oam.dev/group": "system:masters"});
    let mut object = application("forged", forged.clone(), &[("main", "evil")]);
    let answer = tenancy.bob_applies(&object).await?;
    assert!(
        answer
            .warnings
            .iter()
            .any(|warning| warning.contains("app.oam.dev/username")),
        "{:?}",
        answer.warnings
    );
    let (bob, path) = (
        &tenancy.bob,
        format!("{}/forged", tenancy.platform.path("applications")),
    );
    tenancy.applied("forged", "Forbidden").await?;
    assert_eq!(tenancy.author("forged").await?, tenancy.bob_name);
    // By an edit of metadata, by replacing it, by the status: each is accepted or refused, and none counts.
    let change = json!({"metadata": {"annotations": forged}});
    bob.patch("merge", &path, &change).await?;
    bob.patch("merge", &format!("{path}/status"), &change).await?;
    let mut found = tenancy.platform.application("forged").await?;
    found["metadata"]["annotations"] = forged.clone();
    found["metadata"]["resourceVersion"] = Value::Null;
    bob.put(&path, &found).await?;
    object["spec"]["components"][0]["properties"] = json!({"text": "again"});
    tenancy.bob_applies(&object).await?;
    tenancy.applied("forged", "Forbidden").await?;
    let annotations = tenancy.platform.application("forged").await?["metadata"]["annotations"].clone();
    assert_eq!(annotations["app.oam.dev/username"], tenancy.bob_name);
    assert!(
        !annotations["app.oam.dev/group"]
            .as_str()
            .unwrap()
            .contains("masters"),
        "{annotations}"
    );
    tenancy.holds().await?;
    tenancy.platform.rests().await
}

#[tokio::test]
async fn what_is_edited_by_a_tenant_is_applied_and_pruned_as_the_tenant() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    platform
        .publish_object(&tenancy.reaching("ComponentDefinition", "far"))
        .await?;
    tenancy.publish_as_bob(&tenancy.evil("evil", "1.0.0")).await?;
    platform.deploy("admins", "far", json!({})).await?;
    platform.condition("admins", "Ready", "True").await?;
    assert_eq!(tenancy.far("admins-main-far").await?["data"]["text"], "hello");
    let path = format!("{}/admins", platform.path("applications"));
    let admin = tenancy.author("admins").await?;
    // An edit of metadata keeps the author; an edit of the spec does not.
    let labelled = json!({"metadata": {"labels": {"bob": "was-here"}}});
    assert_eq!(tenancy.bob.patch("merge", &path, &labelled).await?.code, 200);
    assert_eq!(tenancy.author("admins").await?, admin);
    let edit = json!({"spec": {"components": [{"name": "admins-main", "type": "far", "properties": {"text": "evil"}}]}});
    assert_eq!(tenancy.bob.patch("merge", &path, &edit).await?.code, 200);
    assert_eq!(tenancy.author("admins").await?, tenancy.bob_name);
    tenancy.applied("admins", "Forbidden").await?;
    assert_eq!(tenancy.far("admins-main-far").await?["data"]["text"], "hello");
    // What is no longer rendered is pruned as the tenant, which is refused, and said.
    let edit = json!({"spec": {"components": [{"name": "admins-other", "type": "evil"}]}});
    assert_eq!(tenancy.bob.patch("merge", &path, &edit).await?.code, 200);
    tenancy.applied("admins", "Forbidden").await?;
    tenancy
        .publish_as_bob(&platform::component("plain", Some("1.0.0"), "1.0.0"))
        .await?;
    let edit = json!({"spec": {"components": [{"name": "admins-other", "type": "plain"}]}});
    assert_eq!(tenancy.bob.patch("merge", &path, &edit).await?.code, 200);
    let message = eventually_some("pruning is refused", || async {
        let message = tenancy.applied("admins", "Forbidden").await?;
        Ok(message.contains("cannot delete").then_some(message))
    })
    .await?;
    assert!(message.contains(&tenancy.team_b), "{message}");
    assert_eq!(tenancy.far("admins-main-far").await?["data"]["text"], "hello");
    // So is a deletion, which says how to go on.
    assert_eq!(tenancy.bob.delete(&path, &json!({})).await?.code, 200);
    let stuck = eventually_some("the deletion is refused", || async {
        let ready = condition(&platform.application("admins").await?, "Ready");
        Ok(ready.filter(|ready| {
            ready["reason"] == "Forbidden" && ready["message"].as_str().unwrap().starts_with("Not deleted")
        }))
    })
    .await?;
    let message = stuck["message"].as_str().unwrap();
    for way in [
        tenancy.team_b.as_str(),
        "app.oam.dev/service-account-name",
        "app.oam.dev/orphan-resource",
    ] {
        assert!(message.contains(way), "{way}: {message}");
    }
    assert_eq!(tenancy.far("admins-main-far").await?["data"]["text"], "hello");
    // Whoever has the rights takes it over by name.
    let mine = json!({"metadata": {"annotations": {"app.oam.dev/username": admin}}});
    assert_eq!(platform.raw.patch("merge", &path, &mine).await?.code, 200);
    eventually("it is gone", || async {
        Ok(platform.raw.get(&path).await?.code == 404)
    })
    .await?;
    assert_eq!(tenancy.far("admins-main-far").await?["code"], 404);
    tenancy.holds().await?;
    tenancy.platform.rests().await
}

#[tokio::test]
async fn a_frozen_revision_is_applied_as_whoever_wrote_it() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    tenancy.publish_as_bob(&tenancy.evil("evil", "1.0.0")).await?;
    tenancy
        .publish_as_bob(&platform::component("plain", Some("1.0.0"), "1.0.0"))
        .await?;
    let frozen = json!({"app.oam.dev/publishVersion": "monday"});
    tenancy
        .bob_applies(&application("trap", frozen, &[("main", "evil")]))
        .await?;
    tenancy.applied("trap", "Forbidden").await?;
    // Somebody with all rights mends it, and does not see that it is frozen.
    let path = format!("{}/trap", platform.path("applications"));
    let edit = json!({"spec": {"components": [{"name": "trap-main", "type": "plain"}]}});
    assert_eq!(platform.raw.patch("merge", &path, &edit).await?.code, 200);
    assert_ne!(tenancy.author("trap").await?, tenancy.bob_name);
    tenancy.applied("trap", "Forbidden").await?;
    tenancy.holds().await?;
    // And without the annotation, it is theirs.
    let thawed = json!({"metadata": {"annotations": {"app.oam.dev/publishVersion": null}}});
    assert_eq!(platform.raw.patch("merge", &path, &thawed).await?.code, 200);
    platform.condition("trap", "Ready", "True").await?;
    tenancy.holds().await?;
    tenancy.platform.rests().await
}

/// An Application that is frozen is applied as the author that its revision names: so nobody makes one up.
#[tokio::test]
async fn a_revision_is_not_made_up_and_not_deleted_while_it_is_current() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    let bob = json!({"kind": "User", "name": tenancy.bob_name, "apiGroup": "rbac.authorization.k8s.io"});
    let everything = json!([{"apiGroups": ["core.oam.dev"], "resources": ["*"], "verbs": ["*"]}]);
    tenancy.grant("everything", bob, everything).await?;
    tenancy.publish_as_bob(&tenancy.evil("evil", "1.0.0")).await?;
    let frozen = json!({"app.oam.dev/publishVersion": "monday"});
    tenancy
        .bob_applies(&application("trap", frozen, &[("main", "evil")]))
        .await?;
    tenancy.applied("trap", "Forbidden").await?;
    let revisions = platform.path("applicationrevisions");
    let path = format!("{revisions}/trap-v1");
    let recorded = platform.raw.get(&path).await?.body;

    let refused = tenancy.bob.delete(&path, &json!({})).await?;
    assert_eq!(refused.code, 403, "{refused:?}");
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("trap-v1 is in use by Application")
            && message.contains("cambium.dev/allow-orphans=true"),
        "{message}"
    );

    let mut forged = recorded.clone();
    forged["metadata"] = json!({
        "name": "trap-v2", "labels": recorded["metadata"]["labels"],
        "ownerReferences": recorded["metadata"]["ownerReferences"],
    });
    let annotations = &mut forged["spec"]["application"]["metadata"]["annotations"];
    annotations["app.oam.dev/username"] = json!("admin");
    annotations["app.oam.dev/group"] = json!("system:masters");
    forged["spec"].as_object_mut().unwrap().remove("digest");
    let refused = tenancy.bob.post(&revisions, &forged).await?;
    assert_eq!(refused.code, 403, "{refused:?}");
    let message = refused.body["message"].as_str().unwrap();
    assert!(
        message.contains("takes the right to impersonate users and groups"),
        "{message}"
    );
    tenancy.holds().await?;

    // Whoever restores a backup has that right; and whoever asks for it deletes what is in use.
    let orphaned = json!({"metadata": {"annotations": {"cambium.dev/allow-orphans": "true"}}});
    assert_eq!(platform.raw.patch("merge", &path, &orphaned).await?.code, 200);
    assert_eq!(platform.raw.delete(&path, &json!({})).await?.code, 200);
    tenancy.applied("trap", "Blocked").await?;
    let mut restored = recorded;
    restored["metadata"] = json!({
        "name": "trap-v1", "labels": restored["metadata"]["labels"],
        "ownerReferences": restored["metadata"]["ownerReferences"],
    });
    let made = platform.raw.post(&revisions, &restored).await?;
    assert_eq!(made.code, 201, "{made:?}");
    tenancy.applied("trap", "Forbidden").await?;
    tenancy.holds().await?;
    tenancy.platform.rests().await
}

#[tokio::test]
async fn a_definition_nearer_by_does_not_get_under_somebody_elses_application() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    let shared = platform.cluster.unique("shared");
    let system = json!({"metadata": {"name": "vela-system"}});
    let made = platform.raw.post("/api/v1/namespaces", &system).await?;
    assert!([201, 409].contains(&made.code), "{made:?}");
    let mut object = platform::component(&shared, Some("1.0.0"), "1.0.0");
    object["metadata"]["namespace"] = json!("vela-system");
    platform.accepted(&object).await?;
    let following = json!({"app.oam.dev/autoUpdate": "true"});
    eventually("the definition is published", || async {
        let object = application("admins", following.clone(), &[("main", &shared)]);
        Ok(platform.apply(&object).await?.code < 300)
    })
    .await?;
    platform.runs("admins-main", "1.0.0").await?;
    platform.condition("admins", "Ready", "True").await?;
    tenancy.publish_as_bob(&tenancy.evil(&shared, "9.0.0")).await?;
    platform.idle().await?;
    tenancy.holds().await?;
    platform.runs("admins-main", "1.0.0").await?;
    // The tenant's own applications use it, as the tenant.
    tenancy
        .bob_applies(&application("bobs", json!({}), &[("main", &shared)]))
        .await?;
    tenancy.applied("bobs", "Forbidden").await?;
    tenancy.holds().await?;
    tenancy.platform.rests().await
}

#[tokio::test]
async fn a_service_account_of_the_namespace_is_used_and_not_outgrown() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    platform
        .publish_object(&tenancy.reaching("ComponentDefinition", "far"))
        .await?;
    platform.publish("plain", "1.0.0").await?;
    let account = json!({"metadata": {"name": "robot"}});
    let path = format!("/api/v1/namespaces/{}/serviceaccounts", tenancy.team_a);
    assert_eq!(platform.raw.post(&path, &account).await?.code, 201);
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let subject = json!({"kind": "ServiceAccount", "name": "robot", "namespace": tenancy.team_a});
    tenancy.grant("robot", subject, rules).await?;
    let robot = json!({"app.oam.dev/service-account-name": "robot"});
    platform.deploy("near", "plain", robot.clone()).await?;
    platform.condition("near", "Ready", "True").await?;
    platform.deploy("weak", "far", robot).await?;
    let message = tenancy.applied("weak", "Forbidden").await?;
    assert!(
        message.contains(&format!("ServiceAccount {}/robot", tenancy.team_a)),
        "{message}"
    );
    // Whoever takes the ServiceAccount away becomes the author: the one who was is not used for that.
    let path = format!("{}/weak", platform.path("applications"));
    let without = json!({"metadata": {"annotations": {"app.oam.dev/service-account-name": null}}});
    assert_eq!(tenancy.bob.patch("merge", &path, &without).await?.code, 200);
    let message = eventually_some("it is applied as bob", || async {
        let message = tenancy.applied("weak", "Forbidden").await?;
        Ok(message.contains(&tenancy.bob_name).then_some(message))
    })
    .await?;
    assert!(message.contains(&tenancy.team_b), "{message}");
    assert_eq!(tenancy.far("weak-main-far").await?["code"], 404);
    tenancy.platform.rests().await
}

#[tokio::test]
async fn without_an_identity_nothing_is_touched() -> Result<()> {
    let nobody = Settings {
        identities: Identities {
            authors: Authors::Unknown,
            otherwise: Otherwise::Nobody,
        },
        ..settings()
    };
    let mut platform = Platform::with(nobody).await?;
    platform.publish("plain", "1.0.0").await?;
    // Without admission, anybody can write this.
    let forged = json!({"app.oam.dev/username": "admin", "app.oam.dev/group": "system:masters"});
    platform.deploy("shop", "plain", forged).await?;
    let applied = platform.condition("shop", "Applied", "False").await?;
    assert_eq!(applied["reason"], "NoIdentity", "{applied}");
    assert_eq!(platform.config_map("shop-main").await?["code"], 404);
    // One of the three ways out.
    let path = format!("/api/v1/namespaces/{}/serviceaccounts", platform.namespace);
    platform
        .raw
        .post(&path, &json!({"metadata": {"name": "weak"}}))
        .await?;
    platform.set_identities(Identities {
        authors: Authors::Unknown,
        otherwise: Otherwise::ServiceAccount("weak".to_owned()),
    });
    let client = platform.cluster.manager().await?;
    platform.start_manager(client).await?;
    let applied = eventually_some("it is applied as the default", || async {
        let applied = condition(&platform.application("shop").await?, "Applied");
        Ok(applied.filter(|applied| applied["reason"] == "Forbidden"))
    })
    .await?;
    let message = applied["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("ServiceAccount {}/weak", platform.namespace)),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn kubernetes_own_roles_cover_our_kinds() -> Result<()> {
    let platform = Platform::without_manager(settings()).await?;
    let raw = &platform.raw;
    for document in rbac::documents(rbac::PEOPLE) {
        let role: Value = serde_saphyr::from_str(document)?;
        let name = role["metadata"]["name"].as_str().unwrap();
        let path = format!("{RBAC}/clusterroles/{name}?fieldManager=test&force=true");
        let answer = raw.patch("apply", &path, &role).await?;
        assert!(answer.code < 300, "{answer:?}");
    }
    let plain = |kind: &str| match kind {
        "applications" => application("mine", json!({}), &[("main", "plain")]),
        "componentdefinitions" => platform::component("mine", Some("1.0.0"), "1.0.0"),
        _ => {
            json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "DefinitionRevision", "metadata": {"name": "mine"}, "spec": {}})
        }
    };
    // Who may read everything of ours in the namespace, and what they may write.
    for (role, writes) in [
        ("view", &[][..]),
        ("edit", &["applications"]),
        ("admin", &["applications", "componentdefinitions"]),
    ] {
        let user = platform.cluster.unique(role);
        let binding = json!({"metadata": {"name": user},
            "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}});
        let path = format!("{RBAC}/namespaces/{}/rolebindings", platform.namespace);
        assert_eq!(raw.post(&path, &binding).await?.code, 201);
        let somebody = platform.cluster.raw().acting_as(&user);
        for kind in ["applications", "componentdefinitions", "definitionrevisions"] {
            eventually(&format!("{role} reads {kind}"), || async {
                Ok(somebody.get(&platform.path(kind)).await?.code == 200)
            })
            .await?;
            let path = format!("{}?dryRun=All", platform.path(kind));
            let may = writes.contains(&kind);
            eventually(&format!("{role} writes {kind}: {may}"), || async {
                let code = somebody.post(&path, &plain(kind)).await?.code;
                Ok(code == if may { 201 } else { 403 })
            })
            .await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_is_there_is_not_adopted_for_its_labels_or_because_nobody_looked() -> Result<()> {
    let tenancy = Tenancy::start().await?;
    let platform = &tenancy.platform;
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: parameter.data}\nparameter: data: [string]: string\n";
    platform
        .publish_object(&definition(
            "ComponentDefinition",
            "keys",
            Some("1.0.0"),
            template,
        ))
        .await?;
    let config_maps = format!("/api/v1/namespaces/{}/configmaps", tenancy.team_a);
    let holding = |name: &str, data: Value| {
        let mut object = application(name, json!({}), &[("main", "keys")]);
        object["spec"]["components"][0]["properties"] = json!({"data": data});
        object
    };
    // People and programs copy labels.
    let labels = json!({"app.oam.dev/name": "copied", "app.oam.dev/namespace": tenancy.team_a});
    let theirs = json!({"metadata": {"name": "copied-main", "labels": labels}, "data": {"by": "hand"}});
    assert_eq!(platform.raw.post(&config_maps, &theirs).await?.code, 201);
    platform
        .deploy_object(&holding("copied", json!({"by": "us"})))
        .await?;
    tenancy.applied("copied", "OwnedByAnother").await?;
    assert_eq!(
        platform.config_map("copied-main").await?["data"],
        json!({"by": "hand"})
    );
    // What the identity does not see, and what is made between looking and making, is the same: it is not overwritten.
    let subject = json!({"kind": "ServiceAccount", "name": "blind", "namespace": tenancy.team_a});
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch", "delete"]}]);
    tenancy.grant("blind", subject, rules).await?;
    let theirs = json!({"metadata": {"name": "hidden-main"}, "data": {"other": "hand"}});
    assert_eq!(platform.raw.post(&config_maps, &theirs).await?.code, 201);
    let mut hidden = holding("hidden", json!({"by": "us"}));
    hidden["metadata"]["annotations"] = json!({"app.oam.dev/service-account-name": "blind"});
    platform.deploy_object(&hidden).await?;
    tenancy.applied("hidden", "OwnedByAnother").await?;
    let found = platform.config_map("hidden-main").await?;
    assert_eq!(found["data"], json!({"other": "hand"}));
    assert!(found["metadata"]["labels"].is_null(), "{found}");
    // Once it is gone, it is made, and owned: what is no longer wanted goes.
    platform
        .raw
        .delete(&format!("{config_maps}/hidden-main"), &json!({}))
        .await?;
    platform.condition("hidden", "Ready", "True").await?;
    hidden["spec"]["components"][0]["properties"] = json!({"data": {"by": "us", "more": "x"}});
    platform.deploy_object(&hidden).await?;
    platform.condition("hidden", "Ready", "True").await?;
    hidden["spec"]["components"][0]["properties"] = json!({"data": {"more": "x"}});
    platform.deploy_object(&hidden).await?;
    eventually("the field is gone", || async {
        Ok(platform.config_map("hidden-main").await?["data"] == json!({"more": "x"}))
    })
    .await?;
    let found = platform.config_map("hidden-main").await?;
    let managers = found["metadata"]["managedFields"].as_array().unwrap();
    let ours: Vec<&Value> = managers.iter().map(|entry| &entry["operation"]).collect();
    assert_eq!(ours, ["Apply"], "{managers:?}");
    tenancy.platform.rests().await
}
