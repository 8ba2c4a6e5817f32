//! Where formatted text goes: bounded, and padded as the flags say.

/// The flags of one directive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    /// `%#v`: values as Go source.
    pub(super) go_syntax: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

pub(super) struct Out {
    pub(super) flags: Flags,
    written: String,
    limit: usize,
    full: bool,
}

impl Out {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            flags: Flags::default(),
            written: String::new(),
            limit,
            full: false,
        }
    }

    /// The text, unless it became too long.
    pub(super) fn finish(self) -> Option<String> {
        (!self.full).then_some(self.written)
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.room(text.len()) {
            self.written.push_str(text);
        }
    }

    pub(super) fn character(&mut self, character: char) {
        if self.room(character.len_utf8()) {
            self.written.push(character);
        }
    }

    pub(super) fn repeat(&mut self, character: char, times: usize) {
        if self.room(times) {
            self.written.extend(std::iter::repeat_n(character, times));
        }
    }

    /// The text in its field, filled with spaces, or zeros on the left if asked for.
    pub(super) fn padded(&mut self, text: &str) {
        let width = self.flags.width.unwrap_or(0);
        // Counting is only worth it if the text could be shorter than the field.
        let missing = if width == 0 {
            0
        } else {
            width.saturating_sub(text.chars().count())
        };
        if self.flags.minus {
            self.text(text);
        }
        self.fill(missing);
        if !self.flags.minus {
            self.text(text);
        }
    }

    pub(super) fn fill(&mut self, missing: usize) {
        let filler = if self.flags.zero && !self.flags.minus {
            '0'
        } else {
            ' '
        };
        self.repeat(filler, missing);
    }

    fn room(&mut self, more: usize) -> bool {
        if self.full || more > self.limit.saturating_sub(self.written.len()) {
            self.full = true;
        }
        !self.full
    }
}
