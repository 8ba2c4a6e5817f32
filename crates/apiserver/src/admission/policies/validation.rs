//! Compiled validations of a validating policy, and their evaluation.

use cambium_cel::policies::{Compiler, Expression, Inputs, OutOfBudget, Purpose, Run, Variables};
use cambium_cel::{MAX_MESSAGE_BYTES, RULES_BUDGET};
use serde_json::Value;

use super::index::Compile;
use crate::object::{items, text};

/// The validations and audit annotations of a policy.
pub(super) struct Rules {
    validations: Vec<Validation>,
    annotations: Vec<Expression>,
}

struct Validation {
    source: String,
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

/// A denial: message, reason and cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denial {
    pub(super) message: String,
    /// The reason of the `Status`; empty when the policy has none.
    pub(super) reason: String,
    pub(super) cause: DenialCause,
}

/// What caused a denial, which decides whether a binding may downgrade it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DenialCause {
    /// A validation; the binding's `validationActions` may turn it into a warning.
    Validation,
    /// An audit annotation that failed to evaluate: always denied.
    Annotation,
}

impl Compile for Rules {
    fn compile(spec: &Value, compiler: &Compiler) -> Self {
        let validations = items(spec, "validations").iter().map(|validation| {
            let source = text(validation, "expression");
            let message = text(validation, "messageExpression");
            Validation {
                source: source.to_owned(),
                expression: compiler.compile(source, Purpose::Condition),
                message: text(validation, "message").to_owned(),
                message_expression: (!message.is_empty())
                    .then(|| compiler.compile(message, Purpose::Message)),
                reason: text(validation, "reason").to_owned(),
            }
        });
        let annotations = items(spec, "auditAnnotations").iter();
        Self {
            validations: validations.collect(),
            annotations: annotations
                .map(|one| compiler.compile(text(one, "valueExpression"), Purpose::Annotation))
                .collect(),
        }
    }
}

impl Rules {
    /// Evaluates the validations. Errors count only with `failurePolicy: Fail`.
    pub(super) fn judge(
        &self,
        variables: &Variables,
        inputs: &Inputs<'_>,
        fails_closed: bool,
    ) -> Vec<Denial> {
        let failed = |message: String, cause: DenialCause| {
            fails_closed.then_some(Denial {
                message,
                reason: String::new(),
                cause,
            })
        };
        let mut run = Run::new(variables, inputs, RULES_BUDGET);
        let results: Result<Vec<_>, OutOfBudget> = self
            .validations
            .iter()
            .map(|one| run.holds(&one.expression))
            .collect();
        let results = match results {
            Ok(results) => results,
            Err(exhausted) => {
                return failed(exhausted.to_string(), DenialCause::Validation)
                    .into_iter()
                    .collect();
            }
        };
        let messages = self.messages(variables, inputs, run.budget());
        let mut denials = Vec::new();
        for (index, (validation, result)) in self.validations.iter().zip(results).enumerate() {
            denials.extend(match (result, &messages) {
                (Err(message), _) => failed(message, DenialCause::Validation),
                (Ok(_), Err(exhausted)) => failed(
                    format!("failed messageExpression: {exhausted}"),
                    DenialCause::Validation,
                ),
                (Ok(true), Ok(_)) => None,
                (Ok(false), Ok(messages)) => Some(validation.denial(messages[index].as_deref())),
            });
        }
        let mut run = Run::new(variables, inputs, RULES_BUDGET);
        for annotation in &self.annotations {
            match run.text(annotation) {
                Ok(Ok(_)) => {}
                Ok(Err(message)) => denials.extend(failed(message, DenialCause::Annotation)),
                Err(exhausted) => {
                    return failed(exhausted.to_string(), DenialCause::Validation)
                        .into_iter()
                        .collect();
                }
            }
        }
        denials
    }

    /// Evaluates the message expressions, also of validations that pass: upstream charges their cost either way.
    fn messages(
        &self,
        variables: &Variables,
        inputs: &Inputs<'_>,
        budget: i64,
    ) -> Result<Vec<Option<String>>, OutOfBudget> {
        let inputs = Inputs {
            authorizer: None,
            ..*inputs
        };
        let mut run = Run::new(variables, &inputs, budget);
        let expressions = self.validations.iter().map(|one| one.message_expression.as_ref());
        expressions
            .map(|expression| match expression {
                // One that fails is as good as none.
                Some(expression) => Ok(run.text(expression)?.ok().flatten()),
                None => Ok(None),
            })
            .collect()
    }
}

impl Validation {
    fn denial(&self, evaluated: Option<&str>) -> Denial {
        let usable = |message: &&str| {
            !message.is_empty() && message.len() <= MAX_MESSAGE_BYTES && !message.contains('\n')
        };
        let message = match (evaluated.map(str::trim).filter(usable), self.message.trim()) {
            (Some(message), _) => message.to_owned(),
            (None, "") => format!("failed expression: {}", self.source.trim()),
            (None, message) => message.to_owned(),
        };
        Denial {
            message,
            reason: self.reason.clone(),
            cause: DenialCause::Validation,
        }
    }
}
