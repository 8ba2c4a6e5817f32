//! Hostile inputs: every program gets a result within the budget.
//!
//! The result itself is not checked, only that there is one, without a panic and within the budget.

#![expect(clippy::disallowed_methods, reason = "a test reads its cases")]

use cambium_cue::diagnostic::Severity;
use cambium_cue::{
    CompileOptions, Data, Diagnostics, EvaluationOptions, Limits, Source, compile, compile_with,
    with_deadline,
};
use cambium_cue_judge::{Random, generate};
use proptest::prelude::*;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// Enough for every file of the corpus, little enough for thousands of them.
const LIMITS: Limits = Limits {
    steps: 20_000,
    bytes: 32 << 20,
    depth: 200,
};

/// Compiles and evaluates, with any result.
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

/// A small budget: the same law holds for a large one, later.
fn small() -> Limits {
    Limits::default().divided_by(16)
}

/// A test imports more than it uses.
const UNUSED: CompileOptions<'static> = CompileOptions {
    externals: &[],
    allow_unused: true,
};

/// Evaluates within a budget; returns the result, steps and bytes.
fn spend(text: &str, limits: Limits) -> (Result<Data, Diagnostics>, u64, u64) {
    let program = compile_with(&[Source::new("in.cue", text)], UNUSED).unwrap();
    let options = EvaluationOptions {
        limits,
        ..EvaluationOptions::default()
    };
    let mut instance = program.evaluate(&[], options);
    let result = instance.export();
    (result, instance.steps(), instance.bytes())
}

/// Checks that the budget is exceeded, with a position, and not by much.
#[track_caller]
fn too_expensive(text: &str) {
    let (result, _, bytes) = spend(text, small());
    let problems = result.unwrap_err();
    let problem = &problems.0[0];
    assert_eq!(problem.severity, Severity::Exhausted, "{text}: {problem}");
    assert!(!problem.places.is_empty(), "{text}: no place: {problem}");
    // What was asked for last is counted, and not made.
    assert!(bytes <= small().bytes + (512 << 20), "{text}: {bytes} bytes");
}

/// Checks that the result is not an exceeded budget.
#[track_caller]
fn affordable(text: &str, within: u64) -> Result<Data, Diagnostics> {
    let (result, steps, _) = spend(text, Limits::default());
    if let Err(problems) = &result {
        let exhausted = problems
            .0
            .iter()
            .find(|problem| problem.severity == Severity::Exhausted);
        assert!(exhausted.is_none(), "{problems}");
    }
    assert!(steps <= within, "{steps} steps");
    result
}

/// `count` disjunctions of `width` structs each, unified in one field.
fn disjunctions(count: usize, width: usize, mark: &str) -> String {
    let mut text = String::new();
    for index in 0..count {
        let structs = (0..width).map(|choice| {
            let mark = if choice == 0 { mark } else { "" };
            format!("{mark}{{a{index}_{choice}: {choice}}}")
        });
        text.push_str(&format!("x: {}\n", structs.collect::<Vec<_>>().join(" | ")));
    }
    text
}

#[test]
fn disjunctions_of_structs_do_not_multiply() {
    for (count, width) in [(8, 3), (40, 3), (8, 8), (3, 100)] {
        let undecided = affordable(&disjunctions(count, width, ""), 200_000).unwrap_err();
        assert_eq!(undecided.0[0].severity, Severity::Incomplete, "{undecided}");
        let decided = affordable(&disjunctions(count, width, "*"), 200_000).unwrap();
        let Data::Struct(fields) = &decided else {
            panic!("{decided:?}")
        };
        let Data::Struct(x) = &fields[0].1 else {
            panic!("{decided:?}")
        };
        assert_eq!(x.len(), count, "the default of each");
    }
}

