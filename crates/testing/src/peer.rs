//! Programs of other ecosystems that tests talk to.

use std::path::PathBuf;

/// Where `cargo xtask peers` has put a program, if it has been built.
pub fn peer(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("CAMBIUM_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("cambium")))
        .or_else(|| Some(variable("HOME")?.join(".cache/cambium")))?;
    Some(cache.join("peers").join(name)).filter(|path| path.is_file())
}
