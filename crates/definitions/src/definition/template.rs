//! Checks the template of a version before it is published.

use crate::admission::one_line;
use crate::stored::read_definition;
use crate::{Artifact, Refused};
use cambium_api::names::reason;
use cambium_api::v1beta1::DefinitionType;
use cambium_cue::{Source, syntax};
use cambium_definitions_render::Template;
use cambium_lineage::Findings;
use serde_json::Value;

/// What is wrong with the template of one version, or with its status blocks; and fields that nobody reads, because they have almost the name of one that
/// is read. The template of a component or a trait is evaluated twice: for what is wrong with it whatever it is given, and with its defaults for what it
/// costs. Others are only read.
pub(super) fn check_template(artifact: &Artifact, spec: &Value) -> Findings<Refused> {
    let invalid = |message| {
        Findings::refusal(Refused {
            reason: reason::INVALID_TEMPLATE,
            message,
        })
    };
    let template = match artifact.type_ {
        DefinitionType::Component | DefinitionType::Trait => match rendered(artifact, spec) {
            Ok(template) => Some(template),
            Err(message) => return invalid(message),
        },
        DefinitionType::Policy | DefinitionType::WorkflowStep => {
            if let Err(message) = readable(artifact, spec) {
                return invalid(message);
            }
            let definition = read_definition(artifact, spec).ok();
            definition.and_then(|definition| Template::compile(definition).ok())
        }
    };
    let is_rendered = matches!(artifact.type_, DefinitionType::Component | DefinitionType::Trait);
    let too_expensive = template
        .as_ref()
        .filter(|_| is_rendered)
        .and_then(Template::too_expensive);
    if let Some(problems) = too_expensive {
        return Findings::refusal(Refused {
            reason: reason::TEMPLATE_TOO_EXPENSIVE,
            message: format!("the template is too expensive: {problems}"),
        });
    }
    let slips = template.map(|template| template.slips()).unwrap_or_default();
    Findings {
        refused: Vec::new(),
        warnings: slips.iter().map(|slip| one_line(&slip.to_string())).collect(),
    }
}

/// Checks a template that this manager renders: it must compile, have an output, and refer only to its parameters.
fn rendered(artifact: &Artifact, spec: &Value) -> Result<Template, String> {
    let definition = read_definition(artifact, spec).map_err(|error| error.to_string())?;
    // A trait without a template does nothing, and there are such; a component has nothing to make.
    if artifact.type_ == DefinitionType::Component && definition.template.trim().is_empty() {
        return Err(
            "it has no template, so nothing could use it; write one in CUE, as schematic.cue.template"
                .to_owned(),
        );
    }
    let template = Template::compile(definition)
        .map_err(|diagnostics| format!("the template does not compile: {diagnostics}"))?;
    if let Some(problems) = template.status_problems() {
        return Err(format!("the status blocks are wrong: {problems}"));
    }
    match template.unusable() {
        Some(problems) => Err(problems.to_string()),
        None => Ok(template),
    }
}

/// Checks a template that Cambium does not render: it must be CUE, but may import packages that only KubeVela has, such as `vela/op`.
fn readable(artifact: &Artifact, spec: &Value) -> Result<(), String> {
    let Some(text) = spec["schematic"]["cue"]["template"].as_str() else {
        return Ok(());
    };
    match syntax::parse(&Source::new(artifact.name.as_str(), text)) {
        Ok(_) => Ok(()),
        Err(diagnostics) => Err(format!("the template does not compile: {diagnostics}")),
    }
}
