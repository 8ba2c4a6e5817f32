//! The program and a real `kubectl`, as a person uses them.

use crate::program::{Cambium, kubectl_or_skip};

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: example.com/web:1
"#;

const CRD: &str = include_str!("../../../../examples/greeting-crd.yaml");
const GREETINGS: &str = include_str!("../../../../examples/greetings.yaml");

#[test]
fn the_first_commands_of_a_newcomer() {
    let Some(kubectl) = kubectl_or_skip("the_first_commands_of_a_newcomer") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str| cambium.kubectl(&kubectl, arguments, "");
    assert!(run("version").contains("Server Version: v1.36"));
    let resources = run("api-resources");
    for expected in [
        "configmaps                          cm",
        "deployments                         deploy",
        "customresourcedefinitions           crd,crds",
    ] {
        assert!(resources.contains(expected), "{expected}: {resources}");
    }
    let namespaces = run("get namespaces");
    let system = namespaces.lines().find(|line| line.starts_with("kube-system "));
    assert!(
        system.is_some_and(|line| line.contains(" Active ")),
        "{namespaces}"
    );
    assert!(run("get svc kubernetes").contains("ClusterIP   10.96.0.1"));
    assert!(run("auth can-i create pods").contains("yes"));
    assert!(run("auth whoami").contains("system:masters"));
    assert!(run("cluster-info").contains("is running at"));
}

#[test]
fn generators_send_protobuf_and_are_understood() {
    let Some(kubectl) = kubectl_or_skip("generators_send_protobuf_and_are_understood") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str| cambium.kubectl(&kubectl, arguments, "");
    for (create, get, expected) in [
        (
            "configmap c --from-literal=k=v",
            "configmap c -o jsonpath={.data.k}",
            "v",
        ),
        (
            "secret generic s --from-literal=k=v",
            "secret s -o jsonpath={.data.k}",
            "dg==",
        ),
        (
            "deployment d --image=example.com/d:1 --replicas=2 --port=80",
            "deployment d -o jsonpath={.spec.replicas}",
            "2",
        ),
        (
            "service clusterip svc --tcp=80:8080",
            "service svc -o jsonpath={.spec.ports[0].targetPort}",
            "8080",
        ),
        (
            "serviceaccount sa",
            "serviceaccount sa -o name",
            "serviceaccount/sa",
        ),
        (
            "job j --image=example.com/j:1",
            "job j -o jsonpath={.spec.backoffLimit}",
            "6",
        ),
        (
            "cronjob cj --image=example.com/c:1 --schedule=*/5\u{a0}*\u{a0}*\u{a0}*\u{a0}*",
            "cronjob cj -o jsonpath={.spec.concurrencyPolicy}",
            "Allow",
        ),
        (
            "role r --verb=get --resource=pods",
            "role r -o jsonpath={.rules[0].verbs[0]}",
            "get",
        ),
        (
            "rolebinding rb --role=r --user=somebody",
            "rolebinding rb -o jsonpath={.roleRef.kind}",
            "Role",
        ),
        (
            "clusterrole cr --verb=get --resource=pods",
            "clusterrole cr -o name",
            "clusterrole.rbac.authorization.k8s.io/cr",
        ),
        (
            "ingress i --rule=example.com/a=svc:80",
            "ingress i -o jsonpath={.spec.rules[0].http.paths[0].pathType}",
            "Exact",
        ),
        (
            "poddisruptionbudget p --selector=app=d --min-available=1",
            "pdb p -o jsonpath={.spec.minAvailable}",
            "1",
        ),
        (
            "quota q --hard=pods=5",
            "quota q -o jsonpath={.spec.hard.pods}",
            "5",
        ),
        (
            "priorityclass pc --value=7",
            "priorityclass pc -o jsonpath={.value}",
            "7",
        ),
        ("namespace n", "namespace n -o jsonpath={.status.phase}", "Active"),
    ] {
        run(&format!("create {create}"));
        assert_eq!(run(&format!("get {get}")).trim(), expected, "{create}");
    }
}

