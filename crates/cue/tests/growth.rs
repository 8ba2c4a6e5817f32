//! How the cost of an evaluation grows with its input, counted in steps: nothing depends on the machine.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use cambium_cue::{EvaluationOptions, Source, compile};
use cambium_cue_judge::inputs::{self, Input};

/// The steps that an export takes.
fn steps(input: &Input) -> u64 {
    let program = compile(&Source::new(input.name.as_str(), input.text.as_str())).unwrap();
    let values = input.values();
    let mut instance = program.evaluate(&values, EvaluationOptions::default());
    instance.export().unwrap();
    instance.steps()
}

/// Ten times the input takes at most eleven times the steps, whatever the start costs.
#[track_caller]
fn assert_linear(small: &Input, large: &Input, factor: u64) {
    let (few, many) = (steps(small), steps(large));
    assert!(
        many <= few * factor * 11 / 10,
        "{} takes {few} steps, {} takes {many}",
        small.name,
        large.name
    );
}

#[test]
fn steps_grow_with_the_number_of_list_items() {
    assert_linear(&inputs::items(10), &inputs::items(100), 10);
    assert_linear(&inputs::items(100), &inputs::items(500), 5);
}

#[test]
fn steps_grow_with_the_number_of_choices() {
    for (few, many) in [(1, 2), (2, 4), (4, 8), (8, 16), (16, 64)] {
        let factor = u64::try_from(many / few).unwrap();
        assert_linear(&inputs::choices(few), &inputs::choices(many), factor);
    }
}

#[test]
fn decided_choices_do_not_multiply() {
    let costs: Vec<u64> = [1, 2, 4, 8, 16]
        .map(|count| steps(&inputs::decisions(count)))
        .into();
    for pair in costs.windows(2) {
        // Each decision is looked at together with the others: twice as many take at most four times the steps.
        assert!(
            pair[1] <= pair[0] * 4,
            "steps for 1, 2, 4, 8, 16 decisions: {costs:?}"
        );
    }
}

#[test]
fn definitions_take_few_steps() {
    for (input, limit) in [(inputs::ordinary(), 2_000), (inputs::service(), 20_000)] {
        let taken = steps(&input);
        assert!(taken <= limit, "{} takes {taken} steps", input.name);
    }
}

#[test]
fn defaults_do_not_multiply() {
    let costs: Vec<u64> = [4, 8, 16, 32, 64]
        .map(|count| steps(&inputs::products(count)))
        .into();
    for pair in costs.windows(2) {
        assert!(
            pair[1] <= pair[0] * 8,
            "steps for 4, 8, 16, 32, 64 disjunctions: {costs:?}"
        );
    }
}
