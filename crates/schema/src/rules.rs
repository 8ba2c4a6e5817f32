//! Finds the values to which the CEL rules of a schema apply; `cambium-cel` evaluates them.

use std::ops::ControlFlow;

use serde_json::Value;

use crate::correlate::{Correlated, OldItems};
use crate::field::FieldPath;
use crate::model::{Additional, Child, JsonType, Rule, Schema};

/// A value with CEL rules.
pub struct RuleSite<'a> {
    /// The value's schema.
    pub schema: &'a Schema,
    /// The rules, in the order written.
    pub rules: &'a [Rule],
    /// The path of the value.
    pub path: FieldPath,
    /// The value: `self`. Never null.
    pub value: &'a Value,
    /// The correlated old value: `oldSelf`. Never null.
    pub old: Option<&'a Value>,
    /// Whether the value is a whole object, so that `self` has `apiVersion`, `kind` and `metadata`.
    pub resource_root: bool,
    ratchet: Ratchet<'a>,
}

impl RuleSite<'_> {
    /// Whether a failure of a rule without `oldSelf` is ratcheted, because the value is unchanged.
    pub fn ratcheted(&self) -> bool {
        self.ratchet.holds()
    }
}

/// Visits every value with rules, outermost first, until the visitor breaks. `old` is the old object of an update. Fields
/// without a type are skipped with all their content, as CEL does not expose them.
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
    /// Whether the schema has any rules. Built-in types have none.
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

/// Whether CEL exposes a value: it and its items have types.
fn is_exposed(schema: &Schema) -> bool {
    match (schema.json_type, &schema.additional) {
        (JsonType::Any, _) => false,
        (JsonType::Array, _) => schema.items.as_deref().is_some_and(is_exposed),
        (JsonType::Object, Additional::Schema(child)) => is_exposed(child),
        _ => true,
    }
}

/// The correlated old value; without one, the state of the nearest correlated ancestor.
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
                        (Some(property), _) if is_exposed(&property.schema) => {
                            (&*property.schema, path.child(name))
                        }
                        (Some(_), _) => continue,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use serde_json::json;

    fn sites(raw: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
        let schema = parse(raw, &FieldPath::new("schema")).expect("the test's schema is valid");
        let mut sites = Vec::new();
        let visited = visit_rules(&schema, value, old, &FieldPath::root(), &mut |site| {
            let old = if site.old.is_some() { " with old" } else { "" };
            let ratcheted = if site.ratcheted() { " ratcheted" } else { "" };
            sites.push(format!("{}{old}{ratcheted}", site.path));
            ControlFlow::Continue(())
        });
        assert!(visited.is_continue() && (schema.has_rules() || sites.is_empty()));
        sites
    }

    #[test]
    fn rules_apply_where_values_are() {
        let rules = json!([{"rule": "true"}]);
        let text = json!({"type": "string", "x-kubernetes-validations": rules});
        let raw = json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
            "atomic": {"type": "array", "items": text},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
                "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "text": text},
            }},
            "open": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"text": text}},
            "table": {"type": "object", "additionalProperties": text},
        }});
        let old =
            json!({"atomic": ["a"], "map": [{"name": "x", "text": "a"}], "table": {"k": "v", "l": null}});
        let new = json!({
            "atomic": ["a"], "map": [{"name": "y", "text": "a"}, {"name": "x", "text": "a"}],
            "open": {"text": "a"}, "table": {"k": "v", "l": "w", "m": null},
        });
        assert_eq!(
            sites(&raw, &new, Some(&old)),
            [
                "<nil> with old",
                "atomic[0] ratcheted",
                "map[0].text",
                "map[1].text with old ratcheted",
                "table[k] with old ratcheted",
                "table[l]",
            ]
        );
        assert_eq!(sites(&raw, &new, None).len(), 6);
        assert_eq!(sites(&json!({"type": "object"}), &new, None), [""; 0]);
    }
}
