//! Paths of fields in a schema: `.spec.items[].name`, `.spec.labels{}`.

use std::fmt;

use crate::change::Place;

/// The path of a field in a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<Step>);

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A field of an object.
    Field(String),
    /// The items of a list.
    Items,
    /// The values of a map.
    Values,
}

impl Path {
    pub(crate) fn field(&self, name: &str) -> Self {
        self.then(Step::Field(name.to_owned()))
    }

    pub(crate) fn items(&self) -> Self {
        self.then(Step::Items)
    }

    pub(crate) fn values(&self) -> Self {
        self.then(Step::Values)
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path of what the field is in.
    pub(crate) fn parent(&self) -> Self {
        Self(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// The name of the field itself, if it is one.
    pub(crate) fn name(&self) -> Option<&str> {
        match self.0.last() {
            Some(Step::Field(name)) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn place(&self) -> Place {
        match self.0.first() {
            Some(Step::Field(name)) if name == "status" => Place::Status,
            _ => Place::Spec,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str(".");
        }
        for step in &self.0 {
            match step {
                Step::Field(name) if name.contains(['.', '[', ']', '{', '}']) => {
                    write!(formatter, "['{name}']")?
                }
                Step::Field(name) => write!(formatter, ".{name}")?,
                Step::Items => formatter.write_str("[]")?,
                Step::Values => formatter.write_str("{}")?,
            }
        }
        Ok(())
    }
}
