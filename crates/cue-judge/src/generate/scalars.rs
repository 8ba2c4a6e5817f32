//! Generates numbers, strings, booleans and lists of them.

use super::{Generator, Name, Need, Shape, Sort, Tree};

impl Generator {
    pub(super) fn int(&mut self, need: Need, depth: usize) -> Tree {
        if need == Need::Anything && self.random.percent(90) {
            let types = [
                "int",
                "number",
                ">=0",
                "<10",
                ">0 & <5",
                "!=7",
                "int & >=1",
                "uint8",
                ">-1",
                "*1 | int",
                "1 | 2",
                "*2 | 1 | 3",
            ];
            let text = *self.random.pick(&types);
            return Tree::leaf(&format!("({text})"));
        }
        let literal = self.random.below(4).to_string();
        if depth == 0 {
            return Tree::leaf(&literal);
        }
        match self.random.below(10) {
            0 | 1 => {
                let operator = *self.random.pick(&["+", "-", "*"]);
                let left = self.value(&Shape::Int, Need::Concrete, depth - 1);
                let right = self.value(&Shape::Int, Need::Concrete, depth - 1);
                Tree::binary(left, operator, right)
            }
            2 => {
                let shape = self.shape(1);
                let measured = match shape {
                    Shape::Int | Shape::Bool => Shape::Text,
                    other => other,
                };
                let value = self.value(&measured, Need::Concrete, depth - 1);
                Tree::new(Sort::Expression).text("len(").tree(value).text(")")
            }
            3 => {
                // Go does not check a bound where the result is an operand: none of these is violated.
                let bound = *self.random.pick(&[">=0", "<=3", "int", "!=7", "number", "<10"]);
                Tree::binary(Tree::leaf(&literal), "&", Tree::leaf(bound))
            }
            4 => {
                let others = *self
                    .random
                    .pick(&["int", "string", "1 | 2", "{}", "*2 | 3", ">2"]);
                Tree::new(Sort::Expression)
                    .text(&format!("(*{literal} | "))
                    .tree(Tree::leaf(others))
                    .text(")")
            }
            5 => {
                let function = *self.random.pick(&["div", "mod", "quo", "rem"]);
                let left = self.value(&Shape::Int, Need::Concrete, depth - 1);
                Tree::new(Sort::Expression)
                    .text(&format!("{function}("))
                    .tree(left)
                    .text(", 2)")
            }
            _ => Tree::leaf(&literal),
        }
    }

    pub(super) fn text(&mut self, need: Need, depth: usize) -> Tree {
        if need == Need::Anything && self.random.percent(90) {
            let types = [
                "string",
                "=~\"^x\"",
                "!=\"q\"",
                "*\"x\" | string",
                "\"x\" | \"y\"",
                ">\"a\"",
            ];
            let text = *self.random.pick(&types);
            return Tree::leaf(&format!("({text})"));
        }
        let literal = *self.random.pick(&["\"x\"", "\"y\"", "\"\"", "\"xy\"", "#\"x\"#"]);
        if depth == 0 {
            return Tree::leaf(literal);
        }
        match self.random.below(8) {
            0 | 1 => {
                let shape = self.random.pick(&[Shape::Int, Shape::Text, Shape::Bool]).clone();
                let value = self.value(&shape, Need::Concrete, depth - 1);
                Tree::new(Sort::Expression).text("\"x\\(").tree(value).text(")\"")
            }
            2 => {
                let left = self.value(&Shape::Text, Need::Concrete, depth - 1);
                let right = self.value(&Shape::Text, Need::Concrete, depth - 1);
                Tree::binary(left, "+", right)
            }
            3 => {
                let other = *self
                    .random
                    .pick(&["string", "\"z\" | \"q\"", "*\"y\" | string", "int"]);
                Tree::new(Sort::Expression)
                    .text(&format!("(*{literal} | "))
                    .tree(Tree::leaf(other))
                    .text(")")
            }
            _ => Tree::leaf(literal),
        }
    }

