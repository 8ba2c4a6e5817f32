//! What an evaluation takes beside what Kubernetes counts.
//!
//! Kubernetes' costs follow from the sizes of arguments, as texts and lists have them, and not from what a call makes of them, or what is
//! inside. Here, what is made is counted in bytes, and what is looked at inside of values in visits. A parameter would have to pass through
//! every function and every comparison; a meter holds for all that runs inside, variables of a policy included.

use std::cell::Cell;

use crate::error::{EvaluationError, Result};
use crate::limits::{MOST_BYTES, MOST_VISITS};

#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    bytes: usize,
    visits: u64,
}

thread_local! {
    static TAKEN: Cell<Option<Taken>> = const { Cell::new(None) };
}

/// Counts what runs inside; what runs inside of that counts for the same.
pub(crate) fn metered<T>(run: impl FnOnce() -> T) -> T {
    struct Stop;
    impl Drop for Stop {
        fn drop(&mut self) {
            TAKEN.set(None);
        }
    }
    if TAKEN.get().is_some() {
        return run();
    }
    TAKEN.set(Some(Taken::default()));
    let _stop = Stop;
    run()
}

/// Counts so many bytes that are made, and not given back before the end.
pub(crate) fn claim(bytes: usize) -> Result<()> {
    take(bytes, 0)
}

/// Whether so many bytes may still be made.
pub(crate) fn fits(bytes: usize) -> Result<()> {
    let taken = TAKEN.get().map_or(0, |taken| taken.bytes);
    match taken.saturating_add(bytes) > MOST_BYTES {
        true => Err(EvaluationError::CostExceeded),
        false => Ok(()),
    }
}

/// Counts so many values that are looked at.
pub(crate) fn visit(values: u64) -> Result<()> {
    take(0, values)
}

/// How many values have been looked at.
pub(crate) fn visits() -> u64 {
    TAKEN.get().map_or(0, |taken| taken.visits)
}

fn take(bytes: usize, visits: u64) -> Result<()> {
    let Some(mut taken) = TAKEN.get() else {
        return Ok(());
    };
    taken.bytes = taken.bytes.saturating_add(bytes);
    taken.visits = taken.visits.saturating_add(visits);
    TAKEN.set(Some(taken));
    match taken.bytes > MOST_BYTES || taken.visits > MOST_VISITS {
        true => Err(EvaluationError::CostExceeded),
        false => Ok(()),
    }
}
