//! How long a composition takes to read and to render: `cargo bench -p cambium-compose`.
fn main() {
    divan::main();
}
