//! What is wrong with a template whatever properties it is given: found before it is published, when it can still be mended.

use crate::environment::Context;
use crate::template::evaluate;
use crate::{Application, Component, DefinitionKind, Environment, Live, Template};
use cambium_cue::diagnostic::{Place, Severity};
use cambium_cue::source::Span;
use cambium_cue::syntax::ast::{
    BinaryOperator, Clause, Comprehension, Declaration, Element, Expr, ExprKind, File, InterpolationPart,
    Label, StructLiteral,
};
use cambium_cue::{Data, Diagnostic, Diagnostics, Limits, Source, syntax};
use cambium_objects::meant;
use std::collections::{BTreeMap, BTreeSet};

impl Template {
    /// Why nobody could use it: it makes nothing, or refers to parameters that it does not have. What cannot be told is not told.
    pub fn unusable(&self) -> Option<Diagnostics> {
        let definition = self.definition();
        let source = Source::new(definition.name.as_str(), definition.template.as_str());
        let file = syntax::parse(&source).ok()?;
        let mut problems = nothing_made(&file, definition.kind, &source);
        problems.extend(unknown_parameters(&file, &source));
        (!problems.is_empty()).then_some(Diagnostics(problems))
    }

    /// What is used up of the budget when it is evaluated with its defaults.
    pub fn too_expensive(&self) -> Option<Diagnostics> {
        let environment = Environment::default();
        let application = Application {
            name: "application".to_owned(),
            ..Application::default()
        };
        let component = Component {
            name: "component".to_owned(),
            ..Component::default()
        };
        let context = Context::new(&application, &component, &environment);
        let parameter = Data::Struct(Vec::new());
        let mut instance = evaluate(
            self.program(),
            Some(&parameter),
            &context.data(),
            Limits::default(),
        );
        instance.errors(instance.root());
        for name in MADE {
            if let Some(at) = instance.lookup(&[name]) {
                // What is missing is for whoever uses it to give.
                instance.export_at(at).ok();
            }
        }
        if let Some(problem) = instance.exhausted() {
            return Some(Diagnostics(vec![problem]));
        }
        let status = self.status(&Live::default());
        let problems = status.problems.into_iter().flat_map(|problems| problems.0);
        let exhausted: Vec<Diagnostic> = problems
            .filter(|problem| problem.severity == Severity::Exhausted)
            .collect();
        (!exhausted.is_empty()).then_some(Diagnostics(exhausted))
    }
}

/// What templates make things with.
const MADE: [&str; 5] = ["output", "outputs", "patch", "patchOutputs", "errs"];

/// The names of which a template of a kind needs one.
fn needed(kind: DefinitionKind) -> &'static [&'static str] {
    match kind {
        DefinitionKind::Component => &["output"],
        DefinitionKind::Trait => &["outputs", "patch", "patchOutputs", "errs", "processing"],
    }
}

fn problem(source: &Source, span: Span, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        path: String::new(),
        message,
        places: vec![Place {
            source: source.clone(),
            span,
        }],
    }
}

fn name_of<'a>(label: &'a Label<'_>) -> Option<(&'a str, Span)> {
    match label {
        Label::Identifier(identifier) => Some((identifier.name, identifier.span)),
        Label::String(name, span) => Some((name.as_ref(), *span)),
        _ => None,
    }
}

