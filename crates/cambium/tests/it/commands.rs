//! The commands that ask a cluster and move applications, as a person uses them.

use crate::sandbox;

use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, Up, application, apply, definition, get, live, ready};
use cambium_testing::eventually_some;
use insta::assert_snapshot;
use serde_json::{Value, json};

const THREE: [(&str, &str); 3] = [("1.2.2", "one"), ("1.2.3", "two"), ("2.0.0", "three")];

#[tokio::test]
async fn history_shows_revisions_and_who_uses_them() {
    let sandbox = Sandbox::new("history").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.application("shop", &[("front", "web@1")]).await;
    sandbox
        .publish("web", &[("1.2.2", "one"), ("1.2.3", "two"), ("1.3.0", "more")])
        .await;
    sandbox.resolved("shop", "front=web@1.3.0").await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&[
        "history componentdefinition/web",
        "history componentdefinitions.core.oam.dev/web",
        "history app/shop",
        "history app/missing",
        "history trait/web",
        "history compdef web",
        "history web",
        "history shop",
        "history nothing",
        "history compdef/web -o wide",
        "history pod/web",
    ]));
    let json: Value = serde_json::from_str(&sandbox.run("history compdef/web -o json").stdout).unwrap();
    assert_eq!(json["revisions"][0]["version"], "1.3.0");
    assert_eq!(json["revisions"][0]["usedBy"][0], "Application history/shop");
    assert_eq!(json["revisions"][2]["usedBy"], json!([]));
    let yaml: Value = serde_saphyr::from_str(&sandbox.run("history app/shop -o yaml").stdout).unwrap();
    assert_eq!(yaml["revisions"][0]["current"], true);
    assert_eq!(yaml["revisions"][1]["definitions"][0]["version"], "1.2.3");
}

#[tokio::test]
async fn resolve_says_what_and_why() {
    let sandbox = Sandbox::new("resolve").await;
    sandbox
        .publish("web", &[THREE[0], THREE[1], ("1.3.0-rc.1", "soon")])
        .await;
    sandbox
        .application(
            "shop",
            &[("exact", "web@1.2.2"), ("series", "web@1"), ("bare", "web")],
        )
        .await;
    sandbox
        .publish("web", &[THREE[0], THREE[1], ("1.3.0-rc.1", "soon"), THREE[2]])
        .await;
    assert_snapshot!(sandbox.session(&["resolve shop", "resolve shop --explain", "resolve missing"]));
    let json: Value = serde_json::from_str(&sandbox.run("resolve shop -o json").stdout).unwrap();
    assert_eq!(json[2]["version"], "1.2.3");
    assert_eq!(json[2]["newer"]["version"], "2.0.0");
    assert_eq!(json[2]["revisions"], Value::Null);
}

#[tokio::test]
async fn a_tenant_sees_what_shared_definitions_give() {
    let sandbox = Sandbox::new("tenant").await;
    let shared = definition("shared-web", &THREE[..2]);
    apply(&sandbox.client, "vela-system", &shared).await.unwrap();
    ready(
        &sandbox.client,
        "vela-system",
        "ComponentDefinition",
        "shared-web",
    )
    .await;
    sandbox
        .application("shop", &[("front", "shared-web@1.2.2"), ("back", "shared-web")])
        .await;
    // Rights in one namespace, and no others.
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "tenant"},
        "subjects": [{"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
    });
    sandbox.apply(&binding).await;
    kubeconfig_as(&sandbox, "tenant");
    assert_snapshot!(sandbox.session(&[
        "resolve shop --kubeconfig tenant.yaml",
        "outdated --kubeconfig tenant.yaml",
        "history componentdefinition/shared-web --kubeconfig tenant.yaml",
        // No more than that.
        "outdated --kubeconfig tenant.yaml --all-namespaces",
    ]));
}

/// Writes a kubeconfig with which commands act as this user, `USER.yaml`.
fn kubeconfig_as(sandbox: &Sandbox, user: &str) {
    let kubeconfig = std::fs::read_to_string(sandbox.up.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&kubeconfig).unwrap();
    for known in kubeconfig["users"].as_array_mut().unwrap() {
        known["user"]["as"] = json!(user);
    }
    sandbox.file(
        &format!("{user}.yaml"),
        &serde_saphyr::to_string(&kubeconfig).unwrap(),
    );
}

