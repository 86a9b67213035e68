//! The last steps and changes of the gradient -> a direction that decreases the objective.

use std::collections::VecDeque;

use exmc_math::linear::{add_scaled, dot};

/// Pairs of steps and changes of the gradient, the latest last.
pub(crate) struct History {
    pairs: VecDeque<Pair>,
    capacity: usize,
}

pub(crate) struct Pair {
    pub(crate) step: Vec<f64>,
    pub(crate) change: Vec<f64>,
    /// $1 / s^\top y$.
    inverse_curvature: f64,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { pairs: VecDeque::with_capacity(capacity), capacity }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Learns from a step. One along which the gradient does not grow says nothing about a minimum
    /// and is left out; that happens when rounding decides. Whether it was taken in.
    pub(crate) fn push(&mut self, step: Vec<f64>, change: Vec<f64>) -> bool {
        let curvature = dot(&step, &change);
        // Below this, the sign of the curvature is that of a rounding error.
        let least = f64::EPSILON * dot(&change, &change);
        if !(curvature > least && curvature.is_finite()) {
            return false;
        }
        if self.pairs.len() == self.capacity {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { step, change, inverse_curvature: 1.0 / curvature });
        true
    }

    /// The pairs, the latest last.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter()
    }

    /// $-H g$, with $H$ the inverse Hessian that the pairs imply from a multiple of the identity.
    pub(super) fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let negative = gradient.iter().map(|g| -g).collect();
        let Some(latest) = self.pairs.back() else { return negative };
        let scale = 1.0 / (latest.inverse_curvature * dot(&latest.change, &latest.change));
        self.times(negative, |x| x.iter_mut().for_each(|x| *x *= scale))
    }

    /// $H x$, with $H$ the inverse Hessian that the pairs imply from a given diagonal.
    pub(crate) fn inverse_hessian_times(&self, diagonal: &[f64], x: Vec<f64>) -> Vec<f64> {
        self.times(x, |x| x.iter_mut().zip(diagonal).for_each(|(x, d)| *x *= d))
    }

    /// The two-loop recursion, with a product with what the pairs start from in its middle.
    fn times(&self, mut x: Vec<f64>, initial: impl FnOnce(&mut [f64])) -> Vec<f64> {
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let weight = pair.inverse_curvature * dot(&pair.step, &x);
            add_scaled(&mut x, -weight, &pair.change);
            weights.push(weight);
        }
        initial(&mut x);
        for (pair, weight) in self.pairs.iter().zip(weights.into_iter().rev()) {
            let back = pair.inverse_curvature * dot(&pair.change, &x);
            add_scaled(&mut x, weight - back, &pair.step);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_history_of_a_quadratic_gives_newtons_direction() {
        // Along conjugate steps of a quadratic, L-BFGS with as many pairs as coordinates is
        // Newton's method (Nocedal and Wright 2006, theorem 6.4). Hessian [[2, 1], [1, 3]]; (1, 0)
        // and (-1, 2) are conjugate.
        let hessian = |s: [f64; 2]| vec![2.0 * s[0] + s[1], s[0] + 3.0 * s[1]];
        let mut history = History::new(2);
        for step in [[1.0, 0.0], [-1.0, 2.0]] {
            history.push(step.to_vec(), hessian(step));
        }
        // The inverse is [[3, -1], [-1, 2]] / 5.
        let direction = history.direction(&[5.0, 10.0]);
        assert!((direction[0] + 1.0).abs() < 1e-14 && (direction[1] + 3.0).abs() < 1e-14);
    }

    #[test]
    fn one_pair_gives_the_update_that_is_written_out() {
        // (I - rho s y') H0 (I - rho y s') + rho s s' with H0 = (s'y / y'y) I (Nocedal and Wright
        // 2006, 7.16).
        let (s, y, g) = ([1.0, 2.0], [2.0, 1.5], [1.0, -1.0]);
        let rho = 1.0 / (s[0] * y[0] + s[1] * y[1]);
        let scale = 1.0 / (rho * (y[0] * y[0] + y[1] * y[1]));
        let across = |i: usize, j: usize| f64::from(u8::from(i == j)) - rho * y[i] * s[j];
        let mut history = History::new(2);
        history.push(s.to_vec(), y.to_vec());
        let direction = history.direction(&g);
        for i in 0..2 {
            let mut exact = 0.0;
            for j in 0..2 {
                let inner: f64 = (0..2).map(|k| across(k, i) * scale * across(k, j)).sum();
                exact -= (inner + rho * s[i] * s[j]) * g[j];
            }
            assert!((direction[i] - exact).abs() < 1e-14, "{direction:?} {exact}");
        }
    }

    #[test]
    fn steps_of_negative_curvature_are_left_out() {
        let mut history = History::new(3);
        history.push(vec![1.0, 0.0], vec![-1.0, 0.0]);
        history.push(vec![1.0, 0.0], vec![f64::NAN, 0.0]);
        assert!(history.is_empty());
        assert_eq!(history.direction(&[2.0, -1.0]), [-2.0, 1.0]);
    }
}