#[test]
fn apply_diff_edit_patch_scale_and_roll_out() {
    let Some(kubectl) = kubectl_or_skip("apply_diff_edit_patch_scale_and_roll_out") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str, input: &str| cambium.kubectl(&kubectl, arguments, input);
    assert!(run("apply -f -", DEPLOYMENT).contains("deployment.apps/web created"));
    assert!(run("apply -f -", DEPLOYMENT).contains("deployment.apps/web unchanged"));
    assert!(run("rollout status deployment/web --timeout=60s", "").contains("successfully rolled out"));
    assert!(run("wait --for=condition=Available deployment/web --timeout=60s", "").contains("condition met"));
    assert!(run("get deployment web", "").contains("2/2     2            2"));
    let changed = DEPLOYMENT.replace("web:1", "web:2");
    let diff = cambium.kubectl_result(&kubectl, "diff -f -", &changed);
    assert_eq!(diff.code, 1, "differences are exit code 1");
    assert!(
        diff.output.contains("+      - image: example.com/web:2"),
        "{}",
        diff.output
    );
    assert!(
        run(
            "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}",
            ""
        )
        .ends_with("web:1"),
        "a diff changes nothing"
    );
    run("apply -f -", &changed);
    assert!(run("rollout status deployment/web --timeout=60s", "").contains("successfully rolled out"));
    assert!(run("rollout history deployment/web", "").contains("2 "));
    run("rollout undo deployment/web", "");
    assert!(run("rollout status deployment/web --timeout=60s", "").contains("successfully rolled out"));
    assert!(
        run(
            "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}",
            ""
        )
        .ends_with("web:1")
    );
    run("scale deployment/web --replicas=3", "");
    run(
        "wait --for=jsonpath={.status.readyReplicas}=3 deployment/web --timeout=60s",
        "",
    );
    run("label deployment/web team=a", "");
    run("annotate deployment/web note=b", "");
    run("patch deployment/web -p {\"spec\":{\"minReadySeconds\":1}}", "");
    run("set env deployment/web A=B", "");
    let shown = run("get deployment web --show-labels -o wide", "");
    assert!(
        shown.contains("team=a") && shown.contains("example.com/web:1"),
        "{shown}"
    );
    let conflict = cambium.kubectl_result(
        &kubectl,
        "apply --server-side --field-manager=other -f -",
        &changed,
    );
    assert!(
        conflict.code != 0 && conflict.output.contains("Apply failed with 2 conflicts"),
        "{}",
        conflict.output
    );
    assert!(
        run(
            "apply --server-side --force-conflicts --field-manager=other -f -",
            &changed
        )
        .contains("serverside-applied")
    );
    assert!(run("explain deployment.spec.replicas", "").contains("FIELD: replicas <integer>"));
    assert!(
        run("delete deployment web --cascade=foreground", "").contains("deployment.apps \"web\" deleted")
    );
    run("wait --for=delete deployment/web --timeout=60s", "");
    assert_eq!(
        run("get replicasets,pods -o name", "").trim(),
        "",
        "dependents go with their owner"
    );
}

