//! Validates values against schemas, with Kubernetes' messages.
//!
//! Each node of a value is checked in the same order: type, junctors (`anyOf`, `oneOf`, `allOf`, `not`), string, format,
//! number, list, enumeration, object. With an old value, errors of unchanged nodes are tolerated (*ratcheting*), so that
//! objects stay editable after their schema has become stricter.
//!
//! CEL rules are not evaluated here; [`visit_rules`](crate::visit_rules) finds where they apply.

mod junctor;
mod number;
mod outcome;
mod value_type;

use serde_json::{Map, Value};

use self::outcome::{Outcome, Problem};
use crate::correlate::Correlated;
use crate::field::{FieldError, FieldPath};
use crate::formats;
use crate::lists::validate_lists;
use crate::metadata::validate_embedded;
use crate::model::{Additional, Constraints, Schema};
use crate::pattern::Matcher;
use cambium_go_text::json;

/// Validates an object except for CEL rules: values, embedded objects, list types.
///
/// With `old`, errors of unchanged parts are ratcheted.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let root = FieldPath::root();
    let mut errors = validate_values(schema, value, old, &root);
    errors.extend(validate_embedded(schema, value, &root));
    if old.is_none_or(|old| validate_lists(schema, old, &root).is_empty()) {
        errors.extend(validate_lists(schema, value, &root));
    }
    errors
}

/// Validates types, limits, formats, enumerations and junctors. Messages name fields relative to `at`.
pub fn validate_values(
    schema: &Schema,
    value: &Value,
    old: Option<&Value>,
    at: &FieldPath,
) -> Vec<FieldError> {
    let correlated = old.map(|old| Correlated::new(schema, value, old));
    Walk {
        path: String::new(),
        reading: Reading::Served,
    }
    .errors(schema, value, correlated, at)
}

/// Whether a schema's own default is valid.
pub(crate) fn validate_default(schema: &Schema, default: &Value, at: &FieldPath) -> Vec<FieldError> {
    Walk {
        path: String::new(),
        reading: Reading::AsWritten,
    }
    .errors(schema, default, None, at)
}

/// Upstream interprets a schema in two ways: to validate objects, it strips formats without meaning for a type, and
/// treats `x-kubernetes-int-or-string` as a type. To validate defaults, it does neither.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Served,
    AsWritten,
}

/// The constraints of schemas that have none.
static UNLIMITED: Constraints = Constraints {
    enumeration: None,
    pattern: None,
    matcher: Matcher::new(),
    minimum: None,
    maximum: None,
    multiple_of: None,
    min_length: None,
    max_length: None,
    min_items: None,
    max_items: None,
    unique_items: false,
    required: Vec::new(),
    closed: false,
    min_properties: None,
    max_properties: None,
    all_of: Vec::new(),
    any_of: Vec::new(),
    one_of: Vec::new(),
    not: None,
    rules: Vec::new(),
};

/// A walk over a value and its schema, with the current path.
struct Walk {
    path: String,
    reading: Reading,
}

impl Walk {
    fn errors(
        mut self,
        schema: &Schema,
        value: &Value,
        correlated: Option<Correlated<'_>>,
        at: &FieldPath,
    ) -> Vec<FieldError> {
        let outcome = self.node(schema, value, correlated);
        outcome
            .problems
            .into_iter()
            .map(|problem| problem.at(at))
            .collect()
    }

    fn node(&mut self, schema: &Schema, value: &Value, correlated: Option<Correlated<'_>>) -> Outcome {
        let outcome = self.checks(schema, value, correlated);
        // At every node, so that one invalid old value does not block changes elsewhere in the object.
        match correlated {
            Some(correlated) if !outcome.is_valid() && correlated.unchanged() => outcome.forgiven(),
            _ => outcome,
        }
    }

    fn checks(&mut self, schema: &Schema, value: &Value, correlated: Option<Correlated<'_>>) -> Outcome {
        let limits = schema.constraints.as_deref().unwrap_or(&UNLIMITED);
        let mut outcome = Outcome::default();
        if value.is_null() {
            outcome.merge(value_type::check(schema, value, self.reading, &self.path));
            outcome.merge(self.enumeration(limits, value));
            return outcome;
        }
        if value_type::applies(schema, self.reading) {
            outcome.merge(value_type::check(schema, value, self.reading, &self.path));
            outcome.count();
        }
        outcome.merge(self.junctors(limits, value));
        outcome.count();
        match value {
            Value::String(text) => {
                outcome.merge(self.string(limits, text));
                outcome.count();
                if let Some(format) = self.format(schema, text) {
                    outcome.merge(format);
                    outcome.count();
                }
            }
            Value::Number(number) => {
                outcome.merge(number::check(schema, limits, number, &self.path));
                outcome.count();
            }
            Value::Array(items) => {
                outcome.merge(self.list(schema, limits, items, correlated));
                outcome.count();
            }
            _ => {}
        }
        outcome.merge(self.enumeration(limits, value));
        outcome.count();
        if let Value::Object(fields) = value {
            outcome.merge(self.object(schema, limits, fields, correlated));
            outcome.count();
        }
        outcome.count();
        outcome
    }

