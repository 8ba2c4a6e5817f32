//! The resolved form of a program: what the evaluator walks.
//!
//! Every name has become either a place relative to the scope it stands in, a built-in, or an error. A *scope level* is one
//! struct literal, one `for` or `let` clause, or the frame of a field that has an alias.

use crate::eval::builtin::Builtin;
use crate::eval::kind::Kind;
use crate::number::Number;
use crate::program::symbols::Label;
use crate::source::Span;
use crate::syntax::ast::CommentPosition;
use std::sync::Arc;

/// A place in one of the program's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Position {
    /// Index of the source.
    pub source: u32,
    /// The range in it.
    pub span: Span,
}

/// A comment of a field or an element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comment {
    /// The position of its text.
    pub position: Position,
    /// Its position relative to its node.
    pub stands: CommentPosition,
}

/// An expression and where it stands.
#[derive(Debug)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub position: Position,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Bottom,
    Null,
    Bool(bool),
    Number(Number),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    /// `_`, `string`, `int`, `number`, ….
    Kind(Kind),
    Struct(Box<StructExpr>),
    List(Box<ListExpr>),
    /// A field of the struct `up` levels out.
    Field {
        up: u32,
        label: Label,
    },
    /// A `let` of the struct `up` levels out.
    Let {
        up: u32,
        index: u32,
    },
    /// The key or value of the clause `up` levels out.
    Variable {
        up: u32,
        slot: VariableSlot,
    },
    /// The value of the field whose frame is `up` levels out.
    FrameValue {
        up: u32,
    },
    /// The field that a declaration with a computed label made in the struct `up` levels out.
    Computed {
        up: u32,
        declaration: u32,
    },
    /// The label of the field whose frame is `up` levels out.
    FrameLabel {
        up: u32,
    },
    Builtin(&'static Builtin),
    Select {
        base: Box<Expr>,
        label: Label,
    },
    Index {
        base: Box<Expr>,
        index: Box<Expr>,
    },
    Slice(Box<SliceExpr>),
    Interpolation(Box<InterpolationExpr>),
    Unary {
        operator: Unary,
        operand: Box<Expr>,
    },
    Bound {
        operator: BoundOperator,
        operand: Box<Expr>,
    },
    Binary(Box<BinaryExpr>),
    And(Vec<Expr>),
    Or(Box<OrExpr>),
    Call(Box<CallExpr>),
}

/// `base[low:high]`.
#[derive(Debug)]
pub(crate) struct SliceExpr {
    pub base: Expr,
    pub low: Option<Expr>,
    pub high: Option<Expr>,
}

/// `"text \(expression)"`.
#[derive(Debug)]
pub(crate) struct InterpolationExpr {
    pub bytes: bool,
    pub parts: Vec<Part>,
}

/// `left operator right`.
#[derive(Debug)]
pub(crate) struct BinaryExpr {
    pub operator: Binary,
    pub left: Expr,
    pub right: Expr,
}

/// `function(arguments)`.
#[derive(Debug)]
pub(crate) struct CallExpr {
    pub function: Expr,
    pub arguments: Vec<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableSlot {
    Key,
    Value,
}

#[derive(Debug)]
pub(crate) enum Part {
    Text(Vec<u8>),
    Expr(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Plus,
    Minus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BoundOperator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Match,
    NotMatch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Compare(BoundOperator),
    LogicalOr,
    LogicalAnd,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// `a | *b | c`.
#[derive(Debug)]
pub(crate) struct OrExpr {
    pub disjuncts: Vec<Disjunct>,
    /// Every disjunct is a literal, a basic type, or a bound of a literal: no scope is needed to know it.
    pub simple: bool,
}

#[derive(Debug)]
pub(crate) struct Disjunct {
    pub default: bool,
    pub value: Expr,
}

#[derive(Debug, Default)]
pub(crate) struct StructExpr {
    pub declarations: Vec<Declaration>,
    pub lets: Vec<LetExpr>,
    /// `...`
    pub open: bool,
    /// Has embeddings, whose closedness reaches its fields.
    pub embeds: bool,
}

#[derive(Debug)]
pub(crate) struct LetExpr {
    pub value: Expr,
}

#[derive(Debug)]
pub(crate) enum Declaration {
    Field(FieldExpr),
    Dynamic(Box<DynamicExpr>),
    /// `[pattern]: value`.
    Pattern {
        pattern: Expr,
        value: Arc<FieldExpr>,
    },
    Embedding(Expr),
    Comprehension(Box<ComprehensionExpr>),
}

/// A field whose label is computed.
#[derive(Debug)]
pub(crate) struct DynamicExpr {
    pub label: Expr,
    pub field: FieldExpr,
}

#[derive(Debug)]
pub(crate) struct FieldExpr {
    /// Unused when the label is computed or a pattern.
    pub label: Label,
    pub presence: Presence,
    pub value: Expr,
    /// The value sees a scope level for its own label or value.
    pub frame: bool,
    pub comments: Vec<Comment>,
    pub position: Position,
}

/// The presence of a field, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Presence {
    Member,
    Required,
    Optional,
    /// A comprehension that has not run may add it.
    Pending,
}

#[derive(Debug)]
pub(crate) struct ComprehensionExpr {
    pub clauses: Vec<Clause>,
    pub body: Expr,
    /// The labels that it may add, unless it may add any.
    pub adds: Adds,
    pub position: Position,
}

#[derive(Debug)]
pub(crate) enum Adds {
    Only(Vec<Label>),
    Anything,
}

#[derive(Debug)]
pub(crate) enum Clause {
    For { source: Expr },
    If(Expr),
    Let(Expr),
}

#[derive(Debug)]
pub(crate) struct ListExpr {
    pub elements: Vec<ElementExpr>,
    /// `...T`; `_` when no type is given.
    pub rest: Option<Expr>,
}

#[derive(Debug)]
pub(crate) enum ElementExpr {
    Value(Expr, Vec<Comment>),
    Comprehension(ComprehensionExpr),
}

impl std::fmt::Display for BoundOperator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Match => "=~",
            Self::NotMatch => "!~",
        })
    }
}
