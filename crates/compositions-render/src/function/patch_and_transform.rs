//! Patch-and-transform as a step of a pipeline.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ENVIRONMENT_KEY;
use super::message::{Ready, Request, Resource, Response};
use crate::budget::Budget;
use crate::connection::{ConnectionDetails, connection_details};
use crate::metadata;
use crate::number;
use crate::patch::{Patch, PatchError, PatchType};
use crate::path::Repeats;
use crate::problem::Problems;
use crate::read::{self, FunctionInput, SecretReference};
use crate::readiness::{Readiness, readiness};
use crate::template::Template;

/// The input of patch-and-transform, checked and compiled: read once, it runs for every composite resource that follows its revision.
#[derive(Debug, Clone)]
pub struct PatchAndTransform(FunctionInput);

impl PatchAndTransform {
    /// Reads `pt.fn.crossplane.io/v1beta1 Resources`.
    ///
    /// # Errors
    /// All problems that the input has.
    pub fn read(input: &Value) -> Result<Self, Problems> {
        read::function_input(input).map(Self)
    }

    /// Runs the function, whatever input the request carries. Patches go from what is observed to what is desired, and to and from the
    /// environment.
    #[must_use]
    pub fn run(&self, request: &Request) -> Response {
        let mut run = Run::new(request);
        match run.make(&self.0) {
            Ok(()) => run.finish(),
            // What was desired before stays desired; only the warnings of this run are kept.
            Err(message) => run.response.fatal(message),
        }
    }
}

/// Reads the input of the request and runs it.
#[must_use]
pub fn patch_and_transform(request: &Request) -> Response {
    match PatchAndTransform::read(request.input.as_ref().unwrap_or(&Value::Null)) {
        Ok(function) => function.run(request),
        Err(problems) => Response::to(request).fatal(format!("invalid Function input: {problems}")),
    }
}

struct Run<'a> {
    request: &'a Request,
    response: Response,
    /// The composite resource that exists.
    observed: Value,
    /// What it should become.
    composite: Value,
    details: ConnectionDetails,
    environment: Value,
    desired: BTreeMap<String, Resource>,
    skipped: bool,
    budget: Budget,
}

/// A message that ends the run.
type Stop = String;

impl<'a> Run<'a> {
    fn new(request: &'a Request) -> Self {
        let observed = object(&request.observed.composite.resource);
        let mut composite = object(&request.desired.composite.resource);
        copy_kind(&observed, &mut composite);
        let environment = request
            .context
            .as_ref()
            .and_then(|context| context.get(ENVIRONMENT_KEY));
        let mut environment = environment
            .filter(|value| value.is_object())
            .cloned()
            .unwrap_or_else(|| json!({}));
        number::settle(&mut environment);
        if environment.get("kind").is_none() && environment.get("apiVersion").is_none() {
            copy_kind(
                &json!({"apiVersion": "internal.crossplane.io/v1alpha1", "kind": "Environment"}),
                &mut environment,
            );
        }
        Self {
            request,
            response: Response::to(request),
            observed,
            composite,
            details: request.desired.composite.connection_details.clone(),
            environment,
            desired: request.desired.resources.clone(),
            skipped: false,
            budget: Budget::default(),
        }
    }

    fn make(&mut self, input: &FunctionInput) -> Result<(), Stop> {
        for (index, patch) in input.environment.iter().enumerate() {
            if let Err(error) = self.patch_environment(patch)
                && (patch.required || !error.is_not_found())
            {
                let (kind, error) = (patch.kind.name(), said(patch, &error));
                return Err(format!(
                    "cannot apply the \"{kind}\" environment patch at index {index}: {error}"
                ));
            }
        }
        for template in &input.templates {
            self.template(template)?;
        }
        self.compose_secret(input.secret.as_ref())
    }

