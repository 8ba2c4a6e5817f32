//! Name resolution.

use super::CompileOptions;
use super::ir::{
    Adds, Clause, Comment, ComprehensionExpr, Declaration, DynamicExpr, Expr, ExprKind, FieldExpr, LetExpr,
    Position, Presence, StructExpr, VariableSlot,
};
use super::predeclared::predeclared_type;
use super::scope::{Alias, Entry, Level, Target};
use super::symbols::{Label, Symbol, Symbols};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::eval::builtin::{self};
use crate::source::{Source, Span};
use crate::syntax::ast;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Resolves the files of one package into the struct that they declare together.
pub(super) fn resolve(
    sources: &[Source],
    files: &[ast::File<'_>],
    options: CompileOptions<'_>,
) -> Result<(StructExpr, Symbols), Diagnostics> {
    let mut resolver = Resolver {
        sources,
        source: 0,
        options,
        symbols: Symbols::default(),
        levels: Vec::new(),
        names: Vec::new(),
        many: HashMap::new(),
        imports: HashMap::new(),
        problems: Vec::new(),
    };
    resolver.open_struct(files.iter().flat_map(|file| &file.declarations));
    let mut root = StructExpr::default();
    for (index, file) in files.iter().enumerate() {
        resolver.source = index;
        resolver.open_imports(file);
        for declaration in &file.declarations {
            resolver.declaration(declaration, &mut root);
        }
        resolver.close_imports();
    }
    resolver.close_struct();
    if resolver.problems.is_empty() {
        Ok((root, resolver.symbols))
    } else {
        resolver
            .problems
            .sort_by_key(|problem| problem.places.first().map(|place| place.span.start));
        Err(Diagnostics(resolver.problems))
    }
}

/// The state of name resolution.
pub(super) struct Resolver<'a> {
    sources: &'a [Source],
    source: usize,
    pub(super) options: CompileOptions<'a>,
    pub(super) symbols: Symbols,
    pub(super) levels: Vec<Level>,
    /// The names that the open struct literals declare, outermost first.
    names: Vec<Entry>,
    /// An index of names for literals with many declarations, by their start; without the first names.
    many: HashMap<(usize, Symbol), usize>,
    pub(super) imports: HashMap<Symbol, Imported>,
    problems: Vec<Diagnostic>,
}

/// Number of names of a literal that are searched linearly.
const FEW: usize = 32;

/// An imported package.
pub(super) struct Imported {
    pub(super) path: String,
    span: Span,
    pub(super) used: bool,
}

