//! Package `encoding/yaml`, as Go's `yaml.v3` reads and writes: YAML 1.2 with a few words of 1.1.

mod emit;
mod load;
mod resolve;

use super::{Budget, CallError, MAXIMUM_TEXT, within_limit};
use crate::data::Data;

/// The YAML of a value.
pub fn marshal(data: &Data) -> Result<String, CallError> {
    let text = emit::document(data, MAXIMUM_TEXT);
    within_limit(Some(text.len())).map(|()| text)
}

/// The YAML of a value, however long it is.
pub(crate) fn text(data: &Data) -> String {
    emit::document(data, usize::MAX)
}

/// The YAML of each value, with `---` between them.
pub fn marshal_stream(values: &[Data]) -> Result<String, CallError> {
    let mut stream = String::new();
    for value in values {
        if !stream.is_empty() {
            stream.push_str("---\n");
        }
        stream.push_str(&marshal(value)?);
        within_limit(Some(stream.len()))?;
    }
    Ok(stream)
}

/// The value of a text with one document; nothing is null.
pub fn unmarshal(text: &[u8], budget: &mut dyn Budget) -> Result<Data, CallError> {
    let mut documents = load::documents(text, budget)?;
    match documents.len() {
        0 => Ok(Data::Null),
        1 => Ok(documents.remove(0)),
        _ => Err(CallError::new("-: expected a single YAML document")),
    }
}

/// The values of all documents of a text; of an empty text, a null.
pub fn unmarshal_stream(text: &[u8], budget: &mut dyn Budget) -> Result<Vec<Data>, CallError> {
    let documents = load::documents(text, budget)?;
    if documents.is_empty() {
        Ok(vec![Data::Null])
    } else {
        Ok(documents)
    }
}

#[cfg(test)]
mod tests;