    fn patch_environment(&mut self, patch: &Patch) -> Result<(), PatchError> {
        match patch.kind {
            PatchType::FromCompositeFieldPath
            | PatchType::ToEnvironmentFieldPath
            | PatchType::CombineFromComposite => patch.place(
                patch.value(&self.observed, &self.budget)?,
                &mut self.environment,
                Repeats::Append,
                &self.budget,
            ),
            PatchType::ToCompositeFieldPath
            | PatchType::FromEnvironmentFieldPath
            | PatchType::CombineToComposite => patch.place(
                patch.value(&self.environment, &self.budget)?,
                &mut self.composite,
                Repeats::Append,
                &self.budget,
            ),
            PatchType::CombineFromEnvironment | PatchType::CombineToEnvironment => Ok(()),
        }
    }

    fn template(&mut self, template: &Template) -> Result<(), Stop> {
        let name = &template.label;
        let mut made = match (&template.base, self.desired.get(name)) {
            (Some(base), _) => base.clone(),
            (None, Some(desired)) => object(&desired.resource),
            (None, None) => {
                return Err(format!(
                    "composed resource \"{name}\" has no base template, and was not produced by a previous Function in the pipeline"
                ));
            }
        };
        let mut ready = Ready::Unspecified;
        let observed = self.request.observed.resources.get(name);
        let existing = observed.map(|observed| object(&observed.resource));
        if let (Some(observed), Some(existing)) = (observed, &existing) {
            for field in ["name", "namespace"] {
                metadata::set_text(&mut made, field, metadata::text(existing, field));
            }
            let details = connection_details(
                existing,
                &observed.connection_details,
                &template.connection_details,
            );
            self.details.extend(details);
            match readiness(existing, &template.readiness_checks) {
                Readiness::Ready => ready = Ready::True,
                Readiness::NotReady { .. } => {}
                Readiness::Failed(error) => {
                    self.response.warn(format!(
                        "cannot check readiness of composed resource \"{name}\": {error}"
                    ));
                }
            }
        }
        for (index, patch) in template.patches.iter().enumerate() {
            match self.patch(patch, existing.as_ref(), &mut made) {
                Ok(()) => {}
                Err(error) if error.is_not_found() => {
                    if patch.required && self.waits(name, index, patch, &error, existing.is_some()) {
                        self.skipped = true;
                        return Ok(());
                    }
                }
                Err(error) => {
                    let (kind, error) = (patch.kind.name(), said(patch, &error));
                    return Err(format!(
                        "cannot render composed resource \"{name}\" \"{kind}\" patch at index {index}: {error}"
                    ));
                }
            }
        }
        let resource = Resource {
            resource: fields(made),
            connection_details: ConnectionDetails::new(),
            ready,
        };
        self.desired.insert(name.clone(), resource);
        Ok(())
    }

    fn patch(&mut self, patch: &Patch, existing: Option<&Value>, made: &mut Value) -> Result<(), PatchError> {
        let (from, to) = match (patch.kind, existing) {
            (PatchType::FromCompositeFieldPath | PatchType::CombineFromComposite, _) => {
                (&self.observed, made)
            }
            (PatchType::FromEnvironmentFieldPath | PatchType::CombineFromEnvironment, _) => {
                (&self.environment, made)
            }
            // There is nothing to read from what does not exist yet.
            (_, None) => return Ok(()),
            (PatchType::ToCompositeFieldPath | PatchType::CombineToComposite, Some(existing)) => {
                (existing, &mut self.composite)
            }
            (PatchType::ToEnvironmentFieldPath | PatchType::CombineToEnvironment, Some(existing)) => {
                (existing, &mut self.environment)
            }
        };
        patch.place(
            patch.value(from, &self.budget)?,
            to,
            Repeats::Append,
            &self.budget,
        )
    }

    /// Whether a resource that does not exist has to wait for what a patch requires. One that exists does not.
    fn waits(&mut self, name: &str, index: usize, patch: &Patch, error: &PatchError, exists: bool) -> bool {
        let kind = patch.kind.name();
        let to_composed = matches!(
            patch.kind,
            PatchType::FromCompositeFieldPath
                | PatchType::CombineFromComposite
                | PatchType::FromEnvironmentFieldPath
                | PatchType::CombineFromEnvironment
        );
        let error = said(patch, error);
        if to_composed && !exists {
            self.response.warn(format!(
                "not adding new composed resource \"{name}\" to desired state because \"{kind}\" patch at index {index} has 'policy.fromFieldPath: Required': {error}"
            ));
            return true;
        }
        self.response.warn(format!(
            "cannot render composed resource \"{name}\" \"{kind}\" patch at index {index}: ignoring 'policy.fromFieldPath: Required' because 'to' resource already exists: {error}"
        ));
        false
    }

