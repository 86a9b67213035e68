//! `_rng` functions: parameters of a distribution -> a draw from the interpreter's stream. Here are
//! those of vectors, matrices and categories, which are `Draws::Event` in their rows of `families`.

mod univariate;

use exmc_math as m;
use exmc_math::linear::cholesky_lower;
use exmc_math::random::{ChainRng, draws};
use exmc_model::Support;

pub(crate) use univariate::{Univariate, univariates};

use super::linear::cholesky;
use super::{Call, matrix_value};
use crate::host::constraint::check_structure;
use crate::host::error::Fault;
use crate::typed::{Constraint, Type};
use crate::value::{Numbers, Value};
use univariate::holds;

type Random = fn(&mut ChainRng, &Call<'_>) -> Result<Value, Fault>;

/// Names and functions of what is no family of single numbers.
pub(crate) const FUNCTIONS: &[(&str, Random)] = &[
    ("categorical_rng", categorical),
    ("categorical_logit_rng", categorical),
    ("ordered_logistic_rng", |rng, c| ordered(rng, c, m::inv_logit)),
    ("ordered_probit_rng", |rng, c| ordered(rng, c, m::std_normal_cdf)),
    ("multinomial_rng", multinomial),
    ("multinomial_logit_rng", multinomial),
    ("dirichlet_multinomial_rng", multinomial),
    ("dirichlet_rng", dirichlet),
    ("multi_normal_rng", |rng, c| normal_vectors(rng, c, Spread::Covariance)),
    ("multi_normal_cholesky_rng", |rng, c| normal_vectors(rng, c, Spread::Factor)),
    ("multi_student_t_rng", |rng, c| normal_vectors(rng, c, Spread::StudentT)),
    ("multi_student_t_cholesky_rng", |rng, c| normal_vectors(rng, c, Spread::StudentTFactor)),
    ("bernoulli_logit_glm_rng", bernoulli_glm),
    ("lkj_corr_cholesky_rng", |rng, c| {
        let k = c.count(0)?;
        Ok(matrix_value(k, k, lkj_cholesky(rng, c, k)?))
    }),
    ("lkj_corr_rng", |rng, c| {
        let k = c.count(0)?;
        Ok(super::reduce::gram(&lkj_cholesky(rng, c, k)?, k, k))
    }),
    ("wishart_rng", |rng, c| {
        let (n, l) = cholesky(c, 1)?;
        let a = wishart_factor(rng, c, n, &l)?;
        Ok(super::reduce::gram(&a, n, n))
    }),
    ("wishart_cholesky_rng", |rng, c| {
        let l = c.square(1)?;
        let a = wishart_factor(rng, c, l.rows, &l.values)?;
        Ok(matrix_value(l.rows, l.rows, a))
    }),
    ("inv_wishart_rng", inverse_wishart),
    ("inv_wishart_cholesky_rng", inverse_wishart_factor),
    ("hmm_latent_rng", hmm_latent),
    ("hmm_hidden_state_prob", |_, c| hmm_probabilities(c)),
];

fn simplex(c: &Call<'_>, values: &[f64]) -> Result<(), Fault> {
    check_structure(&Constraint::Simplex, values, (values.len(), 1))
        .map_err(|message| c.domain(format!("the vector of probabilities {message}")))
}

fn categorical(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let weights = c.reals(0)?;
    let found = if c.name == "categorical_rng" {
        simplex(c, &weights)?;
        draws::categorical(rng, &weights)
    } else {
        draws::categorical_log(rng, &weights)
    };
    match found {
        Some(k) => Ok(Value::Int(k as i64 + 1)),
        None => Err(c.domain("the weights are not finite")),
    }
}

/// The number of cut points below a draw of the latent variable, plus one.
fn ordered(rng: &mut ChainRng, c: &Call<'_>, cdf: fn(f64) -> f64) -> Result<Value, Fault> {
    let (eta, cuts) = (c.reals(0)?, c.reals(1)?);
    check_structure(&Constraint::Ordered, &cuts, (cuts.len(), 1))
        .map_err(|message| c.domain(format!("the vector of cut points {message}")))?;
    let mut one = |eta: f64| {
        let u = rng.uniform_open();
        cuts.iter().filter(|cut| cdf(*cut - eta) <= u).count() as i64 + 1
    };
    Ok(match c.arg(0)?.shape() {
        [] => Value::Int(one(eta[0])),
        _ => Value::ints(eta.iter().map(|eta| one(*eta)).collect()),
    })
}

fn multinomial(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let (weights, trials) = (c.reals(0)?, c.count(1)?);
    let probabilities = match c.name {
        "multinomial_rng" => {
            simplex(c, &weights)?;
            weights.into_owned()
        }
        "multinomial_logit_rng" => {
            let total = m::log_sum_exp(&weights);
            weights.iter().map(|w| m::exp(w - total)).collect()
        }
        _ => {
            let mut out = vec![0.0; weights.len()];
            draws::dirichlet(rng, &weights, &mut out);
            out
        }
    };
    let mut out = vec![0.0; probabilities.len()];
    draws::multinomial(rng, trials as f64, &probabilities, &mut out);
    if out.iter().any(|x| x.is_nan()) {
        return Err(c.domain("the parameters allow no draw"));
    }
    Ok(Value::ints(out.into_iter().map(|x| x as i64).collect()))
}

fn dirichlet(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let alpha = c.reals(0)?;
    if let Some(x) = alpha.iter().find(|x| !holds(Support::Positive, **x)) {
        return Err(c.domain(format!("alpha has an element {x}, but must be positive")));
    }
    let mut out = vec![0.0; alpha.len()];
    draws::dirichlet(rng, &alpha, &mut out);
    Ok(Value::reals(out))
}

/// How a multivariate draw spreads about its location.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    Covariance,
    Factor,
    StudentT,
    StudentTFactor,
}

