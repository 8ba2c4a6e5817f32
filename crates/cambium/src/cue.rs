//! `cambium cue`: evaluates CUE files, and exports OpenAPI schemas.

use std::io::Read as _;
use std::path::Path;

use anyhow::Result;
use cambium_cue::{CompileOptions, Data, Diagnostics, EvaluationOptions, Program, Source, compile_with};

use crate::caret;
use crate::cli::{Cue, CueEval, CueSchema, Format};
use crate::exit::UnreadableFile;
use crate::output;

/// The largest file that is read.
const MAXIMUM_FILE: u64 = 16 * 1024 * 1024;

/// Runs a subcommand.
pub(crate) fn run(command: &Cue) -> Result<()> {
    match command {
        Cue::Eval(options) => eval(options),
        Cue::Schema(options) => schema(options),
    }
}

fn eval(options: &CueEval) -> Result<()> {
    let mut sources = vec![read(&options.file)?];
    if let Some(expression) = &options.expression {
        // Files of one package see each other's fields: so does an expression in a file of its own.
        sources.push(Source::new("--expression", format!("{EXPRESSION}: {expression}")));
    }
    let program = compiled(&sources, CompileOptions::default())?;
    let mut instance = program.evaluate(&[], EvaluationOptions::default());
    let at = match options.expression {
        Some(_) => instance.lookup(&[EXPRESSION]).unwrap_or(instance.root()),
        None => instance.root(),
    };
    let data = instance
        .export_at(at)
        .map_err(|diagnostics| caret::show(&diagnostics))?;
    print(&data, options.output)
}

/// The hidden field that holds an expression from the command line.
const EXPRESSION: &str = "_expression";

fn schema(options: &CueSchema) -> Result<()> {
    let source = read(&options.file)?;
    // As in a definition, the parameters may speak of what is injected later.
    let compile_options = CompileOptions {
        externals: &["context"],
        allow_unused: true,
    };
    let program = compiled(std::slice::from_ref(&source), compile_options)?;
    let mut instance = program.evaluate(&[], EvaluationOptions::default());
    let Some(parameter) = instance.lookup(&["parameter"]) else {
        let missing = cambium_cue::Diagnostic {
            severity: cambium_cue::diagnostic::Severity::Error,
            path: String::new(),
            message: format!("{} has no field `parameter`", source.name),
            places: Vec::new(),
        };
        return Err(caret::show(&Diagnostics(vec![missing])).into());
    };
    let openapi = instance.openapi(parameter);
    for lost in &openapi.inexpressible {
        let path = if lost.path.is_empty() {
            "parameter".to_owned()
        } else {
            format!("parameter.{}", lost.path)
        };
        tracing::warn!("not in the schema: {path}: {}", lost.reason);
    }
    print(&Data::from(&openapi.schema), options.output)
}

fn compiled(sources: &[Source], options: CompileOptions<'_>) -> Result<Program> {
    compile_with(sources, options).map_err(|diagnostics| caret::show(&diagnostics).into())
}

/// A file, or standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Source> {
    let name = path.display().to_string();
    let shown = if name == "-" {
        "standard input".to_owned()
    } else {
        name.clone()
    };
    let mut bytes = Vec::new();
    let result = if name == "-" {
        std::io::stdin().take(MAXIMUM_FILE).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAXIMUM_FILE).read_to_end(&mut bytes))
    };
    let text = result.and_then(|_| {
        String::from_utf8(bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    });
    match text {
        Ok(text) => Ok(Source::new(shown, text)),
        Err(source) => Err(UnreadableFile { path: shown, source }.into()),
    }
}

/// Writes a value to standard output.
pub(crate) fn print(data: &Data, format: Format) -> Result<()> {
    let text = match format {
        Format::Json => data.to_json_pretty() + "\n",
        Format::Yaml => data.to_yaml(),
    };
    output::write(&text)
}
