//! Programs of other ecosystems, built by `cargo xtask peers`.

use std::path::PathBuf;

/// The path of a program, if it was built.
pub fn peer(name: &str) -> Option<PathBuf> {
    Some(cache()?.join("peers").join(name)).filter(|path| path.is_file())
}

/// The build cache shared between checkouts.
pub(crate) fn cache() -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("CAMBIUM_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("cambium")))
        .or_else(|| Some(variable("HOME")?.join(".cache/cambium")))
}