#[test]
fn a_default_that_is_ruled_out_gives_way_to_what_is_left() {
    // 3^8 alternatives, of which one fits.
    let mut text = String::new();
    for index in 0..8 {
        text.push_str(&format!(
            "x: *{{k{index}: 1}} | {{k{index}: 2}} | {{k{index}: 3}}\n"
        ));
        text.push_str(&format!("x: k{index}: 3\n"));
    }
    let data = affordable(&text, 100_000).unwrap();
    assert!(data.to_json().contains(r#""k7":3"#), "{}", data.to_json());
}

#[test]
fn alternatives_that_are_the_same_are_one() {
    let mut text = String::new();
    for _ in 0..8 {
        text.push_str("x: {a: 1} | {a: int} | {a: >0}\n");
    }
    let problems = affordable(&text, 400_000).unwrap_err();
    let left = "incomplete value {a:1} | {a:int} | {a:int & >0} | {a:>0}";
    assert_eq!(problems.0[0].message, left);
}

#[test]
fn one_long_disjunction_is_no_product() {
    let many: Vec<String> = (0..500).map(|index| format!("\"n{index}\"")).collect();
    let text = format!(
        "_names: [{}]\n_x: or(_names)\ny: _x & \"n499\"\nz: {{[or(_names)]: int, n3: 4, n498: 5}}",
        many.join(", ")
    );
    let data = affordable(&text, 20_000).unwrap();
    assert_eq!(data.to_json(), r#"{"y":"n499","z":{"n3":4,"n498":5}}"#);
}

#[test]
fn text_that_grows_is_counted() {
    for (import, step) in [
        ("", "@ + @"),
        ("", r#""\(@)\(@)""#),
        ("", r#"'\(@)\(@)'"#),
        ("", "2 * @"),
        ("encoding/json", "json.Marshal(@)"),
        ("encoding/json", "json.Marshal({a: @, b: @})"),
        ("encoding/json", r#"json.Indent("[1, [2, [3]]]", @, @ + @)"#),
        ("encoding/yaml", "yaml.Marshal({a: @, b: @})"),
        ("encoding/hex", "hex.Encode(@)"),
        ("strings", "strings.Repeat(@, 2)"),
        ("strings", r#"strings.Join([@, @], "")"#),
        ("strings", r#"strings.Replace(@, "0", "00000000", -1)"#),
        ("regexp", r#"regexp.ReplaceAll("0", @, "000$0")"#),
    ] {
        let mut text = match import {
            "" => String::new(),
            import => format!("import {import:?}\n"),
        };
        text.push_str("a0: \"0123456789abcdef\\\"\"\n");
        for index in 1..=60 {
            let before = format!("a{}", index - 1);
            text.push_str(&format!("a{index}: {}\n", step.replace('@', &before)));
        }
        let (result, _, bytes) = spend(&text, small());
        let problems = result.unwrap_err().to_string();
        assert!(problems.contains("in.cue:"), "{step}: {problems}");
        assert!(
            problems.len() < 10_000,
            "{step}: {} bytes of problems",
            problems.len()
        );
        assert!(bytes <= small().bytes + (64 << 20), "{step}: {bytes} bytes");
    }
}

#[test]
fn lists_that_grow_are_counted() {
    too_expensive("import \"list\"\nx: list.Range(0, 100000000, 1)");
    too_expensive("import \"list\"\nx: list.Repeat([1, 2, 3, 4], 200000)");
    too_expensive(
        "import \"list\"\na: list.Repeat([1], 100)\nb: list.Repeat(a, 100)\nc: list.Repeat(b, 100)",
    );
    too_expensive("import \"list\"\n_n: list.Range(0, 1000, 1)\nx: [for i in _n for j in _n {i + j}]");
    too_expensive(
        "import \"list\"\n_n: list.Range(0, 100, 1)\nx: {for i in _n for j in _n for k in _n {\"\\(i)-\\(j)-\\(k)\": 1}}",
    );
    too_expensive("import \"strings\"\nx: strings.Split(strings.Repeat(\"a,\", 4000000), \",\")");
    too_expensive("import \"strings\"\nx: strings.Runes(strings.Repeat(\"a\", 8000000))");
    too_expensive(
        "import \"encoding/json\"\nimport \"strings\"\nx: json.Unmarshal(\"[\" + strings.Repeat(\"1,\", 6000000) + \"1]\")",
    );
    too_expensive("import \"list\"\n_n: list.Range(0, 3000, 1)\nx: _n & list.UniqueItems()");
}

#[test]
fn structs_that_grow_are_counted() {
    let mut text = "a0: {x: 1, y: 2}\n".to_owned();
    for index in 1..=40 {
        let before = index - 1;
        text.push_str(&format!("a{index}: {{x: a{before}, y: a{before}}}\n"));
    }
    too_expensive(&text);
}

/// `_a0` and 30 lists, each with the one before it twice: 31 lists in memory, 2^31 numbers to whoever walks them.
fn doubled() -> String {
    let mut text =
        "import \"list\"\nimport \"encoding/json\"\nimport \"encoding/yaml\"\n_a0: [1, 2]\n".to_owned();
    for index in 1..=30 {
        let before = index - 1;
        text.push_str(&format!(
            "_a{index}: [_a{before}, _a{before}]\n_b{index}: [_a{before}, _a{before}]\n"
        ));
    }
    text
}

#[test]
fn what_is_shared_is_counted_as_often_as_it_is_walked() {
    for walk in [
        "l: list.FlattenN(_a30, -1)",
        "l: list.FlattenN(_a30, 29)",
        "l: len(list.FlattenN(_a30, -1))",
        "l: list.FlattenN([for x in [1] {_a30}], -1)",
        "l: _a30",
        "l: json.Marshal(_a30)",
        "l: json.MarshalStream(_a30)",
        "l: yaml.Marshal({a: _a30})",
        "l: yaml.MarshalStream(_a30)",
        "l: _a30 == _b30",
        "l: list.Contains([_a30], _b30)",
        "l: [_a30, _b30] & list.UniqueItems()",
        "l: *_a30 | _b30",
    ] {
        too_expensive(&format!("{}{walk}\n", doubled()));
    }
}

#[test]
fn what_is_shared_is_counted_when_a_schema_is_written() {
    let mut text = "#a0: {x: int, y: int}\n".to_owned();
    for index in 1..=30 {
        text.push_str(&format!("#a{index}: {{x: #a{0}, y: #a{0}}}\n", index - 1));
    }
    text.push_str("parameter: #a30\n");
    let program = compile(&Source::new("in.cue", text.as_str())).unwrap();
    let options = EvaluationOptions {
        limits: small(),
        ..EvaluationOptions::default()
    };
    let mut instance = program.evaluate(&[], options);
    let parameter = instance.lookup(&["parameter"]).unwrap();
    instance.openapi(parameter);
    let problem = instance.exhausted().unwrap();
    assert_eq!(problem.severity, Severity::Exhausted);
}

#[test]
fn long_texts_are_counted_as_often_as_they_are_looked_at() {
    let start = "import \"list\"\nimport \"strings\"\nimport \"regexp\"\nimport \"encoding/yaml\"\n\
                 _t: strings.Repeat(\"a\", 2000000)\n_u: \"\\(_t)b\"\n_l: list.Repeat([_t], 10000)\n";
    for walk in [
        "l: list.SortStrings(_l)",
        "l: _l & list.IsSortedStrings()",
        "l: list.Contains(_l, _u)",
        "l: list.Contains(_l, \"\\(_t)\") && list.Contains(_l, _u)",
        "l: strings.Join(_l, \"\")",
        "l: strings.ContainsAny(_t, strings.Repeat(\"b\", 2000000))",
        "l: strings.IndexAny(_t, strings.Repeat(\"b\", 2000000))",
        "l: strings.LastIndexAny(_t, strings.Repeat(\"b\", 2000000))",
        "l: strings.Trim(_t, strings.Repeat(\"ba\", 1000000))",
        "l: strings.TrimLeft(_t, strings.Repeat(\"ba\", 1000000))",
        "l: strings.TrimRight(_t, strings.Repeat(\"ba\", 1000000))",
        "l: regexp.ReplaceAll(\"a\", _t, \"$0$0$0$0$0$0$0$0\")",
        "l: regexp.ReplaceAllLiteral(\"a\", _t, \"bbbbbbbbbbbbbbbb\")",
        "l: regexp.FindAll(\"a\", _t, -1)",
        "l: regexp.FindAllSubmatch(\"(a)(a)\", _t, -1)",
        "l: [for i in list.Range(0, 1000, 1) {strings.ToTitle(_t)}]",
        "l: [for i in list.Range(0, 1000, 1) {len(list.Range(0, 10000, 1))}]",
    ] {
        too_expensive(&format!("{start}{walk}\n"));
    }
}

#[test]
fn what_is_looked_at_again_and_again_is_counted() {
    let start = "import \"list\"\n_l: list.Range(0, 5000, 1)\n_m: list.Range(0, 5000, 1)\n_n: list.Range(0, 2000, 1)\n";
    for walk in [
        "l: [for i in _n {_l[0:1][0]}]",
        "l: [for i in _n {list.Take(_l, 1)[0]}]",
        "l: [for i in _n {list.Reverse(_l)[0]}]",
        "l: [for i in _n {_l == _m}]",
        "l: [for i in _n {list.Sum(_l)}]",
    ] {
        too_expensive(&format!("{start}{walk}\n"));
    }
    let digits = "9".repeat(20_000);
    too_expensive(&format!(
        "import \"list\"\nl: list.Product(list.Repeat([{digits}], 60000))"
    ));
    too_expensive(&format!("import \"list\"\nl: list.Range({digits}, {digits}0, 1)"));
}

#[test]
fn deep_indentation_is_not_written_out() {
    let mut value = "strings.Repeat(\"b\\n\", 100000)".to_owned();
    for _ in 0..200 {
        value = format!("{{a: {value}}}");
    }
    too_expensive(&format!(
        "import \"strings\"\nimport \"encoding/yaml\"\nx: len(yaml.Marshal({value}))\n"
    ));
}

#[test]
fn values_that_are_nested_too_deep_are_refused() {
    let mut text =
        "import \"list\"\nimport \"encoding/json\"\nimport \"encoding/yaml\"\n_a0: [1, 2]\n_b0: [1, 2]\n"
            .to_owned();
    for index in 1..=20_000 {
        text.push_str(&format!("_a{index}: [_a{0}]\n_b{index}: [_b{0}]\n", index - 1));
    }
    for walk in [
        "x: _a20000",
        "x: json.Marshal(_a20000)",
        "x: yaml.Marshal(_a20000)",
    ] {
        too_expensive(&format!("{text}{walk}\n"));
    }
    // What is not written out may be as deep as it likes.
    for walk in ["x: len(list.FlattenN(_a20000, -1))", "x: _a20000 == _b20000"] {
        let source = Source::new("in.cue", format!("{text}{walk}\n"));
        let program = compile_with(&[source], UNUSED).unwrap();
        let mut instance = program.evaluate(&[], EvaluationOptions::default());
        let at = instance.lookup(&["x"]).unwrap();
        assert!(instance.export_at(at).is_ok(), "{walk}");
    }
}

#[test]
fn values_that_are_too_large_are_too_expensive() {
    for text in [
        "a: 1000000000 * \"abc\"",
        "a: 1000000000 * 'abc'",
        "a: 1000000000 * [1]",
        "import \"strings\"\na: strings.Repeat(\"abc\", 1000000000)",
        "import \"list\"\na: list.Repeat([1], 1000000000)",
        "import \"strings\"\n_t: 1000000*\"a\"\na: strings.Replace(_t, \"a\", \"0123456789abcdefghij\", -1)",
        "import \"strings\"\n_t: 8000000*\"a\"\na: strings.Join([_t, _t, _t], \"\")",
        "_t: 9000000*\"a\"\na: \"\\(_t)\\(_t)\"",
        "_t: 9000000*\"a\"\na: _t + _t",
        "import \"encoding/json\"\n_t: 1000*\"a\"\na: json.Indent(\"[[1, 2], 3]\", 9000000*\" \", \"\")",
        "import \"encoding/hex\"\na: hex.Encode(9000000*\"a\")",
    ] {
        let (result, ..) = spend(text, Limits::default());
        let problem = &result.unwrap_err().0[0];
        assert_eq!(problem.severity, Severity::Exhausted, "{text}: {problem}");
        assert!(!problem.places.is_empty(), "{text}: no place: {problem}");
    }
}

#[test]
fn regular_expressions_are_counted() {
    too_expensive("import \"strings\"\nx: strings.Repeat(\"a\", 400000) =~ \"(a?){1,500}(a?){1,500}$b\"");
    too_expensive(
        "import \"list\"\nx: [for i in list.Range(0, 500, 1) {\"a\" =~ \"(\\\\pL{20}){1,\\(mod(i, 90)+1)}x\\(i)\"}]",
    );
    too_expensive(
        "import \"list\"\nimport \"regexp\"\nx: [for i in list.Range(0, 500, 1) {regexp.Match(\"(\\\\pL{20}){9}x\", \"a\")}]",
    );
}

#[test]
fn large_numbers_are_counted() {
    too_expensive("import \"list\"\nx: [for i in list.Range(0, 100, 1) {1.0e99999 + i}]");
    let digits = "9".repeat(20_000);
    too_expensive(&format!(
        "import \"list\"\nx: [for i in list.Range(0, 1000, 1) {{\"\\(div({digits}, 7))\"}}]"
    ));
    too_expensive(&format!(
        "import \"list\"\nimport \"strconv\"\nx: [for i in list.Range(0, 1000, 1) {{strconv.FormatInt({digits}, 3)}}]"
    ));
}

#[test]
fn the_time_of_whoever_has_a_clock_ends_an_evaluation() {
    let text = "import \"list\"\nx: [for i in list.Range(0, 10000, 1) {i}]";
    let program = compile(&Source::new("in.cue", text)).unwrap();
    let asked = Rc::new(Cell::new(0));
    let clock = asked.clone();
    let expired = move || {
        clock.set(clock.get() + 1);
        clock.get() > 10
    };
    let problems = with_deadline(expired, || {
        program
            .evaluate(&[], EvaluationOptions::default())
            .export()
            .unwrap_err()
    });
    assert_eq!(problems.0[0].message, "evaluation takes too long");
    assert_eq!(problems.0[0].severity, Severity::Exhausted);
    assert!(problems.to_string().contains("in.cue:2:"), "{problems}");
    assert_eq!(asked.get(), 11);
    assert!(
        program
            .evaluate(&[], EvaluationOptions::default())
            .export()
            .is_ok()
    );
}

/// A program that reads a text as YAML.
fn yaml(text: &str) -> String {
    format!("import \"encoding/yaml\"\nx: yaml.Unmarshal({text:?})\ny: len(x)\n")
}

#[test]
fn aliases_do_not_multiply_the_depth() {
    let nested = |levels: usize| {
        let mut text = "a0: &a0 [1]\n".to_owned();
        for level in 1..levels {
            let (open, close) = ("[".repeat(100), "]".repeat(100));
            text.push_str(&format!("a{level}: &a{level} {open}*a{}{close}\n", level - 1));
        }
        text
    };
    assert!(affordable(&yaml(&nested(4)), 20_000).is_ok());
    too_expensive(&yaml(&nested(8)));
    too_expensive(&yaml(&nested(8)).replace("Unmarshal", "UnmarshalStream"));
    too_expensive(&format!(
        "import \"encoding/yaml\"\nx: {:?} & yaml.Validate(_)\n",
        nested(8)
    ));
    let mut merged = "a0: &a0 {}\n".to_owned();
    for level in 1..2_000 {
        merged.push_str(&format!("a{level}: &a{level} {{<<: *a{}}}\n", level - 1));
    }
    too_expensive(&yaml(&merged));
}

#[test]
fn aliases_do_not_multiply_the_work() {
    let aliases = |before: usize| vec![format!("*a{before}"); 10].join(", ");
    let mut merged = "a0: &a0 {}\n".to_owned();
    let mut listed = "a0: &a0 []\n".to_owned();
    for level in 1..=6 {
        merged.push_str(&format!("a{level}: &a{level} {{<<: [{}]}}\n", aliases(level - 1)));
        listed.push_str(&format!("a{level}: &a{level} [{}]\n", aliases(level - 1)));
    }
    too_expensive(&yaml(&merged));
    too_expensive(&yaml(&listed));
    let once = "a: &a {<<: {b: 1}}\nc: {<<: [*a, {d: 2}]}\n";
    let data = affordable(&yaml(once), 1_000).unwrap();
    assert_eq!(data.to_json(), r#"{"x":{"a":{"b":1},"c":{"d":2,"b":1}},"y":2}"#);
}

#[test]
fn texts_that_aliases_repeat_are_counted() {
    let text = "x".repeat(100_000);
    let aliases = vec!["*a"; 500].join(", ");
    too_expensive(&yaml(&format!("a: &a {text}\nb: [{aliases}]\n")));
    let digits = "9".repeat(20_000);
    too_expensive(&yaml(&format!("a: &a {digits}\nb: [{aliases}]\n")));
    let keys: String = (0..500).map(|index| format!("- {{*a : {index}}}\n")).collect();
    too_expensive(&yaml(&format!("a: &a {text}\nb:\n{keys}")));
}

#[test]
fn fields_that_are_given_again_and_again_are_counted() {
    let first: String = (0..2_000).map(|index| format!("\"f{index}\":1,")).collect();
    let again = "\"a\":{\"f1\":1},".repeat(2_000);
    let text = format!("{{\"a\":{{{first}\"z\":1}},{again}\"b\":1}}");
    too_expensive(&format!(
        "import \"encoding/json\"\nx: json.Unmarshal({text:?})\n"
    ));
}

#[test]
fn replacements_are_not_made_before_they_are_too_large() {
    // A hundred megabytes, if somebody made them first.
    let start =
        "import \"strings\"\nimport \"regexp\"\nimport \"encoding/json\"\n_t: strings.Repeat(\"a\", 10000)\n";
    for grown in [
        "x: regexp.ReplaceAll(\"a+\", _t, strings.Repeat(\"$0\", 10000))",
        "x: regexp.ReplaceAll(\"(?P<all>a+)\", _t, strings.Repeat(\"${all}\", 10000))",
        "x: json.Indent(strings.Repeat(\"[\", 400) + \"1\" + strings.Repeat(\"]\", 400), \"\", strings.Repeat(\" \", 250000))",
    ] {
        too_expensive(&format!("{start}{grown}\n"));
    }
}

#[test]
fn groups_in_groups_are_counted() {
    let pattern = format!("{}a*{}", "(".repeat(500), ")".repeat(500));
    let start = "import \"strings\"\nimport \"regexp\"\n_t: strings.Repeat(\"a\", 100000)\n";
    too_expensive(&format!("{start}x: regexp.FindSubmatch({pattern:?}, _t)"));
    let named: String = (0..200).map(|index| format!("(?P<n{index}>")).collect();
    let pattern = format!("{named}a*{}", ")".repeat(200));
    too_expensive(&format!("{start}x: regexp.FindNamedSubmatch({pattern:?}, _t)"));
}

#[test]
fn matches_that_cannot_be_interrupted_are_counted_before() {
    // At worst, each byte meets each of 900 states.
    let start = "import \"strings\"\nimport \"regexp\"\n_t: strings.Repeat(\"a\", 30000)\n";
    too_expensive(&format!("{start}x: _t =~ \"[ab]*a[ab]{{900}}c\""));
    too_expensive(&format!("{start}x: regexp.Match(\"[ab]*a[ab]{{900}}c\", _t)"));
    for pattern in ["^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^a+$"] {
        assert!(affordable(&format!("{start}x: _t =~ \"{pattern}\""), 20_000).is_ok());
    }
}

#[test]
fn matches_that_look_at_all_that_follows_are_counted() {
    // No match is longer than a byte, and each time all that follows could begin a longer one.
    too_expensive(
        "import \"strings\"\nimport \"regexp\"\nx: regexp.ReplaceAllLiteral(\"[^b]*b|a\", strings.Repeat(\"a\", 30000), \"\")",
    );
}

#[test]
fn orders_of_bessel_functions_are_counted() {
    for function in ["Jn", "Yn"] {
        too_expensive(&format!(
            "import \"math\"\nx: math.{function}(8000000, 3000000000.0)"
        ));
        too_expensive(&format!(
            "import \"math\"\nx: math.{function}(-8000000, 3000000000.0)"
        ));
        assert!(affordable(&format!("import \"math\"\nx: math.{function}(5, 3.0)"), 100).is_ok());
    }
}
