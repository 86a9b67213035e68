//! Log densities with gradients written by hand with vector instructions: the limit for an executor.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::models::Model;

/// A log density and its gradient, with the data that it owns.
pub(crate) type Density = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

/// The kernel for a model, if there is one.
pub(crate) fn kernel(model: &Model) -> Option<Density> {
    let level = Level::detect();
    if model.name.starts_with("logistic") {
        let (x, y) = (model.data("x")?, model.data("y")?);
        let [n, k] = *x.shape().extents() else { return None };
        assert_eq!(k, K, "the kernel is written for {K} columns");
        let (mut tiles, mut outcomes) =
            (vec![[[0.0; 8]; K]; n.div_ceil(8)], vec![[0.0; 8]; n.div_ceil(8)]);
        for i in 0..n {
            outcomes[i / 8][i % 8] = y.values()[i];
            for (column, &value) in tiles[i / 8].iter_mut().zip(&x.values()[i * K..]) {
                column[i % 8] = value;
            }
        }
        return Some(Box::new(move |position, gradient| {
            level.run(Logistic { n, tiles: &tiles, outcomes: &outcomes, position, gradient })
        }));
    }
    if model.name.starts_with("student") && model.name.ends_with("sorted") {
        return student(model, level);
    }
    if model.name == "eight schools" {
        let line = |name: &str| -> Option<[f64; 8]> { model.data(name)?.values().try_into().ok() };
        let (y, sigma) = (line("y")?, line("sigma")?);
        let precision = sigma.map(|s| 1.0 / s);
        let constant: f64 =
            sigma.iter().map(|&s| -exmc_math::log(s)).sum::<f64>() - exmc_math::log(5.0);
        return Some(Box::new(move |position, gradient| {
            level.run(Schools { y: &y, precision: &precision, constant, position, gradient })
        }));
    }
    None
}

const K: usize = 20;
/// Tiles of eight rows that are worked on at a time.
const U: usize = 4;

/// One pass over the design, twenty accumulators.
struct Logistic<'a> {
    n: usize,
    tiles: &'a [[[f64; 8]; K]],
    outcomes: &'a [[f64; 8]],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Logistic<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { n, tiles, outcomes, position, gradient } = self;
        let zero = s.splat(0.0);
        let (mut acc, mut of_alpha, mut logp) = ([zero; K], zero, zero);
        for first in (0..tiles.len()).step_by(U) {
            let count = U.min(tiles.len() - first);
            let mut eta = [s.splat(position[0]); U];
            if count == U {
                for k in 0..K {
                    let b = s.splat(position[k + 1]);
                    for u in 0..U {
                        eta[u] = s.fma(s.load(&tiles[first + u][k]), b, eta[u]);
                    }
                }
            } else {
                for u in 0..count {
                    for k in 0..K {
                        let b = s.splat(position[k + 1]);
                        eta[u] = s.fma(s.load(&tiles[first + u][k]), b, eta[u]);
                    }
                }
            }
            for (u, eta) in eta.iter_mut().enumerate().take(count) {
                let left = (n - (first + u) * 8) as f64;
                let mask = s.lt(s.load(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), s.splat(left));
                let y = s.load(&outcomes[first + u]);
                let (p, softplus) = vector::sigmoid_softplus(s, *eta);
                let term = s.sub(s.mul(y, *eta), softplus);
                logp = s.add(logp, s.select(mask, term, zero));
                *eta = s.select(mask, s.sub(y, p), zero);
                of_alpha = s.add(of_alpha, *eta);
            }
            for (u, residual) in eta.iter().enumerate().take(count) {
                for k in 0..K {
                    acc[k] = s.fma(s.load(&tiles[first + u][k]), *residual, acc[k]);
                }
            }
        }
        let mut total = s.total(logp) - 0.5 * position[0] * position[0];
        gradient[0] = s.total(of_alpha) - position[0];
        for k in 0..K {
            let b = position[k + 1];
            total -= 0.5 * b * b;
            gradient[k + 1] = s.total(acc[k]) - b;
        }
        total
    }
}

