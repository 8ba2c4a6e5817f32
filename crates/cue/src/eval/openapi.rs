//! Generates OpenAPI v3 structural schemas from values.
//!
//! Constraints that structural schemas cannot express are left open in the schema and listed, never guessed.

use super::Machine;
use super::atom::{Atom, Bound};
use super::error::Reason;
use super::instance::{Instance, Lookup};
use super::kind::Kind;
use super::node::{NodeId, Pattern};
use super::scalar::Scalar;
use crate::program::ir::{BoundOperator, Presence};
use crate::program::symbols::Label;
use crate::syntax::ast::{Comment, CommentPosition};
use serde_json::{Map, Value, json};

/// A schema, and the constraints that it does not express.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenApi {
    /// The schema.
    pub schema: Value,
    /// Constraints beyond the schema, by path.
    pub inexpressible: Vec<Inexpressible>,
}

/// A constraint that a structural schema cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexpressible {
    /// The path, such as `ports[].protocol`; empty for the value itself.
    pub path: String,
    /// The constraint, for example `one of several structs`.
    pub reason: String,
}

/// Maximum number of listed constraints.
const MAXIMUM_INEXPRESSIBLE: usize = 256;

/// Maximum depth of a schema; recursive definitions are left open below it.
const MAXIMUM_DEPTH: usize = 24;

impl Instance<'_> {
    /// The OpenAPI v3 structural schema of a value.
    pub fn openapi(&mut self, at: Lookup) -> OpenApi {
        let mut writer = Writer {
            machine: self.machine_mut(),
            inexpressible: Vec::new(),
            above: Vec::new(),
        };
        let schema = writer.schema(at.node(), "");
        let inexpressible = writer.inexpressible;
        OpenApi {
            schema: Value::Object(schema),
            inexpressible,
        }
    }
}

struct Writer<'m, 'p> {
    machine: &'m mut Machine<'p>,
    inexpressible: Vec<Inexpressible>,
    /// Nodes that are being written, outermost first.
    above: Vec<NodeId>,
}

type Schema = Map<String, Value>;

impl Writer<'_, '_> {
    fn cannot(&mut self, path: &str, reason: impl Into<String>) {
        let found = Inexpressible {
            path: path.to_owned(),
            reason: reason.into(),
        };
        if self.inexpressible.len() < MAXIMUM_INEXPRESSIBLE && !self.inexpressible.contains(&found) {
            self.inexpressible.push(found);
        }
    }

