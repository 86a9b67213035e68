//! The tree against a slow, obvious oracle: which leaves a trajectory has, where it stops, and with
//! what probability each leaf becomes the draw.
//!
//! The oracle integrates by its own loops, recomputes every sum of momenta from scratch for every
//! piece (quadratic work), and writes out the exact selection probabilities.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use crate::common::{correlated, log_exponential, normal, student_t};
use exmc_density::LogDensity;
use exmc_infer::nuts::{Scratch, TreeLimits, trajectory};
use exmc_infer::{Info, InverseMetric, Metric, State};
use exmc_math::random::{ChainRng, Phase};

#[derive(Clone)]
struct Point {
    q: Vec<f64>,
    p: Vec<f64>,
    g: Vec<f64>,
    energy: f64,
}

/// Points by their signed number of steps from the start, with the identity metric.
struct Orbit<'a, D> {
    density: &'a mut D,
    step: f64,
    forward: Vec<Point>,
    backward: Vec<Point>,
}

impl<D: LogDensity> Orbit<'_, D> {
    fn point_at(&mut self, i: i64) -> Point {
        let index = i.unsigned_abs() as usize;
        loop {
            let (side, step) = if i >= 0 {
                (&mut self.forward, self.step)
            } else {
                (&mut self.backward, -self.step)
            };
            if let Some(point) = side.get(index) {
                return point.clone();
            }
            let mut next = side[side.len() - 1].clone();
            for k in 0..next.q.len() {
                next.p[k] += 0.5 * step * next.g[k];
                next.q[k] += step * next.p[k];
            }
            let logp = self.density.logp_grad(&next.q, &mut next.g).unwrap();
            for k in 0..next.q.len() {
                next.p[k] += 0.5 * step * next.g[k];
            }
            next.energy = 0.5 * next.p.iter().map(|p| p * p).sum::<f64>() - logp;
            side.push(next);
        }
    }

    /// Whether the pieces `left` and `right` (ranges in time order) turn when joined.
    fn turns(&mut self, left: (i64, i64), right: (i64, i64)) -> bool {
        [(left.0, right.1), (left.0, right.0 + 1), (left.1 - 1, right.1)].iter().any(
            |&(from, to)| {
                let points: Vec<Point> = (from..to).map(|i| self.point_at(i)).collect();
                let dim = points[0].p.len();
                let sum: Vec<f64> = (0..dim).map(|k| points.iter().map(|x| x.p[k]).sum()).collect();
                let along = |x: &Point| x.p.iter().zip(&sum).map(|(p, s)| p * s).sum::<f64>();
                along(&points[0]) <= 0.0 || along(&points[points.len() - 1]) <= 0.0
            },
        )
    }
}

#[derive(Clone, Copy, Default)]
struct Rules {
    /// Wrong rules, to show that the comparison can tell.
    half_merges: bool,
    capped: bool,
    keep_invalid: bool,
    inner_biased: bool,
}

struct Expected {
    depth: u32,
    n_steps: u32,
    discarded: bool,
    divergent: bool,
    accept_stat: f64,
    /// Probability of each leaf, by its signed number of steps from the start.
    probabilities: Vec<(i64, f64)>,
}

fn oracle(
    orbit: &mut Orbit<'_, impl LogDensity>,
    directions: u64,
    limits: TreeLimits,
    rules: Rules,
) -> Expected {
    let start = orbit.point_at(0).energy;
    let weight = |energy: f64| {
        let w = (start - energy).exp();
        if rules.capped { w.min(1.0) } else { w }
    };
    let mut probabilities = vec![(0_i64, 1.0)];
    let (mut from, mut to) = (0_i64, 1_i64);
    let (mut n_steps, mut accept, mut divergent) = (0, 0.0, false);
    let mut old_weight = weight(start);
    let (mut depth, mut discarded) = (0, false);
    while depth < limits.max_depth {
        let size = 1_i64 << depth;
        let forward = (directions >> depth) & 1 == 1;
        let leaf = |k: i64| if forward { to + k } else { from - 1 - k };
        let range = |a: i64, b: i64| {
            // The k-th to the (l-1)-th leaf built, as a range in time order.
            if forward { (to + a, to + b) } else { (from - b, from - a) }
        };
        let mut valid = true;
        let mut new: Vec<(i64, f64)> = Vec::new();
        'leaves: for k in 0..size {
            n_steps += 1;
            let energy = orbit.point_at(leaf(k)).energy;
            accept += (start - energy).exp().min(1.0);
            if energy - start > limits.max_energy_error {
                divergent = true;
                valid = false;
                break;
            }
            new.push((leaf(k), weight(energy)));
            let mut width = 1;
            while (k + 1) % (2 * width) == 0 {
                let (first, second) =
                    (range(k + 1 - 2 * width, k + 1 - width), range(k + 1 - width, k + 1));
                let (left, right) = if forward { (first, second) } else { (second, first) };
                if orbit.turns(left, right) {
                    valid = false;
                    break 'leaves;
                }
                width *= 2;
            }
        }
        depth += 1;
        discarded = true;
        if !valid && !rules.keep_invalid {
            break;
        }
        let total: f64 = new.iter().map(|(_, w)| w).sum();
        let odds = if rules.half_merges { 0.5 } else { (total / old_weight).min(1.0) };
        for (_, p) in &mut probabilities {
            *p *= 1.0 - odds;
        }
        if rules.inner_biased {
            // Leaf by leaf with the outer rule.
            let mut inner = vec![1.0; new.len()];
            let mut before = new[0].1;
            for k in 1..new.len() {
                let a = (new[k].1 / before).min(1.0);
                inner[..k].iter_mut().for_each(|p| *p *= 1.0 - a);
                inner[k] = a;
                before += new[k].1;
            }
            probabilities.extend(new.iter().zip(inner).map(|((i, _), p)| (*i, odds * p)));
        } else {
            probabilities.extend(new.iter().map(|(i, w)| (*i, odds * w / total)));
        }
        if !valid {
            break;
        }
        discarded = false;
        old_weight += total;
        let (left, right) =
            if forward { ((from, to), (to, to + size)) } else { ((from - size, from), (from, to)) };
        let turning = orbit.turns(left, right);
        (from, to) = (left.0, right.1);
        if turning {
            break;
        }
    }
    let accept_stat = accept / f64::from(n_steps);
    Expected { depth, n_steps, discarded, divergent, accept_stat, probabilities }
}

