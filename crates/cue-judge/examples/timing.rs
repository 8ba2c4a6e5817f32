//! Measures `crates/cue` as `crates/cue/peers/bench` measures Go's library, on the same programs: `timing DIRECTORY`.
//!
//! The programs are written into the directory, for the other to read.

use cambium_cue::{Data, EvaluationOptions, Program, Source, compile};
use cambium_cue_judge::inputs::{self, Input};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Minimum duration of a measurement.
const MINIMUM_DURATION: Duration = Duration::from_millis(700);

#[expect(clippy::print_stdout, reason = "the figures are the answer")]
fn main() -> std::io::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_default();
    for input in inputs::all() {
        let path = Path::new(&directory).join(&input.name);
        std::fs::write(path.with_extension("cue"), &input.text)?;
        std::fs::write(path.with_extension("json"), input.values.to_json())?;
        let compiling = fast(|| drop(black_box(compiled(&input))));
        let program = compiled(&input);
        let rendering = fast(|| drop(black_box(render(&program, &input).to_json())));
        let export = render(&program, &input).to_json();
        println!("{}\t{compiling}\t{rendering}\t{export}", input.name);
    }
    Ok(())
}

fn compiled(input: &Input) -> Program {
    compile(&Source::new(input.name.as_str(), input.text.as_str())).expect("the inputs are right")
}

fn render(program: &Program, input: &Input) -> Data {
    program
        .evaluate(&input.values(), EvaluationOptions::default())
        .export()
        .expect("the inputs are right")
}

/// The first decile of run times, which excludes most noise of other processes.
fn fast(mut work: impl FnMut()) -> u128 {
    work();
    let mut taken = Vec::new();
    let start = Instant::now();
    while start.elapsed() < MINIMUM_DURATION || taken.len() < 5 {
        let before = Instant::now();
        work();
        taken.push(before.elapsed().as_nanos());
    }
    taken.sort_unstable();
    taken[taken.len() / 10]
}
