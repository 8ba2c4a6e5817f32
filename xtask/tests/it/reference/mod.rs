//! Pages of `docs/reference` that are generated from `crates/api`.
//!
//! `CAMBIUM_WRITE_REFERENCE=1 cargo test -p xtask reference` writes them.

mod kinds;
mod names;

use crate::documents::root;

/// What a page says of itself, below its title.
fn notice(source: &str) -> String {
    format!(
        "<!-- Generated from {source} by `CAMBIUM_WRITE_REFERENCE=1 cargo test -p xtask reference`; do not edit. -->\n\n"
    )
}

/// Compares a page with the committed one, or writes it.
fn check(page: &str, expected: &str) {
    let path = root().join("docs/reference").join(page);
    if std::env::var_os("CAMBIUM_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/{page} is stale: CAMBIUM_WRITE_REFERENCE=1 cargo test -p xtask reference writes it"
    );
}

/// Text that a cell of a table can hold. Code is left as it is, but for what would end the cell.
fn cell(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => part.replace('<', "\\<"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}
