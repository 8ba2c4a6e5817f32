//! Patches: a value from one object, transformed, put into another.

use serde_json::Value;

use crate::budget::{self, Budget};
use crate::gofmt::{self, TooLong};
use crate::path::{FieldPath, MergeError, MergeOptions, PathError, Repeats};
use crate::transform::{NotJson, Passed, Transform, TransformError};

/// Between which objects a patch goes. Patch sets are gone by the time there is a [`Patch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API and say it")]
pub enum PatchType {
    FromCompositeFieldPath,
    ToCompositeFieldPath,
    CombineFromComposite,
    CombineToComposite,
    FromEnvironmentFieldPath,
    ToEnvironmentFieldPath,
    CombineFromEnvironment,
    CombineToEnvironment,
}

impl PatchType {
    /// The type as it is written in a composition.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FromCompositeFieldPath => "FromCompositeFieldPath",
            Self::ToCompositeFieldPath => "ToCompositeFieldPath",
            Self::CombineFromComposite => "CombineFromComposite",
            Self::CombineToComposite => "CombineToComposite",
            Self::FromEnvironmentFieldPath => "FromEnvironmentFieldPath",
            Self::ToEnvironmentFieldPath => "ToEnvironmentFieldPath",
            Self::CombineFromEnvironment => "CombineFromEnvironment",
            Self::CombineToEnvironment => "CombineToEnvironment",
        }
    }

    /// Whether the patch is from the composite resource to a composed one.
    #[must_use]
    pub fn is_from_composite(self) -> bool {
        matches!(self, Self::FromCompositeFieldPath | Self::CombineFromComposite)
    }

    /// Whether the patch is from a composed resource to the composite one.
    #[must_use]
    pub fn is_to_composite(self) -> bool {
        matches!(self, Self::ToCompositeFieldPath | Self::CombineToComposite)
    }
}

/// One patch, checked and compiled.
#[derive(Debug, Clone)]
pub struct Patch {
    /// Between which objects it goes.
    pub kind: PatchType,
    /// Where its value comes from.
    pub source: Source,
    /// What happens to the value on the way.
    pub transforms: Vec<Transform>,
    /// Where the value goes.
    pub to: FieldPath,
    /// How it meets what is there; nothing replaces it.
    pub merge: Option<MergeOptions>,
    /// Whether it also merges with the object that exists, and not only with the template: if its target was written out.
    pub merges_with_observed: bool,
    /// Whether a source that is not there is an error.
    pub required: bool,
}

/// Where the value of a patch comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// One field.
    Field(FieldPath),
    /// Several fields, made into one text by a Go format.
    Combine {
        /// The fields.
        variables: Vec<FieldPath>,
        /// The format.
        format: String,
    },
}

/// Why a patch failed. The texts are Crossplane's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The value cannot be read.
    #[error(transparent)]
    Source(PathError),
    /// The value cannot be combined.
    #[error(transparent)]
    Combine(#[from] TooLong),
    /// The value is a number that no object can hold.
    #[error("cannot marshal value to JSON: {0}")]
    NotJson(#[from] NotJson),
    /// The value cannot be transformed.
    #[error("transform at index {index} returned error: {kind} transform could not resolve: {error}")]
    Transform {
        /// Which transform.
        index: usize,
        /// Its type.
        kind: &'static str,
        /// Why.
        #[source]
        error: TransformError,
    },
    /// The value cannot be put where it should go.
    #[error(transparent)]
    Target(#[from] MergeError),
    /// A wildcard leads through something that has no elements.
    #[error("cannot expand wildcards for segments: {path}: {error}")]
    Expand {
        /// The path, quoted.
        path: String,
        /// Why.
        #[source]
        error: PathError,
    },
    /// The patches of a composition cost too much, all together.
    #[error("the patches of this composition cost more than {} MiB of work for one composite resource; copy less, or to fewer places", budget::BUDGET >> 20)]
    TooExpensive,
    /// A wildcard names nothing.
    #[error("cannot expand ToFieldPath {path}")]
    Nowhere {
        /// The path.
        path: String,
    },
}

impl PatchError {
    /// Whether the patch only waits for something to appear.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Source(error) | Self::Expand { error, .. } | Self::Target(MergeError::Path(error)) => {
                error.is_not_found()
            }
            _ => false,
        }
    }
}

impl Patch {
    /// Reads from one object, writes to another. An optional source that is not there changes nothing.
    ///
    /// # Errors
    /// When the value cannot be read, transformed or written.
    pub fn apply(
        &self,
        from: &Value,
        to: &mut Value,
        repeats: Repeats,
        budget: &Budget,
    ) -> Result<(), PatchError> {
        match self.value(from, budget) {
            Ok(value) => self.place(value, to, repeats, budget),
            Err(PatchError::Source(error)) if error.is_not_found() && !self.required => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The value that the patch takes from an object, transformed.
    ///
    /// # Errors
    /// When it is not there, or cannot be transformed.
    pub fn value(&self, from: &Value, budget: &Budget) -> Result<Value, PatchError> {
        let value = match &self.source {
            Source::Field(path) => {
                let value = path.get(from).map_err(PatchError::Source)?;
                budget.spend(budget::size(value), 1)?;
                value.clone()
            }
            Source::Combine { variables, format } => {
                let values: Result<Vec<&Value>, PathError> =
                    variables.iter().map(|path| path.get(from)).collect();
                gofmt::sprintf(format, &values.map_err(PatchError::Source)?)?.into()
            }
        };
        let mut value = Passed::Json(value);
        for (index, transform) in self.transforms.iter().enumerate() {
            if let Passed::Json(value) = &value {
                budget.spend(budget::size(value), transform.cost())?;
            }
            value = transform.apply(value).map_err(|error| PatchError::Transform {
                index,
                kind: transform.name(),
                error,
            })?;
        }
        Ok(value.into_json()?)
    }

    /// Puts a value where the patch says: everywhere, if its path has wildcards.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn place(
        &self,
        value: Value,
        to: &mut Value,
        repeats: Repeats,
        budget: &Budget,
    ) -> Result<(), PatchError> {
        let size = budget::size(&value);
        // Combined values go to one place: a wildcard is an ordinary name for them.
        if !self.to.expands() || matches!(self.source, Source::Combine { .. }) {
            budget.spend(size, budget::WRITTEN)?;
            self.meet(&self.to, to, budget)?;
            return Ok(self.to.merge(to, value, self.merge, repeats)?);
        }
        let places = self.to.expand(to).map_err(|error| PatchError::Expand {
            path: gofmt::quoted(&self.to.to_string()),
            error,
        })?;
        if places.is_empty() {
            return Err(PatchError::Nowhere {
                path: self.to.to_string(),
            });
        }
        budget.spend(size.saturating_mul(places.len()), budget::WRITTEN)?;
        for place in places {
            self.meet(&place, to, budget)?;
            place.merge(to, value.clone(), self.merge, repeats)?;
        }
        Ok(())
    }

    /// What is merged with is looked at, and put back.
    fn meet(&self, place: &FieldPath, object: &Value, budget: &Budget) -> Result<(), PatchError> {
        match (self.merge, place.get(object)) {
            (Some(_), Ok(existing)) => budget.spend(budget::size(existing), 1),
            _ => Ok(()),
        }
    }
}
