//! Trees: values that can still be patched.

use super::markers::Markers;
use cambium_cue::diagnostic::Severity;
use cambium_cue::{Data, Diagnostic, Instance, Lookup, MemberKind, Shape};

/// A value read out of an evaluation, with what it may still become.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    /// Null, a boolean, a number or a string.
    Scalar(Data),
    /// Bytes, as CUE text and as data.
    Bytes { text: String, data: Data },
    /// Fields in order.
    Struct(Vec<Field>),
    /// Elements, and what further ones must satisfy; none when there can be no more.
    List {
        elements: Vec<Tree>,
        rest: Option<Box<Tree>>,
    },
    /// One of several, the defaults first.
    Alternatives { values: Vec<Tree>, defaults: usize },
    /// A type or a bound, as CUE text.
    Constraint(String),
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: MemberKind,
    pub(crate) markers: Markers,
    pub(crate) value: Tree,
}

/// Reads a value out of an evaluation; the first part that is wrong or not known, if any.
pub(crate) fn read(instance: &mut Instance<'_>, at: Lookup) -> Result<Tree, Diagnostic> {
    Ok(match instance.shape(at) {
        Shape::Failed(problem) => return Err(problem),
        Shape::Scalar(data) => Tree::Scalar(data),
        Shape::Bytes { text, exported } => Tree::Bytes { text, data: exported },
        Shape::Constraint(text) => Tree::Constraint(text),
        Shape::List { elements, rest } => {
            let elements = elements
                .into_iter()
                .map(|element| read(instance, element))
                .collect::<Result<_, _>>()?;
            let rest = rest.map(|rest| read(instance, rest)).transpose()?.map(Box::new);
            Tree::List { elements, rest }
        }
        Shape::Alternatives { values, defaults } => {
            let values = values
                .into_iter()
                .map(|value| read(instance, value))
                .collect::<Result<_, _>>()?;
            Tree::Alternatives { values, defaults }
        }
        Shape::Struct(members) => {
            let mut fields = Vec::with_capacity(members.len());
            for member in members {
                let value = match read(instance, member.value) {
                    Ok(value) => value,
                    Err(_) if member.kind != MemberKind::Ordinary => continue,
                    Err(problem) => return Err(problem),
                };
                let markers = Markers::read(&instance.comments(member.value));
                fields.push(Field {
                    name: member.name,
                    kind: member.kind,
                    markers,
                    value,
                });
            }
            Tree::Struct(fields)
        }
    })
}

impl Tree {
    /// The value as data, defaults taken; why it is none, with the path from here.
    pub(crate) fn to_data(&self) -> Result<Data, Diagnostic> {
        match self {
            Self::Scalar(data) | Self::Bytes { data, .. } => Ok(data.clone()),
            Self::Struct(fields) => {
                let present = fields.iter().filter(|field| field.kind == MemberKind::Ordinary);
                let data = |field: &Field| match field.value.to_data() {
                    Ok(value) => Ok((field.name.clone(), value)),
                    Err(problem) => Err(below(&format!(".{}", field.name), problem)),
                };
                Ok(Data::Struct(present.map(data).collect::<Result<_, _>>()?))
            }
            Self::List { elements, .. } => {
                let data = |(index, element): (usize, &Self)| {
                    element
                        .to_data()
                        .map_err(|problem| below(&format!("[{index}]"), problem))
                };
                Ok(Data::List(
                    elements.iter().enumerate().map(data).collect::<Result<_, _>>()?,
                ))
            }
            Self::Alternatives { values, defaults: 1 } => values[0].to_data(),
            Self::Alternatives { .. } | Self::Constraint(_) => Err(incomplete(self)),
        }
    }

    /// Data that anything may be added to.
    pub(crate) fn open(data: &Data) -> Self {
        match data {
            Data::Struct(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(name, value)| Field::plain(name, value))
                    .collect(),
            ),
            Data::List(items) => Self::List {
                elements: items.iter().map(Self::open).collect(),
                rest: anything(),
            },
            scalar => Self::Scalar(scalar.clone()),
        }
    }

    /// Makes every list that is the value of a field one that may have more elements.
    pub(crate) fn open_lists(&mut self) {
        match self {
            Self::Struct(fields) => {
                for field in fields {
                    if let Self::List {
                        rest: rest @ None, ..
                    } = &mut field.value
                    {
                        *rest = anything();
                    }
                    field.value.open_lists();
                }
            }
            Self::List { elements: values, .. } | Self::Alternatives { values, .. } => {
                values.iter_mut().for_each(Self::open_lists);
            }
            Self::Scalar(_) | Self::Bytes { .. } | Self::Constraint(_) => {}
        }
    }

    /// The value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields
                .iter()
                .find(|field| field.is(name))
                .map(|field| &field.value),
            Self::List { elements, .. } => elements.get(name.parse::<usize>().ok()?),
            _ => None,
        }
    }

    /// The value of a field, to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Struct(fields) => fields
                .iter_mut()
                .find(|field| field.is(name))
                .map(|field| &mut field.value),
            _ => None,
        }
    }
}

impl Field {
    /// Whether it is the ordinary field of this name.
    fn is(&self, name: &str) -> bool {
        self.name == name && self.kind != MemberKind::Definition
    }

    /// Whether two fields of one name are one field.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_definition = |field: &Self| field.kind == MemberKind::Definition;
        self.name == other.name && is_definition(self) == is_definition(other)
    }

    fn plain(name: &str, value: &Data) -> Self {
        Self {
            name: name.to_owned(),
            kind: MemberKind::Ordinary,
            markers: Markers::default(),
            value: Tree::open(value),
        }
    }
}

/// The constraint on further elements of an open list.
pub(super) fn anything() -> Option<Box<Tree>> {
    Some(Box::new(Tree::Constraint("_".to_owned())))
}

fn incomplete(tree: &Tree) -> Diagnostic {
    let message = format!("incomplete value {}", super::text::text(tree));
    Diagnostic {
        severity: Severity::Incomplete,
        path: String::new(),
        message,
        places: Vec::new(),
    }
}

/// The same problem, seen from the parent.
pub(super) fn below(step: &str, problem: Diagnostic) -> Diagnostic {
    Diagnostic {
        path: format!("{step}{}", problem.path),
        ..problem
    }
}
