//! Status blocks: evaluates health, message and details of live objects.

use crate::environment::objects;
use crate::parameters::through_go;
use crate::status_text::cue_text;
use crate::template::{Block, evaluate};
use crate::{Definition, Template};
use cambium_cue::diagnostic::Severity;
use cambium_cue::syntax::ast::{Declaration, Label};
use cambium_cue::{Data, Diagnostic, Diagnostics, Limits, Source, syntax};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The live objects of a component or a trait, and whom they belong to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// The component's name.
    pub name: String,
    /// The application's name.
    pub app_name: String,
    /// The application revision's name.
    pub app_revision: String,
    /// The workload; a trait has none.
    pub output: Option<Value>,
    /// The other objects by their names in `outputs`.
    pub outputs: BTreeMap<String, Value>,
    /// The properties.
    pub properties: Option<Value>,
}

/// The result of the status blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether the objects are as they should be; without a health policy they are.
    pub healthy: bool,
    /// The status message.
    pub message: String,
    /// Details by name.
    pub details: BTreeMap<String, String>,
    /// The problems of the status blocks themselves, block by block.
    pub problems: Vec<Diagnostics>,
}

impl Status {
    /// The message and what is wrong with the blocks, in one line; nothing, if there is neither.
    pub fn told(&self) -> Option<String> {
        let problems = self.problems.iter().flat_map(|problems| &problems.0);
        let problems = problems.map(|problem| problem.to_string().replace("\n    ", " at "));
        let message = Some(self.message.clone()).filter(|message| !message.is_empty());
        let texts: Vec<String> = message.into_iter().chain(problems).collect();
        (!texts.is_empty()).then(|| shown(texts.join("; ")))
    }
}

/// As many details are shown.
const MOST_DETAILS: usize = 64;

/// As many bytes of a message, or of a detail, are shown: a status has to fit into an object.
const LONGEST_TEXT: usize = 1024;

/// A text as it is shown; of one that is too long, the beginning and how long it is.
fn shown(text: String) -> String {
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let end = (0..=LONGEST_TEXT).rev().find(|&end| text.is_char_boundary(end));
    let beginning = &text[..end.unwrap_or_default()];
    format!("{beginning}… ({} bytes, cut here)", text.len())
}

/// Values by name.
type Fields = Vec<(String, Data)>;

/// Details with longer names are left out.
const LONGEST_NAME: usize = 31;

impl Template {
    /// The problems of the status blocks that do not depend on the live objects.
    pub fn status_problems(&self) -> Option<Diagnostics> {
        let mut problems = Vec::new();
        for block in [&self.health_policy, &self.custom_status, &self.details] {
            if let Some(Err(diagnostics)) = block {
                problems.extend(diagnostics.0.iter().cloned());
            }
        }
        let policy = &self.definition().status.health_policy;
        if problems.is_empty() && !policy.is_empty() && !has_word(policy, "isHealth") {
            let missing = "the health policy has no isHealth: nothing would ever be healthy";
            problems.extend(problem(missing).0);
        }
        (!problems.is_empty()).then_some(Diagnostics(problems))
    }

    /// Whether its status depends on live objects: whether [`Self::status`] evaluates anything.
    pub fn has_status(&self) -> bool {
        [&self.health_policy, &self.custom_status, &self.details]
            .into_iter()
            .any(Option::is_some)
    }

    /// Evaluates the status blocks against live objects: the details first, which the health policy may use, and
    /// the message last, which may use both.
    pub fn status(&self, live: &Live) -> Status {
        let mut status = Status::default();
        let mut seen = Vec::new();
        if let Some(block) = &self.details {
            match self.detail_fields(block, &live.context(&seen), live) {
                Ok((details, values)) => {
                    status.details = details;
                    seen.push(("details".to_owned(), Data::Struct(values)));
                }
                Err(problems) => status.problems.push(problems),
            }
        }
        status.healthy = match &self.health_policy {
            None => true,
            Some(block) => match field(block, "isHealth", &live.context(&seen), live) {
                Ok(Data::Bool(healthy)) => healthy,
                Ok(_) => {
                    status.problems.push(problem("isHealth must be a bool"));
                    false
                }
                Err(problems) => {
                    status.problems.push(problems);
                    false
                }
            },
        };
        seen.push(("healthy".to_owned(), Data::Bool(status.healthy)));
        if let Some(block) = &self.custom_status {
            match sound_field(block, "message", &live.context(&seen), live) {
                Ok(Data::String(message)) => status.message = message,
                Ok(_) => status.problems.push(problem("message must be a string")),
                Err(problems) => status.problems.push(problems),
            }
        }
        status
    }

