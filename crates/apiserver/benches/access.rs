//! Cost of RBAC authorization with a thousand bindings: `cargo bench -p cambium-apiserver --bench access`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to tell"
)]

use cambium_apiserver::store::{Draft, Expect, History, Store, Write};
use cambium_apiserver::{Action, ApiServer, Authorizer as _, Decision, Rbac, ResourceAction, User};
use divan::black_box;
use serde_json::{Value, json};

const GROUP: &str = "rbac.authorization.k8s.io";
const BINDINGS: usize = 1000;

fn main() {
    divan::main();
}

/// The subjects of the bindings.
#[derive(Debug, Clone, Copy)]
enum Subjects {
    /// One user per binding.
    Apart,
    /// One group for all bindings, each to a role of its own.
    Together,
}

/// A store with roles of five rules and bindings to them: half of them ClusterRoleBindings, half RoleBindings.
fn store(subjects: Subjects) -> Store {
    let store = Store::in_memory(History::default());
    let rules: Vec<Value> = ["pods", "services", "secrets", "configmaps", "events"]
        .map(|resource| json!({"verbs": ["list", "watch"], "apiGroups": [""], "resources": [resource]}))
        .into();
    let mut writes = Vec::new();
    for number in 0..BINDINGS {
        let role = format!("role-{number}");
        writes.push(write(
            &json!({"kind": "ClusterRole", "metadata": {"name": role}, "rules": rules}),
        ));
        let subject = match subjects {
            Subjects::Apart => json!({"kind": "User", "name": format!("user-{number}")}),
            Subjects::Together => json!({"kind": "Group", "name": "everybody"}),
        };
        let (kind, namespace) = match number % 2 {
            0 => ("ClusterRoleBinding", String::new()),
            _ => ("RoleBinding", "shop".to_owned()),
        };
        writes.push(write(
            &json!({"kind": kind, "metadata": {"name": role, "namespace": namespace},
            "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [subject]}),
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for answer in runtime.block_on(store.write_all(writes)) {
        answer.unwrap();
    }
    store
}

fn write(object: &Value) -> Write {
    let plural = object["kind"].as_str().unwrap().to_lowercase();
    let metadata = &object["metadata"];
    let key = match metadata["namespace"].as_str() {
        None | Some("") => metadata["name"].as_str().unwrap().to_owned(),
        Some(namespace) => format!("{namespace}/{}", metadata["name"].as_str().unwrap()),
    };
    Write {
        bucket: format!("{GROUP}/{plural}s").into(),
        key: key.into(),
        expect: Expect::Absent,
        put: Some(Draft::new(object)),
    }
}

fn ask(rbac: &Rbac, user: &User, verb: &str) -> Decision {
    let resource = ResourceAction {
        group: "",
        resource: "events",
        subresource: "",
        namespace: "shop",
        name: "",
    };
    let action = Action {
        verb,
        resource: Some(resource),
        path: "",
    };
    rbac.authorize(black_box(user), black_box(&action))
}

/// Allowed by the last rule of the only binding.
#[divan::bench]
fn allowed(bencher: divan::Bencher<'_, '_>) {
    let rbac = Rbac::new(&store(Subjects::Apart));
    let user = User::authenticated("user-501", &["a", "b", "c"]);
    assert!(matches!(ask(&rbac, &user, "list"), Decision::Allow(_)));
    bencher.bench_local(|| ask(&rbac, &user, "list"));
}

/// Denied to a user whom no binding names.
#[divan::bench]
fn refused_to_a_stranger(bencher: divan::Bencher<'_, '_>) {
    let rbac = Rbac::new(&store(Subjects::Apart));
    let user = User::authenticated("nobody", &["a", "b", "c"]);
    assert!(matches!(ask(&rbac, &user, "list"), Decision::NoOpinion(_)));
    bencher.bench_local(|| ask(&rbac, &user, "list"));
}

/// The worst case: a thousand bindings name the user, and none of their five thousand rules allows the request.
#[divan::bench]
fn refused_by_every_binding(bencher: divan::Bencher<'_, '_>) {
    let rbac = Rbac::new(&store(Subjects::Together));
    let user = User::authenticated("ada", &["everybody"]);
    assert!(matches!(ask(&rbac, &user, "delete"), Decision::NoOpinion(_)));
    bencher.bench_local(|| ask(&rbac, &user, "delete"));
}

/// A server with its standard roles and bindings, in memory.
#[divan::bench]
fn start_of_a_server(bencher: divan::Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    bencher.bench_local(|| runtime.block_on(ApiServer::builder().build()).unwrap().stop());
}

/// The first request after a binding has changed rebuilds the index.
#[divan::bench]
fn first_after_a_change(bencher: divan::Bencher<'_, '_>) {
    let store = store(Subjects::Apart);
    let rbac = Rbac::new(&store);
    let user = User::authenticated("user-501", &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut number = BINDINGS;
    bencher
        .with_inputs(|| {
            number += 1;
            let name = format!("more-{number}");
            let role = json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": []});
            runtime.block_on(store.write(write(&role))).unwrap();
        })
        .bench_local_values(|()| ask(&rbac, &user, "list"));
}
