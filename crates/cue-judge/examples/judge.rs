//! Evaluates files with `crates/cue` and Go's `cue`, and prints differences: `judge FILE…`.

use cambium_cue_judge::{Answer, Oracle, Verdict, ours};

#[expect(clippy::print_stdout, reason = "a report")]
fn main() {
    let oracle = Oracle::find().expect("the oracle").remembering();
    for name in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&name).expect("a file");
        let (ours, theirs) = (
            ours::export(&text),
            oracle.export(&text).expect("the oracle answers"),
        );
        let verdict = Verdict::of(&ours, &theirs);
        println!("{name}: {}", verdict.name());
        if verdict != Verdict::Agree {
            println!("  Go:   {}\n  ours: {}", show(&theirs), show(&ours));
        }
    }
}

fn show(answer: &Answer) -> String {
    match answer {
        Answer::Value(data) => data.to_json(),
        other => format!("{other:?}"),
    }
}
