//! A transition allocates nothing, whatever the metric: a counting allocator around the kernel.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]
#![allow(unsafe_code, reason = "a global allocator can only be written with it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use exmc_density::{BATCH, DensityModel, EvaluationError, LaneDensity, LogDensity};
use exmc_infer::nuts::{Scratch, TreeLimits, transition};
use exmc_infer::{
    Chain, ChainOutcome, InverseMetric, Metric, MetricKind, SamplerConfig, Silent, Start, State,
    sample,
};
use exmc_math::random::{ChainRng, Phase};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system allocator unchanged; counting touches a
// thread-local without a destructor and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System.alloc` with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

struct Normal(usize);

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        self.0
    }

    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        g.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
        Ok(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
    }
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    let boxed = std::hint::black_box(Box::new(1_u8));
    assert_eq!(allocations() - before, 1);
    drop(boxed);
}

#[test]
fn a_transition_allocates_nothing() {
    let dim = 11;
    let mut covariance = vec![0.0; dim * dim];
    (0..dim).for_each(|i| covariance[i * dim + i] = 1.0 + i as f64 / 10.0);
    let mut vectors = vec![0.0; dim];
    vectors[4] = 1.0;
    for inverse in [
        InverseMetric::identity(dim),
        InverseMetric::Dense { dim, covariance },
        InverseMetric::LowRank { scale: vec![1.0; dim], vectors, values: vec![3.0] },
    ] {
        let mut density = Normal(dim);
        let metric = Metric::new(inverse).unwrap();
        let mut rng = ChainRng::new(0, 0, Phase::Sampling);
        let mut state = State::evaluate(&mut density, vec![0.3; dim]).unwrap();
        let mut scratch = Scratch::new(dim, 10);
        for (step_size, max_depth) in [(0.02, 10), (0.5, 10), (3.0, 10), (0.1, 1)] {
            let limits = TreeLimits { max_depth, max_energy_error: 1000.0 };
            let before = allocations();
            for _ in 0..50 {
                transition(
                    &mut state,
                    &mut density,
                    &metric,
                    step_size,
                    limits,
                    &mut rng,
                    &mut scratch,
                )
                .unwrap();
            }
            assert_eq!(allocations() - before, 0, "{:?}, step {step_size}", metric.inverse());
        }
    }
}

/// A chain's draws after warmup allocate nothing either; nor do warmup draws between changes of the
/// metric.
#[test]
fn a_chain_allocates_nothing_per_draw() {
    // The default metric changes in place with every draw, once the first change has searched for a
    // step size with vectors of its own; Stan's windows end after 100, 150 and 250 draws of 300.
    // After 50 and 100 a chain walks uphill from another point, to see what else there is.
    for (kind, quiet) in [
        (MetricKind::Diag, &[(10, 50), (51, 100), (101, 1200)][..]),
        (MetricKind::Stan, &[(0, 50), (51, 99), (101, 149), (150, 249), (250, 1200)]),
        (MetricKind::Dense, &[(0, 50), (51, 99), (101, 149), (150, 249), (250, 1200)]),
        (MetricKind::LowRank, &[(300, 1200)]),
    ] {
        let mut config = SamplerConfig::default();
        config.metric = kind;
        config.warmup = 300;
        config.draws = 900;
        let mut chain = Chain::start(Normal(11), &config, 0, &Start::Random).unwrap();
        let mut made = 0;
        for &(from, to) in quiet {
            (made..from).for_each(|_| _ = chain.advance().unwrap());
            let before = allocations();
            (from..to).for_each(|_| _ = chain.advance().unwrap());
            assert_eq!(allocations() - before, 0, "{kind:?}, draws {from} to {to}");
            made = to;
        }
        assert!(chain.advance().unwrap().is_none());
    }
}

struct Lanes;
impl LaneDensity for Lanes {
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        _: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)> {
        *logps = [0.0; BATCH];
        for (q, g) in positions.iter().zip(gradients) {
            for lane in 0..BATCH {
                g[lane] = -q[lane];
                logps[lane] -= 0.5 * q[lane] * q[lane];
            }
        }
        Vec::new()
    }
}

impl DensityModel for Normal {
    type Instance = Self;
    fn dim(&self) -> usize {
        self.0
    }
    fn instance(&self) -> Self {
        Self(self.0)
    }
    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        Some(Box::new(Lanes))
    }
}

/// Chains side by side allocate when they start and learn, not with every draw.
#[test]
fn draws_of_chains_side_by_side_allocate_nothing() {
    let allocations_of = |draws: u64| {
        let mut config = SamplerConfig::default();
        (config.threads, config.warmup, config.draws) = (1, 100, draws);
        config.keep_draws = false;
        let before = allocations();
        let run = sample(&Normal(10), &[], &config, &Silent).unwrap();
        assert!(run.chains.iter().all(|chain| chain.outcome == ChainOutcome::Completed));
        allocations() - before
    };
    // The first run of a process asks how many cores there are.
    allocations_of(10);
    assert_eq!(allocations_of(10), allocations_of(1000));
}
