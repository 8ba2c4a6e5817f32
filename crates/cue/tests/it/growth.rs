//! Growth of evaluation steps with the input size, independent of the machine.
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

/// The steps that it takes to find all that is wrong with a text, whatever it is given.
fn steps_whatever_is_given(text: &str) -> u64 {
    let program = compile(&Source::new("text", text)).unwrap();
    let options = EvaluationOptions {
        whatever_is_given: true,
        ..EvaluationOptions::default()
    };
    let mut instance = program.evaluate(&[], options);
    let root = instance.root();
    assert_eq!(instance.errors(root), []);
    instance.steps()
}

#[test]
fn operators_in_a_chain_do_not_multiply() {
    for (operator, given) in [
        ("+", "string"),
        ("+", "int"),
        ("-", "int"),
        ("*", "int"),
        ("/", "number"),
    ] {
        let chain = |operators: usize| {
            let operands = vec!["given"; operators + 1].join(&format!(" {operator} "));
            steps_whatever_is_given(&format!("given: {given}\na: {operands}\n"))
        };
        let (few, many) = (chain(20), chain(40));
        assert!(
            many <= few * 22 / 10,
            "20 times {operator} takes {few} steps, 40 times {many}"
        );
        let nested = |depth: usize| {
            let (open, close) = ("(1 ".to_owned() + operator + " ", ")");
            steps_whatever_is_given(&format!(
                "given: {}\na: {}given{}\n",
                given.replace("string", "int"),
                open.repeat(depth),
                close.repeat(depth)
            ))
        };
        let (few, many) = (nested(20), nested(40));
        assert!(
            many <= few * 22 / 10,
            "20 nested {operator} take {few} steps, 40 take {many}"
        );
    }
}
