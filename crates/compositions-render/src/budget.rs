//! What patches may cost.

use std::cell::Cell;

use serde_json::Value;

use crate::patch::PatchError;

/// What the patches of one composition may cost for one composite resource, in bytes that they read, transform and write. Objects are some
/// megabytes at most, so whoever gets here multiplies them on purpose, or by mistake.
#[derive(Debug)]
pub struct Budget(Cell<usize>);

/// All of it.
pub(crate) const BUDGET: usize = 256 << 20;

/// What is written is kept, and costs more than what is only looked at.
pub(crate) const WRITTEN: usize = 4;

/// What an expression costs for each byte that it looks at, by the memory that its automaton takes: at worst, each byte meets each state.
/// All of the budget is about a second of it.
pub(crate) const MATCHED: [(usize, usize); 5] = [
    (4 << 10, 512),
    (16 << 10, 1 << 10),
    (64 << 10, 3 << 10),
    (256 << 10, 10 << 10),
    (1 << 20, 40 << 10),
];

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(BUDGET))
    }
}

impl Budget {
    /// Takes so much of it, so many times.
    pub(crate) fn spend(&self, bytes: usize, times: usize) -> Result<(), PatchError> {
        let left = self.0.get().checked_sub(bytes.saturating_mul(times));
        // Whoever has used it up gets no more, however little.
        self.0.set(left.unwrap_or(0));
        left.map(drop).ok_or(PatchError::TooExpensive)
    }
}

/// About how many bytes a value has.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 8 + text.len(),
        Value::Array(elements) => 8 + elements.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            8 + fields
                .iter()
                .map(|(name, value)| name.len() + size(value))
                .sum::<usize>()
        }
    }
}
