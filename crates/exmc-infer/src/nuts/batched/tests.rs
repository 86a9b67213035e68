//! Chains side by side against chains alone, transition for transition.

use exmc_density::{EvaluationError, LogDensity};
use exmc_math::random::Phase;

use super::*;
use crate::InverseMetric;
use crate::nuts::transition;

/// Normal variables with precisions 1, 2, 3, ..., each coupled with the next one.
struct Normal(usize);

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        self.0
    }

    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        let mut logp = 0.0;
        for i in 0..self.0 {
            let next = if i + 1 < self.0 { q[i + 1] } else { 0.0 };
            let before = if i > 0 { q[i - 1] } else { 0.0 };
            g[i] = 0.4 * (next + before) - (i + 1) as f64 * q[i];
            logp += 0.5 * q[i] * g[i];
        }
        Ok(logp)
    }
}

fn metric(dim: usize, lane: usize) -> Metric {
    let entry = |i: usize, j: usize| {
        if i == j { 1.0 + lane as f64 } else { 0.3 / (1.0 + i.abs_diff(j) as f64) }
    };
    let covariance = (0..dim * dim).map(|index| entry(index / dim, index % dim)).collect();
    let inverse = match lane % 2 {
        0 => InverseMetric::Diagonal((0..dim).map(|i| 0.5 + i as f64).collect()),
        _ => InverseMetric::Dense { dim, covariance },
    };
    Metric::new(inverse).expect("positive definite")
}

fn start(dim: usize, lane: usize) -> State {
    let position = (0..dim).map(|i| libm::sin((i + 5 * lane) as f64)).collect::<Vec<_>>();
    let mut state =
        State { position: position.into(), logp: 0.0, gradient: AlignedVec::zeros(dim) };
    let logp = Normal(dim).logp_grad(&state.position, &mut state.gradient);
    state.logp = logp.expect("it has a value everywhere");
    state
}

/// Twenty transitions of four chains with metrics of both kinds, at every level: the states, infos
/// and random numbers of chains alone.
#[test]
fn transitions_are_those_of_chains_alone() {
    let limits = TreeLimits { max_depth: 6, max_energy_error: 1000.0 };
    for (dim, level) in [1, 2, 4, 7, 10, 16]
        .into_iter()
        .flat_map(|d| Level::available().into_iter().map(move |l| (d, l)))
    {
        let mut batched = BatchedNuts::new(level, dim, limits.max_depth).expect("few dimensions");
        let metrics: [Metric; BATCH] =
            std::array::from_fn(|lane| metric(dim, lane).with_level(level));
        let mut states: [State; BATCH] = std::array::from_fn(|lane| start(dim, lane));
        let mut rngs: [ChainRng; BATCH] =
            std::array::from_fn(|lane| ChainRng::new(3, lane as u32, Phase::Sampling));
        let mut scratches: [Scratch; BATCH] =
            std::array::from_fn(|_| Scratch::new(dim, limits.max_depth));
        let mut infos: [Vec<Info>; BATCH] = Default::default();
        let step_size = |lane: usize| 0.1 + 0.1 * lane as f64;
        for lane in 0..BATCH {
            batched.set_metric(lane, &metrics[lane]);
            let (state, metric, scratch) = (&states[lane], &metrics[lane], &mut scratches[lane]);
            batched.begin(lane, state, metric, step_size(lane), &mut rngs[lane], scratch);
        }
        while infos.iter().any(|of_lane| of_lane.len() < 20) {
            let Pending { positions, gradients, logps, active } = batched.pending();
            for lane in (0..BATCH).filter(|lane| active[*lane]) {
                let position: Vec<f64> = positions.iter().map(|x| x[lane]).collect();
                let mut gradient = vec![0.0; dim];
                let logp = Normal(dim).logp_grad(&position, &mut gradient);
                logps[lane] = logp.expect("it has a value everywhere");
                gradients.iter_mut().zip(gradient).for_each(|(to, x)| to[lane] = x);
            }
            let ended = batched.step(limits, &mut rngs.each_mut().map(Some));
            for lane in (0..BATCH).filter(|lane| ended[*lane]) {
                let (state, scratch) = (&mut states[lane], &mut scratches[lane]);
                infos[lane].push(batched.end(lane, state, limits, scratch));
                if infos[lane].len() < 20 {
                    let metric = &metrics[lane];
                    batched.begin(lane, state, metric, step_size(lane), &mut rngs[lane], scratch);
                }
            }
        }
        for lane in 0..BATCH {
            let (mut state, mut density) = (start(dim, lane), Normal(dim));
            let mut rng = ChainRng::new(3, lane as u32, Phase::Sampling);
            let mut scratch = Scratch::new(dim, limits.max_depth);
            for found in &infos[lane] {
                let info = transition(
                    &mut state,
                    &mut density,
                    &metrics[lane],
                    step_size(lane),
                    limits,
                    &mut rng,
                    &mut scratch,
                );
                assert_eq!(info.as_ref(), Ok(found), "lane {lane} of {dim} at {level:?}");
            }
            assert_eq!(state, states[lane]);
            assert_eq!(rng.word_position(), rngs[lane].word_position());
        }
    }
}

#[test]
fn there_are_no_chains_side_by_side_in_many_dimensions() {
    let made = |dim| BatchedNuts::new(Level::detect(), dim, 10).is_some();
    assert!(!made(0) && made(1) && made(MAX_DIM) && !made(MAX_DIM + 1));
}