/// The fields that declarations may make; none if they may make any.
fn fields<'a>(declarations: &'a [Declaration<'_>]) -> Option<BTreeMap<&'a str, Span>> {
    let mut found = BTreeMap::new();
    for declaration in declarations {
        match declaration {
            Declaration::Field(field) => {
                let (name, span) = name_of(&field.label)?;
                found.insert(name, span);
            }
            Declaration::Comprehension(comprehension) => {
                found.extend(fields(&comprehension.body.declarations)?)
            }
            Declaration::Embedding(embedding) => match &embedding.value.kind {
                ExprKind::Struct(literal) => found.extend(fields(&literal.declarations)?),
                _ => return None,
            },
            Declaration::Let(_) | Declaration::Ellipsis(_) | Declaration::Attribute(_) => {}
        }
    }
    Some(found)
}

fn nothing_made(file: &File<'_>, kind: DefinitionKind, source: &Source) -> Vec<Diagnostic> {
    let needed = needed(kind);
    let Some(fields) = fields(&file.declarations) else {
        return Vec::new();
    };
    if file.declarations.is_empty() || needed.iter().any(|name| fields.contains_key(name)) {
        return Vec::new();
    }
    let what = match kind {
        DefinitionKind::Component => "the template has no output",
        DefinitionKind::Trait => "the template has neither outputs nor patch",
    };
    // A field that is used for something is none that was misspelt.
    let others = fields
        .iter()
        .filter(|(name, _)| !["parameter", "context"].contains(name));
    let slip = others
        .filter_map(|(name, span)| Some((meant(name, needed.iter().copied())?, *span)))
        .next();
    vec![match slip {
        Some((meant, span)) => problem(source, span, format!("{what}; did you mean {meant}?")),
        None => problem(source, Span { start: 0, end: 1 }, what.to_owned()),
    }]
}

/// The parameters of a template, as far as they are written down.
#[derive(Debug, Default)]
struct Parameters<'a>(BTreeMap<&'a str, Option<Parameters<'a>>>);

impl<'a> Parameters<'a> {
    /// Those of a struct; none if it may have others.
    fn of(literal: &'a StructLiteral<'_>) -> Option<Self> {
        let mut parameters = Self::default();
        for declaration in &literal.declarations {
            match declaration {
                Declaration::Field(field) => {
                    let (name, _) = name_of(&field.label)?;
                    let inner = match &field.value.kind {
                        ExprKind::Struct(literal) => Self::of(literal),
                        _ => None,
                    };
                    // Said twice, it is as much as both say.
                    let known = parameters.0.contains_key(name);
                    parameters.0.insert(name, inner.filter(|_| !known));
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

fn unknown_parameters(file: &File<'_>, source: &Source) -> Vec<Diagnostic> {
    let declared: Vec<_> = file
        .declarations
        .iter()
        .filter_map(|declaration| match declaration {
            Declaration::Field(field)
                if name_of(&field.label).is_some_and(|(name, _)| name == "parameter") =>
            {
                Some(field)
            }
            _ => None,
        })
        .collect();
    let [field] = declared.as_slice() else {
        return Vec::new();
    };
    let ExprKind::Struct(literal) = &field.value.kind else {
        return Vec::new();
    };
    let Some(parameters) = Parameters::of(literal) else {
        return Vec::new();
    };
    let mut references = References::default();
    references.declarations(&file.declarations, 0);
    if references.shadowed {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (path, span) in &references.found {
        let Some((depth, known)) = missing(&parameters, path) else {
            continue;
        };
        let asked = references
            .asked
            .iter()
            .any(|asked| asked.starts_with(&path[..=depth]));
        if asked {
            continue;
        }
        let within: String = path[..depth].iter().map(|step| format!(".{step}")).collect();
        let name = &path[depth];
        let meant = meant(name, known.0.keys().copied());
        let hint = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
        let message = format!("parameter{within} has no field {name:?}{hint}");
        problems.push(problem(source, *span, message));
    }
    problems
}

/// Which step of a path is not there, and what is there instead.
fn missing<'p, 'a>(parameters: &'p Parameters<'a>, path: &[String]) -> Option<(usize, &'p Parameters<'a>)> {
    let mut within = parameters;
    for (depth, step) in path.iter().enumerate() {
        match within.0.get(step.as_str()) {
            None => return Some((depth, within)),
            Some(None) => return None,
            Some(Some(inner)) => within = inner,
        }
    }
    None
}

/// Where a template refers to its parameters.
#[derive(Default)]
struct References {
    /// The path below `parameter`, and where it stands.
    found: Vec<(Vec<String>, Span)>,
    /// Those of which it asks whether they are there.
    asked: BTreeSet<Vec<String>>,
    /// Something else is called `parameter`, somewhere.
    shadowed: bool,
}

impl References {
    fn declarations(&mut self, declarations: &[Declaration<'_>], depth: usize) {
        for declaration in declarations {
            match declaration {
                Declaration::Field(field) => {
                    let named = name_of(&field.label).is_some_and(|(name, _)| name == "parameter");
                    let aliases = [&field.alias, &field.value_alias];
                    let aliased = aliases
                        .into_iter()
                        .flatten()
                        .any(|alias| alias.name == "parameter");
                    self.shadowed |= aliased || (named && depth > 0);
                    match &field.label {
                        Label::Interpolated(expr) | Label::Dynamic(expr) | Label::Pattern(_, expr) => {
                            self.expression(expr, depth);
                        }
                        Label::Identifier(_) | Label::String(..) => {}
                    }
                    self.expression(&field.value, depth);
                }
                Declaration::Let(clause) => {
                    self.shadowed |= clause.name.name == "parameter";
                    self.expression(&clause.value, depth);
                }
                Declaration::Embedding(embedding) => self.expression(&embedding.value, depth),
                Declaration::Comprehension(comprehension) => self.comprehension(comprehension, depth),
                Declaration::Ellipsis(ellipsis) => {
                    if let Some(value) = &ellipsis.value {
                        self.expression(value, depth);
                    }
                }
                Declaration::Attribute(_) => {}
            }
        }
    }

    fn comprehension(&mut self, comprehension: &Comprehension<'_>, depth: usize) {
        for clause in &comprehension.clauses {
            match clause {
                Clause::For { key, value, source } => {
                    self.shadowed |=
                        value.name == "parameter" || key.is_some_and(|key| key.name == "parameter");
                    self.expression(source, depth);
                }
                Clause::If(condition) => self.expression(condition, depth),
                Clause::Let { name, value } => {
                    self.shadowed |= name.name == "parameter";
                    self.expression(value, depth);
                }
            }
        }
        self.declarations(&comprehension.body.declarations, depth + 1);
    }

    fn expression(&mut self, expr: &Expr<'_>, depth: usize) {
        if let Some(path) = path(expr) {
            if !path.is_empty() {
                self.found.push((path, expr.span));
            }
            return;
        }
        match &expr.kind {
            ExprKind::Interpolation(text) => {
                for part in &text.parts {
                    if let InterpolationPart::Expr(expr) = part {
                        self.expression(expr, depth);
                    }
                }
            }
            ExprKind::Struct(literal) => self.declarations(&literal.declarations, depth + 1),
            ExprKind::List(list) => {
                for element in &list.elements {
                    match element {
                        Element::Value(embedding) => self.expression(&embedding.value, depth),
                        Element::Comprehension(comprehension) => self.comprehension(comprehension, depth),
                    }
                }
                if let Some(value) = list
                    .ellipsis
                    .as_ref()
                    .and_then(|ellipsis| ellipsis.value.as_ref())
                {
                    self.expression(value, depth);
                }
            }
            ExprKind::Selector(selector) => self.expression(&selector.base, depth),
            ExprKind::Index(index) => {
                self.expression(&index.base, depth);
                self.expression(&index.index, depth);
            }
            ExprKind::Slice(slice) => {
                self.expression(&slice.base, depth);
                for bound in [&slice.low, &slice.high].into_iter().flatten() {
                    self.expression(bound, depth);
                }
            }
            ExprKind::Call(call) => {
                self.expression(&call.function, depth);
                for argument in &call.arguments {
                    self.expression(argument, depth);
                }
            }
            ExprKind::Unary { operand, .. } => self.expression(operand, depth),
            ExprKind::Binary(binary) => {
                let asks = matches!(binary.operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
                for (one, other) in [(&binary.left, &binary.right), (&binary.right, &binary.left)] {
                    if asks
                        && other.kind == ExprKind::Bottom
                        && let Some(path) = path(one)
                    {
                        self.asked.insert(path);
                    }
                }
                self.expression(&binary.left, depth);
                self.expression(&binary.right, depth);
            }
            ExprKind::Parenthesized(inner) => self.expression(inner, depth),
            _ => {}
        }
    }
}

/// The steps below `parameter`, as far as they are written down.
fn path(expr: &Expr<'_>) -> Option<Vec<String>> {
    match &expr.kind {
        ExprKind::Identifier("parameter") => Some(Vec::new()),
        ExprKind::Selector(selector) => {
            let mut path = path(&selector.base)?;
            path.push(selector.name.as_ref().to_owned());
            Some(path)
        }
        ExprKind::Index(index) => match &index.index.kind {
            ExprKind::String(name) => {
                let mut path = path(&index.base)?;
                path.push(name.as_ref().to_owned());
                Some(path)
            }
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definition;
    use serde_json::json;

    fn template(kind: &str, text: &str) -> Template {
        let definition = Definition::from_manifest(&json!({
            "kind": kind, "metadata": {"name": "web"},
            "spec": {"workload": {"type": "autodetects.core.oam.dev"}, "schematic": {"cue": {"template": text}}},
        }));
        Template::compile(definition.unwrap()).unwrap()
    }

    #[track_caller]
    fn refused(kind: &str, text: &str, words: &str) {
        let problems = template(kind, text).unusable().expect("refused").to_string();
        assert_eq!(problems, words);
    }

    #[track_caller]
    fn fine(kind: &str, text: &str) {
        assert_eq!(template(kind, text).unusable(), None);
    }

    #[test]
    fn a_template_that_makes_nothing_is_refused() {
        let component = "ComponentDefinition";
        refused(
            component,
            "outptu: {kind: \"A\"}\nparameter: {}",
            "the template has no output; did you mean output?\n    web:1:1",
        );
        refused(
            component,
            "parameter: {}",
            "the template has no output\n    web:1:1",
        );
        fine(
            component,
            "if parameter.a {output: {kind: \"A\"}}\nparameter: {a: bool}",
        );
        fine(component, "#Base: {output: {kind: \"A\"}}\n#Base");
        let trait_ = "TraitDefinition";
        refused(
            trait_,
            "pacth: {spec: {}}",
            "the template has neither outputs nor patch; did you mean patch?\n    web:1:1",
        );
        fine(trait_, "patchOutputs: {a: {}}");
    }

    #[test]
    fn a_parameter_that_is_not_there_is_refused() {
        let component = "ComponentDefinition";
        refused(
            component,
            "output: {kind: \"A\", spec: image: parameter.imag}\nparameter: {image: string}",
            "parameter has no field \"imag\"; did you mean image?\n    web:1:34",
        );
        refused(
            component,
            "output: {kind: \"A\", a: \"x-\\(parameter.port.nmae)\"}\nparameter: {port: {name: string}}",
            "parameter.port has no field \"nmae\"; did you mean name?\n    web:1:29",
        );
        for open in ["...", "[string]: string", "#Other", "if true {imag: string}"] {
            fine(
                component,
                &format!(
                    "output: {{kind: \"A\", a: parameter.imag}}\nparameter: {{image: string\n{open}}}\n#Other: {{imag: string}}"
                ),
            );
        }
        fine(
            component,
            "output: {kind: \"A\", if parameter.imag != _|_ {a: parameter.imag}}\nparameter: {image: string}",
        );
        fine(
            component,
            "output: {kind: \"A\", for parameter in [{imag: 1}] {a: parameter.imag}}\nparameter: {image: string}",
        );
        fine(
            component,
            "output: {kind: \"A\", a: parameter.imag}\nparameter: *{image: string} | {imag: string}",
        );
        fine(
            component,
            "output: {kind: \"A\", a: parameter.image.tag}\nparameter: {image: _}",
        );
    }

    #[test]
    fn a_template_that_is_too_expensive_with_its_defaults_is_found() {
        let mut text = "output: {kind: \"A\", a: a30}\na0: \"0123456789abcdef\"\n".to_owned();
        for index in 1..=30 {
            let before = index - 1;
            text.push_str(&format!("a{index}: \"\\(a{before})\\(a{before})\"\n"));
        }
        let problems = template("ComponentDefinition", &text).too_expensive();
        // A text is bounded before the budget is; it is wrong, not expensive.
        assert!(problems.is_none_or(|problems| problems.to_string().contains("web:")));
        let nested = "import \"list\"\n_n: list.Range(0, 100, 1)\noutput: {kind: \"A\", a: [for i in _n for j in _n for k in _n {i}]}";
        let problems = template("ComponentDefinition", nested).too_expensive().unwrap();
        assert!(problems.to_string().contains("web:3:"), "{problems}");
        let fine = template(
            "ComponentDefinition",
            "output: {kind: \"A\", a: parameter.a}\nparameter: {a: string}",
        );
        assert_eq!(fine.too_expensive(), None);
    }
}
