//! ours
#[expect(clippy::print_stdout, reason = "a report")]
fn main() {
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(f).expect("t");
        let program = match cambium_cue::compile(&cambium_cue::Source::new("in.cue", text.as_str())) {
            Ok(p) => p,
            Err(e) => return println!("compile: {}", e.to_string().chars().take(200).collect::<String>()),
        };
        println!("compiled");
        let o = cambium_cue::EvaluationOptions { limits: cambium_cue::Limits { steps: 20_000, depth: 200 }, ..Default::default() };
        match program.evaluate(&[], o).export() {
            Ok(d) => println!("ok {}", d.to_json().chars().take(200).collect::<String>()),
            Err(e) => println!("err {}", e.to_string().chars().take(200).collect::<String>()),
        }
    }
}
