//! The syntax tree of a CUE file.

use crate::number::Number;
use crate::source::Span;

/// A parsed file.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// The name in the `package` clause.
    pub package: Option<Identifier>,
    /// All `import` declarations, in order.
    pub imports: Vec<Import>,
    /// What the file declares: the body of its top-level struct.
    pub declarations: Vec<Declaration>,
}

/// One imported package.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The local name, when one is given before the path.
    pub name: Option<Identifier>,
    /// The path as written between the quotes, for example `encoding/json`.
    pub path: String,
    /// The path's place.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// The name, with a leading `_`, `#` or `_#` where it has one.
    pub name: String,
    /// Its place.
    pub span: Span,
}

/// A comment group: consecutive `//` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The lines without `//`, each otherwise as written.
    pub lines: Vec<String>,
    /// Where the group stands relative to its node.
    pub position: CommentPosition,
    /// Its place.
    pub span: Span,
}

/// Where a comment stands relative to the node that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentPosition {
    /// Directly above, without a blank line between.
    Doc,
    /// At the end of the node's last line.
    Line,
    /// Above, but separated by a blank line, or inside.
    Detached,
}

/// What may stand in a struct.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// `label: value`.
    Field(Box<Field>),
    /// `let name = value`.
    Let(LetClause),
    /// A value embedded in the struct.
    Embedding(Embedding),
    /// `for`, `if` and `let` clauses that yield a struct.
    Comprehension(Comprehension),
    /// `...` or `...T`.
    Ellipsis(Ellipsis),
    /// `@name(body)` on its own.
    Attribute(Attribute),
}

/// A field with its constraints and comments. `a: b: 1` is a field whose value is a struct with [`StructLiteral::brief`] set.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The alias before the label (`X=label: …`).
    pub alias: Option<Identifier>,
    /// The label.
    pub label: Label,
    /// Whether it is a constraint: `?` or `!`.
    pub constraint: Constraint,
    /// The alias before the value (`label: X=value`).
    pub value_alias: Option<Identifier>,
    /// The value.
    pub value: Expr,
    /// Attributes after the value.
    pub attributes: Vec<Attribute>,
    /// Comments of this field. For `a: b: c: 1` a comment above belongs to the innermost field, as in Go.
    pub comments: Vec<Comment>,
    /// From label to end of value.
    pub span: Span,
}

/// What a field's label is marked with.
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
pub enum Label {
    /// `name`, `_hidden`, `#Definition`, `_#HiddenDefinition`.
    Identifier(Identifier),
    /// `"any string"`, without interpolation.
    String(String, Span),
    /// `"x-\(name)"`: an [`Expr`] of kind interpolation.
    Interpolated(Expr),
    /// `(expression)`.
    Dynamic(Expr),
    /// `[pattern]` or `[Alias=pattern]`.
    Pattern(Option<Identifier>, Expr),
}

/// `let name = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct LetClause {
    /// The name that it binds.
    pub name: Identifier,
    /// The value.
    pub value: Expr,
    /// Comments above or beside.
    pub comments: Vec<Comment>,
    /// From `let` to end of value.
    pub span: Span,
}

/// A value that stands in a struct or a list without a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// The value.
    pub value: Expr,
    /// Comments above or beside.
    pub comments: Vec<Comment>,
}

/// Clauses and what they yield.
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension {
    /// At least one; the first is `for` or `if`.
    pub clauses: Vec<Clause>,
    /// The struct that is yielded.
    pub body: StructLiteral,
    /// Comments above or beside.
    pub comments: Vec<Comment>,
    /// From the first clause to the closing brace.
    pub span: Span,
}

/// One clause of a comprehension.
#[derive(Debug, Clone, PartialEq)]
pub enum Clause {
    /// `for key, value in source` or `for value in source`.
    For {
        /// The key or index variable.
        key: Option<Identifier>,
        /// The value variable.
        value: Identifier,
        /// What is iterated.
        source: Expr,
    },
    /// `if condition`.
    If(Expr),
    /// `let name = value`.
    Let {
        /// The name that it binds.
        name: Identifier,
        /// The value.
        value: Expr,
    },
}

/// `...` or `...T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ellipsis {
    /// The type of what may follow.
    pub value: Option<Expr>,
    /// Its place.
    pub span: Span,
}

/// `@name(body)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The name between `@` and `(`.
    pub name: String,
    /// The text between the parentheses, as written.
    pub body: String,
    /// Its place.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
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
    String(String),
    /// Bytes without interpolation, unescaped.
    Bytes(Vec<u8>),
    /// A string or bytes with `\(…)` in it.
    Interpolation {
        /// Whether single quotes make it bytes.
        bytes: bool,
        /// Literal text and expressions, in order.
        parts: Vec<InterpolationPart>,
    },
    /// A name: a reference, or a predeclared identifier such as `string` or `len`. Resolved later.
    Identifier(String),
    /// `{…}`.
    Struct(StructLiteral),
    /// `[…]`.
    List(ListLiteral),
    /// `base.name`, `base."name"`.
    Selector {
        /// The left side.
        base: Box<Expr>,
        /// The name; a definition or hidden field unless `quoted`.
        name: String,
        /// Whether the name was a string.
        quoted: bool,
        /// The name's place.
        name_span: Span,
    },
    /// `base[index]`.
    Index {
        /// The left side.
        base: Box<Expr>,
        /// What is in the brackets.
        index: Box<Expr>,
    },
    /// `base[low:high]`.
    Slice {
        /// The left side.
        base: Box<Expr>,
        /// Before the colon.
        low: Option<Box<Expr>>,
        /// After the colon.
        high: Option<Box<Expr>>,
    },
    /// `function(arguments)`.
    Call {
        /// What is called.
        function: Box<Expr>,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// `-x`, `+x`, `!x`, `*x`, and the bounds `<x`, `!=x`, `=~x`, ….
    Unary {
        /// The operator.
        operator: UnaryOperator,
        /// What it applies to.
        operand: Box<Expr>,
    },
    /// `left operator right`.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
    },
    /// `(inner)`.
    Parenthesized(Box<Expr>),
}

/// A piece of an interpolated string.
#[derive(Debug, Clone, PartialEq)]
pub enum InterpolationPart {
    /// Text between expressions, unescaped.
    Text(Vec<u8>),
    /// `\(expression)`.
    Expr(Expr),
}

/// `{…}`, or the value of `a: b: 1`, or a file's body.
#[derive(Debug, Clone, PartialEq)]
pub struct StructLiteral {
    /// What it declares, in order.
    pub declarations: Vec<Declaration>,
    /// Written without braces (`a: b: 1`).
    pub brief: bool,
    /// From `{` to `}`.
    pub span: Span,
}

/// `[…]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ListLiteral {
    /// The elements, in order.
    pub elements: Vec<Element>,
    /// `...` or `...T` at the end.
    pub ellipsis: Option<Box<Ellipsis>>,
}

/// What may stand in a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// A value.
    Value(Embedding),
    /// A comprehension that yields any number of values.
    Comprehension(Comprehension),
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