/// Gives a user a role in the sandbox's namespace.
async fn bind(sandbox: &Sandbox, user: &str, kind: &str, role: &str) {
    let group = "rbac.authorization.k8s.io";
    sandbox
        .apply(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": user},
            "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
            "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        }))
        .await;
    kubeconfig_as(sandbox, user);
}

/// Kinds that may not be listed matter only to what refers to them.
#[tokio::test]
async fn commands_ask_for_what_they_show() {
    let sandbox = Sandbox::new("narrow").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.application("shop", &[("front", "web@1.2.2")]).await;
    let mut guard = definition("guard", &[("1.0.0", "one")]);
    guard["kind"] = json!("PolicyDefinition");
    let version = guard["spec"]["versions"][0].as_object_mut().unwrap();
    version.remove("workload");
    sandbox.apply(&guard).await;
    // It is not applied, as nobody carries out policies; what it refers to is resolved.
    let mut guarded = application("guarded", &[("front", "web@1.2.2")]);
    guarded["spec"]["policies"] = json!([{"name": "first", "type": "guard@1.0.0"}]);
    eventually_some("the policy is resolved", || async {
        // Its definition may not be published yet.
        let _ = apply(&sandbox.client, &sandbox.namespace, &guarded).await;
        let found = get(&sandbox.client, &sandbox.namespace, "Application", "guarded").await;
        let references = found.unwrap_or_default()["status"]["references"].clone();
        Ok((references[1]["version"] == "1.0.0").then_some(()))
    })
    .await
    .unwrap();
    sandbox
        .apply(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "writer"},
            "rules": [
                {"apiGroups": ["core.oam.dev"], "verbs": ["*"],
                    "resources": ["applications", "componentdefinitions", "traitdefinitions"]},
                {"apiGroups": ["core.oam.dev"], "verbs": ["get", "list", "watch"],
                    "resources": ["definitionrevisions", "applicationrevisions"]},
            ],
        }))
        .await;
    bind(&sandbox, "writer", "Role", "writer").await;
    assert_snapshot!(sandbox.session(&[
        "history app/shop --kubeconfig writer.yaml",
        "history compdef/web --kubeconfig writer.yaml",
        "resolve shop --kubeconfig writer.yaml",
        "resolve guarded --kubeconfig writer.yaml",
        "outdated --kubeconfig writer.yaml",
        "upgrade shop front=1.2.3 --dry-run --kubeconfig writer.yaml",
        "upgrade guarded front=1.2.3 --dry-run --kubeconfig writer.yaml",
        "diff web@1.2.2 web@1.2.3 --kubeconfig writer.yaml",
        "gc --dry-run --kubeconfig writer.yaml",
    ]));
}

/// Who uses a definition that everybody shares is not for everybody to see; the definition is.
#[tokio::test]
async fn shared_definitions_are_shown_to_those_who_may_not_see_their_users() {
    let sandbox = Sandbox::new("narrow-admin").await;
    let shared = definition("narrow-api", &THREE[..2]);
    apply(&sandbox.client, "vela-system", &shared).await.unwrap();
    ready(
        &sandbox.client,
        "vela-system",
        "ComponentDefinition",
        "narrow-api",
    )
    .await;
    sandbox.publish("web", &THREE[..1]).await;
    sandbox
        .application("shop", &[("front", "narrow-api@1.2.2"), ("own", "web")])
        .await;
    bind(&sandbox, "admin", "ClusterRole", "admin").await;
    let shown = |command: &str| {
        let finished = sandbox.run_with(command, "");
        let text = format!("{}{}", finished.stdout, finished.stderr);
        format!(
            "$ cambium {command}\n{}exit {}\n\n",
            sandbox::steady(&text),
            finished.code
        )
    };
    let session: String = [
        "history compdef/narrow-api -n vela-system --kubeconfig admin.yaml",
        "diff narrow-api@1.2.2 narrow-api@1.2.3 -n vela-system --kubeconfig admin.yaml",
        "gc --dry-run -n narrow-admin --kubeconfig admin.yaml",
    ]
    .map(shown)
    .concat();
    assert_snapshot!(session);
}

#[tokio::test]
async fn resolve_answers_for_a_file_what_applying_it_would_give() {
    let sandbox = Sandbox::new("resolve-file").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.application("shop", &[("bare", "web")]).await;
    sandbox.publish("web", &THREE).await;
    let text = |name: &str| serde_saphyr::to_string(&application(name, &[("bare", "web")])).unwrap();
    // What is there stays where it is; what is new gets the highest.
    sandbox.file("shop.yaml", &text("shop"));
    sandbox.file("new.yaml", &text("new"));
    sandbox.file(
        "wrong.yaml",
        "kind: Application\nmetadata: {name: wrong}\nspec:\n  components:\n  - {name: a, type: web@7}\n  - {name: b, type: web@^1}\n  - {name: c, type: web@1.2}\n",
    );
    sandbox.file(
        "absent.yaml",
        "kind: Application\nspec:\n  components:\n  - {name: a, type: web@7}\n",
    );
    sandbox.file("none.yaml", "kind: ConfigMap\n");
    sandbox.file("two.yaml", "kind: Application\n---\nkind: Application\n");
    sandbox.file("text.yaml", "a: [\n");
    assert_snapshot!(sandbox.session(&[
        "resolve -f shop.yaml",
        "resolve -f new.yaml",
        "resolve -f wrong.yaml --explain",
        "resolve -f absent.yaml",
        "resolve -f none.yaml",
        "resolve -f two.yaml",
        "resolve -f text.yaml",
        "resolve -f missing.yaml",
    ]));
    let piped = sandbox.run_with("resolve -f - -n resolve-file", &text("piped"));
    assert_eq!(piped.code, 0, "{piped:?}");
    assert!(piped.stdout.contains("2.0.0"), "{piped:?}");
}

