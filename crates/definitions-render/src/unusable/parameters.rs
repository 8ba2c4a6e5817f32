//! Finds references to parameters that a template does not declare.

use super::references::{Reference, References, Step, text};
use super::{did_you_mean, name_of, problem};
use cambium_cue::syntax::ast::{Declaration, Expr, ExprKind, File, StructLiteral};
use cambium_cue::{Diagnostic, Source};
use std::cell::Cell;
use std::collections::BTreeMap;

/// A parameter, as far as it is written down.
#[derive(Debug)]
enum Parameter<'a> {
    Struct(Parameters<'a>),
    /// A list of any length, and what each of its elements is.
    List(Box<Parameter<'a>>),
    /// Anything.
    Unknown,
}

/// The fields of a struct.
#[derive(Debug, Default)]
struct Parameters<'a> {
    fields: BTreeMap<&'a str, Parameter<'a>>,
    /// Whether nobody can give it others.
    closed: bool,
}

/// References to parameters that the template does not have.
pub(super) fn unknown_parameters(file: &File<'_>, source: &Source) -> Vec<Diagnostic> {
    // Without a declaration, whatever a user gives is a parameter.
    let Some(value) = declaration(file) else {
        return Vec::new();
    };
    let reader = Reader {
        file,
        left: Cell::new(READ),
    };
    let Parameter::Struct(parameters) = reader.parameter(value, Closing::No, &[], 0) else {
        return Vec::new();
    };
    let references = References::to("parameter", file);
    let unknown = references.found.iter().filter_map(|reference| {
        let (depth, known) = missing(&parameters, &reference.path)?;
        is_wrong(&references, reference, depth, known).then(|| {
            let (within, name) = reference.path.split_at(depth);
            let name = text(&name[..1]);
            let name = name.trim_start_matches('.');
            let hint = did_you_mean(name, known.fields.keys().copied());
            let message = format!("parameter{} has no field {name:?}{hint}", text(within));
            problem(source, reference.span, message)
        })
    });
    unknown.collect()
}

/// Whether a template is wrong to refer to a field that is not declared. Where a struct is open, users may give the field all the same:
/// only what is needed whatever they give, and is close to the name of another field, is a slip.
fn is_wrong(references: &References, reference: &Reference, depth: usize, known: &Parameters<'_>) -> bool {
    let Some(Step::Field(name)) = reference.path.get(depth) else {
        return false;
    };
    if depth < reference.known || references.asks_for(reference, depth + 1) {
        return false;
    }
    let is_slip =
        || name.len() >= SHORTEST_SLIP && !did_you_mean(name, known.fields.keys().copied()).is_empty();
    known.closed || (references.is_certain(reference) && is_slip())
}

/// Shorter names are close to too many others.
const SHORTEST_SLIP: usize = 3;

/// The value of `parameter` at the top of a template, if that is all that is said of it.
fn declaration<'a, 't>(file: &'a File<'t>) -> Option<&'a Expr<'t>> {
    match top_level(file, "parameter")[..] {
        [value] if says_once(&file.declarations, "parameter") => Some(value),
        _ => None,
    }
}

