//! Searches for programs on which `crates/cue` and Go's `cue` differ: `hunt FIRST_SEED COUNT [DIRECTORY]`.

use cambium_cue_judge::{Oracle, Verdict, generate, ours, shrink};
use std::collections::BTreeMap;

#[expect(clippy::print_stdout, reason = "a report")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number().unwrap_or(0), number().unwrap_or(100));
    let directory = arguments.next();
    if let Some(directory) = &directory {
        std::fs::create_dir_all(directory).expect("a directory to write to");
    }
    let oracle = Oracle::find().expect("the oracle");
    let mut tally = BTreeMap::new();
    let mut values = 0;
    for seed in first..first + count {
        let program = generate::program(seed);
        let text = program.to_string();
        let mine = ours::export(&text);
        let theirs = oracle.export(&text).expect("the oracle answers");
        values += usize::from(matches!(theirs, cambium_cue_judge::Answer::Value(_)));
        let verdict = Verdict::of(&mine, &theirs);
        *tally.entry(verdict).or_insert(0) += 1;
        if verdict != Verdict::Agree {
            let small = shrink::shrink(&program, |text| {
                Verdict::of(
                    &ours::export(text),
                    &oracle.export(text).expect("the oracle answers"),
                ) == verdict
            });
            let text = small.to_string();
            let note = format!(
                "// {} seed {seed}\n{text}\n// Go: {:?}\n// ours: {:?}\n",
                verdict.name(),
                oracle.export(&text).expect("the oracle answers"),
                ours::export(&text)
            );
            println!("{note}");
            if let Some(directory) = &directory {
                std::fs::write(format!("{directory}/{seed}.cue"), note).expect("a directory to write to");
            }
        }
    }
    println!("{tally:?}, {values} values");
}
