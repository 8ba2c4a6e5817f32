//! Services: allocation of cluster IPs and node ports, and type changes.

use anyhow::Result;
use cambium_testing::{Raw, TestCluster};
use serde_json::{Value, json};

struct Place {
    raw: Raw,
    path: String,
    _cluster: TestCluster,
}

async fn services(test: &str) -> Result<Place> {
    let cluster = TestCluster::start().await?;
    let namespace = cluster.namespace(test).await?;
    Ok(Place {
        raw: cluster.raw(),
        path: format!("/api/v1/namespaces/{namespace}/services"),
        _cluster: cluster,
    })
}

fn service(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    if spec.get("ports").is_none() && spec["type"] != "ExternalName" {
        spec["ports"] = json!([{"port": 80}]);
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
}

/// The fields of a spec that depend on the type, without cluster-specific values.
fn shape(spec: &Value) -> Value {
    let fields = spec.as_object().into_iter().flatten();
    let shape = fields.map(|(name, value)| match name.as_str() {
        "clusterIP" if value != "None" => (name.clone(), json!("an address")),
        "clusterIPs" if value[0] != "None" => (name.clone(), json!("addresses")),
        "healthCheckNodePort" => (name.clone(), json!("a port")),
        "ports" => {
            let exposed = value[0].get("nodePort").is_some();
            (name.clone(), json!(if exposed { "on nodes" } else { "inside" }))
        }
        _ => (name.clone(), value.clone()),
    });
    shape.filter(|(name, _)| name != "sessionAffinity").collect()
}

#[tokio::test]
async fn the_type_changes_with_a_plain_patch() -> Result<()> {
    let Place { raw, path, .. } = &services("types").await?;
    let inside = json!({"type": "ClusterIP", "clusterIP": "an address", "clusterIPs": "addresses", "ports": "inside",
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"});
    let with = |more: Value| {
        let mut shape = inside.clone();
        shape
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap());
        shape
    };
    let on_nodes = |policy: &str| {
        with(json!({"type": "NodePort", "ports": "on nodes", "externalTrafficPolicy": policy}))
    };
    let named = json!({"type": "ExternalName", "externalName": "a.b", "ports": "inside"});
    let balanced =
        json!({"type": "LoadBalancer", "loadBalancerClass": "a.b/c", "externalTrafficPolicy": "Local"});
    let to_name = json!({"type": "ExternalName", "externalName": "a.b"});
    let headless = json!({"clusterIP": "None", "selector": {"a": "b"}});
    let mut selecting = named.clone();
    selecting["selector"] = json!({"a": "b"});
    let table = [
        (
            json!({"type": "NodePort"}),
            json!({"type": "ClusterIP"}),
            inside.clone(),
        ),
        (balanced.clone(), json!({"type": "ClusterIP"}), inside.clone()),
        (balanced.clone(), json!({"type": "NodePort"}), on_nodes("Local")),
        (balanced, to_name.clone(), named.clone()),
        (json!({"type": "NodePort"}), to_name.clone(), named.clone()),
        (json!({}), to_name.clone(), named.clone()),
        (headless, to_name, selecting),
        (json!({}), json!({"type": "NodePort"}), on_nodes("Cluster")),
        (
            json!({"type": "ExternalName", "externalName": "a.b"}),
            json!({"type": "ClusterIP", "externalName": null, "ports": [{"port": 80}]}),
            inside.clone(),
        ),
    ];
    for (index, (before, change, after)) in table.into_iter().enumerate() {
        let name = format!("s{index}");
        let made = raw.post(path, &service(&name, &before)).await?;
        assert_eq!(made.code, 201, "{made:?}");
        let one = format!("{path}/{name}");
        let changed = raw.patch("merge", &one, &json!({"spec": change})).await?;
        assert_eq!(changed.code, 200, "{before} {change} {changed:?}");
        assert_eq!(shape(&changed.body["spec"]), after, "{before} {change}");
        assert_eq!(raw.get(&one).await?.body, changed.body);
    }
    Ok(())
}

#[tokio::test]
async fn what_a_change_of_type_also_changes_is_refused() -> Result<()> {
    let Place { raw, path, .. } = &services("refused").await?;
    let made = raw
        .post(path, &service("s", &json!({"type": "NodePort"})))
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    for (change, message) in [
        (
            json!({"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 31777}]}),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            json!({"type": "ExternalName", "externalName": "a.b", "clusterIP": "10.96.3.3"}),
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
        ),
        (
            json!({"clusterIP": "10.96.5.5"}),
            "spec.clusterIPs[0]: Invalid value: [\"10.96.5.5\"]: may not change once set",
        ),
        (
            json!({"clusterIPs": ["10.96.5.5"]}),
            "spec.clusterIPs: Invalid value: [\"10.96.5.5\"]: first value must match `clusterIP`",
        ),
    ] {
        let refused = raw
            .patch("merge", &format!("{path}/s"), &json!({"spec": change}))
            .await?;
        assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
        assert_eq!(
            refused.message(),
            format!("Service \"s\" is invalid: {message}"),
            "{change}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn addresses_and_ports_are_given_out_once() -> Result<()> {
    let Place { raw, path, .. } = &services("once").await?;
    let node_port = |port: u32| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    for (name, spec) in [
        ("a", json!({"clusterIP": "10.96.77.77"})),
        ("n", node_port(31234)),
    ] {
        let made = raw.post(path, &service(name, &spec)).await?;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let address = |address: &str, why: &str| {
        let message =
            format!("spec.clusterIPs: Invalid value: [{address:?}]: failed to allocate IP {address}: {why}");
        (json!({"clusterIP": address}), message)
    };
    let outside = "the provided network does not match the current range";
    let table = [
        address("10.96.77.77", "provided IP is already allocated"),
        address("192.168.9.9", outside),
        address("10.96.0.0", outside),
        address("10.96.255.255", outside),
        (
            node_port(31234),
            "spec.ports[0].nodePort: Invalid value: 31234: provided port is already allocated".to_owned(),
        ),
        (
            node_port(80),
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
                .to_owned(),
        ),
        (
            json!({"clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.2"]}),
            "spec.clusterIPs: Invalid value: [\"10.96.1.2\"]: first value must match `clusterIP`".to_owned(),
        ),
        (
            json!({"clusterIPs": ["10.96.1.2"]}),
            "spec.clusterIPs: Invalid value: [\"10.96.1.2\"]: must be empty when `clusterIP` is not specified".to_owned(),
        ),
        (
            json!({"clusterIP": "fd00::1"}),
            "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster".to_owned(),
        ),
        (
            json!({"ipFamilies": ["IPv6"]}),
            "spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster".to_owned(),
        ),
        (
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services"
                .to_owned(),
        ),
        (
            json!({"type": "ExternalName", "externalName": "a.b", "clusterIP": "None"}),
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services".to_owned(),
        ),
    ];
    for (spec, message) in table {
        let refused = raw.post(path, &service("other", &spec)).await?;
        assert_eq!((refused.code, refused.reason()), (422, "Invalid"), "{refused:?}");
        assert_eq!(
            refused.message(),
            format!("Service \"other\" is invalid: {message}")
        );
    }
    // What is deleted is free again; a dry run takes nothing.
    let dry = format!("{path}?dryRun=All");
    let free = service("free", &json!({"clusterIP": "10.96.78.78"}));
    assert_eq!(raw.post(&dry, &free).await?.code, 201);
    assert_eq!(raw.post(path, &free).await?.code, 201);
    assert_eq!(raw.delete(&format!("{path}/free"), &json!({})).await?.code, 200);
    assert_eq!(raw.post(path, &free).await?.code, 201);
    Ok(())
}

#[tokio::test]
async fn writers_at_once_never_share_an_address() -> Result<()> {
    let Place { raw, path, .. } = &services("at-once").await?;
    let spec =
        json!({"type": "NodePort", "clusterIP": "10.96.66.66", "ports": [{"port": 80, "nodePort": 31666}]});
    let writes = (0..8).map(|number| {
        let object = service(&format!("s{number}"), &spec);
        async move { raw.post(path, &object).await }
    });
    let answers = futures::future::try_join_all(writes).await?;
    let codes: Vec<u16> = answers.iter().map(|answer| answer.code).collect();
    assert_eq!(
        codes.iter().filter(|code| **code == 201).count(),
        1,
        "{answers:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_update_need_not_repeat_what_was_given_out() -> Result<()> {
    let Place { raw, path, .. } = &services("kept").await?;
    let spec = json!({"type": "NodePort", "ports": [
        {"name": "a", "port": 80}, {"name": "b", "port": 80, "protocol": "UDP"}, {"name": "c", "port": 81}]});
    let made = raw.post(path, &service("s", &spec)).await?.body;
    let port = |index: usize| {
        made["spec"]["ports"][index]["nodePort"]
            .as_u64()
            .unwrap_or_default()
    };
    assert!(
        port(0) >= 30000 && port(0) == port(1) && port(0) != port(2),
        "{made}"
    );

    let mut plain = made.clone();
    for port in plain["spec"]["ports"].as_array_mut().unwrap() {
        port.as_object_mut().unwrap().remove("nodePort");
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        plain["spec"].as_object_mut().unwrap().remove(field);
    }
    // Two ports had one: only the first of them gets it back without asking.
    plain["spec"]["ports"].as_array_mut().unwrap().remove(1);
    let kept = raw.put(&format!("{path}/s"), &plain).await?;
    assert_eq!(kept.code, 200, "{kept:?}");
    let mut expected = made["spec"].clone();
    expected["ports"].as_array_mut().unwrap().remove(1);
    assert_eq!(kept.body["spec"], expected);
    Ok(())
}

#[tokio::test]
async fn services_without_an_address_have_families() -> Result<()> {
    let Place { raw, path, .. } = &services("headless").await?;
    for (name, spec, families, policy) in [
        ("open", json!({}), json!(["IPv4", "IPv6"]), "RequireDualStack"),
        (
            "selecting",
            json!({"selector": {"a": "b"}}),
            json!(["IPv4"]),
            "SingleStack",
        ),
    ] {
        let mut spec = spec;
        spec["clusterIP"] = json!("None");
        let made = raw.post(path, &service(name, &spec)).await?.body;
        assert_eq!(made["spec"]["clusterIPs"], json!(["None"]), "{made}");
        assert_eq!(made["spec"]["ipFamilies"], families, "{made}");
        assert_eq!(made["spec"]["ipFamilyPolicy"], policy, "{made}");
    }
    // Since 1.36, a name may begin with a digit.
    assert_eq!(raw.post(path, &service("1st", &json!({}))).await?.code, 201);
    Ok(())
}
