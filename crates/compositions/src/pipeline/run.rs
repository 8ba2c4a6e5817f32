//! A running pipeline, as a state machine without I/O.

use super::step::Step;
use crate::composite::Note;
use cambium_api::names::reason;
use cambium_compositions_render::function::{
    Condition, Credentials, Request, Requirements, Resources, Response, RunResult, Severity, State, Target,
};
use cambium_lineage::Digest;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many rounds of requirements a function gets, as in Crossplane.
const ITERATIONS: usize = 5;

/// What one answer may hold. A composite resource refers to each resource that it is composed of, conditions are part of its status, a result is an event,
/// and a requirement costs a request: more of them would harm others than their author.
const MOST_RESOURCES: usize = 1000;
const MOST_RESULTS: usize = 100;
const MOST_CONDITIONS: usize = 100;
const MOST_REQUIREMENTS: usize = 100;

/// The next step of a pipeline.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// Ask the function of a step, and say what it answered with [`Run::answered`].
    Call(&'a Step, Box<Request>),
    /// Look for resources that a step needs to see, and say what there is with [`Run::found`].
    Need(&'a Step, Requirements),
    /// Nothing: this is what the functions desire.
    Done(Box<Done>),
    /// Nothing: it cannot go on.
    Failed(Box<Failed>),
}

/// What came of a pipeline that ran to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// What the functions desire.
    pub desired: State,
    /// What they say to people.
    pub notes: Vec<Note>,
    /// Conditions for the composite resource.
    pub conditions: Vec<Condition>,
    /// How long it holds, if a function that is not built in said so: the shortest.
    pub ttl: Option<Duration>,
}

/// Why a pipeline did not run to its end, and what was said until then.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failed {
    /// Why.
    pub message: String,
    /// What the functions said to people.
    pub notes: Vec<Note>,
    /// Conditions for the composite resource.
    pub conditions: Vec<Condition>,
}

/// What there is of what was needed, by the names under which it was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// What was asked for under the old name.
    pub extra: BTreeMap<String, Resources>,
    /// What was required.
    pub required: BTreeMap<String, Resources>,
}

/// A pipeline at work.
#[derive(Debug)]
pub struct Run<'a> {
    steps: std::slice::Iter<'a, Step>,
    step: Option<&'a Step>,
    observed: State,
    /// For each step, by what its function calls them.
    credentials: BTreeMap<String, BTreeMap<String, Credentials>>,
    context: Option<Map<String, Value>>,
    /// What the step's function asked to see when it was last called.
    asked: Requirements,
    /// How often it was called.
    calls: usize,
    /// What the composition itself gives to the function; nothing until it was looked for.
    given: Option<BTreeMap<String, Resources>>,
    done: Done,
}

impl<'a> Run<'a> {
    /// A pipeline that has not begun: nothing is desired, and the context is empty.
    pub fn new(
        steps: &'a [Step],
        observed: State,
        credentials: BTreeMap<String, BTreeMap<String, Credentials>>,
    ) -> Self {
        Self {
            steps: steps.iter(),
            step: None,
            observed,
            credentials,
            context: Some(Map::new()),
            asked: Requirements::default(),
            calls: 0,
            given: None,
            done: Done::default(),
        }
    }

