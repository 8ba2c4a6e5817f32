//! Runs mutating admission policies.

use std::collections::HashSet;
use std::sync::Arc;

use cambium_cel::policies::Inputs;
use serde_json::Value;

use super::index::Bound;
use super::mutation::{Mutation, Mutations};
use super::selection::{self, Selected};
use super::validating::{because, forbidden};
use crate::admission::authorizer::UserAuthorizer;
use crate::admission::{Attributes, Operation};
use crate::blocking::{self, Effort};
use crate::object;
use crate::registry::{Origin, Served};
use crate::server::Server;
use crate::status::{Result, Status};

/// The state that the first round of policies leaves for reinvocation.
#[derive(Default)]
pub(in crate::admission) struct Applied {
    bound: Arc<Vec<Bound<Mutations>>>,
    /// Policies with `reinvocationPolicy: IfNeeded`: policy, binding, parameters.
    again: HashSet<[String; 3]>,
    /// Whether any policy was applied.
    any: bool,
    after: Option<Value>,
}

/// Applies every matching mutating policy.
pub(in crate::admission) async fn mutate(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<Value>,
) -> Result<(Option<Value>, Applied)> {
    let bound = server.policies.mutating(server);
    // A deletion cannot be mutated.
    let idle = bound.is_empty()
        || super::is_exempt(attributes.resource)
        || attributes.operation == Operation::Delete;
    let object = match object {
        Some(object) if !idle => object,
        other => return Ok((other, Applied::default())),
    };
    let mut round = Round::new(server, attributes, object);
    round.run(&bound, |_| true).await?;
    let applied = Applied {
        bound,
        again: round.again,
        any: round.any,
        after: Some(round.object.clone()),
    };
    Ok((Some(round.object), applied))
}

/// Reinvokes policies with `reinvocationPolicy: IfNeeded`, if the object was changed after them.
pub(in crate::admission) async fn mutate_again(
    server: &Server,
    attributes: &Attributes<'_>,
    applied: Applied,
    object: Option<Value>,
) -> Result<Option<Value>> {
    let changed = applied.any || applied.after != object;
    let object = match object {
        Some(object) if changed && !applied.again.is_empty() => object,
        other => return Ok(other),
    };
    let mut round = Round::new(server, attributes, object);
    round
        .run(&applied.bound, |key| applied.again.contains(key))
        .await?;
    Ok(Some(round.object))
}

struct Round<'a, 'r> {
    server: &'a Server,
    attributes: &'a Attributes<'r>,
    object: Value,
    again: HashSet<[String; 3]>,
    any: bool,
    /// Errors of policies with `failurePolicy: Fail`.
    problems: Vec<String>,
}

impl<'a, 'r> Round<'a, 'r> {
    fn new(server: &'a Server, attributes: &'a Attributes<'r>, object: Value) -> Self {
        Self {
            server,
            attributes,
            object,
            again: HashSet::new(),
            any: false,
            problems: Vec::new(),
        }
    }

    async fn run(&mut self, bound: &[Bound<Mutations>], wanted: impl Fn(&[String; 3]) -> bool) -> Result<()> {
        let (mut selected, mut misconfigured) = (Vec::new(), Vec::new());
        for one in selection::select(self.server, self.attributes, Some(&self.object), bound).await {
            match one {
                Ok(one) => selected.push(one),
                Err(wrong) if wrong.policy.fails_closed => {
                    let name = &wrong.policy.name;
                    misconfigured.push(match wrong.binding {
                        Some(binding) => denied(name, &binding.name, &wrong.message),
                        None => format!("policy {name:?} denied request: {}", wrong.message),
                    });
                }
                Err(_) => {}
            }
        }
        for one in &selected {
            for params in &one.params {
                let of_params = params.as_ref().map_or(String::new(), |params| {
                    object::key(object::namespace(params), object::name(params))
                });
                let key = [one.policy.name.clone(), one.binding.name.clone(), of_params];
                if wanted(&key) {
                    self.apply(one, params.as_ref(), key).await?;
                }
            }
        }
        let mut status = forbidden(self.attributes, Some(&self.object), "");
        if misconfigured.is_empty() {
            status.reason = "Invalid".into();
        }
        misconfigured.append(&mut self.problems);
        match misconfigured.first() {
            Some(first) => status.message = first.clone(),
            None => return Ok(()),
        }
        Err(status.with_causes(misconfigured.into_iter().map(because).collect()))
    }

