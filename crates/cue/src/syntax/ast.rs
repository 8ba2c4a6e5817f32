//! The syntax tree of a CUE file.
//!
//! It borrows names, comments and strings without escapes from the text. Expressions are moved a lot while parsing, so
//! large variants are boxed.

use crate::number::Number;
use crate::source::Span;
use std::borrow::Cow;

/// A parsed file.
#[derive(Debug, Clone, PartialEq)]
pub struct File<'text> {
    /// The name in the `package` clause.
    pub package: Option<Identifier<'text>>,
    /// All `import` declarations, in order.
    pub imports: Vec<Import<'text>>,
    /// The declarations of the top-level struct.
    pub declarations: Vec<Declaration<'text>>,
}

/// One imported package.
#[derive(Debug, Clone, PartialEq)]
pub struct Import<'text> {
    /// The local name, when one is given before the path.
    pub name: Option<Identifier<'text>>,
    /// The path as written between the quotes, for example `encoding/json`.
    pub path: Cow<'text, str>,
    /// The path's place.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identifier<'text> {
    /// The name, with a leading `_`, `#` or `_#` where it has one.
    pub name: &'text str,
    /// Its place.
    pub span: Span,
}

/// A comment group: consecutive `//` lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'text> {
    /// The group as written, from its first `//` to the end of its last line.
    pub text: &'text str,
    /// The position relative to its node.
    pub position: CommentPosition,
    /// Its place.
    pub span: Span,
}

impl<'text> Comment<'text> {
    /// The lines without `//`, each otherwise as written.
    pub fn lines(&self) -> impl Iterator<Item = &'text str> + use<'text> {
        self.text.split('\n').map(|line| {
            let line = line.trim_start();
            line.strip_prefix("//").unwrap_or(line).trim_end_matches('\r')
        })
    }
}

/// The position of a comment relative to its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPosition {
    /// Directly above, without a blank line between.
    Doc,
    /// At the end of the node's last line.
    Line,
    /// Above, but separated by a blank line, or inside.
    Detached,
}

