//! Reads YAML.

use super::resolve::{Kind, is_not_finite, resolve};
use crate::data::Data;
use crate::number::Number;
use crate::packages::fields::Fields;
use crate::packages::{Budget, CallError, MAXIMUM_DEPTH, base64};
use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Values that a text makes at most, counting each use of an anchor.
const MAXIMUM_NODES: usize = 1_000_000;

/// The values of all documents.
pub(super) fn documents(text: &[u8], budget: &mut dyn Budget) -> Result<Vec<Data>, CallError> {
    let text = std::str::from_utf8(text).map_err(|_| CallError::new("yaml: invalid UTF-8"))?;
    let mut reader = Reader {
        text,
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        depth: 0,
    };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            (Event::DocumentStart(..), _) => {
                let event = reader.next()?;
                let node = reader.node(event)?;
                let anchors = std::mem::take(&mut reader.anchors);
                let mut builder = Builder {
                    anchors,
                    expanding: HashSet::new(),
                    nodes: 0,
                    depth: 0,
                    budget: &mut *budget,
                };
                documents.push(builder.value(&node)?);
            }
            (Event::StreamEnd, _) => return Ok(documents),
            _ => {}
        }
    }
}

struct Node {
    line: usize,
    content: Content,
}

impl Node {
    /// The cost of copying the node, in steps and bytes: parsing a number is quadratic in its digits.
    fn copied(&self) -> (u64, usize) {
        let Content::Scalar { text, .. } = &self.content else {
            return (0, 0);
        };
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
        let digits = if is_number { text.len() as u64 } else { 0 };
        (digits.saturating_mul(digits) / 500_000, text.len())
    }
}

enum Content {
    Scalar {
        text: String,
        tag: Option<String>,
        plain: bool,
    },
    Sequence(Vec<Rc<Node>>),
    Mapping(Vec<(Rc<Node>, Rc<Node>)>),
    Alias(usize, String),
}

/// Events to nodes.
struct Reader<'text> {
    text: &'text str,
    parser: Parser<'text, granit_parser::StrInput<'text>>,
    anchors: HashMap<usize, Rc<Node>>,
    depth: usize,
}

impl<'text> Reader<'text> {
    fn next(&mut self) -> Result<(Event<'text>, Span), CallError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(CallError::Failed(format!(
                ":{}: {}",
                error.marker().line(),
                error.info()
            ))),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: (Event<'text>, Span)) -> Result<Rc<Node>, CallError> {
        if self.depth > MAXIMUM_DEPTH {
            return Err(CallError::TooDeep);
        }
        self.depth += 1;
        let node = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.node_inner(event));
        self.depth -= 1;
        node
    }

    fn node_inner(&mut self, (event, span): (Event<'text>, Span)) -> Result<Rc<Node>, CallError> {
        let line = span.start.line();
        let (anchor, content) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref().map(short_tag).filter(|tag| tag != "!");
                let plain = style == ScalarStyle::Plain;
                let mut text = text.into_owned();
                // A block at the end of a text without a newline has none either.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let at_end = span.end.byte_offset().is_some_and(|end| end >= self.text.len());
                if block && at_end && text.ends_with('\n') && !self.text.ends_with('\n') {
                    text.pop();
                }
                (anchor, Content::Scalar { text, tag, plain })
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        event => items.push(self.node(event)?),
                    }
                }
                (anchor, Content::Sequence(items))
            }
            Event::MappingStart(_, anchor, _) => {
                let mut fields = Vec::new();
                loop {
                    match self.next()? {
                        (Event::MappingEnd, _) => break,
                        key => {
                            let key = self.node(key)?;
                            let value = self.next()?;
                            fields.push((key, self.node(value)?));
                        }
                    }
                }
                (anchor, Content::Mapping(fields))
            }
            Event::Alias(anchor) => {
                let name = span.slice(self.text).unwrap_or_default().trim_start_matches('*');
                (0, Content::Alias(anchor, name.to_owned()))
            }
            _ => return Err(CallError::Failed(format!(":{line}: unexpected end of document"))),
        };
        let node = Rc::new(Node { line, content });
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        Ok(node)
    }
}

