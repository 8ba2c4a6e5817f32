//! The parser.
//!
//! A problem in a declaration is reported once; parsing continues with the next declaration. The shared state is here; the
//! grammar is in `file`, `declarations`, `labels`, `expressions`, `lists` and `literals`, and the attachment of comments
//! in `comments`.

mod comments;
mod declarations;
mod expressions;
mod file;
mod labels;
mod lists;
mod literals;

use super::lexer::Lexer;
use super::token::{Token, TokenKind};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::source::{Source, Span};
use crate::syntax::ast::{Comment, File, Identifier};

/// Parses a whole file; on failure, every independent problem of it.
pub fn parse(source: &Source) -> Result<File<'_>, Diagnostics> {
    if u32::try_from(source.text.len()).is_err() {
        let start = Span::default();
        return Err(Diagnostics(vec![Diagnostic::syntax(
            source,
            start,
            "the text is too long",
        )]));
    }
    let mut parser = Parser::new(source);
    let file = parser.file();
    if parser.problems.is_empty() {
        Ok(file)
    } else {
        Err(Diagnostics(parser.problems))
    }
}

/// Maximum nesting of brackets, labels and operators.
const MAXIMUM_DEPTH: usize = 500;

/// Maximum height of a tree; more than the nesting, because `a | b | c | …` adds a level for each operator.
const MAXIMUM_HEIGHT: usize = 2_500;

/// After so many problems the rest is not read.
const MAXIMUM_PROBLEMS: usize = 50;

/// A declaration that cannot be read any further. The reason has been reported.
struct Abandoned;

type Parsed<T> = Result<T, Abandoned>;

struct Parser<'source> {
    source: &'source Source,
    lexer: Lexer<'source>,
    /// The token to look at.
    token: Token,
    /// The end of the token before it.
    previous_end: usize,
    /// The closing brackets that the tokens read so far ask for.
    open: Vec<TokenKind>,
    /// Comments between the previous token and this one that no node has taken yet.
    pending: Vec<Comment<'source>>,
    /// Comments inside the declaration being read that no inner declaration has taken.
    inside: Vec<Comment<'source>>,
    /// The alias in the list just read, when it is `[alias=pattern]`.
    pattern_alias: Option<Identifier<'source>>,
    depth: usize,
    /// The height of the expression or declaration just read.
    height: usize,
    /// The line of the last problem, for not reporting two problems of one line.
    problem_line: Option<std::ops::RangeInclusive<usize>>,
    problems: Vec<Diagnostic>,
}

impl<'source> Parser<'source> {
    fn new(source: &'source Source) -> Self {
        let mut parser = Self {
            source,
            lexer: Lexer::new(&source.text),
            token: Token::new(TokenKind::Newline, 0, 0),
            previous_end: 0,
            open: Vec::new(),
            pending: Vec::new(),
            inside: Vec::new(),
            pattern_alias: None,
            depth: 0,
            height: 0,
            problem_line: None,
            problems: Vec::new(),
        };
        parser.advance_over_comments();
        parser
    }

    fn kind(&self) -> TokenKind {
        self.token.kind
    }

