//! Programs of other ecosystems that tests talk to.

use std::path::PathBuf;

/// Where `cargo xtask peers` has put a program, if it has been built.
pub fn peer(name: &str) -> Option<PathBuf> {
    Some(cache()?.join("peers").join(name)).filter(|path| path.is_file())
}

/// Where built things are kept between checkouts.
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