/// Whether declarations cannot say more than once what a field is.
fn says_once(declarations: &[Declaration<'_>], wanted: &str) -> bool {
    declarations.iter().all(|declaration| match declaration {
        Declaration::Field(_) | Declaration::Let(_) | Declaration::Attribute(_) => true,
        Declaration::Ellipsis(_) => true,
        Declaration::Comprehension(comprehension) => says_nothing(&comprehension.body, wanted),
        Declaration::Embedding(embedding) => match &embedding.value.kind {
            ExprKind::Struct(literal) => says_nothing(literal, wanted),
            _ => false,
        },
    })
}

fn says_nothing(literal: &StructLiteral<'_>, wanted: &str) -> bool {
    super::fields(&literal.declarations).is_some_and(|fields| !fields.contains_key(wanted))
}

/// Whether declarations give a name to something.
fn binds(declarations: &[Declaration<'_>], wanted: &str) -> bool {
    declarations.iter().any(|declaration| match declaration {
        Declaration::Field(field) => {
            let aliases = [&field.alias, &field.value_alias];
            let mut aliases = aliases.into_iter().flatten();
            name_of(&field.label).is_some_and(|(name, _)| name == wanted)
                || aliases.any(|alias| alias.name == wanted)
        }
        Declaration::Let(clause) => clause.name.name == wanted,
        _ => false,
    })
}

/// The values of a field at the top of a template.
fn top_level<'a, 't>(file: &'a File<'t>, wanted: &str) -> Vec<&'a Expr<'t>> {
    let values = file
        .declarations
        .iter()
        .filter_map(|declaration| match declaration {
            Declaration::Field(field) => name_of(&field.label)
                .filter(|(name, _)| *name == wanted)
                .map(|_| &field.value),
            _ => None,
        });
    values.collect()
}

/// How many names stand for one another at most.
const NAMES: usize = 8;

/// Whether the structs in a value are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    /// By `close()`: the outermost.
    Outermost,
    /// By a definition: each.
    All,
}

impl Closing {
    fn inside(self) -> Self {
        match self {
            Self::All => Self::All,
            Self::No | Self::Outermost => Self::No,
        }
    }
}

/// How many parameters are read at most: a few definitions that name one another can stand for any number.
const READ: usize = 10_000;

/// Reads what is written of parameters.
struct Reader<'a, 't> {
    file: &'a File<'t>,
    /// How many may still be read.
    left: Cell<usize>,
}

impl<'a, 't> Reader<'a, 't> {
    /// What an expression says; `around` are the structs that it stands in, and `names` those that were followed to get here.
    fn parameter(
        &self,
        expr: &'a Expr<'t>,
        closing: Closing,
        around: &[&'a StructLiteral<'t>],
        names: usize,
    ) -> Parameter<'a> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Parameter::Unknown;
        };
        self.left.set(left);
        match &expr.kind {
            ExprKind::Struct(literal) => self
                .fields(literal, closing, around, names)
                .map_or(Parameter::Unknown, Parameter::Struct),
            ExprKind::Parenthesized(inner) => self.parameter(inner, closing, around, names),
            ExprKind::Call(call) => match (&call.function.kind, call.arguments.as_slice()) {
                (ExprKind::Identifier("close"), [argument]) => {
                    let closing = match closing {
                        Closing::All => Closing::All,
                        _ => Closing::Outermost,
                    };
                    self.parameter(argument, closing, around, names)
                }
                _ => Parameter::Unknown,
            },
            ExprKind::List(list) if list.elements.is_empty() => {
                let item = list.ellipsis.as_ref().and_then(|rest| rest.value.as_ref());
                let item = item.map(|item| self.parameter(item, closing.inside(), around, names));
                Parameter::List(Box::new(item.unwrap_or(Parameter::Unknown)))
            }
            ExprKind::Identifier(name) if names < NAMES => {
                let is_inner = |literal: &&StructLiteral<'t>| binds(&literal.declarations, name);
                match top_level(self.file, name)[..] {
                    [value] if !around.iter().any(is_inner) && says_once(&self.file.declarations, name) => {
                        let is_definition = name.starts_with('#') || name.starts_with("_#");
                        let closing = if is_definition { Closing::All } else { closing };
                        self.parameter(value, closing, &[], names + 1)
                    }
                    _ => Parameter::Unknown,
                }
            }
            _ => Parameter::Unknown,
        }
    }

    /// The fields of a struct; none if it may have others.
    fn fields(
        &self,
        literal: &'a StructLiteral<'t>,
        closing: Closing,
        around: &[&'a StructLiteral<'t>],
        names: usize,
    ) -> Option<Parameters<'a>> {
        let mut parameters = Parameters {
            fields: BTreeMap::new(),
            closed: closing != Closing::No,
        };
        let around = [around, &[literal]].concat();
        for declaration in &literal.declarations {
            match declaration {
                Declaration::Field(field) => {
                    let (name, _) = name_of(&field.label)?;
                    let inner = self.parameter(&field.value, closing.inside(), &around, names);
                    // Said twice, it is as much as both say.
                    let known = parameters.fields.contains_key(name);
                    parameters
                        .fields
                        .insert(name, if known { Parameter::Unknown } else { inner });
                }
                Declaration::Let(_) | Declaration::Attribute(_) => {}
                Declaration::Embedding(_) | Declaration::Comprehension(_) | Declaration::Ellipsis(_) => {
                    return None;
                }
            }
        }
        Some(parameters)
    }
}

/// Which step of a path is not there, and what is there instead.
fn missing<'p, 'a>(parameters: &'p Parameters<'a>, path: &[Step]) -> Option<(usize, &'p Parameters<'a>)> {
    let mut within = parameters;
    let mut items: Option<&Parameter<'a>> = None;
    for (depth, step) in path.iter().enumerate() {
        let found = match (step, items.take()) {
            (Step::Item, Some(item)) => item,
            (Step::Field(name), None) => match within.fields.get(name.as_str()) {
                None => return Some((depth, within)),
                Some(found) => found,
            },
            _ => return None,
        };
        match found {
            Parameter::Struct(inner) => within = inner,
            Parameter::List(item) => items = Some(item.as_ref()),
            Parameter::Unknown => return None,
        }
    }
    None
}
