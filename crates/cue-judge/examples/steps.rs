//! Prints the evaluation steps of each benchmark program.

use cambium_cue::{EvaluationOptions, Source, compile};
use cambium_cue_judge::inputs;

#[expect(clippy::print_stdout, reason = "the figures are the answer")]
fn main() {
    for input in inputs::all() {
        let program =
            compile(&Source::new(input.name.as_str(), input.text.as_str())).expect("the inputs are right");
        let values = input.values();
        let mut instance = program.evaluate(&values, EvaluationOptions::default());
        instance.export().expect("the inputs are right");
        println!("{:14} {:>7}", input.name, instance.steps());
    }
}