fn normal_vectors(rng: &mut ChainRng, c: &Call<'_>, spread: Spread) -> Result<Value, Fault> {
    let heavy = matches!(spread, Spread::StudentT | Spread::StudentTFactor);
    let first = usize::from(heavy);
    let (mu, n, l) = match spread {
        Spread::Factor | Spread::StudentTFactor => {
            let l = c.square(first + 1)?;
            (c.reals(first)?, l.rows, l.values.into_owned())
        }
        _ => {
            let (n, l) = cholesky(c, first + 1)?;
            (c.reals(first)?, n, l)
        }
    };
    let outer = &c.arg(first)?.shape()[..c.arg(first)?.shape().len() - 1];
    let several = matches!(c.returns, Type::Array(_));
    let count: usize = if several { outer.iter().product() } else { 1 };
    c.same_length(mu.len(), count * n)?;
    if let Some(x) = mu.iter().find(|x| !x.is_finite()) {
        return Err(c.domain(format!("the location has an element {x}, but must be finite")));
    }
    let mut all = Vec::with_capacity(mu.len());
    for mu in mu.chunks_exact(n.max(1)) {
        let z: Vec<f64> = (0..n).map(|_| rng.standard_normal()).collect();
        let mut product = vec![0.0; n];
        m::linear::multiply_lower(&l, &z, &mut product);
        let scale = if heavy {
            let nu = c.real(0)?;
            if !(nu > 0.0) {
                return Err(c.domain(format!("nu is {nu}, but must be positive")));
            }
            (nu / draws::chi_square(rng, nu)).sqrt()
        } else {
            1.0
        };
        all.extend(mu.iter().zip(product).map(|(mu, z)| mu + scale * z));
    }
    let shape = if several { outer.iter().copied().chain([n]).collect() } else { vec![n] };
    Ok(Value::Reals(Numbers::new(shape, all)))
}

