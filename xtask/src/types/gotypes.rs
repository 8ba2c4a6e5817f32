//! Reads protobuf struct tags of a Go package.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

/// The structs of one package: name -> fields.
pub(super) struct Package(BTreeMap<String, Vec<GoField>>);

/// One field with a `protobuf` tag.
#[derive(Clone)]
struct GoField {
    /// The name in JSON; empty when the struct is inlined.
    json: String,
    omit_empty: bool,
    number: u32,
    go_type: String,
}

/// The protobuf properties of a JSON field.
pub(super) struct Wire {
    /// Field numbers from the outside in; more than one where Go inlines a struct into its parent.
    pub(super) numbers: Vec<u32>,
    /// Whether Go's JSON has the field when it is zero: it is a pointer, or not `omitempty`.
    pub(super) keeps_zero: bool,
}

impl Package {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut structs = BTreeMap::new();
        let mut current: Option<(String, Vec<GoField>)> = None;
        for line in text.lines() {
            if let Some(name) = line
                .strip_prefix("type ")
                .and_then(|rest| rest.strip_suffix(" struct {"))
            {
                current = Some((name.to_owned(), Vec::new()));
            } else if line == "}" {
                structs.extend(current.take());
            } else if let Some((name, fields)) = &mut current {
                let field = field(line).with_context(|| format!("in Go struct {name}: {line}"))?;
                fields.extend(field);
            }
        }
        Ok(Self(structs))
    }

    /// JSON name -> wire facts of a struct, with inlined structs flattened.
    pub(super) fn fields(&self, name: &str) -> BTreeMap<String, Wire> {
        let mut all = BTreeMap::new();
        for field in self.0.get(name).into_iter().flatten() {
            if !field.json.is_empty() {
                let keeps_zero = field.go_type.starts_with('*') || !field.omit_empty;
                all.insert(
                    field.json.clone(),
                    Wire {
                        numbers: vec![field.number],
                        keeps_zero,
                    },
                );
                continue;
            }
            for (json, mut wire) in self.fields(&field.go_type) {
                wire.numbers.insert(0, field.number);
                all.insert(json, wire);
            }
        }
        all
    }
}

/// Reads a line of a struct, if it declares a field with a protobuf number.
fn field(line: &str) -> Result<Option<GoField>> {
    let line = line.trim();
    if line.starts_with("//") {
        return Ok(None);
    }
    let (Some(json), Some(protobuf)) = (tag(line, "json"), tag(line, "protobuf")) else {
        return Ok(None);
    };
    let number = protobuf
        .split(',')
        .nth(1)
        .context("a protobuf tag without a number")?
        .parse()?;
    let declaration = line.split('`').next().unwrap_or_default();
    let go_type = declaration
        .split_whitespace()
        .last()
        .context("a field without a type")?
        .to_owned();
    let omit_empty = json.contains(",omitempty");
    let json = json.split(',').next().unwrap_or_default().to_owned();
    Ok(Some(GoField {
        json,
        omit_empty,
        number,
        go_type,
    }))
}

fn tag<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("{name}:\"");
    let (_, rest) = line.split_once(&start)?;
    Some(rest.split_once('"')?.0)
}
