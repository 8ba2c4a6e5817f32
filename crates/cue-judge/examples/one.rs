//! one
#[expect(clippy::print_stdout, reason = "a report")]
fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(f).expect("t");
        match cambium_cue_judge::ours::export(&text) {
            cambium_cue_judge::Answer::Value(d) => println!("{}", d.to_json()),
            other => println!("{other:?}"),
        }
    }
}
