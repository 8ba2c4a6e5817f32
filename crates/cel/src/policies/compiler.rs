//! Compiles the expressions of one policy.

use std::collections::BTreeMap;

use cambium_schema::{ErrorKind, FieldError, FieldPath};
use serde_json::Value as Json;

use super::declarations::{Authorizer, Seen, declarations, no_variables};
use crate::check::Vocabulary;
use crate::compose::NamedProgram;
use crate::depth::MOST_TOGETHER;
use crate::program::{Program, compile};
use crate::source::CompileError;
use crate::types::Type;

/// Whether a policy has parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Params {
    /// It has none: `params` is not known.
    Absent,
    /// It may have some: `params` is an object, or null.
    Declared,
}

/// What an expression is for, which says what it must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Whether something holds.
    Condition,
    /// A text; the authorizer cannot be asked.
    Message,
    /// A text, or null.
    Annotation,
    /// Whatever it is.
    Variable,
    /// A configuration to apply: `Object{…}`.
    ApplyConfiguration,
    /// A list of operations: `[JSONPatch{…}]`.
    JsonPatch,
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// Whoever wrote it is wrong.
    Invalid(String),
    /// It is sound, and fails all the same.
    Internal(String),
}

impl Problem {
    /// What is wrong, as text.
    pub fn detail(&self) -> &str {
        match self {
            Self::Invalid(detail) | Self::Internal(detail) => detail,
        }
    }

    /// The problem of the field that holds the expression.
    pub fn at(self, path: FieldPath, source: &str) -> FieldError {
        match self {
            Self::Invalid(detail) => FieldError::invalid(path, &Json::from(source), detail),
            Self::Internal(detail) => FieldError {
                kind: ErrorKind::Internal,
                path,
                shown: String::new(),
                detail,
            },
        }
    }
}

/// An expression of a policy: ready to run, or the reason why it is not.
#[derive(Debug)]
pub struct Expression {
    pub(super) source: String,
    pub(super) program: Result<Program, Problem>,
}

impl Expression {
    /// Why it does not compile, if it does not.
    pub fn problem(&self) -> Option<&Problem> {
        self.program.as_ref().err()
    }
}

/// The variables of a policy, compiled.
#[derive(Debug, Default)]
pub struct Variables(pub(super) Vec<NamedProgram>);

/// Compiles the expressions of one policy, in which later ones may refer to the variables that were added before.
#[derive(Debug)]
pub struct Compiler {
    seen: Seen,
    variables: Vec<NamedProgram>,
    /// How deep each variable nests, with those that it mentions.
    nesting: BTreeMap<String, usize>,
}

/// What it takes to get from an expression to a variable, as levels of nesting.
const HOP: usize = 4;

impl Compiler {
    /// For a policy with variables, be they none.
    pub fn new(params: Params) -> Self {
        Self {
            seen: Seen {
                variables: Some(no_variables()),
                ..Self::alone(params).seen
            },
            ..Self::alone(params)
        }
    }

    /// For expressions that know nothing of variables.
    pub fn alone(params: Params) -> Self {
        Self {
            seen: Seen {
                object: Type::Dyn,
                params: (params == Params::Declared).then_some(Type::Dyn),
                authorizer: Authorizer::Full,
                variables: None,
            },
            variables: Vec::new(),
            nesting: BTreeMap::new(),
        }
    }

    /// Adds a variable. One that does not compile is known all the same, but to mention it is an error.
    ///
    /// # Errors
    /// Why it does not compile.
    pub fn add_variable(&mut self, name: &str, source: &str) -> Result<(), Problem> {
        // A second one could mention the first, and so itself.
        if self.seen.knows(name) {
            return Err(Problem::Invalid(format!("variable {name:?} is declared twice")));
        }
        let program = self.program(source, Purpose::Variable);
        let (ty, program, problem) = match program {
            Ok(program) => {
                let nesting = self.nesting_of(&program);
                self.nesting.insert(name.to_owned(), nesting);
                (composed_type(program.result_type()), Ok(program), None)
            }
            Err(problem) => (Type::Dyn, Err(problem.detail().to_owned()), Some(problem)),
        };
        self.seen.add_variable(name, ty);
        self.variables.push(NamedProgram {
            name: name.to_owned(),
            program,
        });
        problem.map_or(Ok(()), Err)
    }

