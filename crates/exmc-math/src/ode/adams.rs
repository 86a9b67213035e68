//! Adams methods of orders 1 to 12: an initial value problem -> its solution by prediction and
//! correction.
//!
//! The slope's interpolating polynomial in Newton's form, on steps of any lengths, is integrated to
//! predict; the slope there extends it by one point, whose integral corrects (PECE). The
//! polynomial's integrals are exact by Gauss and Legendre's rule with 7 nodes, so steps of any
//! ratio and interpolation need no further formulas.
//!
//! With $q_j(\tau) = \prod_{i<j} (\tau - t_{n-i})/(t_n - t_{n-1-i})$ the polynomial is
//! $\sum_{j<k} \Phi_j\, q_j(\tau)$. **Reference**: Hairer, Nørsett and Wanner 1993, section III.5.

use super::{Clock, OdeFailure, OdeSystem, OdeWorkspace, Problem};
use crate::elementary::pow;

/// Highest order; the quadrature is exact up to degree 13.
const HIGHEST: usize = 12;

/// Nodes and weights of Gauss and Legendre's rule on $[-1, 1]$, nodes not negative.
const QUADRATURE: [(f64, f64); 4] = [
    (0.0, 0.417_959_183_673_469_4),
    (0.405_845_151_377_397_2, 0.381_830_050_505_118_9),
    (0.741_531_185_599_394_5, 0.279_705_391_489_276_64),
    (0.949_107_912_342_758_5, 0.129_484_966_168_869_7),
];

/// Times of the last slopes, newest first, and what integrals over them need.
struct Grid {
    times: [f64; HIGHEST + 2],
    order: usize,
}

impl Grid {
    /// $q_0(\tau), q_1(\tau), …$
    fn basis(&self, time: f64) -> [f64; HIGHEST + 1] {
        let mut values = [1.0; HIGHEST + 1];
        for j in 0..self.order {
            values[j + 1] =
                values[j] * (time - self.times[j]) / (self.times[0] - self.times[j + 1]);
        }
        values
    }

    /// $\int_{t_n}^{to} q_j$ for all $j$ up to the order.
    fn integrals(&self, to: f64) -> [f64; HIGHEST + 1] {
        let half = 0.5 * (to - self.times[0]);
        let mut sums = [0.0; HIGHEST + 1];
        for (node, weight) in QUADRATURE {
            let signs: &[f64] = if node == 0.0 { &[1.0] } else { &[-1.0, 1.0] };
            for sign in signs {
                let values = self.basis(self.times[0] + half * (1.0 + sign * node));
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += half * weight * value;
                }
            }
        }
        sums
    }

    fn push(&mut self, t: f64) {
        self.times.rotate_right(1);
        self.times[0] = t;
    }
}

/// `out = x + weights . differences`.
fn extrapolate(out: &mut [f64], x: &[f64], weights: &[f64], differences: &[Vec<f64>]) {
    out.copy_from_slice(x);
    for (weight, row) in weights.iter().zip(differences) {
        for (out, value) in out.iter_mut().zip(row) {
            *out += weight * value;
        }
    }
}