/// A declaration in a struct.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration<'text> {
    /// `label: value`.
    Field(Box<Field<'text>>),
    /// `let name = value`.
    Let(Box<LetClause<'text>>),
    /// A value embedded in the struct.
    Embedding(Embedding<'text>),
    /// `for`, `if` and `let` clauses that yield a struct.
    Comprehension(Box<Comprehension<'text>>),
    /// `...` or `...T`.
    Ellipsis(Ellipsis<'text>),
    /// `@name(body)` on its own.
    Attribute(Attribute<'text>),
}

/// A field with its constraints and comments. `a: b: 1` is a field whose value is a struct with [`StructLiteral::brief`] set.
#[derive(Debug, Clone, PartialEq)]
pub struct Field<'text> {
    /// The alias before the label (`X=label: …`).
    pub alias: Option<Identifier<'text>>,
    /// The label.
    pub label: Label<'text>,
    /// Whether it is a constraint: `?` or `!`.
    pub constraint: Constraint,
    /// The alias before the value (`label: X=value`).
    pub value_alias: Option<Identifier<'text>>,
    /// The value.
    pub value: Expr<'text>,
    /// Attributes after the value.
    pub attributes: Vec<Attribute<'text>>,
    /// Comments of this field. For `a: b: c: 1` a comment above belongs to the innermost field, as in Go.
    pub comments: Vec<Comment<'text>>,
    /// From label to end of value.
    pub span: Span,
}

/// The constraint marker of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// An ordinary field.
    None,
    /// `label?:`
    Optional,
    /// `label!:`
    Required,
}

/// A field's label.
#[derive(Debug, Clone, PartialEq)]
pub enum Label<'text> {
    /// `name`, `_hidden`, `#Definition`, `_#HiddenDefinition`.
    Identifier(Identifier<'text>),
    /// `"any string"`, without interpolation.
    String(Cow<'text, str>, Span),
    /// `"x-\(name)"`: an [`Expr`] of kind interpolation.
    Interpolated(Expr<'text>),
    /// `(expression)`.
    Dynamic(Expr<'text>),
    /// `[pattern]` or `[Alias=pattern]`.
    Pattern(Option<Identifier<'text>>, Expr<'text>),
}

/// `let name = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct LetClause<'text> {
    /// The name that it binds.
    pub name: Identifier<'text>,
    /// The value.
    pub value: Expr<'text>,
    /// Comments above or beside.
    pub comments: Vec<Comment<'text>>,
    /// From `let` to end of value.
    pub span: Span,
}

/// A value that stands in a struct or a list without a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding<'text> {
    /// The value.
    pub value: Expr<'text>,
    /// Comments above or beside.
    pub comments: Vec<Comment<'text>>,
}

/// Clauses and what they yield.
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension<'text> {
    /// At least one; the first is `for` or `if`.
    pub clauses: Vec<Clause<'text>>,
    /// The struct that is yielded.
    pub body: StructLiteral<'text>,
    /// Comments above or beside.
    pub comments: Vec<Comment<'text>>,
    /// From the first clause to the closing brace.
    pub span: Span,
}

/// One clause of a comprehension.
#[derive(Debug, Clone, PartialEq)]
pub enum Clause<'text> {
    /// `for key, value in source` or `for value in source`.
    For {
        /// The key or index variable.
        key: Option<Identifier<'text>>,
        /// The value variable.
        value: Identifier<'text>,
        /// The iterated value.
        source: Expr<'text>,
    },
    /// `if condition`.
    If(Expr<'text>),
    /// `let name = value`.
    Let {
        /// The name that it binds.
        name: Identifier<'text>,
        /// The value.
        value: Expr<'text>,
    },
}

/// `...` or `...T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ellipsis<'text> {
    /// The type of what may follow.
    pub value: Option<Expr<'text>>,
    /// Its place.
    pub span: Span,
}

/// `@name(body)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute<'text> {
    /// The name between `@` and `(`.
    pub name: &'text str,
    /// The text between the parentheses, as written.
    pub body: &'text str,
    /// Its place.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr<'text> {
    /// What it is.
    pub kind: ExprKind<'text>,
    /// Its place.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind<'text> {
    /// `_|_`.
    Bottom,
    /// `_`.
    Top,
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number, with its kind (`1` is an integer, `1.0` and `1e3` are not).
    Number(Number),
    /// A string without interpolation, unescaped.
    String(Cow<'text, str>),
    /// Bytes without interpolation, unescaped.
    Bytes(Box<[u8]>),
    /// A string or bytes with `\(…)` in it.
    Interpolation(Box<Interpolation<'text>>),
    /// A name: a reference, or a predeclared identifier such as `string` or `len`. Resolved later.
    Identifier(&'text str),
    /// `{…}`.
    Struct(Box<StructLiteral<'text>>),
    /// `[…]`.
    List(Box<ListLiteral<'text>>),
    /// `base.name`, `base."name"`.
    Selector(Box<Selector<'text>>),
    /// `base[index]`.
    Index(Box<Index<'text>>),
    /// `base[low:high]`.
    Slice(Box<Slice<'text>>),
    /// `function(arguments)`.
    Call(Box<Call<'text>>),
    /// `-x`, `+x`, `!x`, `*x`, and the bounds `<x`, `!=x`, `=~x`, ….
    Unary {
        /// The operator.
        operator: UnaryOperator,
        /// The operand.
        operand: Box<Expr<'text>>,
    },
    /// `left operator right`.
    Binary(Box<Binary<'text>>),
    /// `(inner)`.
    Parenthesized(Box<Expr<'text>>),
}

/// A string or bytes with `\(…)` in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation<'text> {
    /// Whether single quotes make it bytes.
    pub bytes: bool,
    /// Literal text and expressions, in order.
    pub parts: Vec<InterpolationPart<'text>>,
}

/// A piece of an interpolated string.
#[derive(Debug, Clone, PartialEq)]
pub enum InterpolationPart<'text> {
    /// Text between expressions, unescaped.
    Text(Cow<'text, [u8]>),
    /// `\(expression)`.
    Expr(Expr<'text>),
}

/// `base.name`, `base."name"`.
#[derive(Debug, Clone, PartialEq)]
pub struct Selector<'text> {
    /// The left side.
    pub base: Expr<'text>,
    /// The name; a definition or hidden field unless `quoted`.
    pub name: Cow<'text, str>,
    /// Whether the name was a string.
    pub quoted: bool,
    /// The name's place.
    pub name_span: Span,
}

/// `base[index]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Index<'text> {
    /// The left side.
    pub base: Expr<'text>,
    /// The index.
    pub index: Expr<'text>,
}

/// `base[low:high]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice<'text> {
    /// The left side.
    pub base: Expr<'text>,
    /// Before the colon.
    pub low: Option<Expr<'text>>,
    /// After the colon.
    pub high: Option<Expr<'text>>,
}

/// `function(arguments)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Call<'text> {
    /// The function.
    pub function: Expr<'text>,
    /// Its arguments.
    pub arguments: Vec<Expr<'text>>,
}

/// `left operator right`.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary<'text> {
    /// The operator.
    pub operator: BinaryOperator,
    /// The left side.
    pub left: Expr<'text>,
    /// The right side.
    pub right: Expr<'text>,
}

/// `{…}`, or the value of `a: b: 1`, or a file's body.
#[derive(Debug, Clone, PartialEq)]
pub struct StructLiteral<'text> {
    /// The declarations, in order.
    pub declarations: Vec<Declaration<'text>>,
    /// Written without braces (`a: b: 1`).
    pub brief: bool,
    /// From `{` to `}`.
    pub span: Span,
}

/// `[…]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ListLiteral<'text> {
    /// The elements, in order.
    pub elements: Vec<Element<'text>>,
    /// `...` or `...T` at the end.
    pub ellipsis: Option<Ellipsis<'text>>,
}

/// An element of a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Element<'text> {
    /// A value.
    Value(Embedding<'text>),
    /// A comprehension that yields any number of values.
    Comprehension(Box<Comprehension<'text>>),
}

/// Operators before an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `*`: marks a default; only legal on a disjunct.
    Default,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `=~`
    Match,
    /// `!~`
    NotMatch,
}

/// Operators between two operands, from weakest to strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `|`
    Or,
    /// `&`
    And,
    /// `||`
    LogicalOr,
    /// `&&`
    LogicalAnd,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `=~`
    Match,
    /// `!~`
    NotMatch,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}
