//! A model's plain data and a position -> its log density with latents integrated out, and their
//! joint distribution.
//!
//! All of it is dense linear algebra on rows $(w, a, c, s)$, each of which says $w \log N(a^\top
//! u + c; 0, s)$ of the latents' coordinates $u$. Nothing here is shared with what it judges.

use super::spec::{Amount, Extra, Hierarchy, Linear, Scalar, Scale};

/// $\tfrac12 \log 2\pi$.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_7;

/// A linear form in the latents' coordinates: factors by place, and a constant.
#[derive(Clone, Debug, Default)]
pub(super) struct Affine {
    pub(super) factors: Vec<(usize, f64)>,
    pub(super) constant: f64,
}

impl Affine {
    pub(super) fn add(&mut self, by: f64, other: &Affine) {
        for &(place, factor) in &other.factors {
            match self.factors.iter_mut().find(|(candidate, _)| *candidate == place) {
                Some((_, existing)) => *existing += by * factor,
                None => self.factors.push((place, by * factor)),
            }
        }
        self.constant += by * other.constant;
    }

    fn value_at(&self, u: &[f64]) -> f64 {
        self.factors.iter().fold(self.constant, |sum, &(place, by)| sum + by * u[place])
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) form: Affine,
    pub(super) sd: f64,
    pub(super) weight: f64,
}

/// The density of the latents' coordinates given the scalars.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    rows: Vec<Row>,
    /// The latents' elements, one vector after the other, in their coordinates.
    values: Vec<Affine>,
    /// Terms without latents, and log scales of non-centred ones.
    rest: f64,
    /// Sum of the terms' sizes, for tolerances.
    pub(super) size: f64,
}

/// What is known of coordinates that are integrated out, given all others.
pub(super) struct Conditional {
    /// The log density with them integrated out.
    pub(super) logp: f64,
    /// Their mean.
    pub(super) mean: Vec<f64>,
    /// Lower triangular factor of their precision.
    factor: Vec<Vec<f64>>,
}

impl Amount {
    pub(super) fn value(self, scalars: &[f64]) -> f64 {
        match self {
            Amount::Number(x) => x,
            Amount::Scalar(k) => scalars[k],
            Amount::Affine(by, k, shift) => by * scalars[k] + shift,
            Amount::Product(a, b) => scalars[a] * scalars[b],
            Amount::Square(k) => scalars[k] * scalars[k],
            Amount::Exp(k) => exmc_math::exp(0.3 * scalars[k]),
            Amount::Root(k, more) => (scalars[k] * scalars[k] + more).sqrt(),
        }
    }
}

impl Scale {
    fn deviation(&self, row: usize, scalars: &[f64]) -> f64 {
        self.amount.value(scalars) * self.data.as_ref().map_or(1.0, |data| data[row])
    }
}

impl Linear {
    fn form(&self, row: usize, scalars: &[f64], values: &[Affine], starts: &[usize]) -> Affine {
        let mut sum = Affine::default();
        sum.constant += self.constant.map_or(0.0, |amount| amount.value(scalars));
        sum.constant += self.slope.as_ref().map_or(0.0, |(by, x)| by.value(scalars) * x[row]);
        sum.constant += self.data.as_ref().map_or(0.0, |data| data[row]);
        for (by, latent, index) in &self.latents {
            sum.add(by.value(scalars), &values[starts[*latent] + index[row]]);
        }
        sum
    }
}

/// Where each latent vector begins among all elements.
pub(super) fn starts(model: &Hierarchy) -> Vec<usize> {
    let mut next = 0;
    let begin = |len: usize| {
        next += len;
        next - len
    };
    model.latents.iter().map(|latent| latent.len).map(begin).collect()
}

