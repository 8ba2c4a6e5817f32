//! Where the CEL rules of a schema apply in an object. Another crate evaluates them.

use std::ops::ControlFlow;

use serde_json::Value;

use crate::correlate::{Correlated, OldItems};
use crate::field::FieldPath;
use crate::model::{Additional, Child, Rule, Schema};

/// A value to which rules apply.
pub struct RuleSite<'a> {
    /// The value's schema.
    pub schema: &'a Schema,
    /// The rules, in the order written.
    pub rules: &'a [Rule],
    /// Where the value is.
    pub path: FieldPath,
    /// The value: `self`. Never null.
    pub value: &'a Value,
    /// The value it was, where one corresponds: `oldSelf`. Never null.
    pub old: Option<&'a Value>,
    /// Whether the value is a whole object, so that `self` has `apiVersion`, `kind` and `metadata`.
    pub resource_root: bool,
    ratchet: Ratchet<'a>,
}

impl RuleSite<'_> {
    /// Whether the failure of a rule that does not use `oldSelf` is forgiven, because nothing changed here.
    pub fn ratcheted(&self) -> bool {
        self.ratchet.holds()
    }
}

/// Visits every value to which rules apply, outermost first, until the visitor breaks. With `old`, an update is judged.
pub fn visit_rules<'a>(
    schema: &'a Schema,
    value: &'a Value,
    old: Option<&'a Value>,
    at: &FieldPath,
    visitor: &mut dyn FnMut(RuleSite<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let current = old.map(|old| Correlated::new(schema, value, old));
    let place = Place {
        schema,
        value,
        old,
        resource_root: true,
        ratchet: Ratchet {
            current,
            nearest: None,
        },
    };
    place.visit(at, visitor)
}

impl Schema {
    /// Whether any rule applies anywhere inside. Built-in types have none.
    pub fn has_rules(&self) -> bool {
        let child = |child: &Child| match child {
            Child::Static(_) => false,
            Child::Shared(schema) => schema.has_rules(),
        };
        let additional = match &self.additional {
            Additional::Schema(schema) => child(schema),
            Additional::None | Additional::Any => false,
        };
        !rules(self).is_empty()
            || additional
            || self.items.as_ref().is_some_and(child)
            || self.properties.iter().any(|property| child(&property.schema))
    }
}

fn rules(schema: &Schema) -> &[Rule] {
    schema
        .constraints
        .as_ref()
        .map_or(&[], |constraints| &constraints.rules)
}

/// What a value corresponds to; and while it corresponds to nothing, what its nearest ancestor does.
#[derive(Clone, Copy)]
struct Ratchet<'a> {
    current: Option<Correlated<'a>>,
    nearest: Option<Correlated<'a>>,
}

impl<'a> Ratchet<'a> {
    fn holds(&self) -> bool {
        self.current
            .or(self.nearest)
            .is_some_and(|correlated| correlated.unchanged())
    }

    fn field(self, name: &str) -> Self {
        match self.current {
            None => self,
            // Both versions are converted to the same type, so a change of the root's cannot be seen.
            Some(_) if self.nearest.is_none() && matches!(name, "apiVersion" | "kind") => Self {
                current: None,
                nearest: None,
            },
            Some(current) => Self {
                current: current.field(name),
                nearest: Some(current),
            },
        }
    }

    fn item(self, item: Option<Correlated<'a>>) -> Self {
        match self.current {
            None => self,
            Some(current) => Self {
                current: item,
                nearest: Some(current),
            },
        }
    }
}

struct Place<'a> {
    schema: &'a Schema,
    value: &'a Value,
    old: Option<&'a Value>,
    resource_root: bool,
    ratchet: Ratchet<'a>,
}

impl<'a> Place<'a> {
    fn visit(
        &self,
        path: &FieldPath,
        visitor: &mut dyn FnMut(RuleSite<'a>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Place {
            schema,
            value,
            ratchet,
            resource_root,
            ..
        } = *self;
        let old = self.old.filter(|old| !old.is_null());
        if value.is_null() {
            return ControlFlow::Continue(());
        }
        let rules = rules(schema);
        if !rules.is_empty() {
            visitor(RuleSite {
                schema,
                rules,
                path: path.clone(),
                value,
                old,
                resource_root,
                ratchet,
            })?;
        }
        match value {
            Value::Object(fields) => {
                let old_field = |name: &str| old.and_then(|old| old.get(name));
                let additional = match &schema.additional {
                    Additional::Schema(child) => Some(child),
                    Additional::None | Additional::Any => None,
                };
                for (name, field) in fields {
                    let (schema, at) = match (schema.property(name), additional) {
                        (Some(property), _) => (&*property.schema, path.child(name)),
                        (None, Some(child)) => (&**child, path.key(name)),
                        (None, None) => continue,
                    };
                    self.child(schema, field, old_field(name), ratchet.field(name))
                        .visit(&at, visitor)?;
                }
            }
            Value::Array(items) => {
                let Some(item_schema) = schema.items.as_deref() else {
                    return ControlFlow::Continue(());
                };
                let old_items = OldItems::of(schema, old);
                let correlated = ratchet.current.map(|current| current.items());
                for (index, item) in items.iter().enumerate() {
                    let correlated = correlated.as_ref().and_then(|items| items.get(index));
                    let place = self.child(item_schema, item, old_items.get(item), ratchet.item(correlated));
                    place.visit(&path.index(index), visitor)?;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn child(
        &self,
        schema: &'a Schema,
        value: &'a Value,
        old: Option<&'a Value>,
        ratchet: Ratchet<'a>,
    ) -> Self {
        Self {
            schema,
            value,
            old,
            resource_root: schema.embedded_resource,
            ratchet,
        }
    }
}
