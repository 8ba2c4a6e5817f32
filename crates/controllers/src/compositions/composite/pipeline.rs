//! Composes by a pipeline of functions (`mode: Pipeline`).

use super::observe::undiscovered;
use super::{Reconciler, Selection};
use crate::compositions::function_calls::FunctionError;
use crate::kinds::PASSING;
use crate::runtime::Outcome;
use cambium_compositions::composite::{Called, Object, associate, failed_status, plan, plan_selection};
use cambium_compositions::pipeline::{self, Done, Failed, Next, Step};
use cambium_compositions_render::ObservedResource;
use cambium_compositions_render::function::{CredentialData, Credentials, Request, Response};
use std::collections::BTreeMap;
use std::time::Duration;

/// The shortest time to live of a function's answer, whatever the function says: no function is called without a pause.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

impl Reconciler<'_> {
    /// Composes by a pipeline of functions: observe, decide, act.
    pub(super) async fn compose_by_pipeline(
        &mut self,
        selected: Selection,
        steps: &[Step],
    ) -> kube::Result<Outcome> {
        let kinds = self.kinds_of_references().await;
        if let Some(why) = undiscovered(&kinds) {
            // A function that is not sent an existing resource may leave it out of its answer, and it would be garbage collected.
            if self.context.state.composites.failures(&self.key) < PASSING {
                return Ok(Outcome::Retry);
            }
            let message = format!("cannot observe composed resources: {why}");
            return self.report_failed(selected, failure(message)).await;
        }
        let existing = self.existing(kinds).await?;
        let layout = self.defined.definition.layout();
        let known = associate(Called::ByFunctions, layout, &self.composite, &existing.live);
        let known = self.with_secrets(known).await?;
        let done = match self.call_functions(steps, &known).await? {
            Ok(done) => done,
            Err(failed) => return self.report_failed(selected, failed).await,
        };
        let wanted = pipeline::wanted(&done.desired, &self.composite, &known);
        let Some(observation) = self.observe(selected, existing, wanted).await? else {
            return Ok(Outcome::Retry);
        };

        let context = self.context;
        let became = |object: &Object, digest: &str| context.state.became(object, digest);
        let observed = observation.observed(&became);
        let plan = plan(&observed);

        let happened = self.act(&plan, &observation).await?;
        let report = pipeline::report(&observation.composite, &done);
        let outcome = self.conclude(&observed, &plan, &happened, report).await?;
        Ok(match (outcome, done.ttl) {
            // The functions have not been sent the resources as they were just applied.
            (Outcome::Done, _) if plan.changes() => Outcome::Again,
            (Outcome::Done, Some(ttl)) if !ttl.is_zero() => Outcome::After(ttl.max(SHORTEST_TTL)),
            (outcome, _) => outcome,
        })
    }

    /// Runs the pipeline: calls the function of each step, and reads the resources that it requires.
    async fn call_functions(
        &self,
        steps: &[Step],
        known: &BTreeMap<String, ObservedResource>,
    ) -> kube::Result<Result<Done, Failed>> {
        let credentials = match self.credentials(steps).await? {
            Ok(credentials) => credentials,
            Err(failed) => return Ok(Err(failed)),
        };
        let details = self.connection_details().await?;
        let observed = pipeline::observed(&self.composite, details, known);
        let mut run = pipeline::Run::new(steps, observed, credentials);
        let mut next = run.start();
        let mut required = Vec::new();
        let done = loop {
            next = match next {
                Next::Call(step, request) => match self.call_function(step, request).await? {
                    Ok(response) => run.answered(response),
                    Err(why) => run.failed(&why),
                },
                Next::Need(_, requirements) => {
                    required.extend(requirements.extra_resources.values().cloned());
                    required.extend(requirements.required_resources.values().cloned());
                    match self.required_resources(&requirements).await {
                        Ok(found) => run.found(found),
                        Err(why) => run.failed(&why),
                    }
                }
                Next::Done(done) => break *done,
                Next::Failed(failed) => return Ok(Err(*failed)),
            };
        };
        self.context.state.required.settle(&self.key, &required);
        Ok(Ok(done))
    }

    /// Calls the function of a step: in this process if it is built in, or else over gRPC.
    async fn call_function(
        &self,
        step: &Step,
        request: Box<Request>,
    ) -> kube::Result<Result<Response, String>> {
        if let Some(function) = step.built_in() {
            return self.evaluate(move || function(&request)).await.map(Ok);
        }
        let answer = self.context.call(&step.function, &request).await;
        Ok(answer.map_err(|error| {
            self.context.state.functions_missed.add(&step.function, &self.key);
            match (&error, step.wanted_input()) {
                (FunctionError::Missing { name } | FunctionError::NoEndpoint { name }, Some(input)) => format!(
                    "Function {name:?} is built in, and the input that it takes is {input}; correct the step's input, or apply a Function of that name with spec.endpoint"
                ),
                _ => error.to_string(),
            }
        }))
    }

    /// Reads the Secrets whose values steps give to their functions.
    async fn credentials(
        &self,
        steps: &[Step],
    ) -> kube::Result<Result<BTreeMap<String, BTreeMap<String, Credentials>>, Failed>> {
        let mut all: BTreeMap<String, BTreeMap<String, Credentials>> = BTreeMap::new();
        for step in steps {
            for credential in &step.credentials {
                let (namespace, secret) = (&credential.namespace, &credential.secret);
                let Some(data) = self.context.secret(namespace, secret).await? else {
                    let message = format!(
                        "cannot get Composition pipeline step {:?} credential {:?} from Secret: there is no Secret {namespace}/{secret}",
                        step.name, credential.name
                    );
                    return Ok(Err(failure(message)));
                };
                let credentials = Credentials {
                    credential_data: CredentialData { data },
                };
                let of_step = all.entry(step.name.clone()).or_default();
                of_step.insert(credential.name.clone(), credentials);
            }
        }
        Ok(Ok(all))
    }

    /// Reports why the pipeline failed. Composed resources are unchanged.
    async fn report_failed(&mut self, selected: Selection, failed: Failed) -> kube::Result<Outcome> {
        let observation = self.observe_selection(selected);
        let plan = plan_selection(&observation.observed(&|_, _| None));
        self.act(&plan, &observation).await?;
        if let Some(note) = plan.moved_note() {
            self.emit(note);
        }
        let definition = &self.defined.definition;
        let (status, note) = failed_status(definition, &self.composite, &failed, self.context.cluster.now());
        self.emit_news(failed.notes);
        if let Some(note) = note {
            self.emit(note);
        }
        self.write_status(&status).await?;
        Ok(Outcome::Retry)
    }
}

/// A pipeline that failed before a function has said anything.
fn failure(message: String) -> Failed {
    Failed {
        message,
        ..Failed::default()
    }
}
