//! Getting, setting and deleting what a path names.

use serde_json::{Map, Value};

use super::{FieldPath, HIGHEST_INDEX, Segment, text_of};
use crate::number;

/// Why there is nothing to get, or no place to set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The object has no field of that name.
    #[error("{path}: no such field")]
    NoSuchField {
        /// The path up to the missing field.
        path: String,
    },
    /// The array is shorter than that.
    #[error("{path}: no such element")]
    NoSuchElement {
        /// The path up to the missing element.
        path: String,
    },
    /// A null where an object was looked into.
    #[error("{path}: expected map, got nil")]
    Null {
        /// The path of the null.
        path: String,
    },
    /// A wildcard below a null.
    #[error("wildcard field {path:?} is not found in the path")]
    NothingToExpand {
        /// The path of the null.
        path: String,
    },
    /// A path indexes what is no array.
    #[error("{path}: not an array")]
    NotAnArray {
        /// The path of what was found.
        path: String,
    },
    /// A path looks into what is no object.
    #[error("{path}: not an object")]
    NotAnObject {
        /// The path of what was found.
        path: String,
    },
    /// A path writes to an element of what is no array.
    #[error("{path} is not an array")]
    CannotIndex {
        /// The path of what was found.
        path: String,
    },
    /// A path writes to a field of what is no object.
    #[error("{path} is not an object")]
    CannotEnter {
        /// The path of what was found.
        path: String,
    },
    /// A wildcard over what has neither elements nor fields.
    #[error("{path:?}: unexpected wildcard usage")]
    CannotExpand {
        /// The path of what was found.
        path: String,
    },
    /// An index that would make an array too long.
    #[error("index {index} is greater than max allowed index {HIGHEST_INDEX}")]
    IndexTooLarge {
        /// The index asked for.
        index: u32,
    },
    /// Nothing of that type to delete from.
    #[error("cannot delete {path}: {problem}")]
    CannotDelete {
        /// The whole path.
        path: String,
        /// What was found instead.
        problem: &'static str,
    },
    /// A wildcard that names more places than one object should have.
    #[error("{path}: names more than {limit} places")]
    TooMany {
        /// The whole path.
        path: String,
        /// The limit.
        limit: usize,
    },
}

impl PathError {
    /// Whether the path simply leads nowhere yet, as opposed to leading through something of the wrong type.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::NoSuchField { .. }
                | Self::NoSuchElement { .. }
                | Self::Null { .. }
                | Self::NothingToExpand { .. }
        )
    }
}

impl FieldPath {
    /// What the path names in `object`. A wildcard is an ordinary name here.
    ///
    /// # Errors
    /// When there is nothing, or when the way leads through a value that is no object or array.
    pub fn get<'a>(&self, object: &'a Value) -> Result<&'a Value, PathError> {
        get(object, self.segments())
    }

    /// Puts `value` where the path says, making the objects and arrays on the way.
    ///
    /// # Errors
    /// When the way leads through a value of the wrong type, or an index is over [`HIGHEST_INDEX`].
    pub fn set(&self, object: &mut Value, mut value: Value) -> Result<(), PathError> {
        number::settle(&mut value);
        let segments = self.segments();
        for segment in segments {
            if let &Segment::Index(index) = segment
                && index > HIGHEST_INDEX
            {
                return Err(PathError::IndexTooLarge { index });
            }
        }
        let mut place = object;
        for (depth, segment) in segments.iter().enumerate() {
            place = enter(place, &segments[..depth], segment, segments.get(depth + 1))?;
        }
        *place = value;
        Ok(())
    }

    /// Takes away what the path names; nothing happens if it is not there.
    ///
    /// # Errors
    /// When the way leads through a value of the wrong type.
    pub fn delete(&self, object: &mut Value) -> Result<(), PathError> {
        let Some((last, parents)) = self.segments().split_last() else {
            return Ok(());
        };
        let mut place = object;
        for (depth, segment) in parents.iter().enumerate() {
            let path = || text_of(&parents[..depth]);
            let next = match segment {
                Segment::Index(index) => {
                    let array = place
                        .as_array_mut()
                        .ok_or_else(|| PathError::CannotIndex { path: path() })?;
                    array.get_mut(*index as usize)
                }
                Segment::Field(name) => {
                    let fields = place
                        .as_object_mut()
                        .ok_or_else(|| PathError::CannotEnter { path: path() })?;
                    fields.get_mut(name)
                }
            };
            match next {
                Some(next) => place = next,
                None => return Ok(()),
            }
        }
        let refused = |problem| PathError::CannotDelete {
            path: self.to_string(),
            problem,
        };
        match (last, place) {
            (Segment::Index(index), Value::Array(array)) => {
                if (*index as usize) < array.len() {
                    array.remove(*index as usize);
                }
            }
            (Segment::Index(_), _) => return Err(refused("not an array")),
            (Segment::Field(name), Value::Object(fields)) => {
                fields.remove(name);
            }
            (Segment::Field(_), _) => return Err(refused("not an object")),
        }
        Ok(())
    }
}

pub(super) fn get<'a>(object: &'a Value, segments: &[Segment]) -> Result<&'a Value, PathError> {
    let mut place = object;
    for (depth, segment) in segments.iter().enumerate() {
        let before = || text_of(&segments[..depth]);
        let here = || text_of(&segments[..=depth]);
        place = match (segment, place) {
            (Segment::Index(index), Value::Array(array)) => array
                .get(*index as usize)
                .ok_or_else(|| PathError::NoSuchElement { path: here() })?,
            (Segment::Index(_), _) => return Err(PathError::NotAnArray { path: before() }),
            (Segment::Field(name), Value::Object(fields)) => fields
                .get(name)
                .ok_or_else(|| PathError::NoSuchField { path: here() })?,
            (Segment::Field(_), Value::Null) => return Err(PathError::Null { path: before() }),
            (Segment::Field(_), _) => return Err(PathError::NotAnObject { path: before() }),
        };
    }
    Ok(place)
}

/// The place that `segment` names in `place`, made fit for `next`.
fn enter<'a>(
    place: &'a mut Value,
    before: &[Segment],
    segment: &Segment,
    next: Option<&Segment>,
) -> Result<&'a mut Value, PathError> {
    match segment {
        Segment::Index(index) => {
            let Value::Array(array) = place else {
                return Err(PathError::CannotIndex {
                    path: text_of(before),
                });
            };
            let element = &mut array[*index as usize];
            // An element that padding left behind may become anything; a null that somebody wrote as a field may not.
            if element.is_null() && next.is_some() {
                *element = room_for(next);
            }
            lengthen(element, next);
            Ok(element)
        }
        Segment::Field(name) => {
            let Value::Object(fields) = place else {
                return Err(PathError::CannotEnter {
                    path: text_of(before),
                });
            };
            let field = fields.entry(name.as_str()).or_insert_with(|| room_for(next));
            lengthen(field, next);
            Ok(field)
        }
    }
}

fn room_for(next: Option<&Segment>) -> Value {
    match next {
        Some(Segment::Index(_)) => Value::Array(Vec::new()),
        Some(Segment::Field(_)) => Value::Object(Map::new()),
        None => Value::Null,
    }
}

/// An array that is about to be indexed is long enough for it.
fn lengthen(value: &mut Value, next: Option<&Segment>) {
    if let (Value::Array(array), Some(&Segment::Index(index))) = (value, next) {
        let needed = index as usize + 1;
        if array.len() < needed {
            array.resize(needed, Value::Null);
        }
    }
}