    fn string(&self, limits: &Constraints, text: &str) -> Outcome {
        let path = &self.path;
        let length = || text.chars().count() as u64;
        // As upstream, only the first failed check of a string is reported.
        if let Some(limit) = limits.max_length
            && length() > limit
        {
            return Problem::too_long(path, limit).into();
        }
        if let Some(limit) = limits.min_length
            && length() < limit
        {
            let message = format!("{path} in body should be at least {limit} chars long");
            return Problem::invalid(path, &Value::from(text), message).into();
        }
        match &limits.pattern {
            Some(pattern) if !limits.matcher.is_match(pattern, text) => {
                let message = format!("{path} in body should match '{pattern}'");
                Problem::invalid(path, &Value::from(text), message).into()
            }
            _ => Outcome::default(),
        }
    }

    fn format(&self, schema: &Schema, text: &str) -> Option<Outcome> {
        let format = value_type::format(schema, self.reading);
        if format.is_empty() {
            return None;
        }
        Some(match formats::check(format, text)? {
            true => Outcome::default(),
            false => Problem::wrong_type(&self.path, format, text).into(),
        })
    }

    fn list(
        &mut self,
        schema: &Schema,
        limits: &Constraints,
        items: &[Value],
        correlated: Option<Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(schema) = &schema.items {
            let correlated = correlated.map(|correlated| correlated.items());
            for (index, item) in items.iter().enumerate() {
                let correlated = correlated.as_ref().and_then(|items| items.get(index));
                outcome
                    .append(self.within(&format!("[{index}]"), |walk| walk.node(schema, item, correlated)));
            }
        }
        let (path, size) = (&self.path, items.len() as u64);
        if let Some(limit) = limits.min_items
            && size < limit
        {
            let message = format!("{path} in body should have at least {limit} items");
            outcome.add(Problem::invalid(path, &Value::from(size), message));
        }
        if let Some(limit) = limits.max_items
            && size > limit
        {
            outcome.add(Problem::too_many(path, "items", size, limit));
        }
        if limits.unique_items && (1..items.len()).any(|index| items[..index].contains(&items[index])) {
            let message = format!("{path} in body shouldn't contain duplicates");
            outcome.add(Problem::invalid(path, &Value::from(""), message));
        }
        outcome.count();
        outcome
    }

    fn object(
        &mut self,
        schema: &Schema,
        limits: &Constraints,
        fields: &Map<String, Value>,
        correlated: Option<Correlated<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let (path, size) = (&self.path, fields.len() as u64);
        if let Some(limit) = limits.min_properties
            && size < limit
        {
            let message = format!("{path} in body should have at least {limit} properties");
            outcome.add(Problem::invalid(path, &Value::from(size), message));
        }
        if let Some(limit) = limits.max_properties
            && size > limit
        {
            outcome.add(Problem::too_many(path, "properties", size, limit));
        }
        for (name, field) in fields {
            if schema.property(name).is_some() {
                continue;
            }
            if limits.closed {
                let path = &self.path;
                let message = format!("{path}.{name} in body is a forbidden property");
                outcome.add(Problem::invalid(path, &Value::from(name.as_str()), message));
            } else if let Additional::Schema(schema) = &schema.additional {
                let correlated = self.field(correlated, name);
                outcome.append(self.within(&format!(".{name}"), |walk| walk.node(schema, field, correlated)));
            }
        }
        for property in schema.properties.iter() {
            let Some(field) = fields.get(&*property.name) else {
                continue;
            };
            let correlated = self.field(correlated, &property.name);
            let separator = if self.path.is_empty() { "" } else { "." };
            let step = format!("{separator}{}", property.name);
            outcome.append(self.within(&step, |walk| walk.node(&property.schema, field, correlated)));
        }
        let listed = |name: &str| limits.required.iter().any(|required| required == name);
        let declared = schema
            .properties
            .iter()
            .filter(|property| property.required && !listed(&property.name));
        let required = limits
            .required
            .iter()
            .map(String::as_str)
            .chain(declared.map(|property| &*property.name));
        for name in required.filter(|name| !fields.contains_key(*name)) {
            outcome.add(Problem::required(&format!("{}.{name}", self.path)));
        }
        outcome
    }

    /// The correlated child. `apiVersion` and `kind` of the root are not ratcheted: both objects have been converted to the
    /// same version.
    fn field<'a>(&self, correlated: Option<Correlated<'a>>, name: &str) -> Option<Correlated<'a>> {
        match self.path.is_empty() && matches!(name, "apiVersion" | "kind") {
            true => None,
            false => correlated?.field(name),
        }
    }

    fn enumeration(&self, limits: &Constraints, value: &Value) -> Outcome {
        match &limits.enumeration {
            Some(allowed)
                if !allowed.is_empty() && !allowed.iter().any(|allowed| number::same(value, allowed)) =>
            {
                Problem::unsupported(&self.path, value, allowed, json(value)).into()
            }
            _ => Outcome::default(),
        }
    }

    fn within(&mut self, step: &str, inside: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let length = self.path.len();
        self.path.push_str(step);
        let outcome = inside(self);
        self.path.truncate(length);
        outcome
    }
}

#[cfg(test)]
mod tests;
