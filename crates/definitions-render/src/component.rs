//! Renders a component: its template, then its traits in order, then names and labels.

use crate::contract::Contract;
use crate::environment::Context;
use crate::parameters::{sorted, through_go};
use crate::patch::{Tree, read};
use crate::template::within_budget;
use crate::traits::apply;
use crate::{
    Application, Component, DefinitionKind, Definitions, Environment, Failure, Failures, Manifest, Origin,
    Reason, Rendered, RenderedComponent, Stage, Template,
};
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostic, Diagnostics, Instance, Lookup};
use serde_json::Value;
use std::sync::Arc;

/// Renders every component of an application, or says of each one that fails why.
pub fn render(
    application: &Application,
    definitions: &Definitions,
    environment: &Environment,
) -> Result<Rendered, Failures> {
    let mut rendered = Rendered::default();
    let mut failures = Vec::new();
    for component in &application.components {
        let failure = |(trait_, reason)| Failure {
            component: component.name.clone(),
            trait_,
            reason,
        };
        match render_component(application, component, definitions, environment) {
            Ok(component) => rendered.components.push(component),
            Err(problem) => failures.push(failure(problem)),
        }
    }
    if failures.is_empty() {
        Ok(rendered)
    } else {
        Err(Failures(failures))
    }
}

/// A component while its traits are applied.
pub(crate) struct Work {
    /// The workload.
    pub(crate) output: Tree,
    /// All other outputs, in order.
    pub(crate) outputs: Vec<Output>,
}

/// One of `outputs`.
pub(crate) struct Output {
    /// Its name in `outputs`.
    pub(crate) name: String,
    /// Its value so far.
    pub(crate) value: Tree,
    /// The definition that rendered it, for its type label.
    pub(crate) kind: String,
    /// The trait that made it; none when the component did.
    pub(crate) maker: Option<Arc<Template>>,
}

/// The type label of the objects in a component's own `outputs`.
const AUXILIARY: &str = "AuxiliaryWorkload";

type Problem = (Option<String>, Reason);

fn render_component(
    application: &Application,
    component: &Component,
    definitions: &Definitions,
    environment: &Environment,
) -> Result<RenderedComponent, Problem> {
    let template = find(definitions, DefinitionKind::Component, &component.definition)
        .map_err(|reason| (None, reason))?;
    let mut context = Context::new(application, component, environment);
    let mut work = evaluate(template, component, &context).map_err(|reason| (None, reason))?;
    context.set("componentType", Data::String(type_label(&component.definition)));
    for trait_ in &component.traits {
        let problem = |reason| (Some(trait_.definition.clone()), reason);
        let template = find(definitions, DefinitionKind::Trait, &trait_.definition).map_err(problem)?;
        publish(&work, &mut context).map_err(problem)?;
        apply(&mut work, template, trait_, &context).map_err(problem)?;
    }
    let contract = Contract {
        application,
        component,
        environment,
    };
    let workload = object(&work.output, "output").map_err(|reason| (None, reason))?;
    let workload = contract.workload(workload, &type_label(&component.definition));
    let mut auxiliaries = Vec::with_capacity(work.outputs.len());
    for output in &work.outputs {
        let maker = output.maker.as_ref().map(|maker| maker.definition());
        let name = maker.map(|maker| maker.name.clone());
        let value =
            object(&output.value, &format!("outputs.{}", output.name)).map_err(|reason| (name, reason))?;
        let reference = maker.map_or("", |maker| maker.workload_ref_path.as_str());
        let object = contract.auxiliary(value, &output.kind, &output.name, &workload, reference);
        let origin = match maker {
            None => Origin::Auxiliary {
                name: output.name.clone(),
            },
            Some(_) => Origin::Trait {
                definition: output.kind.clone(),
                name: output.name.clone(),
            },
        };
        let stage = maker.map_or(Stage::DefaultDispatch, |maker| maker.stage);
        auxiliaries.push(Manifest {
            object,
            origin,
            stage,
        });
    }
    let workload = Manifest {
        object: workload,
        origin: Origin::Workload,
        stage: Stage::DefaultDispatch,
    };
    Ok(RenderedComponent {
        name: component.name.clone(),
        workload,
        auxiliaries,
    })
}

fn find<'a>(
    definitions: &'a Definitions,
    kind: DefinitionKind,
    reference: &str,
) -> Result<&'a Arc<Template>, Reason> {
    definitions.get(kind, reference).ok_or_else(|| Reason::NotFound {
        kind,
        reference: reference.to_owned(),
    })
}

