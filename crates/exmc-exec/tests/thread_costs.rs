//! What threads within an instance cost: which there are, when they end, and that they allocate
//! nothing.
//!
//! One test, so that nothing else in this process allocates or starts threads meanwhile.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "an allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, Executor, compile};

#[path = "support/models.rs"]
mod models;
use models::Model;

struct Counting;

/// Allocations of all threads.
static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller's guarantees are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are those that `System` asks for.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Threads of this process, where the system says so.
fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}

/// The same, once there are so many: the system may count a thread for a while after it was joined.
fn threads_in_the_end(expected: Option<usize>) -> Option<usize> {
    for _ in 0..200 {
        if threads() == expected {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    threads()
}

fn bind(model: &Model) -> BoundDensity {
    compile(Executor::Native, &model.source).unwrap().bind(&|name| model.data(name)).unwrap()
}

#[test]
fn threads_are_few_end_with_their_instance_and_allocate_nothing() {
    let before = threads();
    let more = |n| before.map(|before| before + n);

    // Short loops: no threads, however many there may be.
    for model in
        [models::eight_schools(), models::logistic(500, 20), models::student(1000, 10, true)]
    {
        let instance = bind(&model).with_threads(8).instance();
        assert_eq!((instance.threads(), threads()), (1, before), "{}", model.name);
    }

    let model = models::logistic(50_000, 20);
    let bound = bind(&model).with_threads(3);
    assert_eq!(threads(), before, "threads belong to instances");
    let mut instance = bound.instance();
    let other = bound.threaded_instance(2);
    assert_eq!((instance.threads(), other.threads(), threads()), (3, 2, more(3)));
    drop(other);
    assert_eq!(threads_in_the_end(more(2)), more(2), "dropping ends an instance's own threads");

    let mut position = model.position();
    let mut gradient = vec![0.0; position.len()];
    // The first evaluation may find threads that are still starting.
    instance.logp_grad(&position, &mut gradient).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(50));
    let count = COUNT.load(Ordering::SeqCst);
    for _ in 0..20 {
        instance.logp_grad(&position, &mut gradient).unwrap();
        position[3] += 0.01;
    }
    assert_eq!(COUNT.load(Ordering::SeqCst) - count, 0, "allocations in 20 gradients");
    assert!(gradient.iter().all(|g| g.is_finite()));

    // An instance may move to another thread.
    let mut instance = std::thread::spawn(move || {
        instance.logp_grad(&position, &mut gradient).unwrap();
        instance
    })
    .join()
    .unwrap();
    let mut gradient = vec![0.0; 21];
    instance.logp_grad(&model.position(), &mut gradient).unwrap();
    drop(instance);
    assert_eq!(threads_in_the_end(before), before);
    // A run on one thread needs no other.
    assert_eq!((bound.threaded_instance(0).threads(), threads()), (1, before));
    // The counter counts.
    let count = COUNT.load(Ordering::SeqCst);
    drop(std::hint::black_box(vec![1.0]));
    assert_eq!(COUNT.load(Ordering::SeqCst) - count, 1);
}
