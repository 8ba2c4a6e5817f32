//! Custom Endpoints and EndpointSlices, without pods.

use anyhow::Result;
use cambium_testing::{TestCluster, eventually};
use serde_json::{Value, json};

const SERVICE: &str = "kubernetes.io/service-name";

#[tokio::test]
async fn endpoints_written_by_hand_are_mirrored() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let (raw, namespace) = (cluster.raw(), cluster.namespace("mirror").await?);
    let core = format!("/api/v1/namespaces/{namespace}");
    let slices = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={SERVICE}%3Dhand"
    );
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hand"}, "spec": {"ports": [{"name": "http", "port": 80}]}});
    assert_eq!(raw.post(&format!("{core}/services"), &service).await?.code, 201);
    let endpoints = |ready: Value, waiting: Value| {
        json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "hand", "labels": {"team": "web"}},
            "subsets": [{"addresses": ready, "notReadyAddresses": waiting, "ports": [{"name": "http", "port": 8080}]}]})
    };
    let path = format!("{core}/endpoints");
    let made = raw
        .post(
            &path,
            &endpoints(json!([{"ip": "10.1.2.3"}]), json!([{"ip": "10.1.2.4"}])),
        )
        .await?;
    assert_eq!(made.code, 201, "{made:?}");
    let until = |what: &'static str, expected: Value| {
        let (raw, slices) = (raw.clone(), slices.clone());
        async move {
            eventually(what, || async {
                let list = raw.get(&slices).await?.body;
                let told: Vec<Value> = list["items"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .flat_map(|slice| slice["endpoints"].as_array().cloned().unwrap_or_default())
                    .map(|one| json!([one["addresses"][0], one["conditions"]["ready"]]))
                    .collect();
                let mut told = told;
                told.sort_by_key(ToString::to_string);
                Ok(json!(told) == expected)
            })
            .await
        }
    };
    until(
        "both addresses are told",
        json!([["10.1.2.3", true], ["10.1.2.4", false]]),
    )
    .await?;
    let slice = raw.get(&slices).await?.body["items"][0].clone();
    assert_eq!(
        slice["metadata"]["labels"],
        json!({"team": "web", SERVICE: "hand", "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"})
    );
    assert_eq!(slice["addressType"], "IPv4");
    assert_eq!(
        slice["ports"],
        json!([{"name": "http", "port": 8080, "protocol": "TCP"}])
    );
    let owner = &slice["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("Endpoints"), &json!("hand"))
    );

    let changed = raw
        .put(
            &format!("{path}/hand"),
            &endpoints(json!([{"ip": "10.2.3.4"}]), json!([])),
        )
        .await?;
    assert_eq!(changed.code, 200, "{changed:?}");
    until("the change is told", json!([["10.2.3.4", true]])).await?;
    assert_eq!(raw.delete(&format!("{path}/hand"), &json!({})).await?.code, 200);
    until("nothing is left", json!([])).await
}

#[tokio::test]
async fn the_server_has_endpoints_of_its_own() -> Result<()> {
    let cluster = TestCluster::start().await?;
    let raw = cluster.raw();
    let endpoints = "/api/v1/namespaces/default/endpoints/kubernetes";
    // Kubernetes writes them a moment after it has begun to listen.
    eventually("there are endpoints", || async {
        Ok(raw.get(endpoints).await?.code == 200)
    })
    .await?;
    let subset = raw.get(endpoints).await?.body["subsets"][0].clone();
    let slice = raw
        .get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
        .await?
        .body;
    assert_eq!(slice["metadata"]["labels"], json!({SERVICE: "kubernetes"}));
    assert_eq!(
        slice["endpoints"][0]["addresses"],
        json!([subset["addresses"][0]["ip"]])
    );
    assert_eq!(slice["ports"][0]["port"], subset["ports"][0]["port"]);
    Ok(())
}