    pub(super) fn bool(&mut self, need: Need, depth: usize) -> Tree {
        if need == Need::Anything && self.random.percent(85) {
            let text = *self.random.pick(&["bool", "(*true | bool)", "(*false | true)"]);
            return Tree::leaf(text);
        }
        if depth == 0 {
            let text = *self.random.pick(&["true", "false"]);
            return Tree::leaf(text);
        }
        match self.random.below(8) {
            0 | 1 => {
                let operator = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                let shape = self.random.pick(&[Shape::Int, Shape::Text]).clone();
                let left = self.value(&shape, Need::Concrete, depth - 1);
                let right = self.value(&shape, Need::Concrete, depth - 1);
                Tree::binary(left, operator, right)
            }
            2 | 3 => self.presence(),
            4 => {
                let operator = *self.random.pick(&["&&", "||"]);
                let left = self.value(&Shape::Bool, Need::Concrete, depth - 1);
                let right = self.value(&Shape::Bool, Need::Concrete, depth - 1);
                Tree::binary(left, operator, right)
            }
            5 => {
                let value = self.value(&Shape::Bool, Need::Concrete, depth - 1);
                Tree::new(Sort::Expression).text("!").tree(value)
            }
            _ => {
                let text = *self.random.pick(&["true", "false"]);
                Tree::leaf(text)
            }
        }
    }

    /// A presence test of a field that is often absent.
    fn presence(&mut self) -> Tree {
        let operator = *self.random.pick(&["!=", "=="]);
        let shape = self.struct_shape(1);
        let name = *self.random.pick(&super::FIELDS);
        // Go refuses to look for a field in a literal.
        let Some(value) = self.reference(&shape, Need::Anything) else {
            return Tree::leaf("true");
        };
        let member = Tree::new(Sort::Expression).tree(value).text(&format!(".{name}"));
        Tree::binary(member, operator, Tree::leaf("_|_"))
    }

    pub(super) fn list(&mut self, item: &Shape, need: Need, depth: usize) -> Tree {
        if need == Need::Anything && self.random.percent(75) {
            let element = self.value(item, Need::Anything, depth.saturating_sub(1));
            return Tree::new(Sort::Expression).text("[...").tree(element).text("]");
        }
        let mut list = Tree::new(Sort::Expression).text("[");
        let length = if self.random.percent(10) {
            0
        } else {
            1 + self.random.below(3)
        };
        for index in 0..length {
            let element = if index > 0 && depth > 0 && self.random.percent(40) {
                self.comprehended(item, need, depth - 1)
            } else {
                self.value(item, need, depth.saturating_sub(1))
            };
            list.push(Tree::new(Sort::Element).tree(element).text(", "));
        }
        if self.random.percent(if need == Need::Anything { 30 } else { 8 }) {
            list = list.text("...");
        }
        list.text("]")
    }

    fn comprehended(&mut self, item: &Shape, need: Need, depth: usize) -> Tree {
        if self.random.percent(40) {
            let condition = self.bool(Need::Concrete, depth);
            let value = self.value(item, need, depth);
            return Tree::new(Sort::Expression)
                .text("if ")
                .tree(condition)
                .text(" {")
                .tree(value)
                .text("}");
        }
        let over = if self.random.percent(60) {
            Shape::List(Box::new(item.clone()))
        } else {
            self.struct_shape(1)
        };
        let source = self.value(&over, Need::Concrete, depth);
        let mut clauses = Tree::new(Sort::Expression)
            .text("for k, v in ")
            .tree(source)
            .text(" ");
        let element = match over {
            Shape::List(item) => *item,
            _ => Shape::Int,
        };
        self.scopes.push(vec![
            Name {
                text: "v".to_owned(),
                shape: element,
                need: Need::Concrete,
                ready: true,
            },
            Name {
                text: "k".to_owned(),
                shape: Shape::Int,
                need: Need::Concrete,
                ready: true,
            },
        ]);
        if self.random.percent(30) {
            let condition = self.bool(Need::Concrete, depth);
            clauses.push(Tree::new(Sort::Clause).text("if ").tree(condition).text(" "));
        }
        let value = self.value(item, need, depth);
        self.scopes.pop();
        clauses.text("{").tree(value).text("}")
    }
}
