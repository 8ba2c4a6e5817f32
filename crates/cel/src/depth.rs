//! The nesting depth of an expression, computed without recursion before it is parsed.

/// Maximum nesting of one kind of operator, as the API server.
const MOST: usize = 250;

/// Maximum nesting of all kinds together, bounded by our stack.
pub(crate) const MOST_TOGETHER: usize = 400;

/// The approximate nesting depth; `None` if it exceeds the limit. Strings and comments do not count.
pub(crate) fn depth(source: &str) -> Option<usize> {
    let mut most = 0;
    let mut levels = vec![Level::default()];
    let mut outer = 0;
    let mut rest = source.chars().peekable();
    let mut previous = ' ';
    while let Some(character) = rest.next() {
        let is_nested = levels.len() > 1;
        let level = levels.last_mut()?;
        match character {
            '"' | '\'' => skip_text(&mut rest, character, matches!(previous, 'r' | 'R')),
            '/' if rest.peek() == Some(&'/') => while rest.next().is_some_and(|next| next != '\n') {},
            '+' | '-' | '*' | '/' | '%' => {
                level.calculations += 1;
                level.members = 0;
            }
            '=' | '<' | '>' | '!' => {
                level.relations += 1;
                level.calculations = 0;
                level.members = 0;
            }
            '?' => {
                level.conditions += 1;
                *level = level.reset();
            }
            '&' | '|' | ':' | ',' => *level = level.reset(),
            '.' => level.members += 1,
            '(' | '[' | '{' => {
                level.members += 1;
                outer += level.depth() + 1;
                levels.push(Level::default());
            }
            ')' | ']' | '}' if is_nested => {
                levels.pop();
                let depth = levels.last().map_or(0, Level::depth);
                outer = outer.saturating_sub(depth + 1);
            }
            // `in` is the only operator that is a word.
            'n' if previous == 'i' => level.relations += 1,
            _ => {}
        }
        previous = character;
        let deepest = levels.last().map_or(0, Level::depth);
        if deepest > MOST || levels.len() > MOST || outer + deepest > MOST_TOGETHER {
            return None;
        }
        most = most.max(outer + deepest);
    }
    Some(most)
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    conditions: usize,
    relations: usize,
    calculations: usize,
    members: usize,
}

impl Level {
    fn depth(&self) -> usize {
        // `a == b` is two characters and one operator.
        self.conditions + self.relations / 2 + self.calculations + self.members
    }

    fn reset(self) -> Self {
        Self {
            conditions: self.conditions,
            ..Self::default()
        }
    }
}

fn skip_text(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char, raw: bool) {
    let mut ahead = rest.clone();
    let triple = ahead.next() == Some(quote) && ahead.next() == Some(quote);
    if triple {
        rest.next();
        rest.next();
    }
    let mut quotes = 0;
    while let Some(character) = rest.next() {
        match character {
            '\\' if !raw => {
                rest.next();
                quotes = 0;
            }
            '\n' if !triple => return,
            _ if character == quote => {
                quotes += 1;
                if !triple || quotes == 3 {
                    return;
                }
            }
            _ => quotes = 0,
        }
    }
}
