//! A pool: work in numbered pieces -> the same work done by several threads at once.
//!
//! A *ticket* counts down the pieces that nobody has taken. The thread that asks for the work takes
//! pieces like any other and waits only for pieces that others have taken. On a machine that is
//! busy elsewhere the system may suspend such a thread in the middle of its piece, and waiting for
//! it costs more than the whole work: after that the caller does the next works alone, for so long
//! that what was lost is a small part of the time. Between two works a thread looks at the ticket
//! for a while and then sleeps.
#![expect(
    unsafe_code,
    reason = "threads that outlive a piece of work see it through an address that is good for its duration"
)]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use exmc_math::interruption::StopFlag;

/// Name of the threads, in the operating system too.
const THREAD: &str = "exmc-shard";
/// Bits of a ticket that count pieces; the others say which work they belong to.
const PIECES: u32 = 16;
const PIECES_LEFT_MASK: u64 = (1 << PIECES) - 1;
/// How often a thread looks for work before it sleeps, about 20 to 100 microseconds: longer than a
/// sampler takes from one gradient to the next, and than a program's short loops between its long
/// ones.
const SPIN_LIMIT: u32 = 2000;

/// Time that a wait may cost beyond what the caller alone would have taken, as a part of the time
/// of the works that it then does alone.
const MAX_LOSS: f64 = 0.05;
/// The most works that are done alone before the others get another try.
const MAX_REST: f64 = 1e5;

/// A value that shares no pair of cache lines with others: processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// What is called with the number of the thread and of the piece.
struct Work<'a>(&'a (dyn Fn(usize, usize) + Sync));

#[derive(Debug, Default)]
struct Shared {
    /// Which work, and how many of its pieces nobody has taken.
    ticket: Apart<AtomicU64>,
    work: AtomicPtr<Work<'static>>,
    /// Pieces that are done.
    done: Apart<AtomicUsize>,
    stop: AtomicBool,
    panicked: AtomicBool,
    /// What the first piece that panicked said.
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Threads that wait for work; dropping the pool ends them.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Works that the caller does alone from now on.
    resting: u32,
}

