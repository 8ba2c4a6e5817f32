//! Field paths.

use std::fmt;

use super::PathElement;

/// The path from the root of an object to a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// A path of plain fields.
    pub fn fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(PathElement::field).collect())
    }

    /// The elements, from the root.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }
}

impl From<Vec<PathElement>> for Path {
    fn from(elements: Vec<PathElement>) -> Self {
        Self(elements)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_a_path_as_conflicts_do() {
        let path = Path::from(vec![
            PathElement::field("spec"),
            PathElement::field("containers"),
            PathElement::key([("name".into(), json!("x"))]),
            PathElement::field("image"),
        ]);
        assert_eq!(path.to_string(), r#".spec.containers[name="x"].image"#);
        assert_eq!(Path::fields(["spec", "replicas"]).to_string(), ".spec.replicas");
        assert_eq!(Path::default().to_string(), "");
    }
}