impl Resolver<'_> {
    fn source(&self) -> &Source {
        &self.sources[self.source]
    }

    pub(super) fn position(&self, span: Span) -> Position {
        Position {
            source: u32::try_from(self.source).expect("few files"),
            span,
        }
    }

    pub(super) fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems
            .push(Diagnostic::syntax(self.source(), span, message));
    }

    pub(super) fn unsupported(&mut self, span: Span, message: impl Into<String>) {
        self.problems
            .push(Diagnostic::unsupported(self.source(), span, message));
    }

    fn open_imports(&mut self, file: &ast::File<'_>) {
        self.imports.clear();
        for import in &file.imports {
            if !builtin::has_package(&import.path) {
                self.unsupported(import.span, format!("package {:?} is not supported", import.path));
            }
            let path_name = import.path.rsplit('/').next().unwrap_or(&import.path);
            let name = import.name.map_or(path_name, |name| name.name);
            let imported = Imported {
                path: import.path.to_string(),
                span: import.span,
                used: false,
            };
            if self.imports.insert(self.symbols.intern(name), imported).is_some() {
                self.problem(import.span, format!("{name} redeclared as imported package name"));
            }
        }
    }

    fn close_imports(&mut self) {
        if self.options.allow_unused {
            return;
        }
        let unused: Vec<_> = self.imports.values().filter(|import| !import.used).collect();
        let unused: Vec<_> = unused
            .iter()
            .map(|import| (import.span, import.path.clone()))
            .collect();
        for (span, path) in unused {
            self.problem(span, format!("imported and not used: {path:?}"));
        }
    }

    /// Opens the scope of a struct literal: every name that it declares.
    fn open_struct<'tree>(&mut self, declarations: impl Iterator<Item = &'tree ast::Declaration<'tree>>) {
        let first = self.names.len();
        let mut lets = 0;
        // The number that a declaration will have among those that are kept.
        let mut kept = 0;
        for declaration in declarations {
            match declaration {
                ast::Declaration::Field(field) => {
                    let label = match &field.label {
                        ast::Label::Identifier(identifier) => {
                            let label = self.symbols.identifier_label(identifier.name);
                            if let Some(symbol) = label.symbol() {
                                self.declare(first, symbol, identifier, Target::Field(label));
                            }
                            Some(label)
                        }
                        ast::Label::String(name, _) => Some(Label::Regular(self.symbols.intern(name))),
                        _ => None,
                    };
                    if let Some(alias) = &field.alias {
                        let target = label.map_or(Target::Computed(kept), Target::Alias);
                        let symbol = self.symbols.intern(alias.name);
                        self.declare(first, symbol, alias, target);
                    }
                }
                ast::Declaration::Let(clause) => {
                    let symbol = self.symbols.intern(clause.name.name);
                    self.declare(first, symbol, &clause.name, Target::Let(lets));
                    lets += 1;
                }
                _ => {}
            }
            let is_kept = !matches!(
                declaration,
                ast::Declaration::Let(_) | ast::Declaration::Ellipsis(_) | ast::Declaration::Attribute(_)
            );
            kept += u32::from(is_kept);
        }
        self.levels.push(Level::Struct(first..self.names.len()));
    }

    /// Adds a name to those of the struct that has all from `first`.
    fn declare(&mut self, first: usize, symbol: Symbol, name: &ast::Identifier<'_>, target: Target) {
        let entry = Entry {
            name: symbol,
            target,
            span: name.span,
            used: matches!(target, Target::Field(_)),
        };
        if let Some(at) = self.declared_at(&(first..self.names.len()), symbol) {
            let previous = &self.names[at];
            if !matches!((previous.target, target), (Target::Field(_), Target::Field(_))) {
                let message = match (previous.target, target) {
                    (Target::Let(_), Target::Let(_)) => {
                        format!("multiple let clauses with name {} in the same scope", name.name)
                    }
                    _ => format!(
                        "cannot have both alias and field with name {:?} in same scope",
                        name.name
                    ),
                };
                self.problem(name.span, message);
            }
            return;
        }
        if self.names.len() >= first + FEW {
            self.many.insert((first, symbol), self.names.len());
        }
        self.names.push(entry);
    }

    /// The declaration of a name in a literal.
    fn declared_at(&self, names: &Range<usize>, symbol: Symbol) -> Option<usize> {
        let few = names.start..names.end.min(names.start + FEW);
        let found = self.names[few].iter().position(|entry| entry.name == symbol);
        let later = || self.many.get(&(names.start, symbol)).copied();
        found
            .map(|at| names.start + at)
            .or_else(later)
            .filter(|at| *at < names.end)
    }

    fn close_struct(&mut self) {
        let Some(Level::Struct(names)) = self.levels.pop() else {
            return;
        };
        let unused = self.names[names.clone()].iter().filter(|entry| !entry.used);
        let unused: Vec<_> = unused.map(|entry| (entry.name, entry.span)).collect();
        for entry in self.names[names.clone()].iter().skip(FEW) {
            self.many.remove(&(names.start, entry.name));
        }
        self.names.truncate(names.start);
        if self.options.allow_unused {
            return;
        }
        for (name, span) in unused {
            let name = self.symbols.name(name);
            self.problem(span, format!("unreferenced alias or let clause {name}"));
        }
    }

    pub(super) fn struct_literal(&mut self, literal: &ast::StructLiteral<'_>) -> StructExpr {
        self.open_struct(literal.declarations.iter());
        let mut result = StructExpr::default();
        result.declarations.reserve_exact(literal.declarations.len());
        for declaration in &literal.declarations {
            self.declaration(declaration, &mut result);
        }
        self.close_struct();
        result
    }

    fn declaration(&mut self, declaration: &ast::Declaration<'_>, into: &mut StructExpr) {
        match declaration {
            ast::Declaration::Field(field) => {
                let field = self.field(field);
                into.declarations.push(field);
            }
            ast::Declaration::Let(clause) => {
                let value = self.expr(&clause.value);
                into.lets.push(LetExpr { value });
            }
            ast::Declaration::Embedding(embedding) => {
                into.embeds = true;
                let value = self.expr(&embedding.value);
                into.declarations.push(Declaration::Embedding(value));
            }
            ast::Declaration::Comprehension(comprehension) => {
                let comprehension = self.comprehension(comprehension);
                into.embeds |= matches!(&comprehension.body.kind, ExprKind::Struct(body) if body.embeds);
                into.declarations
                    .push(Declaration::Comprehension(Box::new(comprehension)));
            }
            ast::Declaration::Ellipsis(ellipsis) => {
                into.open = true;
                if let Some(value) = &ellipsis.value
                    && value.kind != ast::ExprKind::Top
                {
                    self.unsupported(ellipsis.span, "a type after `...` in a struct is not supported");
                }
            }
            ast::Declaration::Attribute(_) => {}
        }
    }

    fn field(&mut self, field: &ast::Field<'_>) -> Declaration {
        let presence = match field.constraint {
            ast::Constraint::None => Presence::Member,
            ast::Constraint::Required => Presence::Required,
            ast::Constraint::Optional => Presence::Optional,
        };
        let position = self.position(field.span);
        let comments = self.comments(&field.comments);
        let unused = Label::Index(0);
        match &field.label {
            ast::Label::Identifier(ast::Identifier { name, span }) => {
                let label = self.symbols.identifier_label(name);
                let position = self.position(*span);
                let (value, frame) = self.field_value(field, None);
                Declaration::Field(FieldExpr {
                    label,
                    presence,
                    value,
                    frame,
                    comments,
                    position,
                })
            }
            ast::Label::String(name, span) => {
                let label = Label::Regular(self.symbols.intern(name));
                let position = self.position(*span);
                let (value, frame) = self.field_value(field, None);
                Declaration::Field(FieldExpr {
                    label,
                    presence,
                    value,
                    frame,
                    comments,
                    position,
                })
            }
            ast::Label::Interpolated(label) | ast::Label::Dynamic(label) => {
                let label = self.expr(label);
                let (value, frame) = self.field_value(field, None);
                let field = FieldExpr {
                    label: unused,
                    presence,
                    value,
                    frame,
                    comments,
                    position,
                };
                Declaration::Dynamic(Box::new(DynamicExpr { label, field }))
            }
            ast::Label::Pattern(alias, pattern) => {
                if field.constraint != ast::Constraint::None {
                    self.problem(field.span, "a pattern constraint cannot be optional or required");
                }
                let pattern = self.expr(pattern);
                let (value, frame) = self.field_value(field, alias.as_ref());
                let presence = Presence::Optional;
                let value = FieldExpr {
                    label: unused,
                    presence,
                    value,
                    frame,
                    comments,
                    position,
                };
                Declaration::Pattern {
                    pattern,
                    value: Arc::new(value),
                }
            }
        }
    }

    pub(super) fn comments(&self, comments: &[ast::Comment<'_>]) -> Vec<Comment> {
        let comment = |comment: &ast::Comment<'_>| Comment {
            position: self.position(comment.span),
            stands: comment.position,
        };
        comments.iter().map(comment).collect()
    }

    /// The value of a field, in a frame of its own when it can name its label or itself.
    fn field_value(
        &mut self,
        field: &ast::Field<'_>,
        label_alias: Option<&ast::Identifier<'_>>,
    ) -> (Expr, bool) {
        let computed = !matches!(field.label, ast::Label::Identifier(_) | ast::Label::String(..));
        let field_alias = field.alias.as_ref().filter(|_| computed);
        if label_alias.is_none() && field.value_alias.is_none() && field_alias.is_none() {
            return (self.expr(&field.value), false);
        }
        let field_symbol = field_alias.map(|alias| self.symbols.intern(alias.name));
        if let (Some(alias), Some(Level::Struct(names))) = (field_symbol, self.levels.last())
            && let Some(at) = self.declared_at(names, alias)
        {
            self.names[at].used = true;
        }
        let mut alias = |identifier: Option<&ast::Identifier<'_>>| {
            identifier.map(|identifier| Alias {
                name: self.symbols.intern(identifier.name),
                span: identifier.span,
                used: false,
            })
        };
        let value = alias(field.value_alias.as_ref()).or_else(|| alias(field_alias));
        let label = alias(label_alias);
        self.levels.push(Level::Frame { label, value });
        let value = self.expr(&field.value);
        if let Some(Level::Frame {
            label: None,
            value: Some(alias),
        }) = self.levels.pop()
            && field_alias.is_none()
            && !alias.used
            && !self.options.allow_unused
        {
            let name = self.symbols.name(alias.name);
            self.problem(alias.span, format!("unreferenced alias or let clause {name}"));
        }
        (value, true)
    }

    pub(super) fn comprehension(&mut self, comprehension: &ast::Comprehension<'_>) -> ComprehensionExpr {
        let depth = self.levels.len();
        let mut clauses = Vec::with_capacity(comprehension.clauses.len());
        for clause in &comprehension.clauses {
            match clause {
                ast::Clause::For { key, value, source } => {
                    let source = self.expr(source);
                    let key = key.map(|key| self.symbols.intern(key.name));
                    let value = self.symbols.intern(value.name);
                    self.levels.push(Level::Clause { key, value });
                    clauses.push(Clause::For { source });
                }
                ast::Clause::If(condition) => clauses.push(Clause::If(self.expr(condition))),
                ast::Clause::Let { name, value } => {
                    clauses.push(Clause::Let(self.expr(value)));
                    let value = self.symbols.intern(name.name);
                    self.levels.push(Level::Clause { key: None, value });
                }
            }
        }
        let body = self.struct_literal(&comprehension.body);
        self.levels.truncate(depth);
        let adds = adds(&body);
        let position = self.position(comprehension.span);
        let body_position = self.position(comprehension.body.span);
        let body = Expr {
            kind: ExprKind::Struct(Box::new(body)),
            position: body_position,
        };
        ComprehensionExpr {
            clauses,
            body,
            adds,
            position,
        }
    }

    pub(super) fn is_declared(&self, name: Symbol) -> bool {
        self.levels.iter().any(|level| match level {
            Level::Struct(names) => self.declared_at(names, name).is_some(),
            Level::Frame { label, value } => [label, value]
                .into_iter()
                .flatten()
                .any(|alias| alias.name == name),
            Level::Clause { key, value } => *value == name || *key == Some(name),
        })
    }

    pub(super) fn identifier(&mut self, name: &str, span: Span) -> ExprKind {
        let symbol = self.symbols.intern(name);
        for level in (0..self.levels.len()).rev() {
            let up = self.levels.len() - 1 - level;
            let up = u32::try_from(up).expect("the parser bounds nesting");
            let declared = match &self.levels[level] {
                Level::Struct(names) => self.declared_at(names, symbol),
                _ => None,
            };
            match &mut self.levels[level] {
                Level::Struct(_) => {
                    let Some(entry) = declared.and_then(|at| self.names.get_mut(at)) else {
                        continue;
                    };
                    entry.used = true;
                    match entry.target {
                        Target::Field(label) | Target::Alias(label) => return ExprKind::Field { up, label },
                        Target::Let(index) => {
                            return ExprKind::Let { up, index };
                        }
                        Target::Computed(declaration) => return ExprKind::Computed { up, declaration },
                    }
                }
                Level::Frame { label, value } => {
                    if let Some(alias) = label.as_mut().filter(|alias| alias.name == symbol) {
                        alias.used = true;
                        return ExprKind::FrameLabel { up };
                    }
                    if let Some(alias) = value.as_mut().filter(|alias| alias.name == symbol) {
                        alias.used = true;
                        return ExprKind::FrameValue { up };
                    }
                }
                Level::Clause { key, value } => {
                    let slot = if *value == symbol {
                        VariableSlot::Value
                    } else if *key == Some(symbol) {
                        VariableSlot::Key
                    } else {
                        continue;
                    };
                    return ExprKind::Variable { up, slot };
                }
            }
        }
        self.undeclared(name, symbol, span)
    }

    /// A name that no scope declares: injected, imported, predeclared, or wrong.
    fn undeclared(&mut self, name: &str, symbol: Symbol, span: Span) -> ExprKind {
        if self.options.externals.contains(&name) {
            let up = u32::try_from(self.levels.len() - 1).expect("the parser bounds nesting");
            return ExprKind::Field {
                up,
                label: self.symbols.identifier_label(name),
            };
        }
        if let Some(import) = self.imports.get_mut(&symbol) {
            import.used = true;
            self.problem(span, format!("package {name} cannot be used as a value"));
            return ExprKind::Bottom;
        }
        let plain = name.strip_prefix("__").unwrap_or(name);
        if let Some(kind) = predeclared_type(plain) {
            return kind;
        }
        if let Some(builtin) = builtin::find("", plain) {
            return ExprKind::Builtin(builtin);
        }
        self.problem(span, format!("reference {name:?} not found"));
        ExprKind::Bottom
    }
}

/// The labels that a comprehension's body may add to the struct around it.
fn adds(body: &StructExpr) -> Adds {
    let mut labels = Vec::new();
    for declaration in &body.declarations {
        match declaration {
            Declaration::Field(field) => labels.push(field.label),
            Declaration::Comprehension(inner) => match &inner.adds {
                Adds::Only(more) => labels.extend(more),
                Adds::Anything => return Adds::Anything,
            },
            Declaration::Pattern { .. } => {}
            Declaration::Dynamic(_) | Declaration::Embedding(_) => return Adds::Anything,
        }
    }
    Adds::Only(labels)
}
