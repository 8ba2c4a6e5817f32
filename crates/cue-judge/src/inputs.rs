//! Benchmark programs.

use crate::json;
use cambium_cue::Data;
use std::fmt::Write as _;

/// A program and its parameter values.
#[derive(Debug, Clone)]
pub struct Input {
    /// Its name in reports.
    pub name: String,
    /// The program.
    pub text: String,
    /// Top-level names and their values, as one struct.
    pub values: Data,
}

impl Input {
    /// The values by name.
    pub fn values(&self) -> Vec<(&str, &Data)> {
        match &self.values {
            Data::Struct(fields) => fields
                .iter()
                .map(|(name, value)| (name.as_str(), value))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// A typical definition: a hundred lines, twenty parameters.
pub fn ordinary() -> Input {
    input(
        "ordinary",
        include_str!("../inputs/ordinary.cue"),
        include_str!("../inputs/ordinary.json"),
    )
}

/// A large definition: probes, volumes of every type, ports, sidecars, nested schemas.
pub fn service() -> Input {
    input(
        "service",
        include_str!("../inputs/service.cue"),
        include_str!("../inputs/service.json"),
    )
}

/// Comprehensions over a list of `count` items.
pub fn items(count: usize) -> Input {
    let text = "parameter: items: [...{name: string, port: *80 | int & >0, expose?: bool}]\n\
        out: [for i, item in parameter.items {\n\
        \tid:   \"\\(i)-\\(item.name)\"\n\
        \tport: item.port + 1\n\
        \tif item.expose != _|_ {exposed: item.expose}\n\
        }]\n\
        byName: {for item in parameter.items {(item.name): item.port}}\n";
    let mut items = Vec::new();
    for index in 0..count {
        let expose = if index % 3 == 0 { ", \"expose\": true" } else { "" };
        items.push(format!(
            "{{\"name\": \"item{index}\", \"port\": {}{expose}}}",
            index + 1
        ));
    }
    let values = format!("{{\"parameter\": {{\"items\": [{}]}}}}", items.join(","));
    input(&format!("items-{count}"), text, &values)
}

/// A struct of `count` fields, each with a default and alternatives; half of them are set.
pub fn choices(count: usize) -> Input {
    let (mut text, mut given) = (String::from("parameter: {\n"), Vec::new());
    for index in 0..count {
        writeln!(text, "\tp{index}: *\"a\" | \"b\" | int").expect("writing to a string does not fail");
        if index % 2 == 0 {
            given.push(format!("\"p{index}\": {index}"));
        }
    }
    text += "}\nout: parameter\n";
    let values = format!("{{\"parameter\": {{{}}}}}", given.join(","));
    input(&format!("choices-{count}"), &text, &values)
}

/// A unification of `count` disjunctions of two structs, each decided by a field.
pub fn decisions(count: usize) -> Input {
    let (mut text, mut given) = (String::from("out: parameter\n"), Vec::new());
    for index in 0..count {
        writeln!(
            text,
            "parameter: {{kind{index}: \"a\", a{index}: *1 | int}} | {{kind{index}: \"b\", b{index}: *2 | int}}"
        )
        .expect("writing to a string does not fail");
        given.push(format!(
            "\"kind{index}\": \"{}\"",
            if index % 2 == 0 { "a" } else { "b" }
        ));
    }
    let values = format!("{{\"parameter\": {{{}}}}}", given.join(","));
    input(&format!("decisions-{count}"), &text, &values)
}

/// A unification of `count` disjunctions of three structs, decided by their defaults only.
pub fn products(count: usize) -> Input {
    let mut text = String::new();
    for index in 0..count {
        writeln!(text, "out: *{{a{index}: 1}} | {{b{index}: 2}} | {{c{index}: 3}}")
            .expect("writing to a string does not fail");
    }
    input(&format!("products-{count}"), &text, "{}")
}

/// All benchmark programs, in report order.
pub fn all() -> Vec<Input> {
    let mut all = vec![ordinary(), service()];
    all.extend([10, 100, 1_000].map(items));
    all.extend([1, 4, 16].map(choices));
    all.extend([1, 4, 8].map(decisions));
    all.extend([2, 4, 8].map(products));
    all
}

fn input(name: &str, text: &str, values: &str) -> Input {
    Input {
        name: name.to_owned(),
        text: text.to_owned(),
        values: json::read(values).expect("the values are JSON"),
    }
}
