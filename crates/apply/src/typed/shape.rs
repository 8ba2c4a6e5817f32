//! The view of a schema for merging.

use cambium_schema::{Additional, JsonType, ListType, MapType, Property, Schema};
use serde_json::Value;

use crate::object_meta::{OBJECT_META, STRING};

/// The merge type of values at a path.
#[derive(Debug, Clone, Copy)]
pub struct Type<'s>(Ref<'s>);

#[derive(Debug, Clone, Copy)]
enum Ref<'s> {
    /// Declared by a schema.
    Declared {
        schema: &'s Schema,
        /// Whether an ancestor keeps unknown fields.
        preserve: bool,
        /// Whether it is a whole object, with standard metadata.
        object: bool,
    },
    /// Deduced from the value: maps granular, lists atomic.
    Deduced,
    /// Atomic, of any type.
    Whole,
    /// There is no such field.
    Undeclared,
}

/// The shape of a value under a type.
#[derive(Clone, Copy)]
pub(super) enum Shape<'s> {
    Map(MapShape<'s>),
    List(ListShape<'s>),
    Scalar(Scalar),
    /// There is no type here.
    Invalid,
}

/// The accepted scalars.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// The alternatives of a type that match a value; two values are merged recursively only if these are equal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Map,
    List,
    Scalar,
    All,
}

#[derive(Clone, Copy)]
pub(super) struct MapShape<'s>(Ref<'s>);

#[derive(Clone, Copy)]
pub(super) struct ListShape<'s>(Ref<'s>);

impl<'s> Type<'s> {
    /// The type of a part of an object.
    pub fn of(schema: &'s Schema) -> Self {
        Self::below(schema, false)
    }

    /// The type of a whole object, with standard metadata even if the schema does not declare it.
    pub fn object(schema: &'s Schema) -> Self {
        Self(Ref::Declared {
            schema,
            preserve: schema.preserve_unknown_fields,
            object: true,
        })
    }

    fn below(schema: &'s Schema, preserve: bool) -> Self {
        if schema.name == "io.k8s.apimachinery.pkg.runtime.RawExtension" {
            return Self(Ref::Whole);
        }
        Self(Ref::Declared {
            schema,
            preserve: preserve || schema.preserve_unknown_fields,
            object: schema.embedded_resource,
        })
    }

    /// The alternatives that match a value; `null` matches all of the type's.
    pub(super) fn choice(self, value: &Value) -> Choice {
        let open = match self.0 {
            Ref::Declared { schema, .. } => match json_type(schema) {
                JsonType::Any => Choice::All,
                JsonType::Object => Choice::Map,
                JsonType::Array => Choice::List,
                _ => Choice::Scalar,
            },
            Ref::Deduced | Ref::Whole | Ref::Undeclared => Choice::All,
        };
        match (open, value) {
            (Choice::All, Value::Object(_)) => Choice::Map,
            (Choice::All, Value::Array(_)) => Choice::List,
            (Choice::All, Value::Null) => Choice::All,
            (Choice::All, _) => Choice::Scalar,
            (only, _) => only,
        }
    }

    /// The shape of a choice; an arbitrary value is tried as a map first.
    pub(super) fn shape(self, choice: Choice) -> Shape<'s> {
        if matches!(self.0, Ref::Undeclared) {
            return Shape::Invalid;
        }
        match choice {
            Choice::Map | Choice::All => Shape::Map(MapShape(self.0)),
            Choice::List => Shape::List(ListShape(self.0)),
            Choice::Scalar => Shape::Scalar(self.scalar()),
        }
    }

    /// The shape of a value.
    pub(super) fn shape_of(self, value: &Value) -> Shape<'s> {
        self.shape(self.choice(value))
    }

    /// The shape without a value.
    pub(super) fn open_shape(self) -> Shape<'s> {
        self.shape_of(&Value::Null)
    }

    /// As a map, if it can be one.
    pub(super) fn as_map(self) -> Option<MapShape<'s>> {
        match self.open_shape() {
            Shape::Map(map) => Some(map),
            _ => None,
        }
    }

    /// As a list, if it can be one.
    pub(super) fn as_list(self) -> Option<ListShape<'s>> {
        match self.0 {
            Ref::Undeclared => None,
            Ref::Declared { schema, .. } if !matches!(json_type(schema), JsonType::Any | JsonType::Array) => {
                None
            }
            reference => Some(ListShape(reference)),
        }
    }

    fn scalar(self) -> Scalar {
        let Ref::Declared { schema, .. } = self.0 else {
            return Scalar::Untyped;
        };
        match json_type(schema) {
            JsonType::Integer | JsonType::Number => Scalar::Numeric,
            JsonType::Boolean => Scalar::Boolean,
            // Every other format may be written as something else (a quantity as a number).
            JsonType::String if matches!(&*schema.format, "" | "byte") => Scalar::String,
            _ => Scalar::Untyped,
        }
    }
}