/// Everything of eight schools in one vector.
struct Schools<'a> {
    y: &'a [f64; 8],
    precision: &'a [f64; 8],
    constant: f64,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Schools<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (mu, log_tau) = (self.position[0], self.position[1]);
        let tau = s.to_array(vector::exp(s, s.splat(log_tau)))[0];
        let (raw, _) = self.position[2..].as_chunks::<8>();
        let raw = s.load(&raw[0]);
        let theta = s.fma(s.splat(tau), raw, s.splat(mu));
        let precision = s.load(self.precision);
        let z = s.mul(s.sub(s.load(self.y), theta), precision);
        let of_theta = s.mul(z, precision);
        let quadratic = s.add(s.mul(z, z), s.mul(raw, raw));
        let ratio = tau / 5.0;
        let cauchy = s.to_array(vector::log1p(s, s.splat(ratio * ratio)))[0];
        self.gradient[0] = s.total(of_theta) - mu / 25.0;
        self.gradient[1] =
            s.total(s.mul(of_theta, raw)) * tau + 1.0 - 2.0 * ratio * ratio / (1.0 + ratio * ratio);
        let (of_raw, _) = self.gradient[2..].as_chunks_mut::<8>();
        s.store(s.sub(s.mul(of_theta, s.splat(tau)), raw), &mut of_raw[0]);
        -0.5 * s.total(quadratic) - mu * mu / 50.0 + log_tau - cauchy + self.constant
    }
}

/// Sorted groups, one after the other.
struct Student<'a> {
    y: &'a [f64],
    ends: &'a [usize],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

fn student(model: &Model, level: Level) -> Option<Density> {
    let (mut y, group) = (model.data("y")?.values().to_vec(), model.data("group")?);
    let groups = model.source.dim - 3;
    let ends: Vec<usize> =
        (0..groups).map(|j| group.values().iter().filter(|&&g| g <= j as f64).count()).collect();
    y.extend([0.0; 8]);
    Some(Box::new(move |position, gradient| {
        level.run(Student { y: &y, ends: &ends, position, gradient })
    }))
}

impl Kernel for Student<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { y, ends, position, gradient } = self;
        let (mu, log_tau, log_sigma) = (position[0], position[1], position[2]);
        let tau = s.to_array(vector::exp(s, s.splat(log_tau)))[0];
        let inverse = s.to_array(vector::exp(s, s.splat(-log_sigma)))[0];
        let (zero, one, quarter) = (s.splat(0.0), s.splat(1.0), s.splat(0.25));
        let (mut logs, mut of_sigma) = (zero, zero);
        let (mut of_mu, mut of_tau, mut start, mut prior) = (0.0, 0.0, 0, 0.0);
        for (j, &end) in ends.iter().enumerate() {
            let u = position[3 + j];
            let mean = s.splat(mu + tau * u);
            let mut of_mean = zero;
            let mut i = start;
            while i < end {
                let mask = s.lt(
                    s.load(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
                    s.splat((end - i) as f64),
                );
                let line = y[i..].first_chunk::<8>().unwrap_or(&[0.0; 8]);
                let z = s.mul(s.sub(s.load(line), mean), s.splat(inverse));
                let q = s.mul(s.mul(z, z), quarter);
                let weight = s.div(s.select(mask, one, zero), s.add(one, q));
                logs = s.add(logs, s.select(mask, vector::log1p(s, q), zero));
                of_mean = s.fma(z, weight, of_mean);
                of_sigma = s.fma(q, weight, of_sigma);
                i += 8;
            }
            let of_mean = s.total(of_mean) * 1.25 * inverse;
            of_mu += of_mean;
            of_tau += of_mean * u;
            gradient[3 + j] = of_mean * tau - u;
            prior += u * u;
            start = end;
        }
        let n = start as f64;
        gradient[0] = of_mu - mu;
        gradient[1] = of_tau * tau - log_tau;
        gradient[2] = 5.0 * s.total(of_sigma) - n - log_sigma;
        prior += mu * mu + log_tau * log_tau + log_sigma * log_sigma;
        -2.5 * s.total(logs) - n * log_sigma - 0.5 * prior
    }
}
