//! Package `encoding/json`.

mod scan;

use super::fields::Fields;
use super::{Budget, CallError, within_limit};
use crate::data::Data;
use crate::number::Number;
use scan::{Token, scan, scan_value};

/// Whether it is JSON.
pub fn valid(text: &[u8]) -> bool {
    scan(text).is_ok()
}

/// The same JSON without white space.
pub fn compact(text: &[u8]) -> Result<String, CallError> {
    let tokens = scan(text)?;
    let bytes: Vec<u8> = tokens
        .iter()
        .flat_map(|token| text[token.start..token.end].iter().copied())
        .collect();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The same JSON with each element on a line of its own, which starts with `prefix` and an `indent` for each level.
/// White space at the end stays.
pub fn indent(text: &[u8], prefix: &str, indent: &str) -> Result<String, CallError> {
    let tokens = scan(text)?;
    let mut out: Vec<u8> = Vec::new();
    let mut depth = 0;
    let break_line = |out: &mut Vec<u8>, depth: usize| -> Result<(), CallError> {
        let start = indent.len().saturating_mul(depth).saturating_add(prefix.len());
        within_limit(out.len().checked_add(start))?;
        out.push(b'\n');
        out.extend_from_slice(prefix.as_bytes());
        (0..depth).for_each(|_| out.extend_from_slice(indent.as_bytes()));
        Ok(())
    };
    for (index, token) in tokens.iter().enumerate() {
        let written = &text[token.start..token.end];
        let next = tokens.get(index + 1).map(|token| text[token.start]);
        match written[0] {
            b'{' | b'[' => {
                depth += 1;
                out.extend_from_slice(written);
                if !matches!(next, Some(b'}' | b']')) {
                    break_line(&mut out, depth)?;
                }
            }
            b'}' | b']' => {
                depth -= 1;
                if !matches!(text[tokens[index - 1].start], b'{' | b'[') {
                    break_line(&mut out, depth)?;
                }
                out.extend_from_slice(written);
            }
            b',' => {
                out.extend_from_slice(written);
                break_line(&mut out, depth)?;
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.extend_from_slice(written),
        }
        within_limit(Some(out.len()))?;
    }
    let end = tokens.last().map_or(0, |token| token.end);
    out.extend_from_slice(&text[end..]);
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The text with `<`, `>`, `&` and two line separators escaped, so that it can stand in HTML.
pub fn html_escape(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// The JSON of a value, without white space.
pub fn marshal(data: &Data) -> String {
    data.to_json()
}

/// The JSON of each value, each on a line of its own.
pub fn marshal_stream(values: &[Data]) -> String {
    values
        .iter()
        .map(|value| format!("{}\n", value.to_json()))
        .collect()
}

/// The value of some JSON.
pub fn unmarshal(text: &[u8], budget: &mut dyn Budget) -> Result<Data, CallError> {
    let invalid = || CallError::new("json: invalid JSON");
    let tokens = scan(text).map_err(|_| invalid())?;
    let text = std::str::from_utf8(text).map_err(|_| invalid())?;
    Builder {
        text,
        tokens: &tokens,
        at: 0,
        budget,
    }
    .value()
}

/// The values of JSON texts one after the other.
pub fn unmarshal_stream(text: &[u8], budget: &mut dyn Budget) -> Result<Vec<Data>, CallError> {
    let mut values = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            .count();
        if at == text.len() {
            return Ok(values);
        }
        let invalid = |error: CallError| CallError::Failed(format!("invalid JSON for file \"\": {error}"));
        let tokens = scan_value(text, at).map_err(invalid)?;
        at = tokens.last().map_or(text.len(), |token| token.end);
        let text = std::str::from_utf8(text).map_err(|_| CallError::new("json: invalid JSON"))?;
        values.push(
            Builder {
                text,
                tokens: &tokens,
                at: 0,
                budget: &mut *budget,
            }
            .value()?,
        );
    }
}

/// Makes values of tokens that are known to be in a good order.
struct Builder<'text> {
    text: &'text str,
    tokens: &'text [Token],
    at: usize,
    budget: &'text mut dyn Budget,
}

impl Builder<'_> {
    fn next(&mut self) -> &str {
        let token = self.tokens.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        &self.text[token.start..token.end]
    }

    fn peek(&self) -> u8 {
        self.tokens
            .get(self.at)
            .map_or(0, |token| self.text.as_bytes()[token.start])
    }

    fn value(&mut self) -> Result<Data, CallError> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.value_inner())
    }

    fn value_inner(&mut self) -> Result<Data, CallError> {
        match self.next() {
            "null" => Ok(Data::Null),
            "true" => Ok(Data::Bool(true)),
            "false" => Ok(Data::Bool(false)),
            "[" => {
                let mut items = Vec::new();
                while self.peek() != b']' {
                    items.push(self.value()?);
                    self.skip(b',');
                }
                self.at += 1;
                Ok(Data::List(items))
            }
            "{" => {
                let mut fields = Fields::default();
                while self.peek() != b'}' {
                    let name = string(self.next())?;
                    self.skip(b':');
                    let value = self.value()?;
                    fields.add(name, value, self.budget)?;
                    self.skip(b',');
                }
                self.at += 1;
                Ok(fields.finish())
            }
            text if text.starts_with('"') => string(text).map(Data::String),
            number => Number::from_literal(number)
                .map(Data::Number)
                .map_err(|error| CallError::Failed(error.to_string())),
        }
    }

    fn skip(&mut self, separator: u8) {
        if self.peek() == separator {
            self.at += 1;
        }
    }
}

/// A string of JSON is one of CUE.
fn string(text: &str) -> Result<String, CallError> {
    crate::syntax::unquote(text)
        .and_then(|value| String::from_utf8(value).ok())
        .ok_or_else(|| CallError::new("invalid string: unmatched surrogate pair"))
}

#[cfg(test)]
mod tests;