struct Case {
    info: Info,
    expected: Expected,
    /// (observed count, expected count) of each leaf under the right rules and under wrong ones.
    counts: Vec<f64>,
    wrong: Vec<Vec<(i64, f64)>>,
}

const WRONG: [Rules; 4] = [
    Rules { half_merges: true, capped: false, keep_invalid: false, inner_biased: false },
    Rules { half_merges: false, capped: true, keep_invalid: false, inner_biased: false },
    Rules { half_merges: false, capped: false, keep_invalid: true, inner_biased: false },
    Rules { half_merges: false, capped: false, keep_invalid: false, inner_biased: true },
];

/// One momentum and one direction sequence: the tree `repeats` times with other selection draws,
/// and the oracle.
fn compare<D: LogDensity + Clone>(
    density: &D,
    step: f64,
    limits: TreeLimits,
    seed: u64,
    repeats: usize,
) -> Case {
    let mut density = density.clone();
    let dim = density.dim();
    let mut rng = ChainRng::new(seed, 0, Phase::Sampling);
    let metric = Metric::new(InverseMetric::identity(dim)).unwrap();
    let position: Vec<f64> = (0..dim).map(|_| rng.standard_normal()).collect();
    let start = State::evaluate(&mut density, position).unwrap();
    let mut scratch = Scratch::new(dim, limits.max_depth);
    scratch.draw_momentum(&metric, &mut rng);
    let p = scratch.momentum().to_vec();
    let directions = rng.next_u64();
    let origin = Point {
        q: start.position.to_vec(),
        g: start.gradient.to_vec(),
        energy: 0.5 * p.iter().map(|p| p * p).sum::<f64>() - start.logp,
        p,
    };
    let mut oracle_density = density.clone();
    let mut orbit = Orbit {
        density: &mut oracle_density,
        step,
        forward: vec![origin.clone()],
        backward: vec![origin],
    };
    let expected = oracle(&mut orbit, directions, limits, Rules::default());
    let wrong = WRONG.map(|rules| oracle(&mut orbit, directions, limits, rules).probabilities);

    let mut counts = vec![0.0; expected.probabilities.len()];
    let mut info = None;
    for _ in 0..repeats {
        let mut state = start.clone();
        let this = trajectory(
            &mut state,
            &mut density,
            &metric,
            step,
            limits,
            directions,
            &mut rng,
            &mut scratch,
        )
        .unwrap();
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        let chosen = expected
            .probabilities
            .iter()
            .position(|(i, _)| close(&orbit.point_at(*i).q, &state.position))
            .expect("the draw is one of the oracle's leaves");
        assert_eq!(this.moved, expected.probabilities[chosen].0 != 0);
        assert_eq!(this.logp, state.logp);
        let energy = orbit.point_at(expected.probabilities[chosen].0).energy;
        assert!((this.energy - energy).abs() < 1e-9);
        counts[chosen] += 1.0;
        info = Some(this);
    }
    Case { info: info.unwrap(), expected, counts, wrong: wrong.to_vec() }
}

