//! Generates structs and declarations.

use super::{FIELDS, Generator, Name, Need, Shape, Sort, Tree};

impl Generator {
    pub(super) fn struct_value(
        &mut self,
        fields: &[(&'static str, Shape)],
        need: Need,
        depth: usize,
    ) -> Tree {
        let shape = Shape::Struct(fields.to_vec());
        if depth > 0 && self.random.percent(25) {
            match self.random.below(4) {
                0 | 1 => {
                    if let Some(reference) = self.reference(&shape, Need::Anything) {
                        let literal = self.literal(fields, need, depth - 1);
                        return Tree::binary(reference, "&", literal);
                    }
                }
                2 => return self.alternatives(fields, need, depth - 1),
                _ => {
                    let literal = self.literal(fields, need, depth - 1);
                    return Tree::new(Sort::Expression).text("close(").tree(literal).text(")");
                }
            }
        }
        self.literal(fields, need, depth)
    }

    fn alternatives(&mut self, fields: &[(&'static str, Shape)], need: Need, depth: usize) -> Tree {
        let mut choice = Tree::new(Sort::Expression).text("(");
        let marked = self.random.percent(70);
        for index in 0..2 + self.random.below(2) {
            if index > 0 {
                choice = choice.text(" | ");
            }
            if marked && index == 0 {
                choice = choice.text("*");
            }
            let alternative = self.struct_value(fields, need, depth);
            choice.push(alternative);
        }
        choice.text(")")
    }

    fn literal(&mut self, fields: &[(&'static str, Shape)], need: Need, depth: usize) -> Tree {
        let names = fields.iter().map(|(name, shape)| Name {
            text: (*name).to_owned(),
            shape: shape.clone(),
            need,
            ready: false,
        });
        self.scopes.push(names.collect());
        let inner = depth.saturating_sub(1);
        let mut declarations = Vec::new();
        for (index, (name, shape)) in fields.iter().enumerate() {
            declarations.push(self.declaration(name, shape, need, inner));
            self.is_ready(index);
        }
        if depth > 0 {
            for _ in 0..self.random.below(3) {
                if self.random.percent(35) {
                    declarations.push(self.extra(fields, need, inner));
                }
            }
        }
        self.scopes.pop();
        self.shuffle(&mut declarations);
        let mut literal = Tree::new(Sort::Expression).text("{\n");
        declarations
            .into_iter()
            .for_each(|declaration| literal.push(declaration));
        literal.text("}")
    }

    fn declaration(&mut self, name: &str, shape: &Shape, need: Need, depth: usize) -> Tree {
        let value = self.value(shape, need, depth);
        match self.random.below(25) {
            0 => Tree::field(&format!("{name}?"), value),
            1 if need == Need::Anything => Tree::field(&format!("{name}!"), value),
            2 => Tree::field(&format!("\"{name}\""), value),
            3 => Tree::field(&format!("(\"{name}\")"), value),
            4 => {
                let condition = self.bool(Need::Concrete, 1);
                Tree::new(Sort::Declaration)
                    .text("if ")
                    .tree(condition)
                    .text(" {")
                    .tree(Tree::field(name, value))
                    .text("}\n")
            }
            _ => Tree::field(name, value),
        }
    }

    /// A declaration beyond the fields.
    fn extra(&mut self, fields: &[(&'static str, Shape)], need: Need, depth: usize) -> Tree {
        let declaration = Tree::new(Sort::Declaration);
        match self.random.below(10) {
            0 => {
                let shape = self.shape(1);
                let name = self.other_name(fields);
                let value = self.value(&shape, Need::Anything, depth);
                Tree::field(&format!("{name}?"), value)
            }
            1 => {
                let pattern =
                    *self
                        .random
                        .pick(&["string", "=~\"^[a-c]\"", "\"a\"", "!=\"b\"", "or([\"a\", \"c\"])"]);
                let shape = fields.first().map_or(Shape::Int, |(_, shape)| shape.clone());
                let value = if self.random.percent(50) {
                    Tree::leaf("_")
                } else {
                    self.value(&shape, Need::Anything, depth)
                };
                Tree::field(&format!("[{pattern}]"), value)
            }
            2 | 3 => {
                let subset: Vec<_> = fields
                    .iter()
                    .filter(|_| self.random.percent(60))
                    .cloned()
                    .collect();
                let value = self.value(&Shape::Struct(subset), Need::Anything, depth);
                declaration.tree(value).text("\n")
            }
            4 => {
                let condition = self.bool(Need::Concrete, 1);
                let body = self.literal(&[], need, 1);
                let name = self.other_name(fields);
                let value = self.value(&Shape::Int, need, depth);
                declaration
                    .text("if ")
                    .tree(condition)
                    .text(" {")
                    .tree(Tree::field(name, value))
                    .tree(Tree::new(Sort::Declaration).tree(body).text("\n"))
                    .text("}\n")
            }
            5 | 6 => self.loop_over(need, depth),
            7 => {
                self.lets += 1;
                let name = format!("L{}", self.lets);
                let shape = self.shape(1);
                let value = self.value(&shape, need, depth);
                // An unused `let` is an error.
                let declared = Tree::new(Sort::Declaration)
                    .text(&format!("let {name} = "))
                    .tree(value)
                    .text("\n");
                let used = self.other_name(fields);
                declaration
                    .tree(declared)
                    .tree(Tree::field(used, Tree::leaf(&name)))
            }
            8 => {
                let hidden = *self.random.pick(&["_g", "#C", "_#D"]);
                let shape = self.shape(1);
                let value = self.value(&shape, Need::Anything, depth);
                Tree::field(hidden, value)
            }
            _ => declaration.text("...\n"),
        }
    }

    /// A field that the struct most likely does not have yet.
    fn other_name(&mut self, fields: &[(&'static str, Shape)]) -> &'static str {
        let others: Vec<&str> = FIELDS
            .into_iter()
            .filter(|name| !fields.iter().any(|(field, _)| field == name))
            .collect();
        if others.is_empty() || self.random.percent(10) {
            return self.random.pick::<&str>(&FIELDS);
        }
        self.random.pick::<&str>(&others)
    }

    fn loop_over(&mut self, need: Need, depth: usize) -> Tree {
        let over = if self.random.percent(50) {
            self.struct_shape(1)
        } else {
            Shape::List(Box::new(Shape::Text))
        };
        let source = self.value(&over, Need::Concrete, depth);
        let is_list = matches!(over, Shape::List(_));
        let (key, element) = if is_list {
            (Shape::Int, Shape::Text)
        } else {
            (Shape::Text, Shape::Int)
        };
        let name = |text: &str, shape| Name {
            text: text.to_owned(),
            shape,
            need: Need::Concrete,
            ready: true,
        };
        self.scopes.push(vec![name("k", key), name("v", element)]);
        let label = if is_list { "\"\\(v)\"" } else { "(k)" };
        let shape = self.shape(1);
        let value = self.value(&shape, need, depth);
        let mut comprehension = Tree::new(Sort::Declaration)
            .text("for k, v in ")
            .tree(source)
            .text(" ");
        if self.random.percent(30) {
            let condition = self.bool(Need::Concrete, 1);
            comprehension.push(Tree::new(Sort::Clause).text("if ").tree(condition).text(" "));
        }
        self.scopes.pop();
        comprehension
            .text("{")
            .tree(Tree::field(label, value))
            .text("}\n")
    }
}