    fn schema(&mut self, id: NodeId, path: &str) -> Schema {
        // Small texts can stand for huge schemas.
        if self.machine.step().is_err() {
            return open();
        }
        let node = self.machine.expanded(id);
        if self.above.len() >= MAXIMUM_DEPTH || self.above.contains(&node) {
            self.cannot(path, "contains itself");
            return open();
        }
        self.above.push(node);
        let schema = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.node_schema(node, path));
        self.above.pop();
        schema
    }

    fn node_schema(&mut self, node: NodeId, path: &str) -> Schema {
        let known = self.machine.known(node);
        if !known.alternatives.is_empty() {
            return self.disjunction(node, path);
        }
        if let Some(error) = known.error.clone() {
            match &error.reason {
                Reason::StructuralCycle => self.cannot(path, "contains itself"),
                _ => {
                    let message = self.machine.message(&error);
                    self.cannot(path, format!("not known: {message}"));
                }
            }
            if !known_is_useful(self.machine, node) {
                return open();
            }
        }
        let known = self.machine.known(node);
        if known.list.is_some() {
            self.list(node, path)
        } else if known.is_struct {
            self.structure(node, path)
        } else {
            let atom = known.atom.clone();
            self.atom(&atom, path)
        }
    }

    fn structure(&mut self, node: NodeId, path: &str) -> Schema {
        let mut properties = Schema::new();
        let mut required = Vec::new();
        for arc in self.machine.known(node).arcs.clone() {
            let Label::Regular(symbol) = arc.label else {
                continue;
            };
            if arc.presence == Presence::Pending {
                continue;
            }
            let name = self.machine.symbols.name(symbol).to_string();
            let inner = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let mut schema = self.schema(arc.node, &inner);
            let comments = self.machine.comments_of(arc.node);
            describe(&mut schema, &comments);
            let has_value = schema.contains_key("default");
            if arc.presence == Presence::Required || (arc.presence == Presence::Member && !has_value) {
                required.push(Value::String(name.clone()));
            }
            properties.insert(name, Value::Object(schema));
        }
        let mut schema = typed("object");
        let known = self.machine.known(node);
        let patterns = known.patterns.clone();
        let is_open =
            known.structs.iter().any(|info| info.open) || (properties.is_empty() && patterns.is_empty());
        match patterns.as_slice() {
            [] => {}
            [pattern] if properties.is_empty() => {
                let items = self.pattern(node, pattern, path);
                schema.insert("additionalProperties".to_owned(), Value::Object(items));
            }
            _ => {
                self.cannot(path, "patterns beside fields, or several patterns");
                schema.insert(PRESERVE.to_owned(), Value::Bool(true));
            }
        }
        if is_open {
            schema.insert(PRESERVE.to_owned(), Value::Bool(true));
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        let atom = self.machine.known(node).atom.clone();
        self.validators(&atom, path, &mut schema);
        schema
    }

    /// The schema of the fields that match a pattern.
    fn pattern(&mut self, node: NodeId, pattern: &Pattern<'_>, path: &str) -> Schema {
        let names = self.machine.expanded(pattern.node);
        let any_name = self.machine.known(names).atom.bounds.is_empty()
            && self.machine.known(names).atom.kind.contains(Kind::STRING)
            && self.machine.known(names).atom.scalar.is_none()
            && self.machine.known(names).alternatives.is_empty();
        let inner = format!("{path}[string]");
        if !any_name {
            let shown = self.machine.show(names);
            self.cannot(&inner, format!("names must satisfy {shown}"));
        }
        let value = self.machine.pattern_value(node, pattern.node);
        match value {
            Some(value) => self.schema(value, &inner),
            None => open(),
        }
    }

    fn list(&mut self, node: NodeId, path: &str) -> Schema {
        let inner = format!("{path}[]");
        let mut schema = typed("array");
        let (elements, length, rest) = self.machine.list_parts(node);
        let items = match (elements.as_slice(), rest) {
            ([], Some(rest)) => self.schema(rest, &inner),
            ([], None) => open(),
            (elements, rest) => {
                let mut schemas: Vec<Schema> = elements
                    .iter()
                    .map(|element| self.schema(*element, &inner))
                    .collect();
                schemas.extend(rest.map(|rest| self.schema(rest, &inner)));
                schemas.dedup();
                if let [only] = schemas.as_slice() {
                    only.clone()
                } else {
                    self.cannot(path, "elements of different types by position");
                    open()
                }
            }
        };
        schema.insert("items".to_owned(), Value::Object(items));
        if !elements.is_empty() || length.is_some() {
            schema.insert("minItems".to_owned(), json!(elements.len()));
        }
        if let Some(length) = length {
            schema.insert("maxItems".to_owned(), json!(length));
        }
        let concrete = self.machine.export(node, &mut Vec::new(), &mut Vec::new());
        if let (Some(data), Some(_)) = (concrete, length) {
            schema.insert("default".to_owned(), Value::from(&data));
        }
        let atom = self.machine.known(node).atom.clone();
        self.validators(&atom, path, &mut schema);
        schema
    }

    fn disjunction(&mut self, node: NodeId, path: &str) -> Schema {
        let known = self.machine.known(node);
        let (alternatives, defaults) = (known.alternatives.clone(), known.defaults);
        if known.more {
            self.cannot(path, "has too many alternatives");
            return open();
        }
        let default = match defaults {
            1 => self
                .machine
                .export(alternatives[0], &mut Vec::new(), &mut Vec::new())
                .map(|data| Value::from(&data)),
            _ => None,
        };
        let mut nullable = false;
        let mut literals: Vec<(Kind, Value)> = Vec::new();
        let mut types: Vec<NodeId> = Vec::new();
        for alternative in alternatives {
            let alternative = self.machine.expanded(alternative);
            match self.machine.known(alternative).atom.scalar.clone() {
                Some((Scalar::Null, _)) => nullable = true,
                Some((scalar, _)) => literals.push((scalar.kind(), scalar_json(&scalar))),
                None => types.push(alternative),
            }
        }
        // A literal that a type beside it admits anyway says nothing more.
        let admitted = |machine: &Machine<'_>, kind: Kind| {
            types.iter().any(|&node| {
                let known = machine.known(node);
                !known.is_struct
                    && known.list.is_none()
                    && known.atom.bounds.is_empty()
                    && known.atom.kind.contains(kind)
            })
        };
        literals.retain(|(kind, _)| !admitted(self.machine, *kind));
        let mut schema = match (literals.is_empty(), types.as_slice()) {
            (false, []) => self.enumeration(&literals, path),
            (true, [only]) => self.schema(*only, path),
            (true, []) => Schema::new(),
            (_, several) => self.several(several, &literals, path),
        };
        if nullable {
            schema.insert("nullable".to_owned(), Value::Bool(true));
        }
        match default {
            Some(default) => _ = schema.insert("default".to_owned(), default),
            None => _ = schema.remove("default"),
        }
        schema
    }

    fn enumeration(&mut self, literals: &[(Kind, Value)], path: &str) -> Schema {
        let kinds = literals
            .iter()
            .fold(literals[0].0, |kinds, (kind, _)| kinds | *kind);
        let mut schema = self.kind(kinds, path);
        let values = literals.iter().map(|(_, value)| value.clone()).collect();
        schema.insert("enum".to_owned(), Value::Array(values));
        schema
    }

    /// Alternatives that are not one type and some literals of it.
    fn several(&mut self, types: &[NodeId], literals: &[(Kind, Value)], path: &str) -> Schema {
        let atoms: Vec<Atom> = types
            .iter()
            .map(|&node| self.machine.known(node))
            .filter(|known| !known.is_struct && known.list.is_none())
            .map(|known| known.atom.clone())
            .collect();
        if atoms.len() == types.len() {
            let kinds = atoms
                .iter()
                .map(|atom| atom.kind)
                .chain(literals.iter().map(|(kind, _)| *kind));
            let kinds = kinds.reduce(|one, other| one | other).unwrap_or(Kind::TOP);
            if atoms.iter().any(|atom| !atom.bounds.is_empty()) || !literals.is_empty() {
                self.cannot(path, "one of several ranges or literals");
            }
            return self.kind(kinds, path);
        }
        let all = |machine: &Machine<'_>, is: fn(&super::Known<'_>) -> bool| {
            literals.is_empty() && types.iter().all(|&node| is(machine.known(node)))
        };
        if all(self.machine, |known| known.is_struct) {
            self.cannot(path, "one of several structs");
            let mut schema = typed("object");
            schema.insert(PRESERVE.to_owned(), Value::Bool(true));
            return schema;
        }
        if all(self.machine, |known| known.list.is_some()) {
            self.cannot(path, "one of several lists");
            let mut schema = typed("array");
            schema.insert("items".to_owned(), Value::Object(open()));
            return schema;
        }
        self.cannot(path, "values of several types");
        open()
    }

    fn kind(&mut self, kind: Kind, path: &str) -> Schema {
        let single = [
            (Kind::STRING, "string"),
            // What a regular expression admits. Data has no bytes.
            (Kind::STRING.or(Kind::BYTES), "string"),
            (Kind::BOOL, "boolean"),
            (Kind::INT, "integer"),
            (Kind::FLOAT, "number"),
            (Kind::NUMBER, "number"),
            (Kind::STRUCT, "object"),
        ];
        if let Some((_, name)) = single.iter().find(|(single, _)| *single == kind) {
            return typed(name);
        }
        if kind == Kind::BYTES {
            let mut schema = typed("string");
            schema.insert("format".to_owned(), json!("byte"));
            return schema;
        }
        if kind == Kind::INT | Kind::STRING || kind == Kind::NUMBER | Kind::STRING {
            if kind.contains(Kind::FLOAT) {
                self.cannot(path, "a number or a string");
                return open();
            }
            let mut schema = Schema::new();
            schema.insert("x-kubernetes-int-or-string".to_owned(), Value::Bool(true));
            return schema;
        }
        if kind != Kind::TOP {
            self.cannot(path, format!("values of several types: {kind}"));
        }
        open()
    }

    fn atom(&mut self, atom: &Atom, path: &str) -> Schema {
        if let Some((scalar, _)) = &atom.scalar {
            let value = scalar_json(scalar);
            let mut schema = self.kind(scalar.kind(), path);
            if matches!(scalar, Scalar::Null) {
                schema = Schema::new();
                schema.insert("nullable".to_owned(), Value::Bool(true));
            }
            schema.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            schema.insert("default".to_owned(), value);
            return schema;
        }
        let mut schema = self.kind(atom.kind, path);
        for bound in &atom.bounds {
            self.bound(bound, path, &mut schema);
        }
        self.validators(atom, path, &mut schema);
        schema
    }

    fn bound(&mut self, bound: &Bound, path: &str, schema: &mut Schema) {
        let value = scalar_json(&bound.value);
        let is_number = matches!(bound.value, Scalar::Number(_));
        let mut set = |name: &str, value: Value| _ = schema.insert(name.to_owned(), value);
        match bound.operator {
            BoundOperator::GreaterEqual if is_number => set("minimum", value),
            BoundOperator::LessEqual if is_number => set("maximum", value),
            BoundOperator::Greater if is_number => {
                set("minimum", value);
                set("exclusiveMinimum", Value::Bool(true));
            }
            BoundOperator::Less if is_number => {
                set("maximum", value);
                set("exclusiveMaximum", Value::Bool(true));
            }
            BoundOperator::Match => conjoin(schema, json!({"pattern": value})),
            BoundOperator::NotMatch => conjoin(schema, json!({"not": {"pattern": value}})),
            BoundOperator::NotEqual => conjoin(schema, json!({"not": {"enum": [value]}})),
            _ => self.cannot(path, format!("must be {bound}")),
        }
    }

    fn validators(&mut self, atom: &Atom, path: &str, schema: &mut Schema) {
        for validator in &atom.validators {
            let name = validator.to_string();
            let keyword = match (validator.builtin.package, validator.builtin.name) {
                ("strings", "MinRunes") => "minLength",
                ("strings", "MaxRunes") => "maxLength",
                ("list", "MinItems") => "minItems",
                ("list", "MaxItems") => "maxItems",
                ("struct", "MinFields") => "minProperties",
                ("struct", "MaxFields") => "maxProperties",
                _ => {
                    self.cannot(path, format!("must satisfy {name}"));
                    continue;
                }
            };
            let limit = validator
                .shown
                .first()
                .and_then(|shown| shown.parse::<i64>().ok());
            match limit {
                Some(limit) => _ = schema.insert(keyword.to_owned(), json!(limit)),
                None => self.cannot(path, format!("must satisfy {name}")),
            }
        }
    }
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

