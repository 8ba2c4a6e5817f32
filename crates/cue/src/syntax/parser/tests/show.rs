//! Prints trees unambiguously: operators in parentheses, names with their kinds.

use crate::syntax::ast::{
    Clause, Comprehension, Constraint, Declaration, Element, Expr, ExprKind, Field, File, Identifier,
    InterpolationPart, Label, UnaryOperator,
};

pub(super) fn file(file: &File) -> String {
    let package = file.package.iter().map(|name| format!("package {}", name.name));
    let imports = file.imports.iter().map(|import| match &import.name {
        Some(name) => format!("import {}={}", name.name, import.path),
        None => format!("import {}", import.path),
    });
    let declarations = file.declarations.iter().map(declaration);
    package
        .chain(imports)
        .chain(declarations)
        .collect::<Vec<_>>()
        .join("; ")
}

fn declaration(declaration: &Declaration) -> String {
    match declaration {
        Declaration::Field(inner) => field(inner),
        Declaration::Let(clause) => format!("let {}={}", clause.name.name, expr(&clause.value)),
        Declaration::Embedding(embedding) => format!("<{}>", expr(&embedding.value)),
        Declaration::Comprehension(inner) => comprehension(inner),
        Declaration::Ellipsis(_) => "...".to_owned(),
        Declaration::Attribute(attribute) => format!("@{}[{}]", attribute.name, attribute.body),
    }
}

fn field(field: &Field) -> String {
    let mark = match field.constraint {
        Constraint::None => "",
        Constraint::Optional => "?",
        Constraint::Required => "!",
    };
    let attributes: String = field
        .attributes
        .iter()
        .map(|a| format!(" @{}[{}]", a.name, a.body))
        .collect();
    let (alias, value_alias) = (alias(field.alias.as_ref()), alias(field.value_alias.as_ref()));
    format!(
        "{alias}{}{mark}: {value_alias}{}{attributes}",
        label(&field.label),
        expr(&field.value)
    )
}

fn alias(alias: Option<&Identifier>) -> String {
    alias.map(|alias| format!("{}=", alias.name)).unwrap_or_default()
}

fn label(label: &Label) -> String {
    match label {
        Label::Identifier(name) => name.name.to_owned(),
        Label::String(text, _) => format!("{text:?}"),
        Label::Interpolated(value) => format!("interpolated {}", expr(value)),
        Label::Dynamic(value) => format!("dynamic({})", expr(value)),
        Label::Pattern(name, value) => format!("[{}{}]", alias(name.as_ref()), expr(value)),
    }
}

fn comprehension(comprehension: &Comprehension) -> String {
    let clauses: String = comprehension
        .clauses
        .iter()
        .map(|clause| format!("{} ", show_clause(clause)))
        .collect();
    let body = comprehension
        .body
        .declarations
        .iter()
        .map(declaration)
        .collect::<Vec<_>>()
        .join(", ");
    format!("{clauses}{{{body}}}")
}

fn show_clause(clause: &Clause) -> String {
    match clause {
        Clause::For { key, value, source } => {
            let key = key.iter().map(|key| format!("{},", key.name)).collect::<String>();
            format!("for {key}{} in {}", value.name, expr(source))
        }
        Clause::If(condition) => format!("if {}", expr(condition)),
        Clause::Let { name, value } => format!("let {}={}", name.name, expr(value)),
    }
}

fn expr(expression: &Expr) -> String {
    match &expression.kind {
        ExprKind::Bottom => "_|_".to_owned(),
        ExprKind::Top => "_".to_owned(),
        ExprKind::Null => "null".to_owned(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Number(number) => number.to_cue(),
        ExprKind::String(text) => format!("{text:?}"),
        ExprKind::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
        ExprKind::Interpolation(inner) => {
            let parts: Vec<String> = inner.parts.iter().map(part).collect();
            format!("{}~{}~", if inner.bytes { "b" } else { "" }, parts.join("|"))
        }
        ExprKind::Identifier(name) => (*name).to_owned(),
        ExprKind::Struct(literal) => {
            let declarations = literal
                .declarations
                .iter()
                .map(declaration)
                .collect::<Vec<_>>()
                .join(", ");
            if literal.brief {
                declarations
            } else {
                format!("{{{declarations}}}")
            }
        }
        ExprKind::List(list) => {
            let elements = list.elements.iter().map(element);
            let ellipsis = list
                .ellipsis
                .iter()
                .map(|ellipsis| format!("...{}", ellipsis.value.as_ref().map(expr).unwrap_or_default()));
            format!("[{}]", elements.chain(ellipsis).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Selector(selector) => {
            let name = &selector.name;
            let name = if selector.quoted {
                format!("{name:?}")
            } else {
                name.to_string()
            };
            format!("{}.{name}", expr(&selector.base))
        }
        ExprKind::Index(index) => format!("{}[{}]", expr(&index.base), expr(&index.index)),
        ExprKind::Slice(slice) => {
            let bound = |bound: &Option<Expr<'_>>| bound.as_ref().map(expr).unwrap_or_default();
            format!(
                "{}[{}:{}]",
                expr(&slice.base),
                bound(&slice.low),
                bound(&slice.high)
            )
        }
        ExprKind::Call(call) => {
            format!(
                "{}({})",
                expr(&call.function),
                call.arguments.iter().map(expr).collect::<Vec<_>>().join(", ")
            )
        }
        ExprKind::Unary { operator, operand } => {
            let operator = match operator {
                UnaryOperator::Default => "Star".to_owned(),
                operator => format!("{operator:?}"),
            };
            format!("({operator} {})", expr(operand))
        }
        ExprKind::Binary(binary) => format!(
            "({} {:?} {})",
            expr(&binary.left),
            binary.operator,
            expr(&binary.right)
        ),
        ExprKind::Parenthesized(inner) => format!("P({})", expr(inner)),
    }
}

fn part(part: &InterpolationPart) -> String {
    match part {
        InterpolationPart::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        InterpolationPart::Expr(inner) => expr(inner),
    }
}

fn element(element: &Element) -> String {
    match element {
        Element::Value(value) => expr(&value.value),
        Element::Comprehension(inner) => comprehension(inner),
    }
}
