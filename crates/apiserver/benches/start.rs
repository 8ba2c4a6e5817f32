//! Cost of starting a server in-process: `cargo bench -p cambium-apiserver --bench start`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to tell"
)]

use cambium_apiserver::ApiServer;
use divan::Bencher;

fn main() {
    divan::main();
}

/// All controllers enabled, in memory; without the first start, which compiles the schemas once per process.
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
