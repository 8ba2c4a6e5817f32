//! Generates CUE programs from a grammar: mostly valid, mostly concrete, with overlapping names.
//!
//! A program is a [`Tree`] whose leaves are text, so that [`crate::shrink`] can remove pieces without knowing their
//! meaning. The `Shape` of a value is decided before it is written, so that references, operators and comprehensions
//! mostly find matching values.

mod scalars;
mod structs;
mod tree;

pub use tree::{Part, Sort, Tree};

use crate::random::Random;

/// Generates a program from a seed.
pub fn program(seed: u64) -> Tree {
    let mut generator = Generator {
        random: Random::new(seed),
        scopes: Vec::new(),
        lets: 0,
    };
    generator.file()
}

/// Generates three independent values that often unify, from a seed.
pub fn alike(seed: u64) -> [Tree; 3] {
    let mut generator = Generator {
        random: Random::new(seed),
        scopes: Vec::new(),
        lets: 0,
    };
    let shape = generator.shape(2);
    [Need::Concrete, Need::Anything, Need::Anything].map(|need| generator.value(&shape, need, 2))
}

/// The shape of a value.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Int,
    Text,
    Bool,
    List(Box<Self>),
    Struct(Vec<(&'static str, Self)>),
}

/// Whether a value must be concrete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Concrete,
    Anything,
}

/// A name that expressions may use.
#[derive(Debug, Clone)]
struct Name {
    text: String,
    shape: Shape,
    need: Need,
    /// Whether its value is written already: references to later names may form cycles.
    ready: bool,
}

struct Generator {
    random: Random,
    scopes: Vec<Vec<Name>>,
    lets: usize,
}

/// Few names, so that structs overlap and inner ones hide outer ones.
const FIELDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

