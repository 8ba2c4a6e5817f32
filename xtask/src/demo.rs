//! `cargo xtask demo`: draws `docs/demo.svg`, a terminal with what `cambium up --demo` prints.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::cargo::cargo;

/// The paragraphs of the demo that the picture shows, by their first words. Of several, the last is shown.
const SHOWN: [&str; 9] = [
    "# A platform team publishes",
    "$ kubectl apply --server-side -f examples/versions/1-",
    "# Three teams use them",
    "$ kubectl apply --server-side -f examples/versions/2-",
    "# The platform team publishes",
    "$ kubectl apply --server-side -f examples/versions/3-",
    "$ kubectl get app",
    "# Who moved",
    "APPLICATION ",
];

/// The size of a character and of a line, in pixels.
const WIDTH: f32 = 8.5;
const LINE: usize = 20;
/// From the edge to the text, and the height of the bar at the top.
const MARGIN: usize = 20;
const BAR: usize = 34;

const BACKGROUND: &str = "#0d1117";
const FRAME: &str = "#30363d";
const TEXT: &str = "#e6edf3";
const COMMENT: &str = "#8b949e";
const PROMPT: &str = "#7ee787";
const HEAD: &str = "#79c0ff";
const GOOD: &str = "#56d364";
const BAD: &str = "#f85149";
const MOVED: &str = "#e3b341";

/// The version that the story is about.
const NEXT: &str = "1.2.5";

/// What is drawn.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Draw this text instead of running `cambium up --demo`
    #[arg(value_name = "FILE")]
    text: Option<PathBuf>,
}

/// Runs the demo and draws it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let story = match &options.text {
        Some(file) => std::fs::read_to_string(file).with_context(|| file.display().to_string())?,
        None => story()?,
    };
    let excerpt = excerpt(&story)?;
    let lines: Vec<&str> = std::iter::once("$ cambium up --demo")
        .chain(excerpt.iter().map(String::as_str))
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/demo.svg");
    Ok(std::fs::write(path, draw(&lines))?)
}

/// What the demo prints before it is ready.
fn story() -> Result<String> {
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let status = cargo()
        .args(["build", "--quiet", "--package", "cambium"])
        .status()?;
    ensure!(status.success(), "cambium could not be compiled");
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let mut demo = Command::new(Path::new(&target).join("debug/cambium"))
        .args(["up", "--demo", "--ephemeral", "--listen", "127.0.0.1:0"])
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .env("CAMBIUM_LOG", "error")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut story = String::new();
    for line in BufReader::new(demo.stdout.take().context("no output")?).lines() {
        let line = line?;
        if line.starts_with("ready: ") {
            break;
        }
        story.push_str(&line);
        story.push('\n');
    }
    demo.kill()?;
    demo.wait()?;
    Ok(story)
}

/// The lines of the shown paragraphs.
fn excerpt(story: &str) -> Result<Vec<String>> {
    let paragraphs: Vec<&str> = story.split("\n\n").map(|one| one.trim_matches('\n')).collect();
    let mut lines = Vec::new();
    for start in SHOWN {
        let shown = paragraphs.iter().rfind(|one| one.starts_with(start));
        let shown = shown.with_context(|| format!("the demo does not print {start:?}"))?;
        let explained = lines.last().is_some_and(|line: &String| line.starts_with("# "));
        if !explained {
            lines.push(String::new());
        }
        lines.extend(shown.lines().map(|line| line.trim_end().to_owned()));
    }
    Ok(lines)
}

fn draw(lines: &[&str]) -> String {
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = (longest as f32 * WIDTH) as usize + 2 * MARGIN;
    let height = BAR + lines.len() * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <!-- Drawn by `cargo xtask demo`. -->\n\
         <title>cambium up --demo</title>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{BACKGROUND}\" stroke=\"{FRAME}\"/>\n",
        width - 1,
        height - 1,
    );
    for (place, colour) in ["#ff5f57", "#febc2e", "#28c840"].into_iter().enumerate() {
        let _ = writeln!(
            svg,
            "<circle cx=\"{}\" cy=\"18\" r=\"6\" fill=\"{colour}\"/>",
            MARGIN + place * 20
        );
    }
    let _ = writeln!(
        svg,
        "<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" \
         fill=\"{TEXT}\">"
    );
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = BAR + MARGIN + index * LINE;
        // SVG collapses spaces; those of columns must stay.
        let text = coloured(line).replace("  ", "\u{a0}\u{a0}");
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">{text}</text>");
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A line with its colours.
fn coloured(line: &str) -> String {
    if line.starts_with("# ") {
        return span(COMMENT, line);
    }
    if let Some(command) = line.strip_prefix("$ ") {
        return format!("{} {}", span(PROMPT, "$"), escaped(command));
    }
    let is_head = |word: &str| word.chars().all(|letter| letter.is_ascii_uppercase());
    if line.split_whitespace().all(is_head) {
        return span(HEAD, line);
    }
    let words = line.split(' ').map(|word| match word {
        "True" | "Available" => span(GOOD, word),
        "False" => span(BAD, word),
        word if word.contains(NEXT) => span(MOVED, word),
        other => escaped(other),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn span(colour: &str, text: &str) -> String {
    format!("<tspan fill=\"{colour}\">{}</tspan>", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