    /// A composite resource that has no connection secret of its own gets a composed one.
    fn compose_secret(&mut self, reference: Option<&SecretReference>) -> Result<(), Stop> {
        let has_its_own = self
            .observed
            .get("spec")
            .and_then(|spec| spec.get("crossplane"))
            .is_none();
        if has_its_own || self.details.is_empty() {
            return Ok(());
        }
        let place = secret_place(&self.observed, reference)
            .map_err(|error| format!("cannot compose connection secret: {error}"))?;
        let mut secret =
            json!({"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1"});
        for field in ["name", "namespace"] {
            metadata::set_text(
                &mut secret,
                field,
                place.get(field).and_then(Value::as_str).unwrap_or_default(),
            );
        }
        let data = Resource {
            connection_details: self.details.clone(),
            ..Resource::default()
        };
        secret["data"] = serde_json::to_value(data)
            .ok()
            .and_then(|data| data.get("connectionDetails").cloned())
            .unwrap_or_default();
        let resource = Resource {
            resource: fields(secret),
            ready: Ready::True,
            ..Resource::default()
        };
        let name = format!("{}-connection-secret", metadata::text(&self.observed, "name"));
        self.desired.insert(name, resource);
        Ok(())
    }

    fn finish(self) -> Response {
        let mut response = self.response;
        response.desired.composite.resource = fields(self.composite);
        response.desired.composite.connection_details = self.details;
        if self.skipped {
            response.desired.composite.ready = Ready::False;
        }
        response.desired.resources = self.desired;
        response
            .context
            .get_or_insert_default()
            .insert(ENVIRONMENT_KEY.to_owned(), self.environment);
        response
    }
}

/// Where connection details go: where the composite resource says, or the input, or next to the composite resource.
fn secret_place(composite: &Value, reference: Option<&SecretReference>) -> Result<Value, String> {
    let asked = composite
        .get("spec")
        .and_then(|spec| spec.get("writeConnectionSecretToRef"));
    let text = |value: &Value, field: &str| {
        value
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let given = reference.filter(|reference| !(reference.name.is_empty() && reference.namespace.is_empty()));
    let (name, namespace) = match (asked, given) {
        (Some(asked), _) if asked.is_object() => (text(asked, "name"), text(asked, "namespace")),
        (_, Some(given)) => (given.name.clone(), given.namespace.clone()),
        _ => {
            let name = metadata::text(composite, "name");
            (
                format!("{name}-connection"),
                metadata::text(composite, "namespace").to_owned(),
            )
        }
    };
    let (mut place, budget) = (json!({"name": name, "namespace": namespace}), Budget::default());
    for (index, patch) in reference
        .map(|reference| reference.patches.as_slice())
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let done = patch
            .value(composite, &budget)
            .and_then(|value| patch.place(value, &mut place, Repeats::Append, &budget));
        match done {
            Err(error) if patch.required || patch.kind == PatchType::CombineFromComposite => {
                let (kind, error) = (patch.kind.name(), said(patch, &error));
                return Err(format!(
                    "cannot generate connection secret reference: cannot apply connection secret patches: cannot apply patch type {kind} at index {index}: {error}"
                ));
            }
            _ => {}
        }
    }
    Ok(place)
}

/// An error in the words of the function.
fn said(patch: &Patch, error: &PatchError) -> String {
    match error {
        PatchError::Target(_) if !patch.to.expands() => format!("cannot patch to object: {error}"),
        _ => error.to_string(),
    }
}

/// Numbers come over a wire that knows floats only, and integers are told apart again here.
fn object(fields: &Map<String, Value>) -> Value {
    let mut object = Value::Object(fields.clone());
    number::settle(&mut object);
    object
}

fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn copy_kind(from: &Value, to: &mut Value) {
    for field in ["apiVersion", "kind"] {
        if let (Some(value), Value::Object(to)) = (from.get(field), &mut *to) {
            to.insert(field.to_owned(), value.clone());
        }
    }
}
