//! The `cambium` program.
fn main() {
    let rt = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let now = jiff::Timestamp::now();
        let ca = cambium_apiserver::pki::Authority::generate(now).unwrap();
        let id = ca.server(&["127.0.0.1".into(), "localhost".into()], now).unwrap();
        let client = ca.client("admin", &["system:masters"], now).unwrap();
        std::fs::write("/tmp/cam.ca", ca.certificate()).unwrap();
        std::fs::write("/tmp/cam.crt", client.certificate).unwrap();
        std::fs::write("/tmp/cam.key", client.key).unwrap();
        let server = cambium_apiserver::ApiServer::builder().build().await.unwrap();
        let l = tokio::net::TcpListener::bind("127.0.0.1:17443").await.unwrap();
        cambium_apiserver::serve::serve(l, cambium_apiserver::serve::tls(&id, ca.certificate()).unwrap(), server, std::future::pending()).await;
    });
}
