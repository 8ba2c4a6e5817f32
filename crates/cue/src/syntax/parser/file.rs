//! Parses files: package clause, imports, declarations.

use super::literals::text_of;
use super::{Parsed, Parser};
use crate::syntax::ast::{Attribute, Declaration, File, Import};
use crate::syntax::token::TokenKind;

impl<'source> Parser<'source> {
    pub(super) fn file(&mut self) -> File<'source> {
        let mut file = File {
            package: None,
            imports: Vec::new(),
            declarations: Vec::new(),
        };
        if self.preamble(&mut file).is_err() {
            self.recover(0);
        }
        self.declarations(&mut file.declarations);
        while self.kind() != TokenKind::End {
            let _ = self.expected::<()>("'EOF'");
            self.advance();
            self.declarations(&mut file.declarations);
        }
        file
    }

    fn preamble(&mut self, file: &mut File<'source>) -> Parsed<()> {
        self.file_attributes(&mut file.declarations)?;
        if self.at_word("package") {
            self.advance();
            let name = self.identifier()?;
            if name.name.starts_with('#') || name.name.starts_with("_#") {
                self.report(name.span, format!("invalid package name {}", name.name));
            }
            file.package = Some(name);
            self.end_of_clause()?;
        }
        self.file_attributes(&mut file.declarations)?;
        while self.at_word("import") {
            self.pending.clear();
            self.advance();
            if self.take(TokenKind::LeftParenthesis) {
                while self.kind() != TokenKind::RightParenthesis {
                    let import = self.import()?;
                    file.imports.push(import);
                    self.separator("import declaration", TokenKind::RightParenthesis)?;
                }
                self.advance();
            } else {
                let import = self.import()?;
                file.imports.push(import);
            }
            self.end_of_clause()?;
        }
        Ok(())
    }

    fn end_of_clause(&mut self) -> Parsed<()> {
        match self.kind() {
            TokenKind::Comma | TokenKind::Newline => {
                self.advance();
                Ok(())
            }
            TokenKind::End => Ok(()),
            _ => self.expected("','"),
        }
    }

    fn at_word(&self, word: &str) -> bool {
        self.kind() == TokenKind::Identifier && self.text(self.token) == word
    }

    fn import(&mut self) -> Parsed<Import<'source>> {
        let name = match self.kind() {
            TokenKind::Identifier => Some(self.word()),
            _ => None,
        };
        if let Some(name) = name
            .as_ref()
            .filter(|name| name.name.starts_with('#') || name.name.starts_with("_#"))
        {
            self.report(name.span, "cannot import package as definition identifier");
        }
        if self.kind() != TokenKind::String {
            return self.expected("'STRING'");
        }
        let (token, text) = (self.token, self.text(self.token));
        let (value, span) = self.string_value()?;
        let Ok(path) = text_of(value) else {
            return self.fail(token.span, format!("invalid import path: {text}"));
        };
        if !is_import_path(&path) {
            return self.fail(token.span, format!("invalid import path: {text}"));
        }
        Ok(Import { name, path, span })
    }

    /// Attributes before the package clause and between it and the imports.
    fn file_attributes(&mut self, declarations: &mut Vec<Declaration<'source>>) -> Parsed<()> {
        while self.kind() == TokenKind::Attribute {
            self.pending.clear();
            let attribute = self.attribute();
            if matches!(attribute.name, "experiment" | "extern") {
                self.unsupported(
                    attribute.span,
                    format!("attribute @{} is not supported", attribute.name),
                );
            }
            declarations.push(Declaration::Attribute(attribute));
            self.separator("struct literal", TokenKind::End)?;
        }
        Ok(())
    }

    /// The attribute that the current token is.
    pub(super) fn attribute(&mut self) -> Attribute<'source> {
        let (token, text) = (self.token, self.text(self.token));
        self.advance();
        let (name, body) = text.split_once('(').unwrap_or((text, ""));
        Attribute {
            name: name.trim_start_matches('@').trim_end(),
            body: body.strip_suffix(')').unwrap_or(body),
            span: token.span,
        }
    }
}

/// Whether an import path has only characters that a path may have. What follows a colon is a package name.
fn is_import_path(path: &str) -> bool {
    let path = path.rsplit_once(':').map_or(path, |(path, _)| path);
    let legal =
        |c: char| !c.is_control() && !c.is_whitespace() && !"!\"#$%&'()*,:;<=>?[\\]^{|}`\u{fffd}".contains(c);
    !path.is_empty() && path.chars().all(legal)
}