#[tokio::test]
async fn diff_shows_the_spec_and_the_template() {
    let sandbox = Sandbox::new("diff").await;
    sandbox.publish("web", &THREE).await;
    sandbox
        .apply(&json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "both"},
            "spec": {"version": "1.0.0", "schematic": {"cue": {"template": "patch: {}\nparameter: {}\n"}}},
        }))
        .await;
    sandbox
        .publish("both", &[("1.0.0", "one"), ("1.1.0", "two")])
        .await;
    ready(&sandbox.client, "diff", "TraitDefinition", "both").await;
    assert_snapshot!(sandbox.session(&[
        "diff web@1.2.2 web@1.2.3",
        "diff web@1 web@2",
        "diff web@2.0.0 web@2",
        "diff web@1.2.2 web@3.0.0",
        "diff web@1.2.2 web@>1",
        "diff missing@1 missing@2",
        "diff both@1.0.0 both@1.1.0",
        "diff both@1.0.0 both@1.0.0 --kind trait",
    ]));
    let json: Value = serde_json::from_str(&sandbox.run("diff web@1.2.2 web@1.2.3 -o json").stdout).unwrap();
    assert_eq!(json["from"]["revision"], "web-v1.2.2");
    assert_eq!(json["parts"][1]["part"], "template");
}

#[tokio::test]
async fn upgrade_shows_a_plan_and_carries_it_out() {
    let sandbox = Sandbox::new("upgrade").await;
    sandbox.publish("web", &THREE).await;
    sandbox
        .publish("cache", &[("4.4.2", "small"), ("4.5.6", "large")])
        .await;
    let components = [
        ("front", "web@1.2.2"),
        ("store", "cache@4.4.2"),
        ("back", "web@v1"),
    ];
    sandbox.application("shop", &components).await;
    assert_snapshot!(sandbox.session(&[
        "upgrade shop --dry-run",
        "upgrade shop front=1.2.3",
        "upgrade shop front=9.9.9",
        "upgrade shop nobody=1.2.3",
        "upgrade shop front=latest",
        "upgrade shop front",
        "upgrade missing",
    ]));
    sandbox
        .resolved("shop", "front=web@1.2.3,store=cache@4.4.2,back=web@1.2.3")
        .await;
    assert_snapshot!(sandbox.session(&["upgrade shop", "upgrade shop"]));
    sandbox
        .resolved("shop", "front=web@2.0.0,store=cache@4.5.6,back=web@2.0.0")
        .await;
    let spec = get(&sandbox.client, "upgrade", "Application", "shop")
        .await
        .unwrap()["spec"]
        .clone();
    assert_eq!(spec["components"][2]["type"], "web@2", "a series stays a series");
}

#[tokio::test]
async fn upgrade_leaves_alone_what_follows_by_itself() {
    let sandbox = Sandbox::new("upgrade-follows").await;
    sandbox.publish("web", &THREE).await;
    let mut follower = application("follower", &[("front", "web")]);
    follower["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    sandbox.apply(&follower).await;
    sandbox.application("bare", &[("front-too", "web")]).await;
    assert_snapshot!(sandbox.session(&["upgrade follower", "upgrade bare"]));
}

#[tokio::test]
async fn what_admission_refuses_is_told_in_the_dry_run_too() {
    let sandbox = Sandbox::new("refused").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.application("shop", &[("front", "web@1.2.2")]).await;
    let mut next = definition("web", &THREE);
    let template = "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.must}\nparameter: must: string\n";
    next["spec"]["versions"][2]["schematic"]["cue"]["template"] = json!(template);
    sandbox.apply(&next).await;
    ready(&sandbox.client, "refused", "ComponentDefinition", "web").await;
    let shown = sandbox.session(&["upgrade shop --dry-run", "upgrade shop"]);
    assert_eq!(shown.matches("exit 7").count(), 2, "{shown}");
    assert!(
        shown.contains("spec.components[0].properties.must: must is required (string)"),
        "{shown}"
    );
    let frozen = json!({"app.oam.dev/publishVersion": "monday"});
    let mut shop = application("shop", &[("front", "web@1.2.2")]);
    shop["metadata"]["annotations"] = frozen;
    sandbox.apply(&shop).await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&["upgrade shop front=1.2.3", "outdated"]));
}

#[tokio::test]
async fn what_is_frozen_is_shown_at_what_it_runs() {
    let sandbox = Sandbox::new("frozen").await;
    sandbox.publish("web", &THREE[..1]).await;
    let mut shop = application("shop", &[("front", "web@1")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "monday"});
    sandbox.apply(&shop).await;
    sandbox.ready("shop").await;
    sandbox.publish("web", &THREE[..2]).await;
    let file = sandbox.file("shop.yaml", &serde_saphyr::to_string(&shop).unwrap());
    let lock = format!("lock {} --dry-run", file.display());
    assert_snapshot!(sandbox.session(&["resolve shop --explain", "outdated", "upgrade shop"]));
    let locked = sandbox.run(&lock);
    assert!(
        locked.stdout.contains("1.2.2") && !locked.stdout.contains("1.2.3"),
        "{}",
        locked.stdout
    );
}