fn json_type(schema: &Schema) -> JsonType {
    match (schema.json_type, schema.name) {
        // A CRD publishes it without a type; that it is neither a list nor a map is for validation to say.
        (JsonType::IntOrString, "") => JsonType::Any,
        (_, "io.k8s.apimachinery.pkg.api.resource.Quantity") => JsonType::IntOrString,
        (json_type, _) => json_type,
    }
}

impl<'s> MapShape<'s> {
    /// Whether the map is atomic.
    pub(super) fn is_atomic(self) -> bool {
        match self.0 {
            Ref::Declared { schema, .. } => schema.map == MapType::Atomic,
            Ref::Whole => true,
            Ref::Deduced | Ref::Undeclared => false,
        }
    }

    /// The type of a declared field.
    pub(super) fn named(self, name: &str) -> Option<Type<'s>> {
        let Ref::Declared {
            schema,
            preserve,
            object,
        } = self.0
        else {
            return None;
        };
        let property = schema.property(name);
        if object {
            match name {
                "metadata" if !property.is_some_and(is_detailed) => return Some(Type::of(&OBJECT_META)),
                "apiVersion" | "kind" if property.is_none() => return Some(Type::of(&STRING)),
                _ => {}
            }
        }
        property.map(|property| Type::below(&property.schema, preserve))
    }

    /// The type of a field, declared or as a map entry.
    pub(super) fn field(self, name: &str) -> Type<'s> {
        self.named(name).unwrap_or_else(|| self.entry())
    }

    /// The type of a field, if it is allowed.
    pub(super) fn declared(self, name: &str) -> Option<Type<'s>> {
        let ty = self.field(name);
        (!matches!(ty.0, Ref::Undeclared)).then_some(ty)
    }

    /// Whether nothing is declared: entries are deduced.
    pub(super) fn is_untyped(self) -> bool {
        match self.0 {
            Ref::Declared { schema, object, .. } => {
                schema.properties.is_empty() && !object && matches!(self.entry().0, Ref::Deduced)
            }
            Ref::Deduced => true,
            Ref::Whole | Ref::Undeclared => false,
        }
    }

    fn entry(self) -> Type<'s> {
        match self.0 {
            Ref::Declared {
                schema,
                preserve,
                object,
            } => match &schema.additional {
                Additional::Schema(child) => Type::below(child, preserve),
                Additional::Any => Type(Ref::Deduced),
                Additional::None if preserve || (schema.properties.is_empty() && !object) => {
                    Type(Ref::Deduced)
                }
                Additional::None => Type(Ref::Undeclared),
            },
            other => Type(other),
        }
    }
}

impl<'s> ListShape<'s> {
    /// How the list merges.
    pub(super) fn list_type(self) -> &'s ListType {
        match self.0 {
            Ref::Declared { schema, .. } => &schema.list,
            _ => &ListType::Atomic,
        }
    }

    /// The type of its items.
    pub(super) fn item(self) -> Type<'s> {
        match self.0 {
            Ref::Declared { schema, preserve, .. } => match &schema.items {
                Some(items) => Type::below(items, preserve),
                None => Type(Ref::Whole),
            },
            _ => Type(Ref::Whole),
        }
    }

    /// The default of a key field.
    pub(super) fn key_default(self, name: &str) -> Option<&'s Value> {
        let Ref::Declared { schema, .. } = self.0 else {
            return None;
        };
        schema.items.as_ref()?.property(name)?.schema.default.as_ref()
    }
}

/// Whether metadata is declared in full; a CRD may declare only the name, to restrict it.
fn is_detailed(metadata: &Property) -> bool {
    metadata.schema.property("managedFields").is_some()
}