#[test]
fn an_editor_changes_what_it_is_shown() {
    let Some(kubectl) = kubectl_or_skip("an_editor_changes_what_it_is_shown") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str, input: &str| cambium.kubectl(&kubectl, arguments, input);
    let edit = |arguments: &str, script: &str| cambium.kubectl_edit(&kubectl, arguments, script);
    let replicas = || run("get deployment web -o jsonpath={.spec.replicas}", "");
    run("apply -f -", DEPLOYMENT);

    let good = edit(
        "deployment web",
        r#"sed -i 's/^  replicas: 2$/  replicas: 3/' "$1""#,
    );
    assert_eq!(good.code, 0, "{}", good.output);
    assert!(
        good.output.contains("deployment.apps/web edited"),
        "{}",
        good.output
    );
    assert_eq!(replicas(), "3");
    let none = edit("deployment web", "true");
    assert!(
        none.output.contains("Edit cancelled, no changes made."),
        "{}",
        none.output
    );

    // What the server refuses is shown again with the reason; whoever gives up keeps the file.
    let refused = edit(
        "deployment web",
        r#"sed -i 's/^  replicas: 3$/  replicas: -1/' "$1""#,
    );
    assert_eq!(refused.code, 1, "{}", refused.output);
    for expected in [
        "deployments.apps \"web\" is invalid",
        "A copy of your changes has been stored to",
        "Edit cancelled, no valid changes were saved.",
    ] {
        assert!(
            refused.output.contains(expected),
            "{expected}: {}",
            refused.output
        );
    }
    let mended = edit(
        "deployment web",
        r#"if grep -q 'must be greater than or equal to 0' "$1"
           then sed -i 's/^  replicas: -1$/  replicas: 1/' "$1"
           else sed -i 's/^  replicas: 3$/  replicas: -1/' "$1"
           fi"#,
    );
    assert_eq!(mended.code, 0, "{}", mended.output);
    assert_eq!(replicas(), "1");

    run("apply -f -", CRD);
    run(
        "wait --for=condition=Established crd/greetings.demo.cambium.dev --timeout=60s",
        "",
    );
    run("apply -f -", GREETINGS);
    let custom = edit(
        "greeting hello",
        r#"sed -i 's/text: Hello$/text: Good day/' "$1""#,
    );
    assert_eq!(custom.code, 0, "{}", custom.output);
    assert_eq!(run("get greeting hello -o jsonpath={.spec.text}", ""), "Good day");
    let status = edit(
        "greeting hello --subresource=status",
        r#"printf 'status:\n  repeated: 7\n' >> "$1"; sed -i 's/text: Good day$/text: ignored/' "$1""#,
    );
    assert_eq!(status.code, 0, "{}", status.output);
    assert_eq!(
        run(
            "get greeting hello -o jsonpath={.status.repeated}/{.spec.text}",
            ""
        ),
        "7/Good day",
        "a status is edited without its spec"
    );
    let built_in = edit(
        "deployment web --subresource=status",
        r#"sed -i 's/^  observedGeneration: .*/  observedGeneration: 1/' "$1""#,
    );
    assert_eq!(built_in.code, 0, "{}", built_in.output);
}

#[test]
fn objects_are_patched_labelled_and_replaced() {
    let Some(kubectl) = kubectl_or_skip("objects_are_patched_labelled_and_replaced") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str, input: &str| cambium.kubectl(&kubectl, arguments, input);
    let show = |what: &str| run(&format!("get deployment web -o jsonpath={what}"), "");
    run("create -f -", DEPLOYMENT);

    // A strategic merge knows that containers have names; a merge replaces lists; JSON says where.
    let containers =
        r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}"#;
    run(
        &format!("patch deployment web --type=strategic -p {containers}"),
        "",
    );
    assert_eq!(show("{.spec.template.spec.containers[*].name}"), "side web");
    run(&format!("patch deployment web --type=merge -p {containers}"), "");
    assert_eq!(show("{.spec.template.spec.containers[*].name}"), "side");
    run(
        r#"patch deployment web --type=json -p [{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":4}]"#,
        "",
    );
    assert_eq!(show("{.spec.replicas}"), "4");
    let failed = cambium.kubectl_result(
        &kubectl,
        r#"patch deployment web --type=json -p [{"op":"test","path":"/spec/replicas","value":2}]"#,
        "",
    );
    assert!(
        failed.code != 0 && show("{.spec.replicas}") == "4",
        "{}",
        failed.output
    );
    run(
        r#"patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":2}}"#,
        "",
    );
    assert_eq!(show("{.spec.replicas}"), "2");

    run("label deployment web tier=front team=a", "");
    let twice = cambium.kubectl_result(&kubectl, "label deployment web tier=back", "");
    assert!(
        twice
            .output
            .contains("'tier' already has a value (front), and --overwrite is false"),
        "{}",
        twice.output
    );
    run("label deployment web --overwrite tier=back team-", "");
    assert_eq!(show("{.metadata.labels}"), r#"{"tier":"back"}"#);
    assert!(run("get deployments -l tier=back -o name", "").contains("deployment.apps/web"));
    run("annotate deployment web note=two\u{a0}words", "");
    assert_eq!(show("{.metadata.annotations.note}"), "two words");
    run("annotate deployment web note-", "");
    assert_eq!(show("{.metadata.annotations.note}"), "");

    // Nobody else writes a ConfigMap, so its version is the one that was read.
    run("create configmap words --from-literal=first=one", "");
    let stored = run("get configmap words -o yaml", "");
    run("replace -f -", &stored.replace("first: one", "first: two"));
    assert_eq!(run("get configmap words -o jsonpath={.data.first}", ""), "two");
    let stale = cambium.kubectl_result(&kubectl, "replace -f -", &stored);
    assert!(
        stale
            .output
            .contains("the object has been modified; please apply your changes to the latest version"),
        "{}",
        stale.output
    );
    let uid = show("{.metadata.uid}");
    run("replace --force -f -", DEPLOYMENT);
    assert!(show("{.metadata.uid}") != uid, "it is another one");
}