impl Generator {
    fn file(&mut self) -> Tree {
        let mut names = Vec::new();
        for definition in ["#A", "#B", "_h"] {
            if self.random.percent(50) {
                let shape = if self.random.percent(80) {
                    self.struct_shape(2)
                } else {
                    self.shape(2)
                };
                names.push(Name {
                    text: definition.to_owned(),
                    shape,
                    need: Need::Anything,
                    ready: false,
                });
            }
        }
        for field in FIELDS {
            if self.random.percent(60) {
                names.push(Name {
                    text: field.to_owned(),
                    shape: self.shape(2),
                    need: Need::Concrete,
                    ready: false,
                });
            }
        }
        self.scopes.push(names.clone());
        let mut declarations = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            let value = self.value(&name.shape, name.need, 3);
            declarations.push(Tree::field(&name.text, value));
            if self.random.percent(12) {
                let again = self.value(&name.shape, Need::Anything, 1);
                declarations.push(Tree::field(&name.text, again));
            }
            self.is_ready(index);
        }
        self.shuffle(&mut declarations);
        let mut file = Tree::new(Sort::File);
        declarations
            .into_iter()
            .for_each(|declaration| file.push(declaration));
        file
    }

    /// Marks a name of the innermost scope as usable.
    fn is_ready(&mut self, index: usize) {
        if let Some(name) = self.scopes.last_mut().and_then(|scope| scope.get_mut(index)) {
            name.ready = true;
        }
    }

    /// Shuffles declarations: a name may be used before it is declared.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.random.below(index + 1);
            items.swap(index, other);
        }
    }

    fn shape(&mut self, depth: usize) -> Shape {
        match self.random.below(if depth == 0 { 6 } else { 12 }) {
            0..=2 => Shape::Int,
            3 | 4 => Shape::Text,
            5 => Shape::Bool,
            6 | 7 => Shape::List(Box::new(self.shape(depth - 1))),
            _ => self.struct_shape(depth),
        }
    }

    fn struct_shape(&mut self, depth: usize) -> Shape {
        let mut fields = Vec::new();
        for field in FIELDS {
            if self.random.percent(35) {
                fields.push((field, self.shape(depth - 1)));
            }
        }
        Shape::Struct(fields)
    }

    /// An expression that is likely to be of the shape.
    fn value(&mut self, shape: &Shape, need: Need, depth: usize) -> Tree {
        if self.random.below(200) == 0 {
            return self.odd();
        }
        if self.random.percent(22)
            && let Some(reference) = self.reference(shape, need)
        {
            return reference;
        }
        if depth > 0 && self.random.percent(12) {
            return self.wrapped(shape, need, depth - 1);
        }
        match shape {
            Shape::Int => self.int(need, depth),
            Shape::Text => self.text(need, depth),
            Shape::Bool => self.bool(need, depth),
            Shape::List(item) => self.list(item, need, depth),
            Shape::Struct(fields) => self.struct_value(fields, need, depth),
        }
    }

    /// An expression form that works for every shape.
    fn wrapped(&mut self, shape: &Shape, need: Need, depth: usize) -> Tree {
        match self.random.below(6) {
            0 | 1 => {
                let left = self.value(shape, need, depth);
                let right = self.value(shape, Need::Anything, depth);
                Tree::binary(left, "&", right)
            }
            2 => {
                let marked = self.value(shape, need, depth);
                let other = if self.random.percent(50) {
                    self.value(shape, Need::Anything, depth)
                } else {
                    let other = self.shape(1);
                    self.value(&other, Need::Anything, depth)
                };
                Tree::new(Sort::Expression)
                    .text("(*")
                    .tree(marked)
                    .text(" | ")
                    .tree(other)
                    .text(")")
            }
            3 => {
                let embedded = self.value(shape, need, depth);
                Tree::new(Sort::Expression)
                    .text("{")
                    .tree(Tree::new(Sort::Declaration).tree(embedded).text(", "))
                    .text("}")
            }
            4 => {
                let condition = self.bool(Need::Concrete, 1);
                let yes = self.value(shape, need, depth);
                let no = self.value(shape, need, depth);
                Tree::new(Sort::Expression)
                    .text("[if ")
                    .tree(condition)
                    .text(" {")
                    .tree(yes)
                    .text("}, ")
                    .tree(no)
                    .text("][0]")
            }
            _ => {
                let value = self.value(shape, need, depth);
                Tree::binary(value, "&", Tree::leaf("_"))
            }
        }
    }

    /// An unexpected value.
    fn odd(&mut self) -> Tree {
        let choices = [
            "null", "_|_", "_", "'b'", "1.5", "[]", "{}", "!=null", "number", "[...]",
        ];
        let text = *self.random.pick(&choices);
        Tree::leaf(text)
    }

    /// A path to something of the shape that is in scope.
    fn reference(&mut self, shape: &Shape, need: Need) -> Option<Tree> {
        let mut found = Vec::new();
        let any = self.random.percent(4);
        for (index, scope) in self.scopes.iter().enumerate() {
            for name in scope {
                let hidden = self.scopes[index + 1..]
                    .iter()
                    .flatten()
                    .any(|inner| inner.text == name.text);
                let usable = name.ready || any;
                if !hidden && usable && (need == Need::Anything || name.need == Need::Concrete) {
                    paths(&name.text, &name.shape, shape, &mut found);
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        Some(Tree::leaf(self.random.pick::<String>(&found)))
    }
}

/// Every path below a name that leads to the shape.
fn paths(path: &str, from: &Shape, to: &Shape, found: &mut Vec<String>) {
    if same_sort(from, to) {
        found.push(path.to_owned());
    }
    match from {
        Shape::Struct(fields) => {
            for (field, shape) in fields {
                paths(&format!("{path}.{field}"), shape, to, found);
            }
        }
        Shape::List(item) => paths(&format!("{path}[0]"), item, to, found),
        _ => {}
    }
}

fn same_sort(left: &Shape, right: &Shape) -> bool {
    match (left, right) {
        (Shape::List(left), Shape::List(right)) => same_sort(left, right),
        (Shape::Struct(left), Shape::Struct(right)) => left.iter().all(|(name, shape)| {
            !right
                .iter()
                .any(|(other, kind)| name == other && !same_sort(shape, kind))
        }),
        _ => std::mem::discriminant(left) == std::mem::discriminant(right),
    }
}
