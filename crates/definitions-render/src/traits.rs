//! Renders one trait: its outputs, its patches, its errors.

use crate::component::{Output, Work, concrete, members, type_label};
use crate::environment::Context;
use crate::parameters::through_go;
use crate::patch::{Strategy, Tree, merge, read, strategy_of};
use crate::template::within_budget;
use crate::{Reason, Template, TraitUse};
use cambium_cue::{Data, Diagnostic, Diagnostics, Instance, Lookup};
use std::sync::Arc;

/// Applies a trait to what the component and the traits before it have made.
pub(crate) fn apply(
    work: &mut Work,
    template: &Arc<Template>,
    use_: &TraitUse,
    context: &Context,
) -> Result<(), Reason> {
    let parameter = use_.properties.as_ref().map(through_go);
    let mut instance = template.evaluate(parameter.as_ref(), context)?;
    let applied = apply_values(work, template, use_, &mut instance);
    within_budget(&mut instance, applied)
}

fn apply_values(
    work: &mut Work,
    template: &Arc<Template>,
    use_: &TraitUse,
    instance: &mut Instance<'_>,
) -> Result<(), Reason> {
    if instance.lookup(&["processing"]).is_some() {
        return Err(Reason::Processing);
    }
    for (name, at) in members(instance) {
        let value = concrete(instance, at, &format!("outputs.{name}"))?;
        let kind = type_label(&use_.definition);
        work.outputs.push(Output {
            name,
            value,
            kind,
            maker: Some(Arc::clone(template)),
        });
    }
    if let Some(at) = instance.lookup(&["patch"]) {
        let strategy = strategy_of(&instance.comments(at));
        patch(instance, at, &mut work.output, strategy, "output")?;
    }
    if let Some(patches) = instance.lookup(&["patchOutputs"]) {
        for output in &mut work.outputs {
            if let Some(at) = instance.field(patches, &output.name) {
                let target = format!("outputs.{}", output.name);
                patch(instance, at, &mut output.value, Strategy::Unify, &target)?;
            }
        }
    }
    refusal(instance).map_or(Ok(()), |message| Err(Reason::Refused(message)))
}

fn patch(
    instance: &mut Instance<'_>,
    at: Lookup,
    target: &mut Tree,
    strategy: Strategy,
    name: &str,
) -> Result<(), Reason> {
    let failed = |diagnostics| Reason::Patch {
        target: name.to_owned(),
        diagnostics,
    };
    let patch = read(instance, at).map_err(|problem| failed(Diagnostics(vec![problem])))?;
    let merged = merge(
        std::mem::replace(target, Tree::Struct(Vec::new())),
        patch,
        strategy,
    );
    *target = merged.map_err(|conflicts| {
        let placed = conflicts
            .into_iter()
            .map(|conflict| placed(instance, at, conflict));
        failed(Diagnostics(placed.collect()))
    })?;
    Ok(())
}

/// A conflict, with the places in the patch that it comes from. Lists have been rearranged, so that it is placed no
/// closer than the list.
fn placed(instance: &mut Instance<'_>, patch: Lookup, conflict: Diagnostic) -> Diagnostic {
    let path = conflict.path.trim_start_matches('.').to_owned();
    let mut at = patch;
    for step in path.split('.') {
        let name = step.split('[').next().unwrap_or_default();
        match instance.field(at, name) {
            Some(next) => at = next,
            None => break,
        }
        if name != step {
            break;
        }
    }
    let places = instance.places(at);
    Diagnostic {
        path,
        places,
        ..conflict
    }
}

/// The first message in `errs`.
fn refusal(instance: &mut Instance<'_>) -> Option<String> {
    let at = instance.lookup(&["errs"])?;
    let elements = instance.elements(at)?;
    elements
        .into_iter()
        .find_map(|element| match instance.export_at(element) {
            Ok(Data::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        })
}
