//! Wildcards: one path that names many places.

use serde_json::Value;

use super::access::get;
use super::{FieldPath, PathError, Segment, WILDCARD, text_of};

/// More places than this in one object are refused.
const MOST_PLACES: usize = 100_000;

impl FieldPath {
    /// The paths that this one stands for in `object`: each wildcard becomes the elements or fields that are there, in order.
    /// Places that do not exist below a wildcard are left out.
    ///
    /// # Errors
    /// When a wildcard stands below something that has neither elements nor fields, or names too many places.
    pub fn expand(&self, object: &Value) -> Result<Vec<FieldPath>, PathError> {
        let mut found = Vec::new();
        let mut taken = Vec::with_capacity(self.segments().len());
        self.collect(object, &mut taken, &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        place: &Value,
        taken: &mut Vec<Segment>,
        found: &mut Vec<FieldPath>,
    ) -> Result<(), PathError> {
        let depth = taken.len();
        let Some(segment) = self.segments().get(depth) else {
            if found.len() == MOST_PLACES {
                return Err(PathError::TooMany {
                    path: self.to_string(),
                    limit: MOST_PLACES,
                });
            }
            found.push(FieldPath::of(taken.clone()));
            return Ok(());
        };
        match (segment, place) {
            (Segment::Field(name), Value::Array(array)) if name == WILDCARD => {
                for (element, index) in array.iter().zip(0..) {
                    self.step(Segment::Index(index), element, taken, found)?;
                }
                Ok(())
            }
            (Segment::Field(name), Value::Object(fields)) if name == WILDCARD => {
                for (name, field) in fields {
                    self.step(Segment::Field(name.clone()), field, taken, found)?;
                }
                Ok(())
            }
            (Segment::Field(name), Value::Null) if name == WILDCARD => {
                Err(PathError::NothingToExpand { path: text_of(taken) })
            }
            (Segment::Field(name), _) if name == WILDCARD => {
                Err(PathError::CannotExpand { path: text_of(taken) })
            }
            _ => match get(place, std::slice::from_ref(segment)) {
                Ok(next) => self.step(segment.clone(), next, taken, found),
                Err(error) if error.is_not_found() => Ok(()),
                Err(PathError::NotAnArray { .. }) => Err(PathError::NotAnArray { path: text_of(taken) }),
                Err(_) => Err(PathError::NotAnObject { path: text_of(taken) }),
            },
        }
    }

    fn step(
        &self,
        segment: Segment,
        place: &Value,
        taken: &mut Vec<Segment>,
        found: &mut Vec<FieldPath>,
    ) -> Result<(), PathError> {
        taken.push(segment);
        self.collect(place, taken, found)?;
        taken.pop();
        Ok(())
    }
}
