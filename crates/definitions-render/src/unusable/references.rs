//! Collects the references of a template to `parameter` and `context`, through `let`, comprehensions and aliases.

use super::name_of;
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{
    BinaryOperator, Clause, Comprehension, Declaration, Element, Expr, ExprKind, Field, File,
    InterpolationPart, Label,
};
use std::collections::{BTreeMap, BTreeSet};

/// A step of a path below what is given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// A field.
    Field(String),
    /// Some element of a list, or of a struct.
    Item,
}

/// Steps as they are written, each with what is before it: `.ports[].name`.
pub(super) fn text(path: &[Step]) -> String {
    let steps = path.iter().map(|step| match step {
        Step::Field(name) => format!(".{name}"),
        Step::Item => "[]".to_owned(),
    });
    steps.collect()
}

/// A place where something that is given is used.
#[derive(Debug)]
pub(super) struct Reference {
    /// The path below what is given.
    pub(super) path: Vec<Step>,
    /// How many of its steps are written elsewhere, where they are told: the value of a `let`, the source of a `for`.
    pub(super) known: usize,
    /// Its position.
    pub(super) span: Span,
    /// Whether no condition stands before it.
    certain: bool,
    /// The `let` whose value it is a part of.
    within: Option<usize>,
}

/// Where a template refers to something that it is given, through names and loops.
#[derive(Default)]
pub(super) struct References {
    /// All of them, but those whose absence it provides for.
    pub(super) found: Vec<Reference>,
    /// Those of which it asks whether they are there, or to which it has an alternative.
    asked: BTreeSet<Vec<Step>>,
    /// Whether there is any, be it to nothing below it.
    pub(super) any: bool,
    lets: Vec<Let>,
}

/// How the name that a `let` binds is used.
#[derive(Debug, Default)]
struct Let {
    /// Behind how many clauses it is bound.
    clauses: usize,
    /// Where it is used without a further condition: in the value of another one, or outside of any.
    uses: BTreeSet<Option<usize>>,
    /// Whether it is asked if it has a value.
    asked: bool,
}

impl References {
    /// Those to a name at the top of a template.
    pub(super) fn to<'a>(of: &'a str, file: &'a File<'_>) -> Self {
        let mut walk = Walk {
            of,
            references: Self::default(),
            scopes: Vec::new(),
            let_scopes: BTreeMap::new(),
            clauses: 0,
            alternatives: 0,
            within: None,
        };
        walk.block(&file.declarations);
        walk.references
    }

    /// Whether the template provides for the absence of what a reference names with its first steps.
    pub(super) fn asks_for(&self, reference: &Reference, steps: usize) -> bool {
        let path = &reference.path[..steps];
        self.asked.iter().any(|asked| asked.starts_with(path))
            || reference.within.is_some_and(|name| self.lets[name].asked)
    }

    /// Whether a reference is needed whatever is given.
    pub(super) fn is_certain(&self, reference: &Reference) -> bool {
        reference.certain && self.is_used(reference.within, &mut BTreeSet::new())
    }

    fn is_used(&self, within: Option<usize>, seen: &mut BTreeSet<usize>) -> bool {
        within.is_none_or(|name| {
            seen.insert(name) && self.lets[name].uses.iter().any(|user| self.is_used(*user, seen))
        })
    }
}

/// The binding of a name.
#[derive(Clone)]
enum Binding<'a, 't> {
    /// Something that is given.
    Given(Given),
    /// The value of a `let`, by its number.
    Let(usize, &'a Expr<'t>),
    /// Anything else.
    Other,
}

/// Something that is given, by the name that it was reached by.
#[derive(Clone, Default)]
struct Given {
    path: Vec<Step>,
    known: usize,
    /// Behind how many clauses the name is bound.
    clauses: usize,
}

/// The names that a struct or a clause binds.
type Scope<'a, 't> = BTreeMap<&'a str, Binding<'a, 't>>;

/// How many names may be aliases of one another.
const NAMES: usize = 8;

struct Walk<'a, 't> {
    of: &'a str,
    references: References,
    scopes: Vec<Scope<'a, 't>>,
    /// How many scopes each `let` sees.
    let_scopes: BTreeMap<usize, usize>,
    /// How many clauses of comprehensions this stands behind.
    clauses: usize,
    /// How many alternatives, or questions after a value, this stands in.
    alternatives: usize,
    within: Option<usize>,
}

