//! A word to stop, given by another thread -> long computations of this thread end early.
//!
//! A cancellation token (stop token) of the thread. A density is a function of a position, and
//! solvers deep inside of one know nothing of runs. Who runs them puts a [`StopFlag`] up for the
//! thread; a solver asks [`is_interrupted`] every some steps and gives up when it is raised. **What
//! is computed while the flag is raised has no meaning**: whoever put it up looks at it afterwards
//! and throws the result away.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static OF_THREAD: RefCell<Option<StopFlag>> = const { RefCell::new(None) };
}

/// A flag that is raised once and stays so; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks everything that runs under it to end.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag of this thread, for threads that work for it.
    pub fn of_thread() -> Option<Self> {
        OF_THREAD.with_borrow(Clone::clone)
    }

    /// Does some work of this thread under the flag; the thread's flag before comes back after it,
    /// also when the work panics.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Before(Option<StopFlag>);
        impl Drop for Before {
            fn drop(&mut self) {
                let before = self.0.take();
                OF_THREAD.with_borrow_mut(|flag| *flag = before);
            }
        }
        let _before = Before(OF_THREAD.replace(Some(self.clone())));
        work()
    }
}

/// Whether the work of this thread is to end. Takes a few nanoseconds.
pub fn is_interrupted() -> bool {
    OF_THREAD.with_borrow(|flag| flag.as_ref().is_some_and(StopFlag::is_raised))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_its_threads_and_ends_with_the_work() {
        let (outer, inner) = (StopFlag::default(), StopFlag::default());
        assert!(!is_interrupted());
        outer.scope(|| {
            inner.raise();
            assert!(!is_interrupted());
            inner.scope(|| assert!(is_interrupted()));
            assert!(!is_interrupted());
            let thread = std::thread::spawn(is_interrupted);
            outer.raise();
            assert!(is_interrupted() && thread.join().is_ok_and(|found| !found));
        });
        assert!(!is_interrupted() && StopFlag::of_thread().is_none());
        let panicked =
            std::panic::catch_unwind(|| inner.scope(|| std::panic::resume_unwind(Box::new(0))));
        let panicked: Result<(), _> = panicked;
        assert!(panicked.is_err() && !is_interrupted());
    }
}