/// A reference as a label carries it: `web@v1.2` is `web-v1.2`.
pub(crate) fn type_label(reference: &str) -> String {
    match reference.split_once('@') {
        Some((name, version)) => format!("{name}-v{}", version.trim_start_matches('v')),
        None => reference.to_owned(),
    }
}

fn evaluate(template: &Template, component: &Component, context: &Context) -> Result<Work, Reason> {
    let parameter = component
        .properties
        .as_ref()
        .map_or(Data::Struct(Vec::new()), through_go);
    let mut instance = template.evaluate(Some(&parameter), context)?;
    let made = made(&mut instance);
    within_budget(&mut instance, made)
}

fn made(instance: &mut Instance<'_>) -> Result<Work, Reason> {
    let at = instance.lookup(&["output"]).ok_or(Reason::NoOutput)?;
    let output = concrete(instance, at, "output")?;
    let mut outputs = Vec::new();
    for (name, at) in members(instance) {
        let value = concrete(instance, at, &format!("outputs.{name}"))?;
        outputs.push(Output {
            name,
            value,
            kind: AUXILIARY.to_owned(),
            maker: None,
        });
    }
    Ok(Work { output, outputs })
}

/// The fields of `outputs`, as far as they are known: a loop over a list that is not given adds none.
pub(crate) fn members(instance: &mut Instance<'_>) -> Vec<(String, Lookup)> {
    instance
        .lookup(&["outputs"])
        .and_then(|at| instance.fields(at))
        .unwrap_or_default()
}

/// A value that must be concrete, with what it may still become when it is patched.
pub(crate) fn concrete(instance: &mut Instance<'_>, at: Lookup, output: &str) -> Result<Tree, Reason> {
    let incomplete = |diagnostics| Reason::Incomplete {
        output: output.to_owned(),
        diagnostics,
    };
    let tree = read(instance, at).map_err(|problem| incomplete(Diagnostics(vec![problem])));
    match tree {
        Ok(tree) if tree.to_data().is_ok() => Ok(tree),
        tree => match instance.export_at(at) {
            Err(diagnostics) => {
                Err(missing(instance).map_or_else(|| incomplete(diagnostics), Reason::Missing))
            }
            Ok(_) => tree,
        },
    }
}

/// The parameters that are neither given nor have a default. Not all of them need be what an output lacks, but whoever gives them gets
/// further; those that wait for something else are left out.
pub(crate) fn missing(instance: &mut Instance<'_>) -> Option<Diagnostics> {
    let parameter = instance.lookup(&["parameter"])?;
    let Diagnostics(mut problems) = instance.export_at(parameter).err()?;
    problems.retain_mut(|problem| {
        let expected = problem.message.strip_prefix("incomplete value ");
        let name = problem.path.rsplit('.').next().unwrap_or_default();
        let told = expected.map(|expected| format!("{name} is required ({expected})"));
        let is_missing = told.is_some() && problem.severity == Severity::Incomplete;
        problem.message = told.unwrap_or_default();
        is_missing
    });
    (!problems.is_empty()).then_some(Diagnostics(problems))
}

/// Shows a trait what there is so far.
fn publish(work: &Work, context: &mut Context) -> Result<(), Reason> {
    context.set("output", sorted(&data(&work.output, "output")?));
    if !work.outputs.is_empty() {
        let mut fields: Vec<(String, Data)> = Vec::new();
        for output in &work.outputs {
            let value = sorted(&data(&output.value, &format!("outputs.{}", output.name))?);
            match fields.binary_search_by(|(name, _)| name.cmp(&output.name)) {
                Ok(index) => fields[index].1 = value,
                Err(index) => fields.insert(index, (output.name.clone(), value)),
            }
        }
        context.set("outputs", Data::Struct(fields));
    }
    Ok(())
}

fn data(tree: &Tree, output: &str) -> Result<Data, Reason> {
    tree.to_data().map_err(|problem| Reason::Incomplete {
        output: output.to_owned(),
        diagnostics: Diagnostics(vec![Diagnostic {
            path: format!("{output}{}", problem.path),
            ..problem
        }]),
    })
}

fn object(tree: &Tree, output: &str) -> Result<Value, Reason> {
    let object = Value::from(&data(tree, output)?);
    match object["kind"].as_str() {
        Some(kind) if !kind.is_empty() => Ok(object),
        _ => Err(Reason::NoKind {
            output: output.to_owned(),
        }),
    }
}
