//! Composite resources that functions compose: asks what a pipeline wants asked, and looks for what it needs.

use super::composite::{Composer, Run};
use super::functions::FunctionError;
use super::seen::Seen;
use crate::kinds::{PASSING, Unknown};
use crate::runtime::mapper::ResolveError;
use crate::runtime::{Key, Outcome, Record};
use cambium_compositions::composite::{Called, Object, Observed, associate, failed_status, selection};
use cambium_compositions::pipeline::{self, Failed, Found, Next, Step};
use cambium_compositions::{Fetched, Wish};
use cambium_compositions_render::function::{
    CredentialData, Credentials, Request, Requirements, Resource, ResourceSelector, Resources, Response,
};
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many objects a function is shown for one of its selectors.
const MOST_SELECTED: u32 = 1000;

/// How long an answer counts at least, whatever its function says.
const SHORTEST_TTL: Duration = Duration::from_secs(1);

impl Run<'_> {
    /// Composes with functions.
    pub(super) async fn run_pipeline(
        &mut self,
        wish: &Wish,
        fetched: &Fetched,
        steps: &[Step],
    ) -> kube::Result<Outcome> {
        let layout = self.defined.definition.layout();
        let referred = self.referred();
        let kinds = self.kinds(referred.iter().map(Object::kind).collect()).await;
        let unseen = kinds.values().find_map(|kind| match kind {
            Err(Unknown::Unseen(why)) => Some(why),
            _ => None,
        });
        if let Some(why) = unseen {
            // Functions that are not shown what there is may leave out what they made of it, and that would be collected.
            if self.context.state.composites.failures(&self.key) < PASSING {
                return Ok(Outcome::Retry);
            }
            let message = format!("cannot observe composed resources: {why}");
            let failed = Failed {
                message,
                ..Failed::default()
            };
            return self.fail(wish, fetched, failed).await;
        }
        let live = self.live(&referred, &kinds).await?;
        let known = associate(Called::ByFunctions, layout, &self.composite, &live);
        let known = self.with_secrets(known).await?;
        let credentials = match self.credentials(steps).await? {
            Ok(credentials) => credentials,
            Err(failed) => return self.fail(wish, fetched, failed).await,
        };
        let details = self.published().await?;
        let observed = pipeline::observed(&self.composite, details, &known);
        let mut run = pipeline::Run::new(steps, observed, credentials);
        let mut next = run.start();
        let mut looked = Vec::new();
        let done = loop {
            next = match next {
                Next::Call(step, request) => match self.ask(step, request).await? {
                    Ok(response) => run.answered(response),
                    Err(why) => run.failed(&why),
                },
                Next::Need(_, requirements) => {
                    looked.extend(requirements.extra_resources.values().cloned());
                    looked.extend(requirements.required_resources.values().cloned());
                    match self.find(&requirements).await {
                        Ok(found) => run.found(found),
                        Err(why) => run.failed(&why),
                    }
                }
                Next::Done(done) => break done,
                Next::Failed(failed) => return self.fail(wish, fetched, *failed).await,
            };
        };
        self.context.state.required.settle(&self.key, &looked);
        let wanted = pipeline::wanted(&done.desired, &self.composite, &known);
        let composer = Composer::Functions(pipeline::report(&self.composite, &done));
        let outcome = self
            .carry_out(wish, fetched, &wanted, Seen { kinds, live }, composer)
            .await?;
        Ok(match (outcome, done.ttl) {
            // Nobody is asked without a pause.
            (Outcome::Done, Some(ttl)) if !ttl.is_zero() => Outcome::After(ttl.max(SHORTEST_TTL)),
            (outcome, _) => outcome,
        })
    }

    /// Says why nothing could be composed this time. What is composed stays as it is.
    async fn fail(&mut self, wish: &Wish, fetched: &Fetched, failed: Failed) -> kube::Result<Outcome> {
        let defined = self.defined.clone();
        let definition = &defined.definition;
        let plan = selection(&Observed {
            definition,
            composite: &self.composite,
            wish,
            fetched,
            wanted: &[],
            live: &BTreeMap::new(),
            scopes: &BTreeMap::new(),
            secret_namespace: fetched.content.secret_namespace(),
            became: &|_, _| None,
        });
        self.act(&plan, &BTreeMap::new(), &BTreeMap::new()).await?;
        if let Some(note) = plan.moved_note() {
            self.tell(note);
        }
        let (status, note) = failed_status(definition, &self.composite, &failed, self.context.cluster.now());
        self.say(failed.notes);
        if let Some(note) = note {
            self.tell(note);
        }
        self.write_status(&status).await?;
        Ok(Outcome::Retry)
    }

    /// Asks the function of a step: in this process, if it is built in.
    async fn ask(&self, step: &Step, request: Box<Request>) -> kube::Result<Result<Response, String>> {
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

    /// The secret values that steps give to their functions.
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
                    return Ok(Err(Failed {
                        message,
                        ..Failed::default()
                    }));
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

    /// What there is of what a step needs to see.
    async fn find(&self, requirements: &Requirements) -> Result<Found, String> {
        let mut found = Found::default();
        for (needed, found) in [
            (&requirements.extra_resources, &mut found.extra),
            (&requirements.required_resources, &mut found.required),
        ] {
            for (name, selector) in needed {
                let resources = self.select(selector).await;
                let resources = resources.map_err(|why| format!("fetching resources for {name}: {why}"))?;
                found.insert(name.clone(), resources);
            }
        }
        Ok(found)
    }

    async fn select(&self, selector: &ResourceSelector) -> Result<Resources, String> {
        let (api_version, kind) = (&selector.api_version, &selector.kind);
        let resolved = self.context.cluster.mapper.resolve(api_version, kind).await;
        if let Err(ResolveError::NoKind { .. }) = &resolved {
            let group = api_version.split_once('/').map_or("", |(group, _)| group);
            self.context.state.kinds_missed.add(group, &self.key);
        }
        let resource = resolved.map_err(|error| error.to_string())?;
        // Heard of before it is read, so that nothing that happens to it is missed.
        self.context.state.required.look(&self.key, selector);
        self.context.required.listen(&resource).await;
        let cluster = &self.context.cluster;
        let namespace = selector.namespace.as_deref().unwrap_or_default();
        let found: kube::Result<Vec<DynamicObject>> = match &selector.match_name {
            Some(name) if resource.namespaced && namespace.is_empty() => {
                return Err(format!("{kind} {name:?} is in a namespace, and none is named"));
            }
            Some(name) => {
                let found = cluster.objects(&resource, namespace).get_opt(name).await;
                found.map(|found| found.into_iter().collect())
            }
            None => {
                let api = match namespace {
                    "" => cluster.everywhere(&resource.api_resource),
                    namespace => cluster.objects(&resource, namespace),
                };
                let labels = selector.match_labels.iter().flat_map(|labels| &labels.labels);
                let labels: Vec<String> = labels.map(|(name, value)| format!("{name}={value}")).collect();
                let params = ListParams::default()
                    .labels(&labels.join(","))
                    .limit(MOST_SELECTED);
                let listed = api.list(&params).await;
                if listed
                    .as_ref()
                    .is_ok_and(|list| list.metadata.continue_.is_some())
                {
                    return Err(format!(
                        "more than {MOST_SELECTED} {kind} have these labels; select fewer"
                    ));
                }
                listed.map(|list| list.items)
            }
        };
        let mut found = found.map_err(|error| error.to_string())?;
        found.sort_by(|left, right| {
            let place =
                |object: &DynamicObject| (object.metadata.namespace.clone(), object.metadata.name.clone());
            place(left).cmp(&place(right))
        });
        let there = found.iter().map(|object| Key::of(&object.metadata)).collect();
        self.context.state.required.found(&self.key, selector, there);
        let items = found.into_iter().map(|object| Resource {
            resource: match Record::new(object.into(), &resource.api_resource).value() {
                Value::Object(fields) => fields,
                _ => serde_json::Map::new(),
            },
            ..Resource::default()
        });
        Ok(Resources {
            items: items.collect(),
        })
    }
}
