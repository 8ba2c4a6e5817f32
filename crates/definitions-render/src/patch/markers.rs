//! Patch markers: comments in a patch such as `+patchKey=name` and `+patchStrategy=replace`.

use cambium_cue::syntax::ast::{Comment, CommentPosition};

/// The markers in the comments above a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markers {
    /// `+patchKey=name`: elements of lists here and below with the same `name` are the same.
    pub(crate) patch_key: Option<String>,
    /// `+patchStrategy=replace` and the like.
    pub(crate) patch_strategy: Option<String>,
}

/// The strategy of a whole patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Fitted by its markers, then unified.
    Unify,
    /// As an RFC 7396 merge patch.
    JsonMergePatch,
    /// As RFC 6902 operations, under `operations`.
    JsonPatch,
}

/// The strategy that the comments above `patch` ask for.
pub(crate) fn strategy_of(comments: &[Comment<'_>]) -> Strategy {
    match Markers::read(comments).patch_strategy.as_deref() {
        Some("jsonMergePatch") => Strategy::JsonMergePatch,
        Some("jsonPatch") => Strategy::JsonPatch,
        _ => Strategy::Unify,
    }
}

impl Markers {
    /// Reads the comments directly above a field. Of several markers of one name the last counts.
    pub(crate) fn read(comments: &[Comment<'_>]) -> Self {
        let mut markers = Self::default();
        let above = comments
            .iter()
            .filter(|comment| comment.position == CommentPosition::Doc);
        for line in above.flat_map(Comment::lines) {
            let Some((name, value)) = line
                .trim()
                .strip_prefix('+')
                .and_then(|marker| marker.split_once('='))
            else {
                continue;
            };
            let value = value.trim();
            if value.split_whitespace().nth(1).is_some() {
                continue; // a sentence, as in `+usage=…`
            }
            match name.trim() {
                "patchKey" => markers.patch_key = Some(value.to_owned()),
                "patchStrategy" => markers.patch_strategy = Some(value.to_owned()),
                _ => {}
            }
        }
        markers
    }

    /// Whether the field's value is put in the place of what is there.
    pub(crate) fn retains_keys(&self) -> bool {
        self.patch_strategy.as_deref() == Some("retainKeys")
    }

    /// Whether the list is put in the place of what is there.
    pub(crate) fn replaces(&self) -> bool {
        self.patch_strategy.as_deref() == Some("replace")
    }
}