pub(super) fn solve(
    problem: &Problem<'_>,
    system: &mut impl OdeSystem,
    work: &mut OdeWorkspace,
    out: &mut [f64],
) -> Result<(), OdeFailure> {
    let (len, size) = (problem.len(), problem.start.len());
    let rows: &mut [Vec<f64>; HIGHEST + 8] = work.rows(len);
    let [x, next, slope, gap, lower, higher, differences @ ..] = rows;
    problem.begin(x);
    system.coupled(problem.t0, x, &mut differences[0])?;
    let mut h = problem.first_step(x, &differences[0]);
    let mut grid = Grid { times: [problem.t0; HIGHEST + 2], order: 1 };
    // Before the first step the slope is constant: differences of a point that is never looked at
    // are zero.
    for (k, time) in grid.times.iter_mut().enumerate() {
        *time -= h * k as f64;
    }
    let mut t = problem.t0;
    let (mut known, mut failures) = (1, 0);
    let mut clock = Clock::new(problem.control);
    let mut rows = out.chunks_exact_mut(size).zip(problem.times).peekable();
    while let Some((row, _)) = rows.next_if(|(_, time)| **time <= t) {
        problem.finish(x, row);
    }
    while rows.peek().is_some() {
        clock.tick(t, h)?;
        let (order, ahead) = (grid.order, t + h);
        // One order more than is used, to judge it.
        let judged = Grid { times: grid.times, order: (order + 1).min(HIGHEST) };
        let (weights, ends) = (judged.integrals(ahead), judged.basis(ahead));
        extrapolate(next, x, &weights[..order], &differences[..order]);
        system.coupled(ahead, next, slope)?;
        // What the new slope adds to the polynomial, by its value at the new time.
        extrapolate(gap, slope, &ends.map(|e| -e)[..order], &differences[..order]);
        // The corrector's weight with j points behind, for j = order - 2 to order + 1.
        let weight = |j: usize| weights[j] / ends[j];
        let rise = weight(order);
        for (next, gap) in next.iter_mut().zip(gap.iter()) {
            *next += rise * gap;
        }
        let error = problem.norm(next, |k| (rise - weight(order - 1)) * gap[k]);
        if error.is_nan() || error > 1.0 || !next.iter().all(|x| x.is_finite()) {
            let factor =
                if error.is_finite() { 0.9 * pow(error, -1.0 / (order as f64 + 1.0)) } else { 0.2 };
            h *= factor.clamp(0.2, 0.9);
            failures += 1;
            // After repeated failures what lies behind is no guide.
            if failures >= 3 {
                grid.order = 1;
            }
            continue;
        }
        failures = 0;
        clock.count();
        let below = (order > 1).then(|| {
            extrapolate(lower, gap, &ends[order - 1..order], &differences[order - 1..order]);
            problem.norm(next, |k| (weight(order - 1) - weight(order - 2)) * lower[k])
        });
        let above = (order < HIGHEST && known > order).then(|| {
            extrapolate(higher, gap, &[-ends[order]], &differences[order..=order]);
            problem.norm(next, |k| (weight(order + 1) - rise) * higher[k])
        });
        // Output times within the step: the integral of the polynomial that the corrector used,
        // which is the predictor's plus the gap's share.
        while let Some((row, time)) = rows.next_if(|(_, time)| **time <= ahead) {
            let partial = judged.integrals(*time);
            // Nobody reads the errors of other orders any more.
            extrapolate(lower, x, &partial[..order], &differences[..order]);
            let share = partial[order] / ends[order];
            for (value, gap) in lower.iter_mut().zip(gap.iter()) {
                *value += share * gap;
            }
            problem.finish(lower, row);
            clock.restart();
        }
        // The corrected slope, and its differences with those before.
        system.coupled(ahead, next, slope)?;
        let top = known.min(HIGHEST);
        for (j, row) in differences.iter_mut().enumerate().take(top + 1) {
            // `slope` holds the new difference j, `row` the old one.
            let end = if j < top { ends_of(&grid, j, ahead) } else { 0.0 };
            for (new, old) in slope.iter_mut().zip(row) {
                let (difference, before) = (*new, *old);
                *old = difference;
                *new = difference - end * before;
            }
        }
        known = (known + 1).min(HIGHEST + 1);
        grid.push(ahead);
        std::mem::swap(x, next);
        t = ahead;
        // The order whose error is smallest, seen from one step to the next.
        let size = |error: f64, order: usize| pow(error.max(1e-10), -1.0 / (order as f64 + 1.0));
        let (mut best, mut factor) = (order, size(error, order));
        if let Some(below) = below
            && size(below, order - 1) > factor
        {
            (best, factor) = (order - 1, size(below, order - 1));
        }
        if let Some(above) = above
            && size(above, order + 1) > factor
        {
            (best, factor) = (order + 1, size(above, order + 1));
        }
        grid.order = best;
        let factor = 0.9 * factor;
        // Equal steps are kept while a change would gain little.
        if !(1.0..1.2).contains(&factor) {
            h *= factor.clamp(0.5, 2.0);
        }
    }
    Ok(())
}

/// $q_j$ at a time.
fn ends_of(grid: &Grid, j: usize, time: f64) -> f64 {
    (0..j).map(|i| (time - grid.times[i]) / (grid.times[0] - grid.times[i + 1])).product()
}
