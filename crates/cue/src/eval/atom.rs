//! Atoms: kind, bounds, validators and scalar of a value, apart from its fields.

use crate::eval::builtin::Validator;
use crate::eval::kind::Kind;
use crate::eval::scalar::Scalar;
use crate::program::ir::{BoundOperator, Position};
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

/// The meet of types, bounds, validators and scalars.
#[derive(Debug, Clone)]
pub(crate) struct Atom {
    pub kind: Kind,
    kind_position: Position,
    pub scalar: Option<(Scalar, Position)>,
    pub bounds: Vec<Bound>,
    pub validators: Vec<Rc<Validator>>,
}

/// `>=1`, `=~"a"`, ….
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub operator: BoundOperator,
    pub value: Scalar,
    pub position: Position,
    /// Compiled once, for `=~` and `!~`.
    pub regex: Option<Rc<crate::packages::regexp::Pattern>>,
}

/// A conflict of two constraints.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub message: String,
    pub positions: Vec<Position>,
}

impl Default for Atom {
    fn default() -> Self {
        Self {
            kind: Kind::TOP,
            kind_position: Position::default(),
            scalar: None,
            bounds: Vec::new(),
            validators: Vec::new(),
        }
    }
}

impl Atom {
    /// Whether there is no constraint yet.
    pub(crate) fn is_top(&self) -> bool {
        self.kind == Kind::TOP && self.bounds.is_empty() && self.validators.is_empty()
    }

    pub(crate) fn add_kind(&mut self, kind: Kind, position: Position) -> Result<(), Conflict> {
        let both = self.kind & kind;
        if both.is_empty() {
            return Err(self.mismatch(&kind.to_string(), kind, position));
        }
        if both != self.kind {
            self.kind = both;
            self.kind_position = position;
        }
        Ok(())
    }