impl Pool {
    /// A pool of `threads` threads, of which the caller of [`run`](Self::run) is one. Where the
    /// system gives fewer, the others do the work. Who interrupts this thread interrupts those of
    /// the pool.
    pub(crate) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let stop = StopFlag::of_thread().unwrap_or_default();
        let spawn = |number| {
            let (shared, stop) = (Arc::clone(&shared), stop.clone());
            let builder = thread::Builder::new().name(THREAD.to_owned());
            builder.spawn(move || stop.scope(|| shared.serve(number))).ok()
        };
        let workers = (1..threads).map_while(spawn).collect();
        Self { shared, workers, resting: 0 }
    }

    /// Threads, that of the caller included.
    pub(crate) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `task` with the number of the thread (0 for the caller's) and of the piece, once for
    /// each of `pieces` pieces in any order, and returns when all are done.
    ///
    /// # Panics
    /// When a piece does, with what it said, after all pieces.
    pub(in crate::native) fn run(&mut self, pieces: usize, task: &(dyn Fn(usize, usize) + Sync)) {
        let shared = &*self.shared;
        assert!(
            pieces as u64 <= PIECES_LEFT_MASK,
            "{pieces} pieces, a ticket counts {PIECES_LEFT_MASK}"
        );
        if self.resting > 0 {
            self.resting -= 1;
            (0..pieces).for_each(|piece| shared.attempt(|| task(0, piece)));
            shared.pass_on_panic();
            return;
        }
        let work = Work(task);
        shared.done.0.store(0, Ordering::Relaxed);
        shared.work.store((&raw const work).cast_mut().cast(), Ordering::Relaxed);
        let number = (shared.ticket.0.load(Ordering::Relaxed) >> PIECES) + 1;
        // Who sees the ticket sees what was stored before.
        shared.ticket.0.store(number << PIECES | pieces as u64, Ordering::Release);
        for worker in &self.workers {
            worker.thread().unpark();
        }
        let began = Instant::now();
        let own_pieces = shared.take(0);
        let taken = began.elapsed();
        // From here on `work` is needed only by those who took a piece, and no longer than this
        // loop.
        let mut looks = 0;
        while shared.done.0.load(Ordering::Acquire) < pieces {
            if looks < SPIN_LIMIT {
                looks += 1;
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        self.resting = rest(taken, began.elapsed(), own_pieces, pieces);
        shared.pass_on_panic();
    }
}

/// How many works the caller does alone after one that took it `taken` for its `own_pieces` of all,
/// and `all` with the wait for the others.
fn rest(taken: Duration, all: Duration, own_pieces: usize, pieces: usize) -> u32 {
    // Who took no piece himself does not know what one costs.
    let alone = taken.as_secs_f64() * pieces as f64 / own_pieces.max(1) as f64;
    let lost = all.as_secs_f64() - alone;
    if own_pieces == 0 || lost <= MAX_LOSS * alone {
        return 0;
    }
    (lost / (MAX_LOSS * alone)).min(MAX_REST) as u32
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // A piece's panic was caught where it happened, so a thread has nothing to tell.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// What a thread of the pool does until the pool is dropped.
    fn serve(&self, number: usize) {
        let mut looks = 0;
        while !self.stop.load(Ordering::Acquire) {
            if self.take(number) > 0 {
                looks = 0;
            } else if looks < SPIN_LIMIT {
                looks += 1;
                std::hint::spin_loop();
            } else {
                // Returns at once if there was work or the end since the last time.
                thread::park();
                looks = 0;
            }
        }
    }

    /// Does a piece; a panic in it is kept for the caller.
    fn attempt(&self, piece: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(piece)) {
            let mut first = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(payload);
            self.panicked.store(true, Ordering::Relaxed);
        }
    }

    /// Goes on with the first panic of a work's pieces, all of which are done.
    fn pass_on_panic(&self) {
        if self.panicked.load(Ordering::Relaxed) {
            self.panicked.store(false, Ordering::Relaxed);
            let mut payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(payload) = payload.take() {
                resume_unwind(payload);
            }
        }
    }

    /// Does pieces until all are taken; how many it did.
    fn take(&self, number: usize) -> usize {
        let mut count = 0;
        let mut ticket = self.ticket.0.load(Ordering::Acquire);
        while ticket & PIECES_LEFT_MASK > 0 {
            let work = self.work.load(Ordering::Relaxed);
            let next = ticket - 1;
            let taken = self.ticket.0.compare_exchange_weak(
                ticket,
                next,
                Ordering::Acquire,
                Ordering::Acquire,
            );
            if let Err(found) = taken {
                ticket = found;
                continue;
            }
            // SAFETY: the piece was still to be taken, so its work is not done, and `run` returns
            // only when it is; `work` is its address, because `run` stores the next one only after
            // that.
            let task = unsafe { (*work).0 };
            let piece = (next & PIECES_LEFT_MASK) as usize;
            self.attempt(|| task(number, piece));
            count += 1;
            self.done.0.fetch_add(1, Ordering::Release);
            ticket = self.ticket.0.load(Ordering::Acquire);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use exmc_math::interruption::is_interrupted;

    use super::*;

    #[test]
    fn every_piece_is_done_once_by_a_thread_of_its_own_number() {
        for threads in [1, 2, 3, 7] {
            let mut pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads);
            for pieces in [0, 1, 2, 5, 64, 1000] {
                let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
                let busy: Vec<AtomicBool> = (0..threads).map(|_| AtomicBool::new(false)).collect();
                pool.run(pieces, &|thread, piece| {
                    assert!(
                        !busy[thread].swap(true, Ordering::SeqCst),
                        "two threads of one number"
                    );
                    counts[piece].fetch_add(1, Ordering::Relaxed);
                    busy[thread].store(false, Ordering::SeqCst);
                });
                assert!(counts.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{counts:?}");
            }
        }
    }

    #[test]
    fn who_interrupts_a_thread_interrupts_its_pool() {
        let stop = StopFlag::default();
        let mut pool = stop.scope(|| Pool::new(3));
        let mut seen = |expected: bool| {
            let others = AtomicUsize::new(0);
            let began = Instant::now();
            // Until a thread of the pool has had a piece.
            while others.load(Ordering::Relaxed) == 0 {
                assert!(began.elapsed() < Duration::from_secs(60), "nobody takes a piece");
                pool.run(64, &|thread, _| {
                    assert!(thread == 0 || is_interrupted() == expected);
                    others.fetch_add(thread, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(50));
                });
            }
        };
        seen(false);
        stop.raise();
        seen(true);
    }

    #[test]
    fn work_of_other_threads_is_seen_after_the_run() {
        // Many short works in a row: a thread that comes late must not take a piece of another
        // work.
        let mut pool = Pool::new(3);
        let cells: Vec<AtomicUsize> = (0..7).map(|_| AtomicUsize::new(0)).collect();
        for round in 0..5000 {
            let value = round;
            pool.run(cells.len(), &|_, piece| {
                cells[piece].store(value * 10 + piece, Ordering::Relaxed);
            });
            for (piece, cell) in cells.iter().enumerate() {
                assert_eq!(cell.load(Ordering::Relaxed), value * 10 + piece);
            }
        }
    }

    #[test]
    fn a_thread_that_sleeps_wakes_up() {
        // Each of the two pieces waits for the other, so two threads must take them. On a machine
        // with other work a pool that found its threads slow may leave some work to its caller,
        // which then waits in vain for a while.
        const PATIENCE: std::time::Duration = std::time::Duration::from_millis(300);
        let mut pool = Pool::new(2);
        let mut met = 0;
        for _ in 0..30 {
            thread::sleep(std::time::Duration::from_millis(20));
            let here = AtomicUsize::new(0);
            let began = std::time::Instant::now();
            let together = AtomicUsize::new(0);
            pool.run(2, &|_, _| {
                here.fetch_add(1, Ordering::SeqCst);
                while here.load(Ordering::SeqCst) < 2 && began.elapsed() < PATIENCE {
                    thread::yield_now();
                }
                together.fetch_add(usize::from(began.elapsed() < PATIENCE), Ordering::SeqCst);
            });
            met += usize::from(together.into_inner() == 2);
            if met > 0 {
                break;
            }
        }
        assert!(met > 0);
    }

    #[test]
    fn a_panic_of_any_thread_comes_out_after_all_pieces_and_the_pool_goes_on() {
        for threads in [1, 2] {
            let mut pool = Pool::new(threads);
            for guilty in 0..4 {
                let done = AtomicUsize::new(0);
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    pool.run(4, &|_, piece| {
                        assert_ne!(piece, guilty, "planted");
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                }));
                let payload = outcome.unwrap_err();
                let text = payload.downcast_ref::<String>().unwrap();
                assert!(text.contains("planted"), "{text}");
                assert_eq!(done.load(Ordering::Relaxed), 3);
            }
            let done = AtomicUsize::new(0);
            pool.run(4, &|_, _| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.load(Ordering::Relaxed), 4);
        }
    }

    /// Threads that are suspended in the middle of their pieces, as on a machine that is busy
    /// elsewhere.
    #[test]
    fn who_waits_too_long_works_alone_for_a_while() {
        let mut pool = Pool::new(2);
        let (slow, works) = (AtomicUsize::new(0), 400);
        for _ in 0..works {
            let here = AtomicUsize::new(0);
            pool.run(8, &|thread, _| {
                if thread == 0 {
                    // The other one comes in time for a piece, if it is asked.
                    let until = Instant::now() + Duration::from_micros(100);
                    while Instant::now() < until && here.load(Ordering::SeqCst) == 0 {
                        thread::yield_now();
                    }
                } else {
                    here.store(1, Ordering::SeqCst);
                    slow.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(50));
                }
            });
        }
        // 50 ms for 0.8 ms and less: a rest of more than 1000 works.
        let slow = slow.load(Ordering::SeqCst);
        assert!(slow <= 8, "{slow} of {works}");
    }

    #[test]
    fn a_rest_repays_what_was_lost() {
        let ms = Duration::from_millis;
        // Four of eight pieces in 2 ms: alone it would have been 4 ms.
        assert_eq!(rest(ms(2), ms(3), 4, 8), 0);
        assert_eq!(rest(ms(2), ms(4), 4, 8), 0);
        // 20 ms lost are 5 % of 100 works of 4 ms.
        assert_eq!(rest(ms(2), ms(24), 4, 8), 100);
        assert_eq!(rest(Duration::ZERO, ms(30), 0, 8), 0);
        assert_eq!(rest(Duration::ZERO, ms(30), 3, 8), MAX_REST as u32);
    }

    #[test]
    fn dropping_ends_the_threads() {
        let pool = Pool::new(4);
        let shared = Arc::downgrade(&pool.shared);
        drop(pool);
        // Every thread held one.
        assert_eq!(shared.strong_count(), 0);
    }
}