fn bernoulli_glm(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let (x, alpha, beta) = (c.matrix(0)?, c.reals(1)?, c.reals(2)?);
    c.same_length(x.columns, beta.len())?;
    let several = !c.arg(1)?.shape().is_empty();
    // A row vector of predictors serves every intercept.
    let shared = *c.types[0] == Type::RowVector;
    let count = if shared && several { alpha.len() } else { x.rows };
    if several {
        c.same_length(alpha.len(), count)?;
    }
    let one = |k: usize| {
        let row = if shared { 0 } else { k };
        let eta = m::linear::dot(&x.values[row * x.columns..(row + 1) * x.columns], &beta);
        eta + alpha[if several { k } else { 0 }]
    };
    let draws = (0..count).map(|k| i64::from(rng.uniform() < m::inv_logit(one(k))));
    Ok(Value::ints(draws.collect()))
}

/// The factor of an LKJ correlation matrix by the onion's partial correlations.
/// **Reference**: Lewandowski, Kurowicka and Joe 2009.
fn lkj_cholesky(rng: &mut ChainRng, c: &Call<'_>, k: usize) -> Result<Vec<f64>, Fault> {
    let eta = c.real(1)?;
    if !(eta > 0.0) {
        return Err(c.domain(format!("eta is {eta}, but must be positive")));
    }
    crate::host::declare::checked_len(&[k, k])?;
    let mut l = vec![0.0; k * k];
    for row in 0..k {
        let mut rest = 1.0_f64;
        for column in 0..row {
            // The vine's tree number is the column: b falls by one half with each.
            let b = eta + 0.5 * (k as f64 - 2.0 - column as f64);
            let partial = 2.0 * draws::beta(rng, b, b) - 1.0;
            l[row * k + column] = partial * rest.sqrt();
            rest *= 1.0 - partial * partial;
        }
        l[row * k + row] = rest.sqrt();
    }
    Ok(l)
}

/// L A with A Bartlett's lower triangle: its product with its transpose is Wishart.
fn wishart_factor(
    rng: &mut ChainRng,
    c: &Call<'_>,
    n: usize,
    l: &[f64],
) -> Result<Vec<f64>, Fault> {
    let nu = c.real(0)?;
    if !(nu > n as f64 - 1.0) {
        return Err(c.domain(format!("nu is {nu}, but must be above {}", n as f64 - 1.0)));
    }
    let mut a = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..row {
            a[row * n + column] = rng.standard_normal();
        }
        a[row * n + row] = draws::chi_square(rng, nu - row as f64).sqrt();
    }
    Ok(super::linear::product(n, l, &a))
}

/// The inverse of a Wishart draw with the inverse scale.
fn inverse_wishart(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let (n, l) = cholesky(c, 1)?;
    let product = inverse_wishart_product(rng, c, n, &l)?;
    Ok(super::matrix_value(n, n, product))
}

/// The Cholesky factor of one, of the scale's factor.
fn inverse_wishart_factor(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let scale = c.square(1)?;
    let n = scale.rows;
    let product = inverse_wishart_product(rng, c, n, &scale.values)?;
    let mut factor = vec![0.0; n * n];
    cholesky_lower(n, &product, &mut factor)
        .map_err(|_| c.domain("the draw is nearly singular"))?;
    Ok(super::matrix_value(n, n, factor))
}

/// A draw for a scale of Cholesky factor `l`.
fn inverse_wishart_product(
    rng: &mut ChainRng,
    c: &Call<'_>,
    n: usize,
    l: &[f64],
) -> Result<Vec<f64>, Fault> {
    let mut inverse = super::linear::identity(n);
    m::linear::solve_lower_matrix(n, n, l, &mut inverse);
    m::linear::solve_lower_transposed_matrix(n, n, l, &mut inverse);
    let mut factor = vec![0.0; n * n];
    cholesky_lower(n, &inverse, &mut factor)
        .map_err(|_| c.domain("the scale is nearly singular"))?;
    let a = wishart_factor(rng, c, n, &factor)?;
    // (A A')^-1 = A^-T A^-1
    let mut inverse = super::linear::identity(n);
    m::linear::solve_lower_matrix(n, n, &a, &mut inverse);
    let turned = crate::host::operators::transposed(&Numbers::new([n, n], inverse));
    match super::reduce::gram(&turned.values, n, n) {
        Value::Reals(product) => Ok(product.values.to_vec()),
        _ => Err(c.missing()),
    }
}