fn typed(name: &str) -> Schema {
    Schema::from_iter([("type".to_owned(), Value::String(name.to_owned()))])
}

fn open() -> Schema {
    Schema::from_iter([(PRESERVE.to_owned(), Value::Bool(true))])
}

/// Adds a constraint: in place if the keyword is free, else under `allOf`.
fn conjoin(schema: &mut Schema, demand: Value) {
    let Value::Object(demand) = demand else { return };
    if demand.keys().any(|keyword| schema.contains_key(keyword)) {
        let all = schema.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(all) = all {
            all.push(Value::Object(demand));
        }
    } else {
        schema.extend(demand);
    }
}

fn scalar_json(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(*value),
        Scalar::Number(number) => Value::from(&crate::data::Data::Number(number.clone())),
        Scalar::String(text) => Value::String(text.to_string()),
        Scalar::Bytes(bytes) => Value::String(crate::packages::base64_text(bytes)),
    }
}

/// A struct that is only partly known still has fields to describe.
fn known_is_useful(machine: &Machine<'_>, node: NodeId) -> bool {
    let known = machine.known(node);
    known.error.as_ref().is_some_and(|error| !error.is_fatal()) && known.is_struct
}

/// Descriptions from comments: `+usage=…` if there is one, else the plain lines; `+short=…` and `+ignore` as extensions.
fn describe(schema: &mut Schema, comments: &[Comment<'_>]) {
    let lines = comments
        .iter()
        .filter(|comment| comment.position != CommentPosition::Detached);
    let lines: Vec<&str> = lines.flat_map(Comment::lines).map(str::trim).collect();
    let marker = |name: &str| {
        lines
            .iter()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    let plain: Vec<&str> = lines
        .iter()
        .filter(|line| !line.starts_with('+') && !line.is_empty())
        .copied()
        .collect();
    let description = marker("+usage=").map_or_else(|| plain.join(" "), str::to_owned);
    if !description.is_empty() {
        schema.insert("description".to_owned(), Value::String(description));
    }
    if let Some(short) = marker("+short=") {
        schema.insert("x-short".to_owned(), Value::String(short.to_owned()));
    }
    if lines.contains(&"+ignore") {
        schema.insert("x-ignore".to_owned(), Value::Bool(true));
    }
}