#[tokio::test]
async fn a_revision_that_is_current_again_is_found_by_its_name() {
    let sandbox = Sandbox::new("again").await;
    sandbox.publish("web", &THREE[..1]).await;
    for text in ["a", "b", "a", "c"] {
        let mut shop = application("shop", &[("front", "web@1.2.2")]);
        shop["spec"]["components"][0]["properties"] = json!({"text": text});
        sandbox.apply(&shop).await;
        sandbox.ready("shop").await;
    }
    for to in ["v2", "1", "shop-v4"] {
        let ended = sandbox.run(&format!("rollback shop --to {to} --dry-run"));
        assert_eq!(ended.code, 0, "{to}: {}{}", ended.stdout, ended.stderr);
    }
}

#[tokio::test]
async fn rollback_makes_an_application_what_it_was_though_newer_versions_are_published() {
    let sandbox = Sandbox::new("rollback").await;
    sandbox.publish("web", &THREE[..1]).await;
    let mut shop = application("shop", &[("front", "web@1")]);
    shop["spec"]["components"][0]["properties"] = json!({"text": "mine"});
    sandbox.apply(&shop).await;
    sandbox.ready("shop").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.resolved("shop", "front=web@1.2.3").await;
    shop["spec"]["components"][0]["properties"] = json!({"text": "other"});
    sandbox.apply(&shop).await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&["history app/shop", "rollback shop --dry-run", "rollback shop",]));
    let back = sandbox.ready("shop").await;
    assert_eq!(back["status"]["resolved"], "front=web@1.2.3");
    assert_eq!(back["spec"]["components"][0]["properties"]["text"], "mine");
    assert_snapshot!(sandbox.session(&["rollback shop --to shop-v1"]));
    let back = sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&[
        "rollback shop --to v1",
        "rollback shop --to 99",
        "rollback missing",
    ]));
    assert_eq!(back["status"]["resolved"], "front=web@1.2.2", "{back}");
    // It stays there whatever is published.
    sandbox
        .publish("web", &[THREE[0], THREE[1], ("1.9.0", "newest")])
        .await;
    let still = sandbox.ready("shop").await;
    assert_eq!(still["status"]["resolved"], "front=web@1.2.2");
    sandbox.application("young", &[("back", "web@1.2.2")]).await;
    assert_snapshot!(sandbox.session(&["rollback young"]));
}

#[tokio::test]
async fn rollback_to_a_number_is_refused_once_the_number_means_something_else() {
    let sandbox = Sandbox::new("rollback-number").await;
    let legacy = |text: &str| {
        let mut object = one_version("web", text);
        object["spec"].as_object_mut().unwrap().remove("version");
        object
    };
    sandbox.apply(&legacy("1")).await;
    ready(&sandbox.client, "rollback-number", "ComponentDefinition", "web").await;
    let mut shop = application("shop", &[("front", "web")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    sandbox.apply(&shop).await;
    sandbox.resolved("shop", "front=web-v1").await;
    sandbox.apply(&legacy("2")).await;
    sandbox.resolved("shop", "front=web-v2").await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&["history app/shop", "rollback shop --dry-run"]));
    sandbox.apply(&one_version("web", "1.0.0")).await;
    sandbox.resolved("shop", "front=web@1.0.0").await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&["rollback shop --to v1"]));
}

#[tokio::test]
async fn outdated_lists_who_could_move_to_what() {
    let sandbox = Sandbox::new("outdated").await;
    sandbox.publish("web", &THREE[..2]).await;
    sandbox.application("exact", &[("exact-web", "web@1.2.2")]).await;
    sandbox.application("bare", &[("bare-web", "web")]).await;
    sandbox.application("series", &[("series-web", "web@1")]).await;
    let mut follower = application("follower", &[("follower-web", "web")]);
    follower["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "true"});
    sandbox.apply(&follower).await;
    sandbox.publish("web", &THREE).await;
    sandbox.resolved("follower", "follower-web=web@2.0.0").await;
    assert_snapshot!(sandbox.session(&["outdated"]));
    let everywhere = sandbox.run_with("outdated -A -o json", "");
    let rows: Value = serde_json::from_str(&everywhere.stdout).unwrap();
    let ours = rows.as_array().unwrap().iter();
    let ours: Vec<&Value> = ours.filter(|row| row["namespace"] == "outdated").collect();
    assert_eq!(ours.len(), 3, "{rows}");
    let elsewhere = sandbox.run_with("outdated -n nowhere", "");
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (0, ""));
}

