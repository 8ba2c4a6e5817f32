//! Parsing of source text into syntax trees.
//!
//! [`parse`] reads a whole file and reports every independent problem. The tree keeps what was written: spans, comments
//! and attributes stay with the nodes they belong to, because tools read them (KubeVela's patch markers are comments).

pub mod ast;
mod lexer;
mod literal;
mod parser;
mod token;

pub use parser::parse;

/// The value of a string or bytes literal without interpolation, when the text is that and nothing more.
pub(crate) fn unquote(text: &str) -> Option<Vec<u8>> {
    let token = lexer::Lexer::new(text).scan();
    if token.kind != token::TokenKind::String || (token.start(), token.end()) != (0, text.len()) {
        return None;
    }
    let quote = literal::Quote::at(text);
    let opening = quote.opening_length();
    let content = &text[opening..text.len() - quote.closing_length()];
    let content = match quote.multiline {
        true => content.split_once('\n')?.1,
        false => content,
    };
    let piece = literal::Piece {
        text: content,
        first: true,
        last: true,
    };
    let value = quote.unquote(piece, quote.indentation(content)).ok()?;
    Some(value.into_owned())
}
