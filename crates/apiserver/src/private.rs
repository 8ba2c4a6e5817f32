//! Private files and directories, safe to create in directories that other users can write to.

use std::io::{self, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;

/// Creates a directory with an unpredictable name; fails if the path exists, symbolic links included.
#[cfg(unix)]
pub fn create_directory(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let path = parent.join(format!("{prefix}{:032x}", u128::from_ne_bytes(bytes)));
    create_exactly(&path)?;
    Ok(path)
}

#[cfg(unix)]
fn create_exactly(path: &Path) -> io::Result<()> {
    // `mkdir` fails where anything is, and follows no link.
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    let made = std::fs::symlink_metadata(path)?;
    match made.is_dir() && made.mode() & 0o077 == 0 {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the directory was replaced, or others may enter it",
        )),
    }
}

/// Refuses a directory in which other users could replace files: not owned by `user` or root, or world-writable.
#[cfg(unix)]
pub fn check_directory(path: &Path, user: u32) -> io::Result<()> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let link = std::fs::symlink_metadata(path)?;
    let found = std::fs::metadata(path)?;
    if let Some(owner) = [link.uid(), found.uid()]
        .into_iter()
        .find(|owner| ![user, 0].contains(owner))
    {
        return refused(format!("it belongs to user {owner}, not to user {user}"));
    }
    if found.mode() & 0o002 != 0 {
        return refused("everybody may write to it; run \"chmod o-w\" on it".to_owned());
    }
    Ok(())
}

/// Atomically writes a file with mode 0600. A symbolic link at the path is replaced, never followed.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = Path::new(&aside);
    match std::fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let filled = || -> io::Result<()> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600);
        let mut file = options.open(aside)?;
        #[cfg(unix)]
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(aside, path)
    };
    filled().inspect_err(|_| {
        // Half a file is of no use to anybody; that it may stay does not matter.
        let _ = std::fs::remove_file(aside);
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{chown, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_directory_is_new_private_and_not_to_be_foreseen() {
        let parent = tempfile::tempdir().unwrap();
        let one = create_directory(parent.path(), "cambium-").unwrap();
        let other = create_directory(parent.path(), "cambium-").unwrap();
        assert_ne!(one, other);
        assert_eq!((mode(&one), mode(&other)), (0o700, 0o700));
    }

    #[test]
    fn a_directory_that_somebody_planted_is_not_taken() {
        let parent = tempfile::tempdir().unwrap();
        let (planted, elsewhere) = (parent.path().join("planted"), parent.path().join("elsewhere"));
        std::fs::create_dir(&elsewhere).unwrap();
        assert!(create_exactly(&elsewhere).is_err());
        symlink(&elsewhere, &planted).unwrap();
        assert!(create_exactly(&planted).is_err());
        symlink(parent.path().join("nowhere"), parent.path().join("dangling")).unwrap();
        assert!(create_exactly(&parent.path().join("dangling")).is_err());
        assert!(!parent.path().join("nowhere").exists());
    }

    #[test]
    fn a_directory_of_others_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let me = std::fs::metadata(parent.path()).unwrap().uid();
        let directory = parent.path().join("data");
        std::fs::create_dir(&directory).unwrap();
        for (mode, accepted) in [
            (0o700, true),
            (0o755, true),
            (0o775, true),
            (0o777, false),
            (0o1777, false),
        ] {
            std::fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_directory(&directory, me).is_ok(), accepted, "{mode:o}");
        }
        std::fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        // Only root can give a directory away; a directory of root is always accepted.
        if me == 0 {
            chown(&directory, Some(4711), None).unwrap();
        }
        assert!(check_directory(&directory, me + 1).is_err());
    }

    #[test]
    fn links_are_replaced_and_never_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, aside) = (
            directory.path().join("kubeconfig"),
            directory.path().join("kubeconfig.new"),
        );
        let victim = directory.path().join("victim");
        std::fs::write(&victim, "untouched").unwrap();
        symlink(&victim, &path).unwrap();
        symlink(&victim, &aside).unwrap();
        write(&path, "secret").unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "secret");
        assert!(!std::fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(mode(&path), 0o600);
        // A file that others could read is made anew.
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write(&path, "secret").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(std::fs::symlink_metadata(&aside).is_err());
    }
}