#[test]
fn custom_resources_are_first_class() {
    let Some(kubectl) = kubectl_or_skip("custom_resources_are_first_class") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str, input: &str| cambium.kubectl(&kubectl, arguments, input);
    run("apply -f -", CRD);
    run(
        "wait --for=condition=Established crd/greetings.demo.cambium.dev --timeout=60s",
        "",
    );
    run("apply -f -", GREETINGS);
    assert!(run("get hi", "").contains("NAME    LANGUAGE   TEXT    AGE"));
    assert!(run("explain greeting.spec", "").contains("How often it is said."));
    run("scale greeting/hello --replicas=5", "");
    assert_eq!(
        run("get greeting hello -o jsonpath={.spec.repeat}", "").trim(),
        "5"
    );
    let wrong = GREETINGS.replace("language: fr", "language: french");
    let refused = cambium.kubectl_result(&kubectl, "apply -f -", &wrong);
    assert!(
        refused
            .output
            .contains("spec.language in body should match '^[a-z]{2}$'"),
        "{}",
        refused.output
    );
    let typo = GREETINGS.replace("language: fr", "langauge: fr");
    let refused = cambium.kubectl_result(&kubectl, "apply -f -", &typo);
    assert!(
        refused.output.contains("unknown field \"spec.langauge\""),
        "{}",
        refused.output
    );
    run("delete crd greetings.demo.cambium.dev", "");
    // kubectl may remember the resource for a while; the server does not.
    let gone = cambium.kubectl_result(&kubectl, "get --raw /apis/demo.cambium.dev/v1/greetings", "");
    assert!(
        gone.output
            .contains("the server could not find the requested resource"),
        "{}",
        gone.output
    );
}

#[test]
fn a_watch_shows_a_deployment_become_ready() {
    let Some(kubectl) = kubectl_or_skip("a_watch_shows_a_deployment_become_ready") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    cambium.kubectl(
        &kubectl,
        "apply -f -",
        &DEPLOYMENT.replace("replicas: 2", "replicas: 1"),
    );
    let lines = cambium.kubectl_until(&kubectl, "get deployment web --watch", "1/1");
    assert!(
        lines.iter().any(|line| line.contains("0/1")) || lines.len() == 2,
        "{lines:?}"
    );
}

#[test]
fn data_survives_a_restart_and_a_kill() {
    let Some(kubectl) = kubectl_or_skip("data_survives_a_restart_and_a_kill") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut cambium = Cambium::in_directory(directory.path(), &[]);
    cambium.kubectl(&kubectl, "create configmap kept --from-literal=k=v", "");
    let second = Cambium::try_in_directory(directory.path(), &[]);
    assert_eq!(
        second.code,
        Some(3),
        "a second instance is refused: {}",
        second.errors
    );
    assert!(
        second.errors.contains("is in use by another cambium"),
        "{}",
        second.errors
    );
    cambium.terminate();
    let mut cambium = Cambium::in_directory(directory.path(), &[]);
    assert_eq!(
        cambium
            .kubectl(&kubectl, "get configmap kept -o jsonpath={.data.k}", "")
            .trim(),
        "v"
    );
    cambium.kubectl(&kubectl, "create configmap late --from-literal=k=w", "");
    cambium.kill();
    let cambium = Cambium::in_directory(directory.path(), &[]);
    assert_eq!(
        cambium
            .kubectl(&kubectl, "get configmap late -o jsonpath={.data.k}", "")
            .trim(),
        "w"
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(directory.path().join("kubeconfig"))
            .unwrap()
            .permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "credentials are for their owner's eyes");
}