    fn text(&self, token: Token) -> &'source str {
        &self.source.text[token.start()..token.end()]
    }

    /// From `start` to the end of the token before the current one.
    fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.previous_end)
    }

    /// Takes the current token.
    fn advance(&mut self) {
        match self.kind() {
            TokenKind::LeftParenthesis => self.open.push(TokenKind::RightParenthesis),
            TokenKind::LeftBracket => self.open.push(TokenKind::RightBracket),
            TokenKind::LeftBrace => self.open.push(TokenKind::RightBrace),
            kind @ (TokenKind::RightParenthesis | TokenKind::RightBracket | TokenKind::RightBrace) => {
                if let Some(at) = self.open.iter().rposition(|open| *open == kind) {
                    self.open.truncate(at);
                }
            }
            _ => {}
        }
        self.previous_end = self.token.end();
        self.advance_over_comments();
    }

    fn scan(&mut self) {
        let token = self.lexer.scan();
        self.use_token(token);
    }

    fn use_token(&mut self, token: Token) {
        self.token = token;
        if !self.lexer.problems.is_empty() {
            self.take_problems_of_lexer();
        }
    }

    #[cold]
    fn take_problems_of_lexer(&mut self) {
        for (span, message) in std::mem::take(&mut self.lexer.problems) {
            self.report(span, message);
        }
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<()> {
        if self.take(kind) {
            Ok(())
        } else {
            self.expected(&format!("'{}'", kind.name()))
        }
    }

    /// Like [`Self::expect`], with the usual reason for a missing bracket.
    fn expect_closing(&mut self, kind: TokenKind, context: &str) -> Parsed<()> {
        if self.kind() == TokenKind::Newline {
            let message = format!("missing ',' before newline in {context}");
            return self.fail(self.token.span, message);
        }
        self.expect(kind)
    }

    /// Takes the comma after an item. `Ok(false)` means that there is none and `close` follows.
    fn separator(&mut self, context: &str, close: TokenKind) -> Parsed<bool> {
        if self.token.is_comma() {
            self.advance();
            return Ok(true);
        }
        if self.kind() == close {
            return Ok(false);
        }
        if self.kind() == TokenKind::End {
            return self.expected(&format!("'{}'", close.name()));
        }
        self.fail(self.token.span, format!("missing ',' in {context}"))
    }

    fn identifier(&mut self) -> Parsed<Identifier<'source>> {
        if self.kind() != TokenKind::Identifier {
            return self.expected("'IDENT'");
        }
        Ok(self.word())
    }

    /// The current token as a name, keyword or not.
    fn word(&mut self) -> Identifier<'source> {
        let identifier = Identifier {
            name: self.text(self.token),
            span: self.token.span,
        };
        self.advance();
        identifier
    }

    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let message = match self.kind() {
            TokenKind::Newline => format!("expected {what}, found newline"),
            kind if kind.is_literal() => {
                format!(
                    "expected {what}, found '{}' {}",
                    kind.name(),
                    shortened(self.text(self.token))
                )
            }
            kind => format!("expected {what}, found '{}'", kind.name()),
        };
        if self.kind() == TokenKind::Illegal {
            return Err(Abandoned); // the lexer has said it better
        }
        self.fail(self.token.span, message)
    }

    fn fail<T>(&mut self, span: Span, message: impl Into<String>) -> Parsed<T> {
        self.report(span, message);
        Err(Abandoned)
    }

    /// Notes a problem, unless the same line has one already: it would be a consequence of that.
    fn report(&mut self, span: Span, message: impl Into<String>) {
        self.add_problem(Diagnostic::syntax(self.source, span, message), span);
    }

    fn unsupported(&mut self, span: Span, message: impl Into<String>) {
        self.add_problem(Diagnostic::unsupported(self.source, span, message), span);
    }

    fn add_problem(&mut self, problem: Diagnostic, span: Span) {
        let at = span.start as usize;
        let repeated = self.problem_line.as_ref().is_some_and(|line| line.contains(&at));
        if !repeated {
            let bytes = self.source.text.as_bytes();
            let at = at.min(bytes.len());
            let start = bytes[..at]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |newline| newline + 1);
            let end = bytes[at..]
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |newline| at + newline);
            self.problem_line = Some(start..=end);
        }
        if repeated && problem.severity == Severity::Syntax || self.problems.len() >= MAXIMUM_PROBLEMS {
            return;
        }
        self.problems.push(problem);
    }

    /// Skips what is left of a declaration that was abandoned, to the comma after it or the brace that closes its struct.
    fn recover(&mut self, open: usize) {
        if self.problems.len() >= MAXIMUM_PROBLEMS {
            self.stop();
        }
        loop {
            let outside = self.open.len() <= open;
            match self.kind() {
                TokenKind::End => return,
                TokenKind::RightBrace if outside => return,
                TokenKind::Comma | TokenKind::Newline if outside => return self.advance(),
                _ => self.advance(),
            }
        }
    }

    /// Reads something that may contain itself, without running out of stack.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAXIMUM_DEPTH {
            return self.too_deep(self.token.span);
        }
        self.depth += 1;
        let result = stacker::maybe_grow(128 * 1024, 1024 * 1024, || read(self));
        self.depth -= 1;
        result
    }

    /// Notes that what was just read contains something of a height.
    fn grow(&mut self, contained: usize, start: usize) -> Parsed<()> {
        self.height = contained + 1;
        if self.height > MAXIMUM_HEIGHT {
            return self.too_deep(self.span_from(start));
        }
        Ok(())
    }

    fn too_deep<T>(&mut self, span: Span) -> Parsed<T> {
        self.report(span, "nested too deeply");
        self.stop();
        Err(Abandoned)
    }

    /// Leaves the rest of the text unread.
    fn stop(&mut self) {
        self.lexer.stop();
        let end = self.source.text.len();
        self.token = Token::new(TokenKind::End, end, end);
    }
}

/// A token's text for a message: its first line, and not much of it.
fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
