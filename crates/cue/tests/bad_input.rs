//! What nobody should write gets an answer, soon.
//!
//! Nothing here is about which answer: only that there is one, without a panic and within the budget.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use cambium_cue::{EvaluationOptions, Limits, Source, compile};
use cambium_cue_judge::{Random, generate};
use proptest::prelude::*;
use std::path::Path;

/// Enough for every file of the corpus, little enough for thousands of them.
const LIMITS: Limits = Limits {
    steps: 20_000,
    depth: 200,
};

/// Compiles and evaluates; whatever comes out is fine.
fn survive(text: &str) {
    let Ok(program) = compile(&Source::new("in.cue", text)) else {
        return;
    };
    let options = EvaluationOptions {
        limits: LIMITS,
        ..EvaluationOptions::default()
    };
    if let Err(problems) = program.evaluate(&[], options).export() {
        assert!(!problems.0.is_empty(), "refused without a reason: {text}");
        // Showing a problem finds its places in the text.
        let _ = problems.to_string();
    }
}

/// Refused by the parser, with a place.
#[track_caller]
fn refuse(text: &str) {
    let problems = compile(&Source::new("in.cue", text)).unwrap_err();
    assert!(!problems.0.is_empty());
    assert!(problems.0.iter().all(|problem| !problem.places.is_empty()));
}

fn corpus() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cue"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,80}") {
        survive(&text);
    }

    #[test]
    fn any_sequence_of_tokens_is_parsed_or_refused(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS), 0..40)
    ) {
        survive(&tokens.concat());
        survive(&tokens.join(" "));
    }
}

const TOKENS: &[&str] = &[
    "a", "b", "#D", "_h", "x", "0", "1", "1.5", "1Ki", "\"s\"", "\"\\(", ")\"", "\"", "'", "#\"", "\"\"\"",
    "\n", ",", ":", "::", "?", "!", "{", "}", "[", "]", "(", ")", "...", "&", "|", "*", "+", "-", "/", "==",
    "!=", "=~", "<", ">=", "_|_", "_", "=", "for ", "in ", "if ", "let ", "import ", "package ", "int",
    "string", "null", "true", "len(", "close(", "or(", "@a(", "//", "~", "\u{feff}", "\0", "ü", "a: ", "b: ",
    "{a: 1}", "[1, 2]", "a.b", "a[0]", "*1 | int",
];

#[test]
fn every_prefix_of_the_corpus_is_answered() {
    for text in corpus() {
        for (end, _) in text.char_indices().step_by(3) {
            survive(&text[..end]);
        }
    }
}

#[test]
fn mutations_of_the_corpus_are_answered() {
    let corpus = corpus();
    let mut random = Random::new(1);
    for _ in 0..4_000 {
        let mut text = random.pick::<String>(&corpus).clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            mutate(&mut text, &corpus, &mut random);
        }
        survive(&String::from_utf8_lossy(&text));
    }
}

fn mutate(text: &mut Vec<u8>, corpus: &[String], random: &mut Random) {
    let at = random.below(text.len() + 1);
    match random.below(5) {
        0 => drop(text.drain(at..(at + random.below(8)).min(text.len()))),
        1 => drop(text.splice(at..at, random.pick::<&str>(TOKENS).bytes())),
        2 => {
            let other = random.pick::<String>(corpus).as_bytes();
            let start = random.below(other.len() + 1);
            let end = (start + random.below(30)).min(other.len());
            text.splice(at..at, other[start..end].iter().copied());
        }
        3 => {
            let end = (at + random.below(20)).min(text.len());
            let copy = text[at..end].to_vec();
            text.splice(at..at, copy);
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte = u8::try_from(random.below(256)).unwrap();
            }
        }
    }
}

#[test]
fn two_programs_in_one_are_answered() {
    for seed in 0..300 {
        let (one, other) = (generate::program(seed), generate::program(seed + 7_000));
        survive(&format!("{one}\n{other}"));
    }
}

#[test]
fn a_megabyte_of_brackets_is_refused() {
    for bracket in [
        "[",
        "{",
        "(",
        "a:{",
        "[{",
        "\"\\(",
        "-",
        "!",
        "a:",
        "*",
        "[for x in ",
        "if ",
        "a.",
        "f(",
        "a[",
        "<",
    ] {
        let text = bracket.repeat(1_000_000 / bracket.len());
        refuse(&format!("x: {text}"));
        refuse(&text);
    }
}