#[test]
fn clusters_are_independent() {
    let Some(kubectl) = kubectl_or_skip("clusters_are_independent") else {
        return;
    };
    let cambium = Cambium::ephemeral(&["--clusters", "2"]);
    let contexts = cambium.kubectl(&kubectl, "config get-contexts -o name", "");
    assert_eq!(
        contexts.split_whitespace().collect::<Vec<_>>(),
        ["cambium", "member-1", "member-2"]
    );
    cambium.kubectl(&kubectl, "--context member-1 create configmap only-here", "");
    let elsewhere = cambium.kubectl_result(&kubectl, "--context member-2 get configmap only-here", "");
    assert!(elsewhere.output.contains("NotFound"), "{}", elsewhere.output);
}

#[test]
fn roles_decide_for_whoever_is_impersonated_or_shows_a_token() {
    let Some(kubectl) = kubectl_or_skip("roles_decide_for_whoever_is_impersonated_or_shows_a_token") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str| cambium.kubectl(&kubectl, arguments, "");
    let refused = |arguments: &str| {
        let finished = cambium.kubectl_result(&kubectl, arguments, "");
        assert_ne!(finished.code, 0, "{arguments}: {}", finished.output);
        finished.output
    };
    run("create namespace shop");
    run("create serviceaccount reader --namespace shop");
    run(
        "create rolebinding readers --namespace shop --clusterrole view --serviceaccount shop:reader --user ada",
    );
    assert_eq!(
        run("auth can-i list pods --namespace shop --as ada").trim(),
        "yes"
    );
    assert!(refused("get pods --namespace default --as ada").contains(
        r#"pods is forbidden: User "ada" cannot list resource "pods" in API group "" in the namespace "default""#
    ));
    assert!(refused("get secrets --namespace shop --as ada").contains("secrets is forbidden"));
    assert!(refused("get nodes --as ada --as-group developers").contains("nodes is forbidden"));
    run("get pods --namespace shop --as system:serviceaccount:shop:reader");
    let rights = run("auth can-i --list --namespace shop --as ada");
    assert!(rights.contains("deployments.apps"), "{rights}");

    let token = run("create token reader --namespace shop --duration 10m");
    let token = token.trim();
    assert_eq!(token.split('.').count(), 3, "a signed token");
    run(&format!("config set-credentials reader --token={token}"));
    assert!(run("auth whoami --user reader").contains("system:serviceaccount:shop:reader"));
    run("get pods --namespace shop --user reader");
    assert!(refused("delete namespace shop --user reader").contains("cannot delete resource \"namespaces\""));
    run("delete serviceaccount reader --namespace shop");
    assert!(
        refused("get pods --namespace shop --user reader").contains("You must be logged in to the server")
    );
}

#[test]
fn what_is_not_there_says_so() {
    let Some(kubectl) = kubectl_or_skip("what_is_not_there_says_so") else {
        return;
    };
    let cambium = Cambium::ephemeral(&[]);
    let run = |arguments: &str| cambium.kubectl(&kubectl, arguments, "");
    run("run web --image=example.com/web:1");
    run("wait pod/web --for=condition=Ready --timeout=30s");
    run("create deployment shop --image=example.com/shop:1");
    run("wait deployment/shop --for=condition=Available --timeout=30s");
    for (arguments, expected) in [
        ("logs web", "pods here are simulated and run no containers"),
        (
            "exec web -- true",
            "pods here are simulated and run no containers",
        ),
        ("attach web", "pods here are simulated and run no containers"),
        (
            "port-forward pod/web 18080:80",
            "pods here are simulated and run no containers",
        ),
        ("top pods", "Metrics API not available"),
        ("top nodes", "Metrics API not available"),
    ] {
        let finished = cambium.kubectl_result(&kubectl, arguments, "");
        assert_ne!(finished.code, 0, "{arguments}");
        assert!(
            finished.output.contains(expected),
            "{arguments}: {}",
            finished.output
        );
    }
    assert!(run("cluster-info").contains("is running at"));
    let services = run("get apiservices");
    assert!(
        services
            .lines()
            .any(|line| line.starts_with("v1.apps ") && line.contains("Local")),
        "{services}"
    );
    assert!(
        run("events").contains("ScalingReplicaSet"),
        "what the simulator did"
    );
}