/// Pearson's statistic over cells with an expectation of at least 5 (the rest pooled), as
/// (statistic, degrees of freedom). Leaves that the rule does not know count as impossible.
fn chi_square(case: &Case, probabilities: &[(i64, f64)]) -> (f64, f64) {
    let n: f64 = case.counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut rare_seen, mut rare_expected) = (0.0, 1e-9);
    let mut cell = |seen: f64, expected: f64| {
        statistic += (seen - expected) * (seen - expected) / expected;
        cells += 1.0;
    };
    for (i, p) in probabilities {
        let known = case.expected.probabilities.iter().position(|(j, _)| j == i);
        let seen = known.map_or(0.0, |k| case.counts[k]);
        if n * p >= 5.0 {
            cell(seen, n * p);
        } else {
            rare_seen += seen;
            rare_expected += n * p;
        }
    }
    if rare_expected >= 5.0 {
        cell(rare_seen, rare_expected);
    }
    (statistic, cells - 1.0)
}

fn limits(max_depth: u32, max_energy_error: f64) -> TreeLimits {
    TreeLimits { max_depth, max_energy_error }
}

fn check<D: LogDensity + Clone>(density: &D, step: f64, limits: TreeLimits, cases: &mut Vec<Case>) {
    for seed in 0..25 {
        let case = compare(density, step, limits, seed, 2000);
        let (info, expected) = (&case.info, &case.expected);
        assert_eq!(info.tree_depth, expected.depth, "seed {seed}, step {step}");
        assert_eq!(info.n_steps, expected.n_steps, "seed {seed}, step {step}");
        assert_eq!(info.last_discarded, expected.discarded, "seed {seed}, step {step}");
        assert_eq!(info.divergent, expected.divergent, "seed {seed}, step {step}");
        assert!((info.accept_stat - expected.accept_stat).abs() < 1e-10);
        cases.push(case);
    }
}

/// Stopping depth, leaf count and accept statistic equal the oracle's; the choice of the draw
/// follows the oracle's probabilities: the pooled chi-square statistic has a false-alarm rate below
/// 1e-6 (z = 6 with a normal approximation at several hundred degrees of freedom), and the same
/// data reject each of four wrong selection rules.
#[test]
fn the_tree_equals_the_oracle() {
    let mut cases = Vec::new();
    check(&normal(3), 0.7, limits(10, 1000.0), &mut cases);
    check(&correlated(2, 0.9), 0.35, limits(10, 1000.0), &mut cases);
    check(&log_exponential(), 1.1, limits(10, 1000.0), &mut cases);
    check(&student_t(), 1.5, limits(10, 1000.0), &mut cases);
    // A low depth limit, and an energy limit that makes ordinary errors divergences.
    check(&normal(4), 0.1, limits(3, 1000.0), &mut cases);
    check(&normal(2), 1.4, limits(10, 0.3), &mut cases);

    let z = |pick: &dyn Fn(&Case) -> Vec<(i64, f64)>| {
        let (statistic, degrees) = cases
            .iter()
            .map(|case| chi_square(case, &pick(case)))
            .fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1));
        (statistic - degrees) / (2.0_f64 * degrees).sqrt()
    };
    let right = z(&|case| case.expected.probabilities.clone());
    assert!(right.abs() < 6.0, "chi-square z of the right rules: {right}");
    for k in 0..WRONG.len() {
        let wrong = z(&|case| case.wrong[k].clone());
        assert!(wrong > 20.0, "wrong rules {k} are not told apart: z = {wrong}");
    }
    assert!(
        cases.iter().any(|c| c.info.divergent) && cases.iter().any(|c| c.info.reached_max_depth)
    );
    assert!(cases.iter().any(|c| c.info.tree_depth >= 4));
}

/// Reversing time (opposite momentum and opposite directions) visits the same points in the same
/// order, so it must stop at the same depth after the same number of steps.
#[test]
fn reversing_time_keeps_the_stopping_depth() {
    let density = correlated(3, 0.8);
    let limits = limits(10, 1000.0);
    let metric = Metric::new(InverseMetric::identity(3)).unwrap();
    for seed in 0..300 {
        let mut density = density.clone();
        let mut rng = ChainRng::new(seed, 1, Phase::Sampling);
        let position: Vec<f64> = (0..3).map(|_| rng.standard_normal()).collect();
        let momentum: Vec<f64> = (0..3).map(|_| rng.standard_normal()).collect();
        let directions = rng.next_u64();
        let mut scratch = Scratch::new(3, limits.max_depth);
        let mut run = |sign: f64, directions: u64| {
            let mut state = State::evaluate(&mut density, position.clone()).unwrap();
            let mirrored: Vec<f64> = momentum.iter().map(|p| sign * p).collect();
            scratch.set_momentum(&mirrored);
            let mut rng = ChainRng::new(seed, 2, Phase::Sampling);
            let info = trajectory(
                &mut state,
                &mut density,
                &metric,
                0.2,
                limits,
                directions,
                &mut rng,
                &mut scratch,
            )
            .unwrap();
            (info.tree_depth, info.n_steps, state.position)
        };
        assert_eq!(run(1.0, directions), run(-1.0, !directions), "seed {seed}");
    }
}
