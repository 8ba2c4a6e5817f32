//! A count of users with the names of the first few.

use std::collections::BTreeSet;
use std::fmt;

/// Those who need a revision: how many, and the first few by name.
///
/// An artifact that thousands use is looked at while it is published: nobody waits for thousands of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Users {
    named: BTreeSet<String>,
    count: usize,
}

impl Users {
    /// How many names a table shows.
    pub const SHOWN: usize = 3;

    /// So many, of whom these are the first.
    pub fn new(first: impl IntoIterator<Item = String>, count: usize) -> Self {
        let named: BTreeSet<String> = first.into_iter().collect();
        Self {
            count: count.max(named.len()),
            named,
        }
    }

    /// Counts one more, and remembers its name if no more than `shown` are known.
    pub fn add(&mut self, name: impl FnOnce() -> String, shown: usize) {
        self.count += 1;
        if self.named.len() < shown {
            self.named.insert(name());
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The names that are known.
    pub fn named(&self) -> &BTreeSet<String> {
        &self.named
    }
}

impl fmt::Display for Users {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<&str> = self.named.iter().take(Self::SHOWN).map(String::as_str).collect();
        match self.count.saturating_sub(shown.len()) {
            0 => write!(formatter, "{}", shown.join(", ")),
            more => write!(formatter, "{} and {more} more", shown.join(", ")),
        }
    }
}