    /// The details as text, and as what the other blocks see in `context.status.details`.
    fn detail_fields(
        &self,
        block: &Block,
        context: &Data,
        live: &Live,
    ) -> Result<(BTreeMap<String, String>, Fields), Diagnostics> {
        let program = block.as_ref().map_err(Clone::clone)?;
        let parameter = live.parameter();
        let mut instance = evaluate(program, Some(&parameter), context, Limits::default());
        let errors = instance.errors(instance.root());
        if !errors.is_empty() {
            return Err(Diagnostics(errors));
        }
        let private = private_fields(self.definition());
        let mut details = BTreeMap::new();
        let mut values = Vec::new();
        for (name, at) in instance.fields(instance.root()).unwrap_or_default() {
            let is_input = name == "context" || name == "parameter";
            let is_shown = !name.starts_with('$');
            if name.len() > LONGEST_NAME || is_input || (is_shown && private.contains(&name)) {
                continue;
            }
            match instance.export_at(at) {
                Ok(value) => {
                    if is_shown && details.len() < MOST_DETAILS {
                        details.insert(name.clone(), shown(cue_text(&value)));
                    }
                    values.push((name, value));
                }
                Err(_) if is_shown => {
                    details.insert(name, "_|_".to_owned());
                }
                Err(_) => {}
            }
        }
        Ok((details, values))
    }
}

impl Live {
    fn parameter(&self) -> Data {
        self.properties
            .as_ref()
            .map_or(Data::Struct(Vec::new()), through_go)
    }

    /// The value of `context` in the status blocks.
    fn context(&self, status: &[(String, Data)]) -> Data {
        let text = |text: &str| Data::String(text.to_owned());
        let mut fields = vec![
            ("appName", text(&self.app_name)),
            ("appRevision", text(&self.app_revision)),
        ];
        fields.push(("name", text(&self.name)));
        fields.extend(self.output.as_ref().map(|output| ("output", through_go(output))));
        if !self.outputs.is_empty() {
            let named = self.outputs.iter().map(|(name, object)| (name.as_str(), object));
            fields.push(("outputs", objects(named)));
        }
        fields.push((
            "parameter",
            self.properties.as_ref().map_or(Data::Null, through_go),
        ));
        fields.push(("status", Data::Struct(status.to_vec())));
        Data::Struct(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }
}

/// One field of a block, as data.
fn field(block: &Block, name: &str, context: &Data, live: &Live) -> Result<Data, Diagnostics> {
    let program = block.as_ref().map_err(Clone::clone)?;
    let parameter = live.parameter();
    let mut instance = evaluate(program, Some(&parameter), context, Limits::default());
    match instance.lookup(&[name]) {
        Some(at) => instance.export_at(at),
        None => Err(problem(&format!("the block has no {name}"))),
    }
}

/// One field of a block that must not be wrong anywhere.
fn sound_field(block: &Block, name: &str, context: &Data, live: &Live) -> Result<Data, Diagnostics> {
    let program = block.as_ref().map_err(Clone::clone)?;
    let parameter = live.parameter();
    let mut instance = evaluate(program, Some(&parameter), context, Limits::default());
    match instance.errors(instance.root()) {
        errors if errors.is_empty() => field(block, name, context, live),
        errors => Err(Diagnostics(errors)),
    }
}

/// The fields of the details block that are marked `@local` or `@private`.
fn private_fields(definition: &Definition) -> BTreeSet<String> {
    let source = Source::new(definition.name.as_str(), definition.status.details.as_str());
    let Ok(file) = syntax::parse(&source) else {
        return BTreeSet::new();
    };
    let marked = file
        .declarations
        .into_iter()
        .filter_map(|declaration| match declaration {
            Declaration::Field(field)
                if field
                    .attributes
                    .iter()
                    .any(|attribute| matches!(attribute.name, "local" | "private")) =>
            {
                match field.label {
                    Label::Identifier(identifier) => Some(identifier.name.to_owned()),
                    Label::String(name, _) => Some(name.into_owned()),
                    _ => None,
                }
            }
            _ => None,
        });
    marked.collect()
}

/// Whether a name is anywhere in a text. A field may be in a condition or an embedding; one that is not in the text is nowhere.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '#');
    text.split(|character| !is_part(character))
        .any(|word| word == name)
}

fn problem(message: &str) -> Diagnostics {
    let severity = Severity::Error;
    Diagnostics(vec![Diagnostic {
        severity,
        path: String::new(),
        message: message.to_owned(),
        places: Vec::new(),
    }])
}