/// Nodes to values.
struct Builder<'budget> {
    anchors: HashMap<usize, Rc<Node>>,
    /// The anchors whose values are being made.
    expanding: HashSet<usize>,
    nodes: usize,
    /// The current nesting, including that of aliases: each alias can be as deep as a text.
    depth: usize,
    budget: &'budget mut dyn Budget,
}

impl Builder<'_> {
    fn value(&mut self, node: &Node) -> Result<Data, CallError> {
        self.deeper(node, |builder| builder.value_inner(node))
    }

    /// Counts a node and what stands in it.
    fn deeper<T>(
        &mut self,
        node: &Node,
        work: impl FnOnce(&mut Self) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        self.nodes += 1;
        if self.nodes > MAXIMUM_NODES {
            return Err(CallError::new("yaml: document contains excessive aliasing"));
        }
        if self.depth > MAXIMUM_DEPTH {
            return Err(CallError::TooDeep);
        }
        // What stands in the text once was counted with the text.
        if !self.expanding.is_empty() {
            let (steps, bytes) = node.copied();
            self.budget.take(1 + steps, size_of::<Data>() + bytes)?;
        }
        self.depth += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || work(self));
        self.depth -= 1;
        result
    }

    fn value_inner(&mut self, node: &Node) -> Result<Data, CallError> {
        match &node.content {
            Content::Scalar { text, tag, plain } => scalar(node.line, text, tag.as_deref(), *plain),
            Content::Sequence(items) => items
                .iter()
                .map(|item| self.value(item))
                .collect::<Result<_, _>>()
                .map(Data::List),
            Content::Mapping(_) => {
                let mut fields = Fields::default();
                self.fields(node, &mut fields, Merging::No)?;
                Ok(fields.finish())
            }
            Content::Alias(anchor, name) => {
                let anchor = *anchor;
                let target = self.anchors.get(&anchor).cloned();
                let target = target.filter(|_| self.expanding.insert(anchor));
                let Some(target) = target else {
                    return Err(failed(
                        node.line,
                        format!("anchor \"{name}\" value contains itself"),
                    ));
                };
                let value = self.value(&target);
                self.expanding.remove(&anchor);
                value
            }
        }
    }

    /// Adds the fields of a mapping. Once something is merged, what comes later replaces what came before.
    fn fields(&mut self, node: &Node, fields: &mut Fields, mut merging: Merging) -> Result<(), CallError> {
        let Content::Mapping(entries) = &node.content else {
            return Ok(());
        };
        for (key, value) in entries {
            if is_merge(key) {
                merging = Merging::Yes;
                self.merge(value, fields)?;
                continue;
            }
            let name = self.label(key)?;
            let value = self.value(value)?;
            match merging {
                Merging::Yes => fields.set(name, value),
                Merging::No => fields.add(name, value, self.budget)?,
            }
        }
        Ok(())
    }

    fn merge(&mut self, node: &Node, fields: &mut Fields) -> Result<(), CallError> {
        self.deeper(node, |builder| builder.merge_inner(node, fields))
    }

    fn merge_inner(&mut self, node: &Node, fields: &mut Fields) -> Result<(), CallError> {
        match &node.content {
            Content::Mapping(_) => self.fields(node, fields, Merging::Yes),
            Content::Alias(anchor, _) => {
                let target = self
                    .anchors
                    .get(anchor)
                    .cloned()
                    .filter(|_| self.expanding.insert(*anchor));
                let target = target.ok_or_else(|| failed(node.line, "anchor value contains itself"))?;
                let result = match &target.content {
                    Content::Mapping(_) => self.fields(&target, fields, Merging::Yes),
                    _ => Err(not_a_map(node.line)),
                };
                self.expanding.remove(anchor);
                result
            }
            // What comes first counts most.
            Content::Sequence(items) => items.iter().rev().try_for_each(|item| self.merge(item, fields)),
            Content::Scalar { .. } => Err(not_a_map(node.line)),
        }
    }

    fn label(&mut self, key: &Node) -> Result<String, CallError> {
        let target = match &key.content {
            Content::Alias(anchor, _) => self.anchors.get(anchor).map_or(key, |target| &**target),
            _ => key,
        };
        if !self.expanding.is_empty() || matches!(key.content, Content::Alias(..)) {
            let (steps, bytes) = target.copied();
            self.budget.take(steps, bytes)?;
        }
        match &target.content {
            Content::Scalar { text, tag, plain } => match scalar(key.line, text, tag.as_deref(), *plain)? {
                Data::String(text) => Ok(text),
                Data::Null => Ok("null".to_owned()),
                Data::Bool(value) => Ok(value.to_string()),
                Data::Number(number) if text.starts_with('-') || number.is_negative() => {
                    Err(failed(key.line, format!("invalid label {text}")))
                }
                _ => Ok(octal(text).unwrap_or_else(|| text.clone())),
            },
            Content::Sequence(_) => Err(failed(key.line, "invalid map key: !!seq")),
            _ => Err(failed(key.line, "invalid map key: !!map")),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merging {
    No,
    Yes,
}

fn is_merge(key: &Node) -> bool {
    match &key.content {
        Content::Scalar { text, tag, plain } => {
            text == "<<" && (*plain && tag.is_none() || tag.as_deref() == Some("!!merge"))
        }
        _ => false,
    }
}

fn scalar(line: usize, text: &str, tag: Option<&str>, plain: bool) -> Result<Data, CallError> {
    let kind = match tag {
        Some("!!str" | "!!timestamp") => Kind::String,
        Some("!!null") => Kind::Null,
        Some("!!bool") => Kind::Bool,
        Some("!!int") => Kind::Int,
        Some("!!float") => Kind::Float,
        Some("!!binary") => {
            let bytes = base64::decode(text)
                .map_err(|_| failed(line, "!!binary value contains invalid base64 data"))?;
            return Ok(Data::String(base64::encode(&bytes)));
        }
        Some(tag) => return Err(failed(line, format!("cannot unmarshal tag {tag:?}"))),
        None if !plain => Kind::String,
        None => resolve(text),
    };
    let number = |text: &str, tag: &str| {
        let number = Number::from_literal(text).ok();
        number
            .map(Data::Number)
            .ok_or_else(|| failed(line, format!("cannot decode {text:?} as {tag}")))
    };
    match kind {
        Kind::Null => Ok(Data::Null),
        Kind::Bool => Ok(Data::Bool(matches!(text, "true" | "True" | "TRUE"))),
        Kind::Int => number(octal(text).as_deref().unwrap_or(text), "!!int"),
        // Not an octal number because of an 8 or a 9, but not meant as a decimal one either.
        Kind::Float if tag.is_none() && octal(text).is_some() => Ok(Data::String(text.to_owned())),
        Kind::Float if is_not_finite(text) => Err(failed(line, format!("{text} is not a number"))),
        Kind::Float => number(text, "!!float"),
        Kind::String => Ok(Data::String(text.to_owned())),
    }
}

/// `017` as CUE writes it.
fn octal(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (&text[..1], digits),
        None => ("", text),
    };
    let rest = digits.strip_prefix('0')?;
    let all_digits = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    all_digits.then(|| format!("{sign}0o{rest}"))
}

fn short_tag(tag: &Tag) -> String {
    let full = format!("{}{}", tag.handle(), tag.suffix());
    match full.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => full,
    }
}

fn not_a_map(line: usize) -> CallError {
    failed(line, "map merge requires map or sequence of maps as the value")
}

fn failed(line: usize, message: impl std::fmt::Display) -> CallError {
    CallError::Failed(format!(":{line}: {message}"))
}