/// A version that renders and that the API server refuses: nobody runs it, and everybody is told why.
#[tokio::test]
async fn a_version_that_cannot_be_applied_is_shown_as_what_nobody_runs() {
    let sandbox = Sandbox::new("unapplied").await;
    let service = |version: &str, beyond: u32| {
        json!({
            "version": version,
            "workload": {"definition": {"apiVersion": "v1", "kind": "Service"}},
            "schematic": {"cue": {"template": format!(
                "output: {{apiVersion: \"v1\", kind: \"Service\", spec: ports: [{{port: parameter.port + {beyond}}}]}}\n\
                 parameter: port: *80 | int\n"
            )}},
        })
    };
    let mut svc = definition("svc", &[]);
    svc["spec"]["versions"] = json!([service("1.0.0", 0)]);
    sandbox.apply(&svc).await;
    ready(&sandbox.client, "unapplied", "ComponentDefinition", "svc").await;
    sandbox.application("shop", &[("front", "svc@1")]).await;
    svc["spec"]["versions"] = json!([service("1.0.0", 0), service("1.0.1", 100_000)]);
    sandbox.apply(&svc).await;
    let message = eventually_some("the upgrade has failed", || async {
        let shop = get(&sandbox.client, "unapplied", "Application", "shop").await?;
        let conditions = shop["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let upgraded = conditions.find(|one| one["type"] == "Upgraded" && one["status"] == "False");
        Ok(upgraded.map(|one| one["message"].as_str().unwrap_or_default().to_owned()))
    })
    .await
    .unwrap();
    assert!(
        message.starts_with("components[front]: svc@1 resolves to 1.0.1, which cannot be applied")
            && message.ends_with("pin it: `cambium upgrade shop front=1.0.0 -n unapplied`"),
        "{message}"
    );
    assert_snapshot!(sandbox.session(&["resolve shop", "outdated", "history compdef/svc"]));
}

#[tokio::test]
async fn gc_shows_what_would_go_and_what_stays_and_why() {
    let sandbox = Sandbox::new("gc").await;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        let object = one_version("store", version);
        sandbox.apply(&object).await;
        ready(&sandbox.client, "gc", "ComponentDefinition", "store").await;
        if version == "1.0.0" {
            sandbox.application("shop", &[("front", "store@1.0.0")]).await;
        }
    }
    // Two more revisions of the application.
    for text in ["one", "two"] {
        let mut shop = application("shop", &[("front", "store@1.0.0")]);
        shop["spec"]["components"][0]["properties"] = json!({"text": text});
        sandbox.apply(&shop).await;
        sandbox.ready("shop").await;
    }
    let strict = "gc --dry-run --definition-revision-limit 0 --application-revision-limit 1";
    assert_snapshot!(sandbox.session(&[strict, "gc --dry-run", "gc",]));
    let json = sandbox.run(&format!("{strict} -o json"));
    let rows: Value = serde_json::from_str(&json.stdout).unwrap();
    let actions: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["keep", "delete", "keep", "delete", "keep", "keep"]);
    assert_eq!(rows[3]["application"], "shop");
}

/// A definition as KubeVela has it: one version at a time.
fn one_version(name: &str, version: &str) -> Value {
    let mut object = definition(name, &[(version, version)]);
    object["apiVersion"] = json!("core.oam.dev/v1beta1");
    object["spec"] = object["spec"]["versions"][0].clone();
    object
}

#[tokio::test]
async fn verify_compares_clusters() {
    let sandbox = Sandbox::new("verify").await;
    let member = sandbox.up.client("member-1").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "verify"}});
    apply(&member, "", &namespace).await.unwrap();
    // In another order, and one at a time.
    sandbox.publish("web", &THREE).await;
    for version in ["2.0.0", "1.2.2", "1.2.3"] {
        let (_, text) = THREE.into_iter().find(|(known, _)| *known == version).unwrap();
        let mut object = definition("web", &[(version, text)]);
        object["apiVersion"] = json!("core.oam.dev/v1beta1");
        object["spec"] = object["spec"]["versions"][0].clone();
        apply(&member, "verify", &object).await.unwrap();
        ready(&member, "verify", "ComponentDefinition", "web").await;
    }
    let both = "verify --context cambium --context member-1";
    assert_snapshot!(sandbox.session(&[both, &format!("{both} --all")]));
    sandbox
        .publish("cache", &[("4.4.2", "small"), ("4.5.6", "large")])
        .await;
    apply(&member, "verify", &definition("cache", &[("4.5.6", "huge")]))
        .await
        .unwrap();
    ready(&member, "verify", "ComponentDefinition", "cache").await;
    assert_snapshot!(sandbox.session(&[
        both,
        &format!("{both} --allow-missing"),
        "verify --context cambium",
        "verify --context cambium --context cambium",
        "verify --context cambium --context nowhere",
    ]));
    let json = sandbox.run(&format!("{both} -o json"));
    assert_eq!(json.code, 10);
    let rows: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 5);
}

const SHOP: &str = "\
# The shop.
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata:
  name: shop # its name
spec:
  components:
  - name: front
    type: sealed@1 # follows
";

