//! show
#[expect(clippy::print_stdout, reason = "a report")]
fn main() {
    let seed = std::env::args().nth(1).and_then(|t| t.parse().ok()).unwrap_or(0);
    print!("{}", cambium_cue_judge::generate::program(seed));
}