impl Exact {
    /// At scalars with these values; `log_jacobian` is that of their transforms.
    pub(super) fn new(model: &Hierarchy, scalars: &[f64], log_jacobian: f64) -> Self {
        let starts = starts(model);
        let mut values: Vec<Affine> = Vec::new();
        let mut rest = log_jacobian + of_scalars(model, scalars);
        for latent in &model.latents {
            for i in 0..latent.len {
                let mut latent_form = Affine::default();
                latent_form.factors.push((values.len(), 1.0));
                if latent.non_centred {
                    let prior = &latent.priors[0];
                    let sd = prior.scale.deviation(i, scalars);
                    rest += exmc_math::log(sd);
                    latent_form.factors[0].1 = sd;
                    let location = prior.location.form(i, scalars, &values, &starts);
                    latent_form.add(1.0, &location);
                }
                values.push(latent_form);
            }
        }
        let mut rows = Vec::new();
        for (latent, start) in model.latents.iter().zip(&starts) {
            for prior in &latent.priors {
                for (row, element) in prior.range.clone().enumerate() {
                    let mut form = prior.location.form(row, scalars, &values, &starts);
                    form.add(-1.0, &values[start + element]);
                    let sd = prior.scale.deviation(row, scalars);
                    rows.push(Row { form, sd, weight: 1.0 });
                }
            }
        }
        for likelihood in &model.likelihoods {
            for (row, outcome) in likelihood.outcomes.iter().enumerate() {
                let masked = likelihood.mask.as_ref().is_some_and(|mask| !mask[row]);
                if masked || likelihood.missing.contains(&row) {
                    continue;
                }
                let mut form = likelihood.location.form(row, scalars, &values, &starts);
                form.constant -= outcome;
                let sd = likelihood.scale.deviation(row, scalars);
                let weight = likelihood.weights.as_ref().map_or(1.0, |weights| weights[row]);
                rows.push(Row { form, sd, weight });
            }
        }
        if let Some(pairs) = &model.pairs {
            let value = |amount: Amount| amount.value(scalars);
            let (mean, [first, second]) = (pairs.mean.map(value), pairs.diagonal.map(value));
            let below = pairs.tied * second;
            for outcome in &pairs.outcomes {
                let first_coordinate = values.len();
                let coordinate =
                    |k: usize| Affine { factors: vec![(first_coordinate + k, 1.0)], constant: 0.0 };
                let (mut a, mut b) = (coordinate(0), coordinate(1));
                let mut whitened = [a.clone(), b.clone()];
                if pairs.non_centred {
                    a = Affine { factors: vec![(first_coordinate, first)], constant: mean[0] };
                    b = Affine {
                        factors: vec![(first_coordinate, below), (first_coordinate + 1, second)],
                        constant: mean[1],
                    };
                } else {
                    // L^-1 (p - m).
                    let from = |k: usize| Affine { constant: -mean[k], ..coordinate(k) };
                    whitened = [Affine::default(), Affine::default()];
                    whitened[0].add(1.0 / first, &from(0));
                    whitened[1].add(1.0 / second, &from(1));
                    whitened[1].add(-below / (first * second), &from(0));
                    rest -= exmc_math::log(first * second);
                }
                rows.extend(whitened.map(|form| Row { form, sd: 1.0, weight: 1.0 }));
                let mut form = a.clone();
                form.add(1.0, &b);
                form.constant -= outcome;
                rows.push(Row { form, sd: value(pairs.scale), weight: 1.0 });
                values.extend([a, b]);
            }
        }
        rest += model.chains.exact(scalars, &mut values, &mut rows);
        Self { rows, values, rest, size: 1.0 + rest.abs() }
    }

    /// The log density of all coordinates.
    pub(super) fn logp(&mut self, u: &[f64]) -> f64 {
        let mut sum = self.rest;
        for Row { form, sd, weight } in &self.rows {
            let z = form.value_at(u) / sd;
            let term = -weight * (0.5 * z * z + exmc_math::log(*sd) + HALF_LOG_TAU);
            self.size += term.abs();
            sum += term;
        }
        sum
    }

    /// Integrates out the coordinates `gone`, at the values `u` of the others.
    pub(super) fn integrate(&mut self, gone: &[usize], u: &[f64]) -> Result<Conditional, String> {
        let n = gone.len();
        let mut place = vec![None; self.values.len()];
        gone.iter().enumerate().for_each(|(k, &coordinate)| place[coordinate] = Some(k));
        let mut point = u.to_vec();
        gone.iter().for_each(|&coordinate| point[coordinate] = 0.0);
        let mut precision = vec![vec![0.0; n]; n];
        let mut shift = vec![0.0; n];
        for Row { form, sd, weight } in &self.rows {
            let residual = form.value_at(&point);
            let by = weight / (sd * sd);
            for &(a, left) in &form.factors {
                let Some(a) = place[a] else { continue };
                shift[a] -= by * left * residual;
                for &(b, right) in &form.factors {
                    if let Some(b) = place[b] {
                        precision[a][b] += by * left * right;
                    }
                }
            }
        }
        let factor = cholesky(precision).ok_or("the exact precision is not positive definite")?;
        let mean = solve_transposed(&factor, &solve(&factor, &shift));
        gone.iter().zip(&mean).for_each(|(&coordinate, &mean)| point[coordinate] = mean);
        let half_log_det: f64 = (0..n).map(|k| exmc_math::log(factor[k][k])).sum();
        let logp = self.logp(&point) + n as f64 * HALF_LOG_TAU - half_log_det;
        self.size += half_log_det.abs();
        Ok(Conditional { logp, mean, factor })
    }

    /// All latents' elements at their coordinates.
    pub(super) fn values(&self, u: &[f64]) -> Vec<f64> {
        self.values.iter().map(|form| form.value_at(u)).collect()
    }