#[tokio::test]
async fn a_lock_is_written_into_the_file_and_enforced() {
    let sandbox = Sandbox::new("lock").await;
    sandbox.publish("sealed", &THREE[..2]).await;
    let file = sandbox.file("shop.yaml", SHOP);
    sandbox.file("none.yaml", "kind: ConfigMap\n");
    sandbox.file("absent.yaml", &SHOP.replace("sealed@1", "sealed@7"));
    assert_snapshot!(sandbox.session(&["lock shop.yaml --dry-run", "lock none.yaml", "lock absent.yaml"]));
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        SHOP,
        "a dry run changes nothing"
    );
    assert_snapshot!(sandbox.session(&["lock shop.yaml"]));
    let locked = std::fs::read_to_string(&file).unwrap();
    let shown = sandbox.run("lock shop.yaml --dry-run");
    assert_eq!(shown.stdout, locked, "locking again changes nothing");
    let piped = sandbox.run_with("lock - -n lock", SHOP);
    assert_eq!(piped.stdout, locked);

    let object: Value = serde_saphyr::from_str(&locked).unwrap();
    sandbox.apply(&object).await;
    sandbox.ready("shop").await;
    sandbox
        .publish("sealed", &[THREE[0], THREE[1], ("1.5.0", "newer")])
        .await;
    let shop = sandbox.ready("shop").await;
    assert_eq!(
        shop["status"]["resolved"], "front=sealed@1.2.3",
        "a lock holds a series"
    );

    // In a cluster where the version is something else, it is not accepted.
    let member = sandbox.up.client("member-1").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lock"}});
    apply(&member, "", &namespace).await.unwrap();
    apply(
        &member,
        "lock",
        &definition("sealed", &[("1.2.3", "something else")]),
    )
    .await
    .unwrap();
    ready(&member, "lock", "ComponentDefinition", "sealed").await;
    let refused = apply(&member, "lock", &object).await.unwrap_err().to_string();
    assert!(refused.contains("\"sealed@1\" is locked to sha256:"), "{refused}");
    assert!(
        refused.contains("but the content of 1.2.3 is sha256:"),
        "{refused}"
    );

    // A move takes the lock along.
    assert_snapshot!(sandbox.session(&["outdated", "upgrade shop --dry-run", "upgrade shop"]));
    sandbox.resolved("shop", "front=sealed@1.5.0").await;
    sandbox.ready("shop").await;
    assert_snapshot!(sandbox.session(&["rollback shop"]));
    sandbox.resolved("shop", "front=sealed@1.2.3").await;
    let shop = sandbox.ready("shop").await;
    let lock: Value = serde_json::from_str(
        shop["metadata"]["annotations"]["app.oam.dev/lock"]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(lock["component"]["sealed@1.2.3"]["version"], "1.2.3", "{lock}");
}

#[test]
fn completions_for_shells() {
    for (shell, expected) in [
        ("bash", "_cambium()"),
        ("zsh", "#compdef cambium"),
        ("fish", "complete -c cambium"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(["completions", shell])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert!(
            text.contains(expected) && text.contains("outdated"),
            "{shell}: {text}"
        );
    }
}

#[test]
fn whoever_stops_reading_has_read_enough() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn without_a_cluster_it_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let dead = "apiVersion: v1\nkind: Config\ncurrent-context: dead\n\
         clusters: [{name: dead, cluster: {server: \"https://127.0.0.1:1\"}}]\n\
         users: [{name: dead, user: {}}]\ncontexts: [{name: dead, context: {cluster: dead, user: dead}}]\n";
    std::fs::write(directory.path().join("dead"), dead).unwrap();
    std::fs::write(directory.path().join("broken"), "not a kubeconfig").unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(arguments)
            .env_clear()
            .env("KUBECONFIG", "missing")
            .current_dir(directory.path())
            .output()
            .unwrap();
        format!(
            "$ cambium {}\n{}exit {}\n",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr),
            output.status.code().unwrap()
        )
    };
    assert_snapshot!(
        [
            run(&["outdated"]),
            run(&["outdated", "--kubeconfig", "dead"]),
            run(&["outdated", "--kubeconfig", "dead", "--context", "other"]),
            run(&[
                "verify",
                "--kubeconfig",
                "broken",
                "--context",
                "a",
                "--context",
                "b"
            ]),
            run(&["manager", "--kubeconfig", "dead", "--no-webhooks"]),
            run(&["manager", "--kubeconfig", "dead"]),
            run(&["verify"]),
            run(&["resolve"]),
        ]
        .join("\n")
    );
}

/// Somebody answers, with certificates of another authority: that is not nobody.
#[tokio::test]
async fn a_server_that_the_kubeconfig_is_not_for_is_told_apart_from_none() {
    let sandbox = Sandbox::new("other-server").await;
    let kubeconfig = std::fs::read_to_string(sandbox.up.kubeconfig()).unwrap();
    let mut kubeconfig: Value = serde_saphyr::from_str(&kubeconfig).unwrap();
    let authority = "certificate-authority-data";
    kubeconfig["clusters"][0]["cluster"][authority] = kubeconfig["clusters"][1]["cluster"][authority].clone();
    sandbox.file("other.yaml", &serde_saphyr::to_string(&kubeconfig).unwrap());
    let told = sandbox.run("outdated --kubeconfig other.yaml");
    let server = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let words = format!(
        "the server at {server} is not the one that this kubeconfig is for: invalid peer certificate"
    );
    assert_eq!(told.code, 8, "{told:?}");
    assert!(told.stderr.contains(&words), "{told:?}");
    assert!(told.stderr.contains("set KUBECONFIG"), "{told:?}");
}

