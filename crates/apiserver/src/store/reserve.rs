//! Reserved disk space, so that deletions still work on a full disk.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A placeholder file that is removed to free its space.
pub(super) struct Reserve {
    path: PathBuf,
}

/// Enough for the pages that a few deletions of the largest objects write before they free any.
const BYTES: u64 = 4 << 20;
const BLOCK: usize = 64 << 10;

impl Reserve {
    /// The reserve beside a store file.
    pub(super) fn beside(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push(".reserve");
        Self { path: path.into() }
    }

    /// Allocates the file. On a full disk it takes what is left and returns an error.
    pub(super) fn hold(&self) -> io::Result<()> {
        let mut held = match std::fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_file() => found.len(),
            _ => {
                self.release();
                0
            }
        };
        if held >= BYTES {
            return Ok(());
        }
        let mut options = std::fs::OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        // Some file systems store zeros without taking space for them.
        let mut block = vec![0; BLOCK];
        getrandom::fill(&mut block).map_err(|error| io::Error::other(error.to_string()))?;
        while held < BYTES {
            file.write_all(&block)?;
            held += block.len() as u64;
        }
        Ok(())
    }

    /// Frees the space.
    pub(super) fn release(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove the reserved disk space");
        }
    }
}

/// Whether an error is "no space left on device".
pub(super) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}
