//! Limits the memory arenas of glibc's allocator.
//!
//! glibc gives each thread an arena of its own, up to eight for each core, and keeps what was freed in it. Templates are evaluated on threads
//! beside the async workers, so that a manager with a thousand Applications takes 3 KB more for each. With two arenas it does not, and takes no
//! more processor time; with one, threads wait for each other (docs/benchmarks.md). glibc reads their number when a program starts, and only
//! from its environment.

/// Starts this program anew with few arenas, unless the environment says how many.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn limit() {
    use std::os::unix::process::CommandExt as _;
    let mut arguments = std::env::args_os();
    let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) else {
        return;
    };
    if std::env::var_os(LIMIT).is_none() {
        let mut again = std::process::Command::new(program);
        // It returns only if it fails: then there are as many arenas as usual.
        let _ = again.arg0(name).args(arguments).env(LIMIT, "2").exec();
    }
}

/// The environment variable that glibc reads at start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LIMIT: &str = "MALLOC_ARENA_MAX";

/// Other allocators do not know arenas.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn limit() {}