#[test]
fn a_start_that_fails_says_why_once_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(["up", "--ephemeral", "--listen", &address])
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert_eq!(said.matches("Address already in use").count(), 1, "{said}");
    let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_demo_tells_the_story() {
    let up = Up::start(&["--demo"]);
    assert_snapshot!(sandbox::steady(&up.story));
}

#[test]
fn the_demo_is_told_once_and_shown_ever_after() {
    let directory = tempfile::tempdir().unwrap();
    drop(Up::kept(directory.path(), &["--demo"]));
    let up = Up::kept(directory.path(), &["--demo"]);
    assert_snapshot!(sandbox::steady(&up.story));
}

#[test]
fn kubectl_finds_the_plugin() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<_> = std::env::split_paths(&path).collect();
    if !directories
        .iter()
        .any(|directory| directory.join("kubectl").is_file())
    {
        cambium_testing::skip("kubectl_finds_the_plugin", "kubectl is not on PATH");
        return;
    }
    let up = Up::shared();
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("kubectl-cambium");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_cambium"), link).unwrap();
    directories.insert(0, directory.path().to_owned());
    let output = Command::new("kubectl")
        .args(["cambium", "outdated", "-n", "nowhere"])
        .env("PATH", std::env::join_paths(directories).unwrap())
        .env("HOME", directory.path())
        .env("KUBECONFIG", up.kubeconfig())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "everything is at the newest revision\n"
    );
}

#[tokio::test]
async fn compositions_have_a_history_and_composite_resources_are_pinned_and_follow() {
    // The demo leaves four databases behind: two at the second revision, two at the first.
    let sandbox = Sandbox::within(Up::start(&["--demo"]), "default").await;
    let revision = async |name: &str| {
        let path = format!("/apis/platform.example.org/v1/namespaces/default/databases/{name}");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let found: Value = sandbox.client.request(request).await.unwrap();
        found["spec"]["crossplane"]["compositionRevisionRef"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let (old, new) = (revision("manual").await, revision("automatic").await);
    assert_snapshot!(sandbox.session(&[
        "history composition/databases",
        "history composition/nothing",
        "outdated",
        &format!("diff comprev/{old} comprev/{new}"),
        "diff comprev/nothing comprev/nothing",
    ]));
    let gc = sandbox.run_with("gc --dry-run --composition-revision-limit 0 -o json", "");
    let rows: Value = serde_json::from_str(&gc.stdout).unwrap();
    let kept = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["revision"] == old.as_str())
        .unwrap();
    assert_eq!(
        (&kept["action"], &kept["why"]),
        (
            &json!("keep"),
            &json!([
                "used by Database default/manual, Database default/stable",
                "newest with the labels channel=stable",
                "within the grace period"
            ])
        )
    );
    assert_snapshot!(sandbox.session(&[
        "pin database/automatic --to 1 --dry-run",
        "pin database/automatic --to 1",
        "pin database/stable",
        "pin database/nobody",
        "pin nothing/automatic",
        "pin database/manual --to databases-0000000",
        "follow database/manual",
        "follow database",
    ]));
    for (name, wanted) in [("automatic", &old), ("manual", &new)] {
        cambium_testing::eventually(&format!("{name} uses {wanted}"), || async {
            Ok(revision(name).await == **wanted)
        })
        .await
        .unwrap();
    }
}

#[tokio::test]
async fn a_claim_says_how_its_composite_resource_follows() {
    let sandbox = Sandbox::within(Up::start(&[]), "default").await;
    let type_ = json!({"apiVersion": "store.example.org/v1", "kind": "XStore"});
    let definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xstores.store.example.org"},
        "spec": {"group": "store.example.org", "names": {"kind": "XStore", "plural": "xstores"},
            "claimNames": {"kind": "Store", "plural": "stores"},
            "versions": [{"name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]},
    });
    let composition = |says: &str| {
        let base = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"labels": {"says": says}}});
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "stores"},
            "spec": {"compositeTypeRef": type_, "resources": [{"name": "place", "base": base}]},
        })
    };
    apply(&sandbox.client, "", &definition).await.unwrap();
    apply(&sandbox.client, "", &composition("first")).await.unwrap();
    let claim = json!({"apiVersion": "store.example.org/v1", "kind": "Store", "metadata": {"name": "books"}, "spec": {}});
    cambium_testing::eventually("claims are served", || async {
        Ok(apply(&sandbox.client, "default", &claim).await.is_ok())
    })
    .await
    .unwrap();
    let reference = async |object: &Value, namespace: &str, field: &str| {
        // It is named before it is made.
        let found = live(&sandbox.client, namespace, object).await.unwrap_or_default();
        anyhow::Ok(found["spec"][field]["name"].as_str().map(str::to_owned))
    };
    let name = eventually_some("there is a composite resource", || async {
        reference(&claim, "default", "resourceRef").await
    })
    .await
    .unwrap();
    let mut composite = type_.clone();
    composite["metadata"] = json!({"name": name});
    let at = async || reference(&composite, "", "compositionRevisionRef").await;
    let first = eventually_some("it uses a revision", at).await.unwrap();
    apply(&sandbox.client, "", &composition("second")).await.unwrap();
    let moved = async || Ok(at().await?.filter(|now| *now != first));
    eventually_some("it follows", moved).await.unwrap();

    let refused = sandbox.run(&format!("pin xstore/{name} --to 1"));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("use store/books -n default"),
        "{}",
        refused.stderr
    );
    let pinned = sandbox.run("pin store/books --to 1 -o json");
    assert_eq!(pinned.code, 0, "{}", pinned.stderr);
    let told: Value = serde_json::from_str(&pinned.stdout).unwrap();
    assert_eq!(
        told,
        json!({"subject": "store/books", "policy": "Manual", "revision": first, "dryRun": false})
    );
    let back = async || Ok(at().await?.filter(|now| *now == first));
    eventually_some("it is where its claim says", back).await.unwrap();
    assert_eq!(sandbox.run("follow store/books").code, 0);
    eventually_some("it follows again", moved).await.unwrap();
    assert_eq!(sandbox.run("pin store/nobody").code, 9);
}

