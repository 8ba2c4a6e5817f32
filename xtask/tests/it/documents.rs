//! The files of the repository that people read.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    root.expect("xtask is a directory of the repository").to_owned()
}

/// All Markdown of the repository, relative to its root.
pub(crate) fn markdown() -> Vec<PathBuf> {
    let mut pages = files(Path::new(""));
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages
}

/// All files below a directory, relative to the root; without hidden directories and what was compiled.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join(directory)).unwrap() {
        let name = entry.unwrap().file_name();
        let path = directory.join(&name);
        let skipped = name.to_string_lossy().starts_with('.') || name == "target";
        match root().join(&path).is_dir() {
            true if skipped => {}
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}
