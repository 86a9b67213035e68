//! Pieces of work by number -> their results in order, on the threads that the machine has.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

/// The results of `work` for 0 to `n - 1`; they must not depend on each other.
pub(crate) fn in_parallel<T: Send>(n: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    in_parallel_with(n, || (), |(), i| work(i))
}

/// [`in_parallel`] with a state of its own for each thread, which holds what is worth keeping
/// between pieces.
pub(crate) fn in_parallel_with<S, T: Send>(
    n: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let (mut state, mut done) = (state(), Vec::new());
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return done;
            }
            done.push((i, work(&mut state, i)));
        }
    };
    let threads = available_parallelism().map_or(1, usize::from).min(n);
    let mut done = scope(|scope| {
        // Where the system gives no thread, there is one less.
        let other = |_| Builder::new().spawn_scoped(scope, take).ok();
        let others: Vec<_> = (1..threads).map_while(other).collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for n in [0, 1, 2, 77] {
            assert_eq!(in_parallel(n, |i| i * i), (0..n).map(|i| i * i).collect::<Vec<_>>());
        }
    }
}