/// The probability of each state (row) at each time (column) given all observations: forward
/// filtering, backward smoothing.
fn hmm_probabilities(c: &Call<'_>) -> Result<Value, Fault> {
    let (gamma, forward) = (c.square(1)?, hmm_filter(c)?);
    let (states, steps) = (gamma.rows, forward.len());
    let mut all = vec![0.0; states * steps];
    let mut after: Vec<f64> = forward.last().cloned().unwrap_or_default();
    for step in (0..steps).rev() {
        if step + 1 < steps {
            // P(k now, next) = P(k now | past) gamma[k, next] / P(next | past), times P(next |
            // all).
            let now = &forward[step];
            let next: Vec<f64> = (0..states)
                .map(|j| (0..states).map(|k| now[k] * gamma.element(k, j)).sum())
                .collect();
            let share = |j: usize| if next[j] > 0.0 { after[j] / next[j] } else { 0.0 };
            let shares: Vec<f64> = (0..states).map(share).collect();
            after = (0..states)
                .map(|k| now[k] * (0..states).map(|j| gamma.element(k, j) * shares[j]).sum::<f64>())
                .collect();
        }
        for k in 0..states {
            all[k * steps + step] = after[k];
        }
    }
    Ok(super::matrix_value(states, steps, all))
}

/// Hidden states given all observations: forward filtering, backward sampling.
fn hmm_latent(rng: &mut ChainRng, c: &Call<'_>) -> Result<Value, Fault> {
    let (gamma, forward) = (c.square(1)?, hmm_filter(c)?);
    let (states, steps) = (gamma.rows, forward.len());
    let mut found = vec![0_i64; steps];
    for step in (0..steps).rev() {
        let weights: Vec<f64> = match found.get(step + 1) {
            None => forward[step].clone(),
            Some(next) => {
                let next = *next as usize - 1;
                (0..states).map(|k| forward[step][k] * gamma.element(k, next)).collect()
            }
        };
        let Some(k) = draws::categorical(rng, &weights) else {
            return Err(c.domain("the observations are impossible under every state"));
        };
        found[step] = k as i64 + 1;
    }
    Ok(Value::ints(found))
}

/// The probabilities of the states at each time given the observations so far.
fn hmm_filter(c: &Call<'_>) -> Result<Vec<Vec<f64>>, Fault> {
    let (log_omegas, gamma, rho) = (c.matrix(0)?, c.square(1)?, c.reals(2)?);
    let (states, steps) = (log_omegas.rows, log_omegas.columns);
    c.same_length(gamma.rows, states)?;
    c.same_length(rho.len(), states)?;
    let mut forward: Vec<Vec<f64>> = Vec::with_capacity(steps);
    for step in 0..steps {
        let before = |k: usize| match forward.last() {
            None => rho[k],
            Some(last) => (0..states).map(|j| last[j] * gamma.element(j, k)).sum(),
        };
        let largest =
            (0..states).map(|k| log_omegas.element(k, step)).fold(f64::NEG_INFINITY, f64::max);
        let mut now: Vec<f64> = (0..states)
            .map(|k| before(k) * m::exp(log_omegas.element(k, step) - largest))
            .collect();
        let total: f64 = now.iter().sum();
        now.iter_mut().for_each(|x| *x /= total);
        forward.push(now);
    }
    Ok(forward)
}