#[test]
fn a_megabyte_of_balanced_brackets_is_answered() {
    for (open, close) in [
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ("a: {", "}"),
        ("\"\\(", ")\""),
    ] {
        let count = 500_000 / (open.len() + close.len());
        survive(&format!("x: {}1{}", open.repeat(count), close.repeat(count)));
    }
}

#[test]
fn a_megabyte_of_one_line_is_answered() {
    for (start, repeated, end) in [
        ("x: 1", " + 1", "\n"),
        ("x: 1", " & 1", "\n"),
        ("x: 1", " | 1", "\n"),
        ("x: \"", "a", "\"\n"),
        ("x: 1", "0", "\n"),
        ("//", "/", "\n"),
        ("", "a: 1\n", ""),
        ("x: a", ".b", "\n"),
        ("", "a?: b: ", "1\n"),
    ] {
        survive(&format!(
            "{start}{}{end}",
            repeated.repeat(200_000 / repeated.len())
        ));
    }
    survive(&format!("x: [{}]\n", "1,".repeat(10_000)));
}

#[test]
fn invalid_utf_8_is_refused_with_its_place() {
    let problems = Source::from_bytes("in.cue", b"a: \"x\"\nb: \"\xff\"\n").unwrap_err();
    assert_eq!(problems.to_string(), "the text is not UTF-8\n    in.cue:2:5");
}

#[test]
fn templates_that_never_end_are_refused() {
    for text in [
        "#A: {x: #A}\na: #A",
        "a: {b: a}",
        "f: {n: int, r: (f & {n: n + 1}).r}\na: (f & {n: 0}).r",
        "a: {for k, v in a {\"\\(k)x\": v}, y: 1}",
        "a: [for x in a {x}]",
        "x: [1, for y in x {y}]",
        "import \"list\"\na: list.Range(0, 100000000, 1)",
        "import \"strings\"\na: strings.Repeat(\"aaaaaaaaaa\", 1000000000)",
        "a: \"aaaaaaaaaa\" * 1000000000",
        "import \"list\"\na: list.Repeat([1, 2, 3], 1000000000)",
        "import \"math\"\na: math.Pow(10, 1000000000)",
        "a: 1e1000000000 + 1",
        "a: 1e1000000000 * 1e1000000000",
        "a: 1e999999999 & int",
        "a: div(10000000000e900000000, 3)",
        "a: 1Ei * 1Ei * 1Ei\nb: \"\\(1e1000000)\"",
    ] {
        let Ok(program) = compile(&Source::new("in.cue", text)) else {
            continue;
        };
        let options = EvaluationOptions {
            limits: LIMITS,
            ..EvaluationOptions::default()
        };
        let _ = program.evaluate(&[], options).export();
    }
}

#[test]
fn exponential_programs_end_by_the_budget() {
    let mut doubling = String::from("x0: {a: 1}\n");
    let mut choices = String::new();
    for index in 1..40 {
        doubling += &format!("x{index}: {{l: x{0}, r: x{0}}}\n", index - 1);
        choices += &format!(
            "{{a{index}: 1}} | {{b{index}: 2}}{}",
            if index < 39 { " & " } else { "" }
        );
    }
    for text in [doubling, format!("x: ({})", choices.replace(" & ", ") & ("))] {
        let program = compile(&Source::new("in.cue", text.as_str())).unwrap();
        let options = EvaluationOptions {
            limits: LIMITS,
            ..EvaluationOptions::default()
        };
        assert!(program.evaluate(&[], options).export().is_err());
    }
}

#[test]
fn independent_problems_are_reported_together() {
    let program = compile(&Source::new("in.cue", "a: 1 & 2\nb: \"x\" & 3\nc: d.e\nd: {}\n")).unwrap();
    let problems = program
        .evaluate(&[], EvaluationOptions::default())
        .export()
        .unwrap_err();
    let paths: Vec<&str> = problems.0.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "c"]);

    let problems = compile(&Source::new("in.cue", "a: x\nb: y\nc: z\n")).unwrap_err();
    assert_eq!(problems.0.len(), 3);
}