    /// Applies the mutations of one policy in order; a mutation that fails is skipped.
    async fn apply(
        &mut self,
        selected: &Selected<'_, Mutations>,
        params: Option<&Value>,
        key: [String; 3],
    ) -> Result<()> {
        let (server, attributes) = (self.server, self.attributes);
        let Selected {
            policy,
            binding,
            invocation,
            ..
        } = selected;
        let resource = attributes.resource;
        let Some(mut seen) = invocation.see(server, resource, Some(&self.object)).await? else {
            return Ok(());
        };
        let old = invocation.see(server, resource, attributes.old).await?;
        let registry = server.registry();
        let shape = registry
            .find(&invocation.group, &invocation.version, &invocation.resource)
            .cloned();
        let shape: &Served = shape.as_deref().unwrap_or(resource);
        let request = selection::request(attributes, invocation);
        let namespace = selection::namespace(server, attributes);
        let asker = UserAuthorizer::of(server, attributes.user);
        let inputs = Inputs {
            object: None,
            old_object: old.as_ref(),
            request: Some(&request),
            namespace: namespace.as_ref(),
            params,
            authorizer: Some(&asker),
        };
        let meets = selection::meets(
            policy,
            &Inputs {
                object: Some(&seen),
                ..inputs
            },
        );
        match meets {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                self.problems.push(denied(&policy.name, &binding.name, &why));
                return Ok(());
            }
        }
        let before = seen.clone();
        for mutation in &policy.rules.all {
            let inputs = Inputs {
                object: Some(&seen),
                ..inputs
            };
            let objects = [inputs.object, inputs.old_object, inputs.params];
            let changed = blocking::evaluate(Effort::BySize, &objects, || {
                mutation.carry_out(&policy.variables, &inputs, shape.schema(), &seen)
            });
            match changed.map(|changed| fit(shape, mutation, &seen, changed)) {
                Ok(Ok(mut changed)) => {
                    shape.default(&mut changed);
                    self.any = true;
                    seen = changed;
                }
                Ok(Err(status)) => return Err(status),
                Err(_) if !policy.fails_closed => {}
                Err(why) => self.problems.push(denied(&policy.name, &binding.name, &why)),
            }
        }
        if policy.rules.reinvokes {
            self.again.insert(key);
        }
        if seen != before {
            self.object = invocation.take_back(server, resource, seen).await?;
        }
        Ok(())
    }
}

fn denied(policy: &str, binding: &str, why: &str) -> String {
    format!("policy '{policy}' with binding '{binding}' denied request: {why}")
}

/// Checks that the mutated object still decodes as its kind.
fn fit(shape: &Served, mutation: &Mutation, before: &Value, mut object: Value) -> Result<Value> {
    for field in ["apiVersion", "kind"] {
        if object.get(field) != before.get(field) {
            return Err(Status::internal(format!("a policy may not change {field}")));
        }
    }
    let Origin::Builtin(row) = &shape.origin else {
        return Ok(object);
    };
    cambium_builtin::decode(row, &mut object).map_err(Status::internal)?;
    if let Mutation::JsonPatch(_) = mutation {
        let unknown = cambium_schema::prune(row.schema, &mut object);
        if !unknown.is_empty() {
            let unknown: Vec<String> = unknown
                .iter()
                .map(|path| format!("unknown field {path:?}"))
                .collect();
            return Err(Status::internal(format!(
                "strict decoding error: {}",
                unknown.join(", ")
            )));
        }
    }
    Ok(object)
}
