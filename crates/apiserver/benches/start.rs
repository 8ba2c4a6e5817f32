//! What it costs to start a server in a process: `cargo bench -p cambium-apiserver --bench start`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to tell"
)]

use cambium_apiserver::ApiServer;
use divan::Bencher;

fn main() {
    divan::main();
}

/// With everything on, kept in memory; all but the first, which compiles the schemas of the process.
#[divan::bench(sample_count = 100)]
fn in_process(bencher: Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    bencher.bench_local(|| {
        let server = runtime.block_on(ApiServer::builder().build()).unwrap();
        server.stop();
    });
}
