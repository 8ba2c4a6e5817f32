//! Virtual time.

use std::sync::Arc;

use cambium_apiserver::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock that follows tokio's: under paused time it moves only when the test's timers do.
/// Must be called inside a runtime.
pub fn virtual_clock() -> Clock {
    let (begin, zero) = (
        Instant::now(),
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 55),
    );
    Arc::new(move || {
        let elapsed = SignedDuration::try_from(begin.elapsed()).unwrap_or(SignedDuration::ZERO);
        zero.checked_add(elapsed).unwrap_or(zero)
    })
}