    /// Compiles an expression.
    pub fn compile(&self, source: &str, purpose: Purpose) -> Expression {
        Expression {
            source: source.to_owned(),
            program: self.program(source, purpose),
        }
    }

    /// What is wrong with an expression.
    pub fn check(&self, source: &str, purpose: Purpose) -> Option<Problem> {
        self.program(source, purpose).err()
    }

    /// How deep an expression nests, with the variables that it mentions.
    fn nesting_of(&self, program: &Program) -> usize {
        let mentions = program.mentions();
        let deepest = match mentions.whole {
            true => self.nesting.values().max(),
            false => mentions
                .fields
                .iter()
                .filter_map(|name| self.nesting.get(name))
                .max(),
        };
        program.nesting() + deepest.map_or(0, |deepest| deepest + HOP)
    }

    /// The variables that were added.
    pub fn into_variables(self) -> Variables {
        Variables(self.variables)
    }

    fn program(&self, source: &str, purpose: Purpose) -> Result<Program, Problem> {
        let mut seen = self.seen.clone();
        if purpose == Purpose::Message {
            seen.authorizer = Authorizer::None;
        }
        let vocabulary = match purpose {
            Purpose::ApplyConfiguration | Purpose::JsonPatch => Vocabulary::Patches,
            _ => Vocabulary::Plain,
        };
        match compile(source, &declarations(&seen, vocabulary)) {
            // Nobody writes that by hand; what evaluates it must not run out of stack.
            Ok(program) if self.nesting_of(&program) > MOST_TOGETHER => Err(Problem::Invalid(
                "compilation failed: variables refer to each other too deeply".to_owned(),
            )),
            Ok(program) => match purpose.refuses(program.result_type()) {
                Some(wanted) => Err(Problem::Invalid(format!(
                    "must evaluate to {wanted} but got {}",
                    declared_name(program.result_type())
                ))),
                None => Ok(program),
            },
            Err(CompileError::Unsound(problems)) => {
                Err(Problem::Invalid(format!("compilation failed: {problems}")))
            }
            Err(CompileError::Failing(error)) => Err(Problem::Internal(format!(
                "program instantiation failed: {error}"
            ))),
        }
    }
}

impl Purpose {
    /// What is wanted in place of a type that will not do.
    fn refuses(self, ty: &Type) -> Option<&'static str> {
        let is_message = |ty: &Type, name: &str| matches!(ty, Type::Message(message) if **message == *name);
        let (fits, wanted) = match self {
            Self::Condition => (*ty == Type::Bool, "bool"),
            Self::Message => (*ty == Type::String, "string"),
            Self::Annotation => (
                *ty == Type::String || *ty == Type::Null,
                "one of [string null_type]",
            ),
            Self::Variable => (true, ""),
            Self::ApplyConfiguration => (is_message(ty, "Object"), "Object"),
            Self::JsonPatch => (
                matches!(ty, Type::List(item) if is_message(item, "JSONPatch")),
                "list(JSONPatch)",
            ),
        };
        (!fits).then_some(wanted)
    }
}

/// The type under which others see a variable: of objects, nothing is known.
pub(super) fn composed_type(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(item) => Type::list(composed_type(item)),
        Type::Map(entry) => Type::map(composed_type(&entry.0), composed_type(&entry.1)),
        _ => Type::Dyn,
    }
}

/// The name under which a type is declared, which is not always the one that type errors show.
fn declared_name(ty: &Type) -> String {
    match ty {
        Type::Null => "null_type".to_owned(),
        Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        Type::List(item) => format!("list({})", declared_name(item)),
        Type::Map(entry) => format!("map({}, {})", declared_name(&entry.0), declared_name(&entry.1)),
        other => other.to_string(),
    }
}