    /// Begins.
    pub fn start(&mut self) -> Next<'a> {
        self.advance()
    }

    /// What there is of what was needed.
    pub fn found(&mut self, found: Found) -> Next<'a> {
        let Some(step) = self.step else {
            return self.finish();
        };
        match &self.given {
            None => {
                self.given = Some(found.required.clone());
                self.call(step, found)
            }
            Some(given) => {
                let mut required = given.clone();
                required.extend(found.required);
                let extra = found.extra;
                self.call(step, Found { extra, required })
            }
        }
    }

    /// What the function of the step answered.
    pub fn answered(&mut self, response: Response) -> Next<'a> {
        let Some(step) = self.step else {
            return self.finish();
        };
        if let Some(why) = too_much(&response) {
            return self.failed(&why);
        }
        let fatal = |result: &RunResult| result.severity == Severity::Fatal;
        if !response.results.iter().any(fatal) && response.requirements != self.asked {
            return self.again(step, response);
        }
        if step.built_in().is_none()
            && let Some(ttl) = response.meta.ttl.as_deref().and_then(duration)
        {
            self.done.ttl = Some(self.done.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        }
        self.done.conditions.extend(response.conditions);
        for result in response.results {
            if result.severity == Severity::Fatal {
                let why = result.message;
                return self.fail(format!(
                    "pipeline step {:?} returned a fatal result: {why}",
                    step.name
                ));
            }
            self.done.notes.push(event(step, result));
        }
        self.done.desired = response.desired;
        self.context = response.context;
        self.advance()
    }

    /// The step cannot be carried out.
    pub fn failed(&mut self, why: &str) -> Next<'a> {
        let step = self.step.map(|step| step.name.as_str()).unwrap_or_default();
        self.fail(format!("cannot run Composition pipeline step {step:?}: {why}"))
    }

    /// Goes to the next step.
    fn advance(&mut self) -> Next<'a> {
        self.step = self.steps.next();
        let Some(step) = self.step else {
            return self.finish();
        };
        self.asked = Requirements::default();
        self.calls = 0;
        self.given = None;
        if step.required.is_empty() {
            self.given = Some(BTreeMap::new());
            return self.call(step, Found::default());
        }
        let required_resources = step.required.clone();
        let requirements = Requirements {
            required_resources,
            ..Requirements::default()
        };
        Next::Need(step, requirements)
    }

    /// The function wants to see something else than it was shown.
    fn again(&mut self, step: &'a Step, response: Response) -> Next<'a> {
        if self.calls > ITERATIONS {
            return self.failed(&format!(
                "requirements didn't stabilize after the maximum number of iterations ({ITERATIONS})"
            ));
        }
        self.asked = response.requirements;
        self.context = response.context;
        match self.asked.is_empty() {
            true => self.found(Found::default()),
            false => Next::Need(step, self.asked.clone()),
        }
    }

    fn call(&mut self, step: &'a Step, found: Found) -> Next<'a> {
        self.calls += 1;
        let mut request = Request {
            observed: self.observed.clone(),
            desired: self.done.desired.clone(),
            input: step.input.clone(),
            context: self.context.clone(),
            extra_resources: found.extra,
            required_resources: found.required,
            credentials: self.credentials.get(&step.name).cloned().unwrap_or_default(),
            ..Request::default()
        };
        request.meta.tag = Digest::of(&json!(request)).hex();
        Next::Call(step, Box::new(request))
    }

    fn finish(&mut self) -> Next<'a> {
        Next::Done(Box::new(std::mem::take(&mut self.done)))
    }

    fn fail(&mut self, message: String) -> Next<'a> {
        let done = std::mem::take(&mut self.done);
        self.step = None;
        Next::Failed(Box::new(Failed {
            message,
            notes: done.notes,
            conditions: done.conditions,
        }))
    }
}

/// Why an answer holds more than can be carried out.
fn too_much(response: &Response) -> Option<String> {
    let requirements = &response.requirements;
    let required = requirements.extra_resources.len() + requirements.required_resources.len();
    let counts = [
        (
            "desired resources",
            response.desired.resources.len(),
            MOST_RESOURCES,
            "divide the composite resource into several",
        ),
        (
            "results",
            response.results.len(),
            MOST_RESULTS,
            "change the function to return one result for several findings",
        ),
        (
            "conditions",
            response.conditions.len(),
            MOST_CONDITIONS,
            "change the function to set one condition for several resources",
        ),
        (
            "required resources",
            required,
            MOST_REQUIREMENTS,
            "change the function to select several objects at once, with matchLabels",
        ),
    ];
    let (what, count, most, advice) = counts.into_iter().find(|(_, count, most, _)| count > most)?;
    Some(format!(
        "the answer has {count} {what}, and at most {most} are taken; {advice}"
    ))
}

/// What a result says to people.
fn event(step: &Step, result: RunResult) -> Note {
    let RunResult {
        severity,
        message,
        reason: word,
        target,
    } = result;
    let (warning, text, claim) = match severity {
        // A function may be newer than we are, and know of something between fatal and nothing.
        Severity::Unspecified | Severity::Fatal => {
            let text = format!(
                "Pipeline step {:?} returned a result of unknown severity (assuming warning): {message}",
                step.name
            );
            (true, text, None)
        }
        Severity::Warning | Severity::Normal => {
            let text = format!("Pipeline step {:?}: {message}", step.name);
            let claim = (target == Some(Target::CompositeAndClaim)).then_some(message);
            (severity == Severity::Warning, text, claim)
        }
    };
    let word = word.filter(|word| !word.is_empty());
    Note {
        warning,
        reason: word.map_or(reason::COMPOSE_RESOURCES.into(), Into::into),
        text,
        claim,
    }
}

/// A time as the JSON form of the protocol writes it. None and less is no time at all.
fn duration(text: &str) -> Option<Duration> {
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}
