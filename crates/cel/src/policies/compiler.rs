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
    /// None: `params` is undeclared.
    Absent,
    /// `paramKind` is set: `params` is an object or null.
    Declared,
}

/// The purpose of an expression, which decides its result type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A condition: boolean.
    Condition,
    /// A message: string; without the authorizer.
    Message,
    /// An audit annotation: string or null.
    Annotation,
    /// A variable: any type.
    Variable,
    /// A configuration to apply: `Object{…}`.
    ApplyConfiguration,
    /// A list of operations: `[JSONPatch{…}]`.
    JsonPatch,
}

/// A compile problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// An invalid expression.
    Invalid(String),
    /// A valid expression that failed to compile.
    Internal(String),
}

impl Problem {
    /// The error message.
    pub fn detail(&self) -> &str {
        match self {
            Self::Invalid(detail) | Self::Internal(detail) => detail,
        }
    }

    /// The field error for the field of the expression.
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

/// A compiled expression of a policy, or its problem.
#[derive(Debug)]
pub struct Expression {
    pub(super) source: String,
    pub(super) program: Result<Program, Problem>,
}

impl Expression {
    /// The compile problem, if any.
    pub fn problem(&self) -> Option<&Problem> {
        self.program.as_ref().err()
    }
}

/// The variables of a policy, compiled.
#[derive(Debug, Default)]
pub struct Variables(pub(super) Vec<NamedProgram>);

/// Compiles the expressions of a policy; expressions may refer to variables added before them.
#[derive(Debug)]
pub struct Compiler {
    seen: Seen,
    variables: Vec<NamedProgram>,
    /// The nesting depth of each variable, including those that it references.
    nesting: BTreeMap<String, usize>,
}

/// Levels of nesting added by a reference to a variable.
const HOP: usize = 4;

impl Compiler {
    /// A compiler for a policy with variables.
    pub fn new(params: Params) -> Self {
        Self {
            seen: Seen {
                variables: Some(no_variables()),
                ..Self::alone(params).seen
            },
            ..Self::alone(params)
        }
    }

    /// A compiler for expressions without variables.
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

    /// Adds a variable. One that does not compile is declared, too; referencing it is an error.
    ///
    /// # Errors
    /// If it does not compile.
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

    /// Checks an expression.
    pub fn check(&self, source: &str, purpose: Purpose) -> Option<Problem> {
        self.program(source, purpose).err()
    }

    /// The nesting depth of an expression, including the variables that it references.
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

    /// The added variables.
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
            // Evaluation is recursive: deeper nesting could overflow the stack.
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
    /// The expected type, if a result type does not fit the purpose.
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

/// The declared type of a variable for other expressions: objects are `dyn`.
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

/// The declaration name of a type, which differs from its name in type errors for some types.
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
