//! Limits on memory and visited values of an evaluation, beyond Kubernetes' cost.
//!
//! Kubernetes' costs follow from the sizes of arguments, and not from the size of results or nested values. Here, created
//! values are counted in bytes, and visited nested values in visits. The meter is thread-local, as a parameter would have
//! to pass through every function and comparison; it covers all nested evaluations, variables of a policy included.

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

/// Runs with a meter; nested calls use the outer meter.
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

/// Counts created bytes, which are not released before the end.
pub(crate) fn claim(bytes: usize) -> Result<()> {
    take(bytes, 0)
}

/// Fails if this many bytes would exceed the limit.
pub(crate) fn fits(bytes: usize) -> Result<()> {
    let taken = TAKEN.get().map_or(0, |taken| taken.bytes);
    match taken.saturating_add(bytes) > MOST_BYTES {
        true => Err(EvaluationError::CostExceeded),
        false => Ok(()),
    }
}

/// Counts visited values.
pub(crate) fn visit(values: u64) -> Result<()> {
    take(0, values)
}

/// The number of visited values.
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
