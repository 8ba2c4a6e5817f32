//! A cache of admission policies and their bindings, compiled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cambium_cel::conditions::Conditions;
use cambium_cel::policies::{Compiler, Params, Variables};
use serde_json::Value;

use super::params::{ParamKind, ParamRef};
use super::{mutation, validation};
use crate::admission::matching::{Criteria, texts};
use crate::object::{self, items, text};
use crate::server::Server;
use crate::store::Entry;

/// The bound policies of a server; each is compiled again only when it changes.
#[derive(Default)]
pub(crate) struct Policies {
    validating: Cached<validation::Rules>,
    mutating: Cached<mutation::Mutations>,
}

/// A policy and its bindings.
pub(super) struct Bound<R> {
    pub(super) policy: Arc<Policy<R>>,
    pub(super) bindings: Vec<Binding>,
}

/// A compiled policy.
pub(super) struct Policy<R> {
    pub(super) name: String,
    pub(super) criteria: Criteria,
    pub(super) fails_closed: bool,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) conditions: Option<Conditions>,
    pub(super) variables: Variables,
    pub(super) rules: R,
}

/// A binding: where a policy applies.
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) criteria: Option<Criteria>,
    pub(super) params: Option<ParamRef>,
    /// `validationActions`: `Deny`, `Warn`, `Audit`.
    pub(super) actions: Vec<String>,
}

/// The part that differs between validating and mutating policies.
pub(super) trait Compile: Sized {
    fn compile(spec: &Value, compiler: &Compiler) -> Self;
}

impl Policies {
    pub(super) fn validating(&self, server: &Server) -> Arc<Vec<Bound<validation::Rules>>> {
        let kinds = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
        self.validating.get(server, kinds)
    }

    pub(super) fn mutating(&self, server: &Server) -> Arc<Vec<Bound<mutation::Mutations>>> {
        let kinds = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"];
        self.mutating.get(server, kinds)
    }
}

struct Cached<R>(Mutex<State<R>>);

struct State<R> {
    /// The revisions of policies and bindings that this was built from.
    seen: [u64; 2],
    /// Compiled policies by name, with the revision that was compiled.
    compiled: HashMap<Arc<str>, (u64, Arc<Policy<R>>)>,
    bound: Arc<Vec<Bound<R>>>,
}

impl<R> Default for Cached<R> {
    fn default() -> Self {
        Self(Mutex::new(State {
            seen: [0, 0],
            compiled: HashMap::new(),
            bound: Arc::default(),
        }))
    }
}

impl<R: Compile> Cached<R> {
    fn get(&self, server: &Server, kinds: [&str; 2]) -> Arc<Vec<Bound<R>>> {
        let buckets = kinds.map(|kind| {
            let name = format!("admissionregistration.k8s.io/{kind}");
            server.store.bucket(&name.as_str().into())
        });
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.seen != [buckets[0].newest(), buckets[1].newest()] {
            let ((policies, newest_policy), (bindings, newest_binding)) =
                (buckets[0].list(""), buckets[1].list(""));
            state.build(&policies, &bindings);
            state.seen = [newest_policy, newest_binding];
        }
        state.bound.clone()
    }
}

impl<R: Compile> State<R> {
    /// Joins policies with their bindings; a policy without a binding has no effect and is not compiled.
    fn build(&mut self, policies: &[Arc<Entry>], bindings: &[Arc<Entry>]) {
        let mut by_policy: HashMap<String, Vec<Binding>> = HashMap::new();
        for entry in bindings {
            let (policy, binding) = binding(&entry.value());
            by_policy.entry(policy).or_default().push(binding);
        }
        let mut compiled = HashMap::new();
        let mut bound = Vec::new();
        for entry in policies {
            let Some(bindings) = by_policy.remove(&*entry.key) else {
                continue;
            };
            let known = self.compiled.get(&entry.key);
            let policy = match known.filter(|(revision, _)| *revision == entry.revision) {
                Some((_, policy)) => policy.clone(),
                None => Arc::new(policy(&entry.value())),
            };
            compiled.insert(entry.key.clone(), (entry.revision, policy.clone()));
            bound.push(Bound { policy, bindings });
        }
        self.compiled = compiled;
        self.bound = Arc::new(bound);
    }
}

fn binding(value: &Value) -> (String, Binding) {
    let spec = &value["spec"];
    let binding = Binding {
        name: object::name(value).to_owned(),
        criteria: spec.get("matchResources").map(Criteria::of_policy),
        params: spec.get("paramRef").map(ParamRef::read),
        actions: texts(spec, "validationActions"),
    };
    (text(spec, "policyName").to_owned(), binding)
}

/// Compiles a policy. An expression that does not compile is an error of every request that the policy matches.
pub(super) fn policy<R: Compile>(value: &Value) -> Policy<R> {
    let spec = &value["spec"];
    let param_kind = spec.get("paramKind").map(ParamKind::read);
    let mut compiler = Compiler::new(match param_kind {
        Some(_) => Params::Declared,
        None => Params::Absent,
    });
    for variable in items(spec, "variables") {
        // The error of a variable is reported by expressions that reference it.
        let _ = compiler.add_variable(text(variable, "name"), text(variable, "expression"));
    }
    let conditions = items(spec, "matchConditions");
    let pairs = conditions
        .iter()
        .map(|one| (text(one, "name"), text(one, "expression")));
    Policy {
        name: object::name(value).to_owned(),
        criteria: Criteria::of_policy(&spec["matchConstraints"]),
        fails_closed: text(spec, "failurePolicy") != "Ignore",
        param_kind,
        conditions: (!conditions.is_empty()).then(|| Conditions::compile(&compiler, pairs)),
        rules: R::compile(spec, &compiler),
        variables: compiler.into_variables(),
    }
}