#[test]
fn composing_needs_no_cluster() {
    let examples = format!("{}/../../examples/compositions", env!("CARGO_MANIFEST_DIR"));
    let directory = tempfile::tempdir().unwrap();
    let composite = directory.path().join("xr.yaml");
    let text = "apiVersion: platform.example.org/v1\nkind: Database\nmetadata: {name: orders, namespace: team}\nspec: {storageGB: 7}\n";
    std::fs::write(&composite, text).unwrap();
    let run = |composite: &std::path::Path, definition: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(["compose", "-f"])
            .arg(composite)
            .args([
                "-c",
                &format!("{examples}/3-edit.yaml"),
                "-x",
                &format!("{examples}/{definition}"),
            ])
            .output()
            .unwrap();
        let (out, error) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        format!("{out}{error}exit {}", output.status.code().unwrap())
    };
    assert_snapshot!(run(&composite, "1-definition.yaml"));
    std::fs::write(&composite, text.replace("Database", "Cache")).unwrap();
    assert_snapshot!(run(&composite, "1-definition.yaml"));
    // What is left open is filled in, and what a cluster would refuse is refused.
    std::fs::write(&composite, text.replace("storageGB: 7", "")).unwrap();
    let filled = run(&composite, "1-definition.yaml");
    assert!(
        filled.contains("storageGB: 10") && filled.ends_with("exit 0"),
        "{filled}"
    );
    std::fs::write(
        &composite,
        text.replace("storageGB: 7", "storageGB: much, size: 3"),
    )
    .unwrap();
    assert_snapshot!(run(&composite, "1-definition.yaml"));
    // CEL rules included.
    let definition = std::fs::read_to_string(format!("{examples}/1-definition.yaml")).unwrap();
    let rule = "x-kubernetes-validations: [{rule: self.storageGB < 100, message: at most 99}]\n              properties:\n                storageGB";
    let ruled = definition.replacen("properties:\n                storageGB", rule, 1);
    assert_ne!(ruled, definition);
    let file = directory.path().join("definition.yaml");
    std::fs::write(&file, ruled).unwrap();
    std::fs::write(&composite, text.replace("storageGB: 7", "storageGB: 100")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(["compose", "-f"])
        .arg(&composite)
        .args(["-c", &format!("{examples}/3-edit.yaml"), "-x"])
        .arg(&file)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("spec: Invalid value: at most 99"), "{error}");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn built_in_functions_compose_without_a_cluster_and_others_say_that_they_cannot() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, value: &Value| {
        let path = directory.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    };
    let type_ = json!({"apiVersion": "platform.example.org/v1", "kind": "Database"});
    let composite = json!({"apiVersion": type_["apiVersion"], "kind": type_["kind"],
        "metadata": {"name": "orders", "namespace": "team"}, "spec": {"storageGB": 7}});
    let patch_and_transform = json!({"apiVersion": "pt.fn.crossplane.io/v1beta1", "kind": "Resources", "resources": [{
        "name": "settings", "base": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"engine": "postgres-17"}},
        "patches": [{"type": "FromCompositeFieldPath", "fromFieldPath": "metadata.name", "toFieldPath": "data.name"}],
    }]});
    let composition = |function: &str| {
        json!({"apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "databases"},
        "spec": {"compositeTypeRef": type_, "mode": "Pipeline", "pipeline": [
            {"step": "compose", "functionRef": {"name": "function-patch-and-transform"}, "input": patch_and_transform},
            {"step": "ready", "functionRef": {"name": function}},
        ]}})
    };
    let run = |function: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_cambium"))
            .args(["compose", "-o", "json", "-f"])
            .arg(file("xr.json", &composite))
            .arg("-c")
            .arg(file("composition.json", &composition(function)))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code().unwrap(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            error,
        )
    };
    let (code, text, error) = run("function-auto-ready");
    assert_eq!(code, 0, "{error}");
    assert!(
        text.contains("postgres-17") && text.contains("\"name\": \"orders\""),
        "{text}"
    );
    let (code, _, error) = run("function-elsewhere");
    assert_eq!(code, 7);
    assert!(error.contains("function-elsewhere is not built in"), "{error}");
}