    pub(crate) fn add_scalar(&mut self, scalar: &Scalar, position: Position) -> Result<(), Conflict> {
        let kind = scalar.kind();
        if !self.kind.contains(kind) {
            return Err(self.mismatch(&scalar.to_string(), kind, position));
        }
        match &self.scalar {
            Some((known, known_position)) if !known.same(scalar) => Err(Conflict {
                message: format!("conflicting values {scalar} and {known}"),
                positions: vec![*known_position, position],
            }),
            Some(_) => Ok(()),
            None => {
                self.kind = kind;
                self.scalar = Some((scalar.clone(), position));
                for bound in &self.bounds {
                    bound.check(scalar, position)?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn add_bound(&mut self, bound: Bound) -> Result<(), Conflict> {
        self.add_kind(bound.kind(), bound.position)?;
        if let Some((scalar, position)) = &self.scalar {
            return bound.check(scalar, *position);
        }
        for index in 0..self.bounds.len() {
            match self.bounds[index].relate(&bound) {
                Relation::Implies => return Ok(()),
                Relation::Implied => {
                    self.bounds[index] = bound;
                    return Ok(());
                }
                Relation::Excludes => {
                    let (first, second) = (&bound, &self.bounds[index]);
                    return Err(Conflict {
                        message: format!("incompatible number bounds {first} and {second}"),
                        positions: vec![first.position, second.position],
                    });
                }
                Relation::None => {}
            }
        }
        self.bounds.push(bound);
        Ok(())
    }

    /// The same constraint, so that one of two alternatives can go.
    pub(crate) fn same(&self, other: &Self) -> bool {
        if let (Some((left, _)), Some((right, _))) = (&self.scalar, &other.scalar) {
            return left.same(right);
        }
        self.scalar.is_none() == other.scalar.is_none()
            && self.kind == other.kind
            && self.bounds.len() == other.bounds.len()
            && self
                .bounds
                .iter()
                .all(|bound| other.bounds.iter().any(|other| bound.same(other)))
            && self.validators.len() == other.validators.len()
            && self
                .validators
                .iter()
                .all(|one| other.validators.iter().any(|other| one.same(other)))
    }

    fn mismatch(&self, found: &str, kind: Kind, position: Position) -> Conflict {
        let (known, known_position) = match &self.scalar {
            Some((scalar, position)) => (scalar.to_string(), *position),
            None => (self.to_string(), self.kind_position),
        };
        Conflict {
            message: format!(
                "conflicting values {found} and {known} (mismatched types {kind} and {})",
                self.kind
            ),
            positions: vec![known_position, position],
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((scalar, _)) = &self.scalar {
            return write!(out, "{scalar}");
        }
        let mut parts: Vec<String> = Vec::new();
        let implied = self
            .bounds
            .iter()
            .fold(Kind::TOP, |kind, bound| kind & bound.kind());
        if (self.kind != implied || self.bounds.is_empty())
            && (self.validators.is_empty() || self.kind != Kind::TOP)
        {
            parts.push(self.kind.to_string());
        }
        parts.extend(self.bounds.iter().map(ToString::to_string));
        parts.extend(self.validators.iter().map(|validator| validator.to_string()));
        out.write_str(&parts.join(" & "))
    }
}

enum Relation {
    /// The first implies the second.
    Implies,
    Implied,
    /// They exclude each other.
    Excludes,
    None,
}

impl Bound {
    /// The kinds of values that can satisfy it.
    fn kind(&self) -> Kind {
        match self.operator {
            BoundOperator::NotEqual | BoundOperator::Equal if matches!(self.value, Scalar::Null) => Kind::TOP,
            BoundOperator::NotEqual | BoundOperator::Equal => match self.value.kind() {
                number if Kind::NUMBER.contains(number) => Kind::NUMBER,
                other => other,
            },
            BoundOperator::Match | BoundOperator::NotMatch => Kind::STRING | Kind::BYTES,
            _ => match self.value.kind() {
                number if Kind::NUMBER.contains(number) => Kind::NUMBER,
                other => other,
            },
        }
    }

    pub(crate) fn check(&self, scalar: &Scalar, position: Position) -> Result<(), Conflict> {
        if self.holds(scalar) {
            return Ok(());
        }
        Err(Conflict {
            message: format!("invalid value {scalar} (out of bound {self})"),
            positions: vec![self.position, position],
        })
    }

    fn holds(&self, scalar: &Scalar) -> bool {
        let order = scalar.compare(&self.value);
        match self.operator {
            BoundOperator::Equal => order == Some(Ordering::Equal),
            BoundOperator::NotEqual => order != Some(Ordering::Equal),
            BoundOperator::Less => order == Some(Ordering::Less),
            BoundOperator::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            BoundOperator::Greater => order == Some(Ordering::Greater),
            BoundOperator::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            BoundOperator::Match => self.matches(scalar),
            BoundOperator::NotMatch => !self.matches(scalar),
        }
    }

    fn matches(&self, scalar: &Scalar) -> bool {
        let Some(regex) = &self.regex else { return false };
        match scalar {
            Scalar::String(text) => regex.is_match(text),
            Scalar::Bytes(bytes) => regex.is_match(&String::from_utf8_lossy(bytes)),
            _ => false,
        }
    }

    fn same(&self, other: &Self) -> bool {
        self.operator == other.operator && self.value.same(&other.value)
    }

    fn relate(&self, other: &Self) -> Relation {
        use BoundOperator as Op;
        if self.same(other) {
            return Relation::Implies;
        }
        let Some(order) = self.value.compare(&other.value) else {
            return Relation::None;
        };
        let is_lower = |operator| matches!(operator, Op::Greater | Op::GreaterEqual);
        let is_upper = |operator| matches!(operator, Op::Less | Op::LessEqual);
        let (first, second) = (self.operator, other.operator);
        if is_lower(first) && is_lower(second) || is_upper(first) && is_upper(second) {
            let self_is_tighter = match order {
                Ordering::Equal => matches!(first, Op::Greater | Op::Less),
                Ordering::Greater => is_lower(first),
                Ordering::Less => is_upper(first),
            };
            return if self_is_tighter {
                Relation::Implies
            } else {
                Relation::Implied
            };
        }
        let order = match (
            is_lower(first) && is_upper(second),
            is_upper(first) && is_lower(second),
        ) {
            (true, _) => order,
            (_, true) => order.reverse(),
            _ => return Relation::None,
        };
        let inclusive = matches!(first, Op::LessEqual | Op::GreaterEqual)
            && matches!(second, Op::LessEqual | Op::GreaterEqual);
        match order {
            Ordering::Less => Relation::None,
            Ordering::Equal if inclusive => Relation::None,
            Ordering::Equal | Ordering::Greater => Relation::Excludes,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.operator, self.value)
    }
}
