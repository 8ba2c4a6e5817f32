//! A time limit for evaluations. This crate has no clock: whoever runs an evaluation says when its time is up.

use std::cell::RefCell;
use std::rc::Rc;

/// Says whether the time is up.
pub(crate) type Expired = Rc<dyn Fn() -> bool>;

thread_local! {
    static EXPIRED: RefCell<Option<Expired>> = const { RefCell::new(None) };
}

/// Runs something; every evaluation that it starts on this thread ends with an error soon after `expired` says that its time is up.
///
/// It holds for all that runs inside, so that no function between the one that knows the time and the evaluator has to pass it on.
/// `expired` is asked every few hundred steps, and must be cheap.
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

/// The limit that holds on this thread.
pub(crate) fn current() -> Option<Expired> {
    EXPIRED.with_borrow(Clone::clone)
}