    /// Covariance of two elements, given the coordinates that are not `gone`: `a^\top P^{-1} b`.
    /// Row `k` of the result belongs to element `k`, and the covariance is the dot product of rows.
    pub(super) fn spread(&self, gone: &[usize], conditional: &Conditional) -> Vec<Vec<f64>> {
        let row = |form: &Affine| {
            let mut weights = vec![0.0; gone.len()];
            for &(place, by) in &form.factors {
                if let Some(k) = gone.iter().position(|&g| g == place) {
                    weights[k] += by;
                }
            }
            solve(&conditional.factor, &weights)
        };
        self.values.iter().map(row).collect()
    }
}

impl Conditional {
    /// Log density of values of the coordinates that are integrated out, and the square of their
    /// distance from the mean.
    pub(super) fn log_density(&self, values: &[f64]) -> (f64, f64) {
        let n = self.mean.len();
        let mut square = 0.0;
        let mut log_det = 0.0;
        // Of the precision's factor L: |L^T d|^2.
        for column in 0..n {
            let z: f64 =
                (column..n).map(|k| self.factor[k][column] * (values[k] - self.mean[k])).sum();
            square += z * z;
            log_det += exmc_math::log(self.factor[column][column]);
        }
        (log_det - 0.5 * square - n as f64 * HALF_LOG_TAU, square)
    }
}

/// Priors of the scalars, and likelihoods of them alone.
fn of_scalars(model: &Hierarchy, scalars: &[f64]) -> f64 {
    let log = exmc_math::log;
    let normal = |z: f64, sd: f64| -0.5 * z * z - log(sd) - HALF_LOG_TAU;
    // Four degrees of freedom; gamma(5/2) / gamma(2) = 3 sqrt(pi) / 4, over sqrt(4 pi): 3/8.
    let student_t = |z: f64, sd: f64| log(0.375) - log(sd) - 2.5 * exmc_math::log1p(0.25 * z * z);
    let prior = |(&kind, &x): (&Scalar, &f64)| match kind {
        Scalar::Real(location, sd) => student_t((x - location) / sd, sd),
        Scalar::Lognormal(mean, sd) => normal((log(x) - mean) / sd, sd) - log(x),
        // A Stan program says nothing of the other half.
        Scalar::HalfNormal(sd) => {
            normal(x / sd, sd) + if model.stan { 0.0 } else { std::f64::consts::LN_2 }
        }
        Scalar::Exponential(rate) => log(rate) - rate * x,
    };
    let priors: f64 = model.scalars.iter().zip(scalars).map(prior).sum();
    let extra = |extra: &Extra| match extra {
        Extra::Regression { a, b, scale, x, outcomes } => {
            let sd = scalars[*scale];
            let term = |(x, y): (&f64, &f64)| normal((y - scalars[*a] - scalars[*b] * x) / sd, sd);
            x.iter().zip(outcomes).map(term).sum::<f64>()
        }
        Extra::Logistic { a, b, x, outcomes } => {
            let term = |(x, y): (&f64, &f64)| {
                let logit = scalars[*a] + scalars[*b] * x;
                let towards = if *y == 1.0 { logit } else { -logit };
                towards.min(0.0) - exmc_math::log1p(exmc_math::exp(-towards.abs()))
            };
            x.iter().zip(outcomes).map(term).sum()
        }
        Extra::Robust { a, scale, outcomes } => {
            let sd = scalars[*scale];
            outcomes.iter().map(|y| student_t((y - scalars[*a]) / sd, sd)).sum()
        }
    };
    priors + model.extras.iter().map(extra).sum::<f64>()
}

/// The lower triangular factor of a matrix, if that is positive definite.
fn cholesky(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    for j in 0..n {
        for i in j..n {
            let (head, entry) =
                (0..j).fold((0.0, a[i][j]), |(s, entry), k| (s + a[i][k] * a[j][k], entry));
            let left = entry - head;
            if i == j {
                if left.is_nan() || left <= 0.0 {
                    return None;
                }
                a[j][j] = left.sqrt();
            } else {
                a[i][j] = left / a[j][j];
            }
        }
    }
    Some(a)
}

/// `L x = b`.
fn solve(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in 0..x.len() {
        let known: f64 = (0..i).map(|k| factor[i][k] * x[k]).sum();
        x[i] = (x[i] - known) / factor[i][i];
    }
    x
}

/// `L^T x = b`.
fn solve_transposed(factor: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for i in (0..x.len()).rev() {
        let known: f64 = (i + 1..x.len()).map(|k| factor[k][i] * x[k]).sum();
        x[i] = (x[i] - known) / factor[i][i];
    }
    x
}
