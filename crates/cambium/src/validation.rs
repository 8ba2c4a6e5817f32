//! Validates objects in files as the API server would: unknown fields, and values that the schema of their kind does not allow.

use cambium_cue::diagnostic::Place;
use cambium_cue::source::Span;
use cambium_cue::{Diagnostic, Source};
use cambium_pipeline::{CompileError, FieldError, Pipeline};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use serde_saphyr::{Location, Spanned};
use std::collections::BTreeMap;

/// Something that is wrong with a field.
pub(crate) struct Wrong {
    /// The field, as in `spec.components[0].name`.
    pub(crate) path: String,
    /// The message, with the path in it.
    pub(crate) message: String,
}

/// Makes of an object what an API server would, at this version of its kind; what that would refuse, or drop.
pub(crate) fn as_served(crd: &CustomResourceDefinition, version: &str, object: &mut Value) -> Vec<Wrong> {
    let of = |error: &FieldError| Wrong {
        path: error.path.to_string(),
        message: error.to_string(),
    };
    let at = |path: &str, message: String| Wrong {
        path: path.to_owned(),
        message,
    };
    let pipeline = match Pipeline::of_version(&json!(crd), version) {
        Ok(pipeline) => pipeline,
        Err(CompileError::InvalidSchema(errors)) => return errors.iter().map(of).collect(),
        Err(error) => {
            return vec![at(
                "apiVersion",
                format!("apiVersion: {error} of {}", crd.spec.names.kind),
            )];
        }
    };
    let written = match pipeline.create(object.clone()) {
        Ok(written) => written,
        Err(error) => return vec![at("metadata", format!("metadata: {error}"))],
    };
    *object = written.object;
    let unknown = written.unknown_fields.iter();
    let unknown = unknown.map(|path| at(path, format!("{path}: there is no such field")));
    unknown.chain(written.errors.iter().map(of)).collect()
}

/// The positions of the fields of a YAML document in its text.
#[derive(Default)]
pub(crate) struct Positions(BTreeMap<String, Span>);

impl Positions {
    /// Of one document of a text; of none if it cannot be read.
    pub(crate) fn of(text: &str, document: usize) -> Self {
        let documents: Vec<Tree> = serde_saphyr::from_multiple(text).unwrap_or_default();
        let mut positions = Self::default();
        if let Some(tree) = documents.get(document) {
            positions.add("", tree);
        }
        positions
    }

    fn add(&mut self, path: &str, tree: &Tree) {
        match tree {
            Tree::Leaf => {}
            Tree::Items(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.put(format!("{path}[{index}]"), item.referenced, &item.value);
                }
            }
            Tree::Fields(fields) => {
                for (name, value) in fields {
                    let separator = if path.is_empty() { "" } else { "." };
                    let path = format!("{path}{separator}{}", name.value);
                    self.put(path, name.referenced, value);
                }
            }
        }
    }

    fn put(&mut self, path: String, at: Location, tree: &Tree) {
        let span = at.span();
        if let (Some(start), Some(length)) = (span.byte_offset(), span.byte_len()) {
            let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
            self.0
                .insert(path.clone(), Span::new(number(start), number(start + length)));
        }
        self.add(&path, tree);
    }

    /// Shows a problem of a field at the field, if the text has it.
    pub(crate) fn place(&self, source: &Source, path: &str, mut problem: Diagnostic) -> Diagnostic {
        problem.places.extend(self.0.get(path).map(|span| Place {
            source: source.clone(),
            span: *span,
        }));
        problem
    }
}

/// A YAML document as far as it has fields and items.
enum Tree {
    Leaf,
    Items(Vec<Spanned<Tree>>),
    Fields(Vec<(Spanned<String>, Tree)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("YAML")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = map.next_entry()? {
            fields.push(entry);
        }
        Ok(Tree::Fields(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Tree::Items(items))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }
}