impl<'a, 't> Walk<'a, 't> {
    /// Declarations with a scope of their own.
    fn block(&mut self, declarations: &'a [Declaration<'t>]) {
        let mut scope = Scope::new();
        for declaration in declarations {
            match declaration {
                Declaration::Field(field) => self.bind_field(field, &mut scope),
                Declaration::Let(clause) => {
                    let name = self.new_let(self.scopes.len() + 1);
                    scope.insert(clause.name.name, Binding::Let(name, &clause.value));
                }
                _ => {}
            }
        }
        self.scopes.push(scope);
        for declaration in declarations {
            self.declaration(declaration);
        }
        self.scopes.pop();
    }

    fn new_let(&mut self, scopes: usize) -> usize {
        let name = self.references.lets.len();
        self.references.lets.push(Let {
            clauses: self.clauses,
            ..Let::default()
        });
        self.let_scopes.insert(name, scopes);
        name
    }

    fn bind_field(&self, field: &'a Field<'t>, scope: &mut Scope<'a, 't>) {
        let name = name_of(&field.label).map(|(name, _)| name);
        // At the top, it is the declaration of what is given.
        let is_given = self.scopes.is_empty() && name == Some(self.of);
        let binding = match is_given {
            true => Binding::Given(Given::default()),
            false => Binding::Other,
        };
        let aliases = [&field.alias, &field.value_alias];
        let aliases = aliases.into_iter().flatten().map(|alias| alias.name);
        let pattern = match &field.label {
            Label::Pattern(alias, _) => alias.as_ref().map(|alias| alias.name),
            _ => None,
        };
        for name in aliases.chain(name) {
            scope.insert(name, binding.clone());
        }
        if let Some(name) = pattern {
            scope.insert(name, Binding::Other);
        }
    }

    fn declaration(&mut self, declaration: &'a Declaration<'t>) {
        match declaration {
            Declaration::Field(field) => {
                match &field.label {
                    Label::Interpolated(expr) | Label::Dynamic(expr) | Label::Pattern(_, expr) => {
                        self.expression(expr);
                    }
                    Label::Identifier(_) | Label::String(..) => {}
                }
                self.expression(&field.value);
            }
            Declaration::Let(clause) => self.let_value(clause.name.name, &clause.value),
            Declaration::Embedding(embedding) => self.expression(&embedding.value),
            Declaration::Comprehension(comprehension) => self.comprehension(comprehension),
            Declaration::Ellipsis(ellipsis) => {
                if let Some(value) = &ellipsis.value {
                    self.expression(value);
                }
            }
            Declaration::Attribute(_) => {}
        }
    }

    /// The value of a `let` that the innermost scope binds.
    fn let_value(&mut self, name: &str, value: &'a Expr<'t>) {
        let bound = self.scopes.last().and_then(|scope| scope.get(name));
        let Some(Binding::Let(bound, _)) = bound else {
            return;
        };
        let outside = self.within.replace(*bound);
        self.expression(value);
        self.within = outside;
    }

    fn comprehension(&mut self, comprehension: &'a Comprehension<'t>) {
        let (scopes, clauses) = (self.scopes.len(), self.clauses);
        for clause in &comprehension.clauses {
            match clause {
                Clause::For { key, value, source } => {
                    self.expression(source);
                    let items = self.given(source);
                    self.clauses += 1;
                    let binding = items.map_or(Binding::Other, |mut items| {
                        items.path.push(Step::Item);
                        Binding::Given(Given {
                            known: items.path.len(),
                            clauses: self.clauses,
                            ..items
                        })
                    });
                    let mut scope = Scope::from([(value.name, binding)]);
                    scope.extend(key.iter().map(|key| (key.name, Binding::Other)));
                    self.scopes.push(scope);
                }
                Clause::If(condition) => {
                    self.expression(condition);
                    self.clauses += 1;
                }
                Clause::Let { name, value } => {
                    // It does not see itself.
                    let bound = self.new_let(self.scopes.len());
                    let outside = self.within.replace(bound);
                    self.expression(value);
                    self.within = outside;
                    self.scopes
                        .push(Scope::from([(name.name, Binding::Let(bound, value))]));
                }
            }
        }
        self.block(&comprehension.body.declarations);
        self.scopes.truncate(scopes);
        self.clauses = clauses;
    }

    fn expression(&mut self, expr: &'a Expr<'t>) {
        if let Some(given) = self.given(expr) {
            self.used(expr);
            self.reference(given, expr.span);
            return;
        }
        match &expr.kind {
            ExprKind::Identifier(_) => self.used(expr),
            ExprKind::Interpolation(text) => {
                for part in &text.parts {
                    if let InterpolationPart::Expr(expr) = part {
                        self.expression(expr);
                    }
                }
            }
            ExprKind::Struct(literal) => self.block(&literal.declarations),
            ExprKind::List(list) => {
                for element in &list.elements {
                    match element {
                        Element::Value(embedding) => self.expression(&embedding.value),
                        Element::Comprehension(comprehension) => self.comprehension(comprehension),
                    }
                }
                let rest = list.ellipsis.as_ref().and_then(|rest| rest.value.as_ref());
                if let Some(value) = rest {
                    self.expression(value);
                }
            }
            ExprKind::Selector(selector) => self.expression(&selector.base),
            ExprKind::Index(index) => {
                self.expression(&index.base);
                self.expression(&index.index);
            }
            ExprKind::Slice(slice) => {
                self.expression(&slice.base);
                for bound in [&slice.low, &slice.high].into_iter().flatten() {
                    self.expression(bound);
                }
            }
            ExprKind::Call(call) => {
                self.expression(&call.function);
                for argument in &call.arguments {
                    self.expression(argument);
                }
            }
            ExprKind::Unary { operand, .. } => self.expression(operand),
            ExprKind::Binary(binary) => {
                let asks = matches!(binary.operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
                for (one, other) in [(&binary.left, &binary.right), (&binary.right, &binary.left)] {
                    let is_asked = asks && other.kind == ExprKind::Bottom;
                    // An alternative that has no value leaves it to the others.
                    let is_provided_for = is_asked || binary.operator == BinaryOperator::Or;
                    self.alternatives += usize::from(is_provided_for);
                    self.expression(one);
                    self.alternatives -= usize::from(is_provided_for);
                }
            }
            ExprKind::Parenthesized(inner) => self.expression(inner),
            _ => {}
        }
    }

    fn reference(&mut self, given: Given, span: Span) {
        self.references.any = true;
        if self.alternatives > 0 {
            self.references.asked.insert(given.path);
        } else if given.path.len() > given.known {
            self.references.found.push(Reference {
                path: given.path,
                known: given.known,
                span,
                certain: self.clauses <= given.clauses,
                within: self.within,
            });
        }
    }

    /// Notes the use of a name that a `let` binds, and goes through what stands in brackets after it.
    fn used(&mut self, expr: &'a Expr<'t>) {
        match &expr.kind {
            ExprKind::Parenthesized(inner) => self.used(inner),
            ExprKind::Selector(selector) => self.used(&selector.base),
            ExprKind::Index(index) => {
                self.used(&index.base);
                self.expression(&index.index);
            }
            ExprKind::Identifier(name) => {
                let Some(Binding::Let(bound, _)) = self.binding(name, self.scopes.len()) else {
                    return;
                };
                let bound = *bound;
                let name = &mut self.references.lets[bound];
                name.asked |= self.alternatives > 0;
                if self.alternatives == 0 && self.clauses <= name.clauses {
                    name.uses.insert(self.within);
                }
            }
            _ => {}
        }
    }

    /// The given value that an expression refers to.
    fn given(&self, expr: &Expr<'_>) -> Option<Given> {
        self.given_in(expr, self.scopes.len(), 0)
    }

    fn given_in(&self, expr: &Expr<'_>, scopes: usize, names: usize) -> Option<Given> {
        let below = |base: &Expr<'_>, step: Step| {
            let mut given = self.given_in(base, scopes, names)?;
            given.path.push(step);
            Some(given)
        };
        match &expr.kind {
            ExprKind::Parenthesized(inner) => self.given_in(inner, scopes, names),
            ExprKind::Selector(selector) => {
                below(&selector.base, Step::Field(selector.name.as_ref().to_owned()))
            }
            ExprKind::Index(index) => match &index.index.kind {
                ExprKind::String(name) => below(&index.base, Step::Field(name.as_ref().to_owned())),
                _ => below(&index.base, Step::Item),
            },
            ExprKind::Identifier(name) => match self.binding(name, scopes) {
                None => (*name == self.of).then(Given::default),
                Some(Binding::Given(given)) => Some(given.clone()),
                Some(Binding::Let(bound, value)) if names < NAMES => {
                    let mut given = self.given_in(value, self.let_scopes[bound], names + 1)?;
                    given.known = given.path.len();
                    Some(given)
                }
                Some(_) => None,
            },
            _ => None,
        }
    }

    /// The binding of a name in the outermost scopes.
    fn binding(&self, name: &str, scopes: usize) -> Option<&Binding<'a, 't>> {
        let mut inner_first = self.scopes.iter().take(scopes).rev();
        inner_first.find_map(|scope| scope.get(name))
    }
}
