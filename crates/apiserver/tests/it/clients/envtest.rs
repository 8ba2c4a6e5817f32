//! controller-runtime's envtest against the embedded server instead of etcd and kube-apiserver.

use std::process::Command;

use anyhow::{Result, ensure};
use cambium_apiserver::store::History;
use cambium_testing::{NetworkCluster, peer, skip};

#[tokio::test]
async fn envtest_takes_the_server_for_an_existing_cluster() -> Result<()> {
    let test = "envtest_takes_the_server_for_an_existing_cluster";
    let Some(program) = peer("envtest") else {
        skip(test, "the operator is not built (cargo xtask peers builds it)");
        return Ok(());
    };
    let cluster = NetworkCluster::start(History::default()).await?;
    let mut operator = Command::new(program);
    operator
        .env("KUBECONFIG", cluster.write_kubeconfig()?)
        .env("USE_EXISTING_CLUSTER", "true")
        .env_remove("KUBEBUILDER_ASSETS");
    let said = tokio::task::spawn_blocking(move || operator.output()).await??;
    let text = String::from_utf8_lossy(&said.stdout);
    ensure!(said.status.success() && text == "passed\n", "it said: {text}");
    Ok(())
}
