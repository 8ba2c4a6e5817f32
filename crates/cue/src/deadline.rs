//! A time limit for evaluations. This crate has no clock: the caller provides the check.

use std::cell::RefCell;
use std::rc::Rc;

/// Whether the deadline has passed.
pub(crate) type Expired = Rc<dyn Fn() -> bool>;

thread_local! {
    static EXPIRED: RefCell<Option<Expired>> = const { RefCell::new(None) };
}

/// Runs `work` with a deadline: every evaluation on this thread fails soon after `expired` returns true.
///
/// The deadline is thread-local, so that functions between the caller and the evaluator need not pass it on. `expired` is
/// called every few hundred steps, and must be cheap.
pub fn with_deadline<T>(expired: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Expired>);
    impl Drop for Restore {
        fn drop(&mut self) {
            EXPIRED.set(self.0.take());
        }
    }
    let _restore = Restore(EXPIRED.replace(Some(Rc::new(expired))));
    work()
}

/// The current deadline of this thread.
pub(crate) fn current() -> Option<Expired> {
    EXPIRED.with_borrow(Clone::clone)
}
